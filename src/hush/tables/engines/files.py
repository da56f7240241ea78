"""Files as tables: read in place by an embedded DuckDB that can read nothing else.

The files are listed once, by their real paths; the connection may open these and is
then shut off: no other file, no network, no extension, no setting. A Parquet file
brings its own types. A CSV or JSON file has none, and guessing them from the rows
would let one record decide which questions are refused; so columns are texts unless
`types` declares them, and what does not spell a value of its type is NULL.
"""

import csv
import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis.expr.types as ir

from hush.checks import value_text
from hush.errors import InvalidArgument
from hush.tables.engines import duckdb
from hush.tables.engines.engine import without_engine_text
from hush.tables.expressions.types import (
    date_of_text,
    near_columns,
    number_of_text,
    truth_of_text,
)

PARQUET, DELIMITED, LINES = (
    (".parquet",),
    (".csv", ".tsv"),
    (".json", ".jsonl", ".ndjson"),
)
KNOWN = (*PARQUET, *DELIMITED, *LINES)
_READ = {"number": number_of_text, "date": date_of_text, "boolean": truth_of_text}
TYPES = (*_READ, "text")


def lock(connection: Any, files: Sequence[Path | str] = ()) -> None:
    """Shut an embedded DuckDB off from everything but these files.

    Guarantee: afterwards no statement of this connection can read outside of `files`
    and what was attached before, or undo this.
    """
    allowed = ", ".join(text_literal(str(each)) for each in files)
    for statement in (
        f"SET allowed_paths = [{allowed}]",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.raw_sql(statement)


def text_literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def listed_files(path: str) -> list[Path]:
    """Return the files that a path, a folder or a pattern stands for, sorted."""
    whole = Path(path)
    if whole.is_dir():
        found = [each for each in whole.rglob("*") if each.suffix in KNOWN]
    elif whole.exists():
        found = [whole]
    else:
        found = [Path(each) for each in glob.glob(path, recursive=True)]
    kinds = {each.suffix for each in found}
    if not found:
        raise InvalidArgument(
            f"source {path!r} does not exist, or holds no table.",
            code="data-unreachable",
        )
    if len(kinds) > 1 or not kinds <= set(KNOWN):
        raise InvalidArgument(
            f"source {path!r} must be files of one kind: {', '.join(KNOWN)}."
        )
    return sorted(each.resolve(strict=True) for each in found)


def separator(files: Sequence[Path]) -> str | None:
    """Return what separates the fields of CSV files, which have no other names."""
    if files[0].suffix not in DELIMITED:
        return None
    return "\t" if files[0].suffix == ".tsv" else ","


def open_files(files: Sequence[Path], name: str, types: Mapping[str, str]) -> ir.Table:
    """Return the files as one table of a connection that is shut off."""
    for column, kind in types.items():
        if kind not in TYPES:
            raise InvalidArgument(
                f"types[{column!r}] must be one of {', '.join(TYPES)}; got "
                f"{value_text(kind)}."
            )
    suffix, between = files[0].suffix, separator(files)
    paths = ", ".join(text_literal(str(each)) for each in files)
    if suffix in PARQUET:
        if types:
            raise InvalidArgument("a Parquet file has types of its own: leave types=.")
        reader = f"read_parquet([{paths}], hive_types_autocast = false)"
    elif between is not None:
        names = column_names_of(files, between)
        reader = _csv_query(paths, names, between)
    else:
        names = list(types)
        reader = _json_lines_query(paths, names)
    connection = duckdb.connect()

    def view() -> ir.Table:
        lock(connection, files)
        view = duckdb.identifier(name)
        connection.raw_sql(f"CREATE VIEW {view} AS SELECT * FROM {reader}")
        return duckdb.table(connection, name)

    table = without_engine_text(
        view,
        lambda: InvalidArgument(
            f"the files of {name!r} cannot be read as {suffix}; the engine's own words "
            "are kept back, because they may hold data."
        ),
    )
    return _with_types(table, types) if suffix not in PARQUET else table


def _columns(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"{text_literal(each)}: 'VARCHAR'" for each in names) + "}"


def _csv_query(paths: str, names: Sequence[str], separator: str) -> str:
    # Nothing is detected; a line with too few fields is left out. Strict mode fails on
    # one line that ends as no other does, whatever errors it is told to ignore, and
    # loses all lines after one with text behind a closed quote. Left out is also a line
    # that is not UTF-8, but DuckDB looks only at the columns that a query reads: one
    # would count in one question and not in another. The hash reads them all.
    every = ", ".join(map(duckdb.identifier, names))
    return (
        f"read_csv([{paths}], auto_detect = false, header = true, quote = '\"', "
        f"escape = '\"', delim = {text_literal(separator)}, "
        f"columns = {_columns(names)}, "
        "strict_mode = false, null_padding = false, ignore_errors = true) "
        f"WHERE hash({every}) IS NOT NULL"
    )


def _json_lines_query(paths: str, names: Sequence[str]) -> str:
    if not names:
        raise InvalidArgument(
            "a JSON file does not say which columns it has: give types=, as in "
            "types={'fare': 'number', 'borough': 'text'}."
        )
    return (
        f"read_json([{paths}], auto_detect = false, format = 'newline_delimited', "
        f"columns = {_columns(names)}, ignore_errors = true)"
    )


def _with_types(table: ir.Table, types: Mapping[str, str]) -> ir.Table:
    unknown = [each for each in types if each not in table.columns]
    if unknown:
        near = near_columns(unknown[0], table.columns)
        raise InvalidArgument(
            f"types names {', '.join(unknown)}; {near}", code="unknown-column"
        )
    read = {
        name: _READ[kind](table[name]).value
        for name, kind in types.items()
        if kind in _READ
    }
    return table.mutate(**read) if read else table


# -- The first line of a CSV file: the names of its columns, which are public ----------
#
# A file without such a line begins with data. So no refusal shows what was read.

_SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}


def column_names_of(files: Sequence[Path], separator: str) -> list[str]:
    """Return the names in the first line, which must be the same in all files."""
    lines = {first_line(each, separator) for each in files}
    if len(lines) > 1:
        raise InvalidArgument(
            "every CSV file must start with the same line of column names."
        )
    names, path = list(lines.pop()), files[0].name
    if not names:
        raise InvalidArgument(
            f"{path!r} is empty: its first line must name the columns."
        )
    _check_separator(names, path, separator)
    if any("\ufffd" in each for each in names):
        raise InvalidArgument(
            f"the first line of {path!r} is not UTF-8. Save the file as UTF-8: other "
            "lines that are not would be left out."
        )
    if len(set(names)) < len(names) or any(map(_value, names)):
        raise InvalidArgument(
            f"{path!r} has no header: its first line must name the columns, each once "
            "and none by a number. Add one; until then that line is data, and nothing "
            "of it is shown."
        )
    _told_apart(names, path)
    return names


def first_line(path: Path, separator: str) -> tuple[str, ...]:
    """Return the fields of the first line."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        try:
            return tuple(next(csv.reader(lines, delimiter=separator), ()))
        except csv.Error:  # more than 131 072 letters are no name
            pass
    raise InvalidArgument(
        f"the first line of {path.name!r} has a field that is too long for a name: it "
        "must name the columns."
    )


def _check_separator(names: Sequence[str], path: str, separator: str) -> None:
    """Refuse one column whose name looks like several."""
    others = [each for each in _SEPARATORS if each in names[0] and each != separator]
    if len(names) == 1 and others:
        raise InvalidArgument(
            f"the first line of {path!r} is one column with "
            f"{_SEPARATORS[others[0]]} in its name. Fields must be separated by "
            f"{_SEPARATORS[separator]}: save the file so, with commas as .csv or with "
            "tabs as .tsv."
        )


def _told_apart(names: Sequence[str], path: str) -> None:
    """Refuse names that an engine takes for one; `names.check` would show them."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, start=1):
        first = seen.setdefault(name.casefold(), i)
        if first < i:
            raise InvalidArgument(
                f"columns {first} and {i} of {path!r} have names that differ by case "
                "alone, and engines take them for one. Rename one of them."
            )


def _value(name: str) -> bool:
    """Whether a field is rather a value than a name."""
    try:
        float(name)
    except ValueError:
        return not name.strip()
    return any(map(str.isdigit, name))  # nan and inf may be names
