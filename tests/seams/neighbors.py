"""One table, its neighbors by one person, and every source that can hold them."""

import csv
import datetime
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from seams import canary

Row = dict[str, Any]
SECOND = 1_700_000_000  # of every file: it is public when it was written
TYPES = {"u": "number", "x": "number", "k": "number", "b": "boolean", "d": "date"}
SCHEMA = pyarrow.schema(
    {
        "u": pyarrow.int64(),
        "g": pyarrow.string(),
        "x": pyarrow.float64(),
        "k": pyarrow.int64(),
        "b": pyarrow.bool_(),
        "d": pyarrow.date32(),
    }
)
USUAL: Row = {
    "u": 40,
    "g": "a",
    "x": 3.5,
    "k": 2,
    "b": True,
    "d": datetime.date(2024, 2, 29),
}
NOTHING: Row = dict.fromkeys(USUAL)


def _rows() -> list[Row]:
    day = datetime.date(2024, 1, 1)
    return [
        {
            "u": i % 40,
            "g": "abc"[i % 3] if i % 11 else None,
            "x": (i * 7 % 23) / 2 if i % 13 else None,
            "k": i % 5,
            "b": (None, True, False)[i % 3],
            "d": day + datetime.timedelta(days=i * 9),
        }
        for i in range(80)
    ]


ROWS = _rows()


def _person(*rows: Row, **more: Any) -> list[Row]:
    return [*ROWS, *({**USUAL, **row, **more} for row in rows)]


CANARY = {"u": canary.WHOLE, "g": canary.TEXT, "x": canary.REAL, "k": canary.WHOLE}
# One person added, removed or replaced by a person whose record is odd.
NEIGHBORS: dict[str, list[Row]] = {
    "canary": _person(CANARY),
    "usual": _person({}),
    "gone": [row for row in ROWS if row["u"] != 7],
    "nulls": _person(NOTHING),
    "unit only": _person({**NOTHING, "u": 41}),
    "not a number": _person({"x": math.nan, "k": None}),
    "infinite": _person({"x": math.inf}, {"x": -math.inf}),
    "huge": _person({"x": 1.7e308, "k": 2**62, "g": "z" * 5000}),
    "tiny": _person({"x": 5e-324, "k": -(2**62), "u": -(2**62)}),
    "minus zero": _person({"x": -0.0, "k": 0}),
    "odd text": _person({"g": "a\"b'c\\;--\n,\t%s{}"}),
    "spaces": _person({"g": "a "}, {"g": ""}, {"g": " a"}),
    "accents": _person({"g": "é"}, {"g": "e\u0301"}, {"g": "A"}),
    "old and new": _person(
        {"d": datetime.date(1, 1, 1)}, {"d": datetime.date(9999, 12, 31)}
    ),
    "many rows": _person(*[{}] * 400),
    "many keys": _person(*({"g": f"key {i}", "k": i} for i in range(60))),
}


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in SCHEMA.names}


def arrow(rows: list[Row]) -> pyarrow.Table:
    return pyarrow.table(_columns(rows), schema=SCHEMA)


def _dated(path: Path) -> Path:
    os.utime(path, (SECOND, SECOND))
    return path


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _csv(path: Path, rows: list[Row]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SCHEMA.names)
        for row in rows:
            writer.writerow(map(_spelled, row.values()))
    return _dated(path)


def _parquet(path: Path, rows: list[Row]) -> Path:
    parquet.write_table(arrow(rows), path)
    return _dated(path)


def _folder(path: Path, rows: list[Row]) -> Path:
    path.mkdir()
    _parquet(path / "a.parquet", rows[:50])
    _parquet(path / "b.parquet", rows[50:])
    return path


def _duckdb(path: Path, rows: list[Row]) -> str:
    import duckdb

    given = arrow(rows)
    with duckdb.connect(path) as connection:
        connection.register("given", given)
        connection.execute("CREATE TABLE data AS SELECT * FROM given")
    return f"{_dated(path)}/data"


def _pandas(rows: list[Row]) -> Any:
    import pandas

    kinds = {
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    return arrow(rows).to_pandas(types_mapper=kinds.get)


def _polars(rows: list[Row]) -> Any:
    import polars

    return polars.from_arrow(arrow(rows))


Held = Callable[[Path, list[Row]], Any]
SOURCES: dict[str, Held] = {
    "dict": lambda _, rows: _columns(rows),
    "arrow": lambda _, rows: arrow(rows),
    "pandas": lambda _, rows: _pandas(rows),
    "polars": lambda _, rows: _polars(rows),
    "lazy": lambda _, rows: _polars(rows).lazy(),
    "csv": lambda folder, rows: _csv(folder / "data.csv", rows),
    "parquet": lambda folder, rows: _parquet(folder / "data.parquet", rows),
    "folder": lambda folder, rows: _folder(folder / "data", rows),
    "duckdb": lambda folder, rows: _duckdb(folder / "data.duckdb", rows),
}
GIVEN = ("data", "data.csv", "data.parquet", "data.duckdb")  # files that hold the data


def postgres_table(address: str, rows: list[Row]) -> str:
    """Return the address of a table `data` with these rows."""
    import psycopg

    names = ", ".join(SCHEMA.names)
    marks = ", ".join(["%s"] * len(SCHEMA))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS data CASCADE")
        connection.execute(
            "CREATE TABLE data (u bigint, g text, x double precision, k bigint, "
            "b boolean, d date)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO data ({names}) VALUES ({marks})",
                [tuple(row.values()) for row in rows],
            )
    where, _, host = address.partition("?")
    return f"{where}/public.data?{host}"
