"""`hush.toml`: what may be asked of which data, by whom it is paid."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from hush import checks
from hush.errors import HushError, InvalidArgument
from hush.ledger import Budget, Ledger

if TYPE_CHECKING:
    from hush.tables import Dataset

import csv

# --------------------------------------------------------------------------------------
# Where in hush.toml a statement's missing facts belong: it depends on the column.
#
# The library advises a column of the data. A name that the SELECT gives, or a column
# of a public table, has another place there, and advice that is refused would go in a
# circle.

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


def toml_name(name: str) -> str:
    """Return a name as TOML writes it before an equals sign or in a heading.

    Example:
        >>> toml_name("fare"), toml_name("pick up")
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
            if kind not in DECLARED:
                raise InvalidArgument(
                    f"[tables] {name}: the type of {column!r} must be one of "
                    f"{', '.join(DECLARED)}; got {kind!r}."
                )
        return replace(cls.of(name, given["source"]), types=types)

    @property
    def open(self) -> Any:
        """The table, or its address where it needs no types."""
        if not self.types:
            return self.source
        from hush.tables.engines.sources import source

        return source(self.source, types=self.types).table

    def type_line(self, name: str, column: str, kind: str) -> str:
        """Return the line that gives a column of this table a type."""
        types = {**self.types, column: kind}
        inside = ", ".join(f'{toml_name(n)} = "{k}"' for n, k in types.items())
        source = json.dumps(self.written, ensure_ascii=False)
        return f"{toml_name(name)} = {{source = {source}, types = {{{inside}}}}}"


def refusal_with_place(text: str, about: "Config") -> str:
    """Return a refusal of a statement with its advice at the right place."""

    def keys(found: re.Match[str]) -> str:
        name = found["name"]
        if name in about.types:
            setting, where = "keys", f"[columns.{toml_name(name)}]"
        else:
            setting, where = toml_name(name), "[keys]"
        more = (
            f', or {setting} = "private" there to find them in the data, which needs -d'
            if _PRIVATE in text
            else ""
        )
        return f"{setting} = [...] under {where} in hush.toml{more}"

    def bounds(found: re.Match[str]) -> str:
        if found["name"] not in about.types:
            return ""  # CLAMP, which is advised before it, does it
        where = f"[columns.{toml_name(found['name'])}]"
        return f"{found['before']}bounds = [0, 100] under {where} in hush.toml"

    def types(found: re.Match[str]) -> str:
        write = "write" if found["verb"] == "open" else "Write"
        name, kind = found["name"], found["kind"]
        if name in about.types and is_untyped(about.source):
            line = f'type = "{kind}" under [columns.{toml_name(name)}]'
            return f"{found['before']}{write} {line} in hush.toml"
        for table, public in about.tables.items():
            if is_untyped(public.source) and name in _columns(public):
                line = f"{public.type_line(table, name, kind)} under [tables]"
                return f"{found['before']}{write} {line} in hush.toml"
        return "" if write == "write" else f". CAST {name} in the SQL"

    for pattern, change in ((_KEYS, keys), (_BOUNDS, bounds), (_TYPES, types)):
        text = pattern.sub(change, text)
    return text


def _columns(public: Public) -> Mapping[str, str]:
    try:
        return columns(public.source)
    except HushError:  # such as JSON, which has no schema to read
        return {}


# -- `hush.toml`: what may be asked of which data, by whom it is paid ------------------

NAME = "hush.toml"
_SECTIONS = {
    "data": {"source", "name", "unit", "rows", "neighbors"},
    "budget": {"epsilon", "delta", "rho", "mu"},
    "ledger": {"url"},
    "columns": None,
    "keys": None,
    "tables": None,
}


@final
@dataclass(frozen=True)
class Column:
    """What is publicly known of a column."""

    kind: str | None = None
    bounds: tuple[float, float] | str | None = None
    keys: Any = None
    bins: int | None = None  # for `hush synth`, as what follows
    whole: bool = False
    missing: bool = False


@final
@dataclass(frozen=True)
class Config:
    """One data set and its budget, as `hush.toml` describes them."""

    path: Path
    source: str
    name: str
    unit: str
    rows: int
    neighbors: str
    budget: Budget
    ledger: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    together: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Public] = field(default_factory=dict)

    @property
    def public_tables(self) -> dict[str, Any]:
        """All that is public: what `Dataset.sql` takes beside the statement."""
        tables = {name: each.open for name, each in self.tables.items()}
        return {"keys": self.keys, "bounds": self.bounds, "tables": tables}

    @cached_property
    def types(self) -> dict[str, str]:
        """The Ibis type of every column, from the schema alone."""
        if all_values(self.source) and self.columns:
            found = dict.fromkeys(self.columns, "string")  # only hush.toml knows
        else:
            found = columns(self.source)
        unknown = sorted(set(self.columns) - set(found))
        if unknown:
            raise InvalidArgument(
                f"{self.path.name} describes the column {unknown[0]!r}, which the "
                f"data does not have. It has {', '.join(found)}. Keys of what SELECT "
                "names, or of a public table, stand under [keys].",
                code="unknown-column",
            )
        if is_untyped(self.source):
            for name, each in self.columns.items():
                found[name] = DECLARED[each.kind or "text"]
        return found

    @property
    def declared_types(self) -> dict[str, str]:
        """Types of columns that have none of their own."""
        if not is_untyped(self.source):
            return {}
        return {name: each.kind or "text" for name, each in self.columns.items()}

    @property
    def person(self) -> str | None:
        """The column that tells people apart; None where every row is a person."""
        if not self.unit:
            raise InvalidArgument(
                f"{self.path.name} does not say who is protected. Set unit to the "
                'column that tells people apart, or to "row" if no two rows are of '
                "the same person.",
                code="unit-missing",
            )
        if self.unit == "row" and "row" not in self.types:
            return None
        if self.unit not in self.types:
            raise InvalidArgument(
                f"unit {self.unit!r} is not a column; the columns are "
                f"{', '.join(self.types)}.",
                code="unknown-column",
            )
        return self.unit

    @property
    def bounds(self) -> dict[str, Any]:
        """Public bounds by column, or "private" where they are found in the data."""
        named = self.columns.items()
        return {name: e.bounds for name, e in named if e.bounds is not None}

    @property
    def keys(self) -> dict[str, Any]:
        """Public values by column, or "private" where they are found in the data."""
        named = self.columns.items()
        apart = {name: e.keys for name, e in named if e.keys is not None}
        return {**apart, **self.together}

    def open(self, ledger: Ledger) -> "Dataset":
        """Open the data; nothing of a reader's own error is shown."""
        person, untyped = self.person, is_untyped(self.source)
        refused = InvalidArgument(
            f"source {self.source!r} cannot be read. Check that it is whole, that "
            "every line has the columns of its header, and that "
            f"{self.path.name} names their types.",
            code="data-unreachable",
        )
        try:
            found = self._open(person, ledger)
        except OSError as problem:
            if problem.filename:  # the operating system's own words
                raise
            raise refused from None
        except InvalidArgument:
            if untyped:  # what it says may come from a line taken for a header
                raise refused from None
            raise
        except Exception:
            raise refused from None
        if untyped and not set(found.columns) <= set(self.types):
            raise refused
        return found

    def _open(self, person: str | None, ledger: Ledger) -> "Dataset":
        from hush.tables.dataset import open_table

        return open_table(
            self.source,
            unit=person,
            ledger=ledger,
            neighbors=self.neighbors,
            rows=self.rows if person is not None else None,
            name=self.name,
            types=self.declared_types,
        )

    def dataset_without_data(self) -> "Dataset":
        """Return the data set without its data: for plans, which need none."""
        from hush.tables.dataset import open_table

        return open_table(
            stand_in(self.types),
            unit=self.person,
            budget=self.budget,
            neighbors=self.neighbors,
            rows=self.rows if self.person is not None else None,
            name=self.name,
        )


def read(path: Path) -> Config:
    """Read a `hush.toml`, or say what is wrong in it."""
    if not path.is_file():
        raise InvalidArgument(
            f"there is no {str(path)!r}. Write one with `hush init DATA`, or name it "
            "with --config."
        )
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        where = str(problem) if isinstance(problem, tomllib.TOMLDecodeError) else ""
        raise InvalidArgument(f"{path.name} is not TOML: {where}.") from None
    try:
        return _config(path, text)
    except InvalidArgument as problem:
        raise InvalidArgument(f"{path.name}: {problem}", code=problem.code) from None


def _config(path: Path, text: Mapping[str, Any]) -> Config:
    _check_known(text, set(_SECTIONS), "section")
    for name, known in _SECTIONS.items():
        section = text.get(name, {})
        if not isinstance(section, dict):
            raise InvalidArgument(f"[{name}] must be a section.")
        if known is not None:
            _check_known(section, known, f"[{name}] setting")
    data = text.get("data", {})
    source = _path_beside(path, _text(data, "source", "[data]"))
    tables = {
        name: replace(each, source=_path_beside(path, each.source))
        for name, given in text.get("tables", {}).items()
        for each in (Public.of(name, given),)
    }
    for name, other in tables.items():
        if Path(other.source).resolve() == Path(source).resolve():
            raise InvalidArgument(
                f"[tables] {name} is the data itself; only public tables stand there."
            )
    return Config(
        path=path,
        source=source,
        name=_text(data, "name", "[data]"),
        unit=_text(data, "unit", "[data]", empty=True),
        rows=checks.whole("rows", data.get("rows", 10), at_least=1),
        neighbors=_text(data, "neighbors", "[data]", or_else="add-remove"),
        budget=Budget(**text.get("budget", {})),
        ledger=_url(path, _text(text.get("ledger", {}), "url", "[ledger]")),
        columns={n: _column(n, each) for n, each in text.get("columns", {}).items()},
        together={n: _keys(n, each) for n, each in text.get("keys", {}).items()},
        tables=tables,
    )


def _check_known(found: Mapping[str, Any], known: set[str], what: str) -> None:
    for name in sorted(set(found) - known):
        raise InvalidArgument(
            f"the {what} {name!r} is unknown. Known are {', '.join(sorted(known))}."
        )


def _text(
    section: Mapping[str, Any],
    name: str,
    where: str,
    *,
    or_else: str | None = None,
    empty: bool = False,
) -> str:
    value = section.get(name, or_else)
    if not isinstance(value, str) or not (value or empty):
        raise InvalidArgument(f"{where} needs {name}, in quotes.")
    return value


def _path_beside(path: Path, source: str) -> str:
    return source if "://" in source else str(path.parent / source)


def _url(path: Path, url: str) -> str:
    if not url.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise InvalidArgument(
            f"[ledger] url {url!r} must start with sqlite:/// or postgresql://, as in "
            '"sqlite:///budget.db".'
        )
    if not url.startswith("sqlite:///"):
        return url
    return f"sqlite:///{path.parent / url.removeprefix('sqlite:///')}"


def _column(name: str, given: Any) -> Column:
    if not isinstance(given, dict):
        raise InvalidArgument(f"[columns] {name} must be a section of its own.")
    known = {"type", "bounds", "keys", "bins", "whole", "missing"}
    _check_known(given, known, f"setting of the column {name!r}")
    kind, bounds, keys = (given.get(each) for each in ("type", "bounds", "keys"))
    if kind is not None and kind not in DECLARED:
        raise InvalidArgument(
            f"the type of {name!r} must be one of {', '.join(DECLARED)}; got {kind!r}."
        )
    return Column(
        kind,
        _bounds(name, bounds),
        None if keys is None else _keys(name, keys),
        _bins(name, given.get("bins")),
        checks.flag(f"whole of {name!r}", given.get("whole", False)),
        checks.flag(f"missing of {name!r}", given.get("missing", False)),
    )


def _bins(name: str, bins: Any) -> int | None:
    return None if bins is None else checks.whole(f"bins of {name!r}", bins, at_least=1)


def _bounds(name: str, bounds: Any) -> tuple[float, float] | str | None:
    if bounds is None or bounds == "private":
        return bounds  # type: ignore[no-any-return]
    return checks.interval(f"bounds of {name!r}", bounds)


def _keys(name: str, keys: Any) -> Any:
    if keys == "private":
        return keys
    if not isinstance(keys, list) or not keys:
        raise InvalidArgument(
            f'keys of {name!r} must be a list of its public values, or "private".'
        )
    return [tuple(each) if isinstance(each, list) else each for each in keys]


# -- The columns of a source and their types, without reading a single value.

# A file without types of its own: what hush.toml declares, as an Ibis type.
DECLARED = {"number": "float64", "text": "string", "date": "date", "boolean": "boolean"}


_DELIMITED = {".csv": ",", ".tsv": "\t"}
_LINES = (".json", ".jsonl", ".ndjson")
_KNOWN = (".parquet", *_DELIMITED, *_LINES)


def is_untyped(source: str) -> bool:
    """Whether the columns of a source have no types of their own."""
    return _first_file(source).suffix in (*_DELIMITED, *_LINES)


def all_values(source: str) -> bool:
    """Whether a source has no schema at all, so that columns must be declared."""
    return _first_file(source).suffix in _LINES


def _first_file(source: str) -> Path:
    """Return the file that tells the format: the first of a folder or pattern."""
    path = Path(source)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.suffix in _KNOWN)
    elif "*" in source:
        found = sorted(path.parent.glob(path.name))
    else:
        return path
    if not found:
        raise InvalidArgument(f"source {source!r} holds no table.")
    return found[0]


def columns(source: str) -> dict[str, str]:
    """Return the name and the Ibis type of every column.

    Guarantee: of Parquet only the footer is read, of CSV only the first line.
    """
    path = _first_file(source)
    if "://" not in source and path.suffix in _KNOWN:
        if not path.exists():
            raise InvalidArgument(
                f"source {source!r} does not exist. Paths in hush.toml start at its "
                "folder.",
                code="data-unreachable",
            )
        if path.suffix in _LINES:
            raise InvalidArgument(
                f"source {source!r} has no schema to read: JSON is all values. "
                "Declare its columns in hush.toml, or convert it to Parquet."
            )
        return _parquet(path) if path.suffix == ".parquet" else _header(path)
    from hush.tables.engines.sources import source as opened

    found = opened(source).table.schema()
    return {name: str(kind) for name, kind in found.items()}


def _parquet(path: Path) -> dict[str, str]:
    from hush.tables.engines import files

    try:
        found = files.open_files([path.resolve()], "data", {}).schema()
    except InvalidArgument:
        raise InvalidArgument(
            f"source {str(path)!r} is not a Parquet file that can be read.",
            code="data-unreachable",
        ) from None
    return {name: str(kind) for name, kind in found.items()}


def _header(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        names = next(csv.reader(file, delimiter=_DELIMITED[path.suffix]), [])
    if not names or len(set(names)) < len(names) or any(map(_value, names)):
        raise InvalidArgument(
            f"source {str(path)!r} has no header: its first line must name the "
            "columns, each once and none by a number. Add one; until then that line "
            "is data, and nothing of it is shown."
        )
    return dict.fromkeys(names, "string")


def _value(name: str) -> bool:
    """Whether a header's field is rather a value."""
    try:
        float(name)
    except ValueError:
        return not name.strip()
    return True


def stand_in(types: dict[str, str]) -> Any:
    """Return a table of these columns without any rows."""
    from hush.tables.engines import sources

    return sources.plain_table(dict.fromkeys(types, ()), "data", types)
