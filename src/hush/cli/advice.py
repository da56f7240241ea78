"""Where in hush.toml a statement's missing facts belong: it depends on the column.

The library advises a column of the data. A name that the SELECT gives, or a column of a
public table, has another place there, and advice that is refused would go in a circle.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from hush.cli import schema
from hush.errors import HushError, InvalidArgument

if TYPE_CHECKING:
    from hush.cli.config import Config

_KEYS = re.compile(
    r"(?:keys=\{.*?: \[\.\.\.\]\} in Python, )"
    r"keys = \[\.\.\.\] under \[columns\.(?P<name>.*?)\] in hush\.toml"
)
_BOUNDS = re.compile(
    r"(?P<before>, or give them: )bounds=\{.*?: \(0, 100\)\} in Python, "
    r"bounds = \[0, 100\] under \[columns\.(?P<name>.*?)\] in hush\.toml"
)
_TYPES = re.compile(
    r"(?P<before>, or |\. )(?P<verb>[Oo]pen) the file with types=(?:, as in types=)?"
    r"\{(?P<q>['\"])(?P<name>.*?)(?P=q): '(?P<kind>\w+)'\}"
)
_PRIVATE = "needs its public values"  # where the data itself may be asked for them


def quoted(name: str) -> str:
    """Return a name as TOML writes it before an equals sign or in a heading.

    Example:
        >>> quoted("fare"), quoted("pick up")
        ('fare', '"pick up"')
    """
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return name if bare else json.dumps(name, ensure_ascii=False)


@final
@dataclass(frozen=True)
class Public:
    """A public table of `[tables]`: where it is, and what its columns are."""

    source: str
    written: str  # the source as hush.toml has it
    types: Mapping[str, str]

    @classmethod
    def of(cls, name: str, given: Any) -> "Public":
        """Read `zones = "zones.csv"`, or the same with types."""
        if isinstance(given, str) and given:
            return cls(given, given, {})
        types = given.get("types") if isinstance(given, dict) else None
        if not isinstance(types, dict) or set(given) != {"source", "types"}:
            raise InvalidArgument(
                f'[tables] {name} must be a file, as in {name} = "{name}.csv", or '
                f'{name} = {{source = "{name}.csv", types = {{size = "number"}}}}.'
            )
        for column, kind in types.items():
            if kind not in schema.DECLARED:
                raise InvalidArgument(
                    f"[tables] {name}: the type of {column!r} must be one of "
                    f"{', '.join(schema.DECLARED)}; got {kind!r}."
                )
        return replace(cls.of(name, given["source"]), types=types)

    @property
    def opened(self) -> Any:
        """The table, or its address where it needs no types."""
        if not self.types:
            return self.source
        from hush.tables.source import source

        return source(self.source, types=self.types).table

    def typed(self, name: str, column: str, kind: str) -> str:
        """Return the line that gives a column of this table a type."""
        types = {**self.types, column: kind}
        inside = ", ".join(f'{quoted(n)} = "{k}"' for n, k in types.items())
        source = json.dumps(self.written, ensure_ascii=False)
        return f"{quoted(name)} = {{source = {source}, types = {{{inside}}}}}"


def placed(text: str, about: "Config") -> str:
    """Return a refusal of a statement with its advice at the right place."""

    def keys(found: re.Match[str]) -> str:
        name = found["name"]
        if name in about.types:
            setting, where = "keys", f"[columns.{quoted(name)}]"
        else:
            setting, where = quoted(name), "[keys]"
        more = (
            f', or {setting} = "private" there to find them in the data, which needs -d'
            if _PRIVATE in text
            else ""
        )
        return f"{setting} = [...] under {where} in hush.toml{more}"

    def bounds(found: re.Match[str]) -> str:
        if found["name"] not in about.types:
            return ""  # CLAMP, which is advised before it, does it
        where = f"[columns.{quoted(found['name'])}]"
        return f"{found['before']}bounds = [0, 100] under {where} in hush.toml"

    def types(found: re.Match[str]) -> str:
        write = "write" if found["verb"] == "open" else "Write"
        name, kind = found["name"], found["kind"]
        if name in about.types and schema.untyped(about.source):
            line = f'type = "{kind}" under [columns.{quoted(name)}]'
            return f"{found['before']}{write} {line} in hush.toml"
        for table, public in about.tables.items():
            if schema.untyped(public.source) and name in _columns(public):
                line = f"{public.typed(table, name, kind)} under [tables]"
                return f"{found['before']}{write} {line} in hush.toml"
        return "" if write == "write" else f". CAST {name} in the SQL"

    for pattern, change in ((_KEYS, keys), (_BOUNDS, bounds), (_TYPES, types)):
        text = pattern.sub(change, text)
    return text


def _columns(public: Public) -> Mapping[str, str]:
    try:
        return schema.columns(public.source)
    except HushError:  # such as JSON, which has no schema to read
        return {}
