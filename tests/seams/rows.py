"""A table of odd values: what breaks comparisons, casts and keys."""

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow

from seams.rowwise import DATE, NUMBER, TEXT, TIME, TRUTH, Column, Row

INF, NAN = math.inf, math.nan
day, time = datetime.date, datetime.datetime


def single(value: float) -> float:
    """Return the number that a column of 32 bits holds."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


PEOPLE = [
    0,
    0,
    1,
    2,
    2,
    2,
    3,
    4,
    None,
    5,
    6,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    13,
    14,
    15,
    16,
    17,
]
VALUES: dict[str, tuple[str, Any, list[Any]]] = {
    "b": (TRUTH, pyarrow.bool_(), [True, False, None]),
    "c": (TRUTH, pyarrow.bool_(), [True, True, True, False, False, False, None, None]),
    "x": (
        NUMBER,
        pyarrow.float64(),
        [
            0.0,
            -0.0,
            1.0,
            2.5,
            -2.5,
            0.5,
            -0.5,
            1.5,
            0.49999999999999994,
            None,
            NAN,
            INF,
            -INF,
            1e300,
            -1e300,
            1e-300,
            1e70,
            0.1,
            0.3,
            -3.0,
            7.0,
            8.0,
            3.0,
            4503599627370498.0,
        ],
    ),
    "y": (
        NUMBER,
        pyarrow.float64(),
        [1.0, 0.0, 0.1, 0.2, -1.0, 2.0, 3.0, None, 10.0, 1e-70, NAN, 4.0, 5.0],
    ),
    "m": (NUMBER, pyarrow.int32(), [0, 1, 2, 3, -1, None, 7]),
    "n": (
        NUMBER,
        pyarrow.int64(),
        [5, None, -4, 2**53 - 1, 12, 0, 2**31, 3, -(2**40), 100, 1],
    ),
    "f": (
        NUMBER,
        pyarrow.float32(),
        [0.1, 0.25, None, NAN, INF, -3.0, 16777216.0, -0.0, 0.3],
    ),
    "p": (
        NUMBER,
        pyarrow.decimal128(10, 2),
        [
            *map(Decimal, ["0.10", "0.20", "1.00", "-0.01", "99999999.99"]),
            None,
            *map(Decimal, ["0.30", "2.50", "0.00"]),
        ],
    ),
    "s": (
        TEXT,
        pyarrow.string(),
        [
            "a",
            "a ",
            " a",
            "A",
            "",
            None,
            "é",
            "é",
            "É",
            "ab",
            "aba",
            "it's",
            "a\tb",
            "12",
            "%",
            "100%",
            "ß",
            "  ",
            "漢字",
            "😀a",
            "b",
            "B",
            "aé",
        ],
    ),
    "a": (
        TEXT,
        pyarrow.string(),
        ["x", "Yes", "NO", "no ", None, "", "a%b", "zz", "x"],
    ),
    "v": (
        TEXT,
        pyarrow.string(),
        [
            "12",
            "-3.5",
            "1e3",
            "",
            None,
            " 7",
            "7 ",
            "nan",
            "inf",
            "0x1F",
            "1_0",
            "+5",
            ".5",
            "5.",
            "1e30",
            "-",
            "1,5",
            "٣",
            "1e-30",
            "0012",
            "true",
            "2.5",
            "1e",
            "e5",
        ],
    ),
    "w": (
        TEXT,
        pyarrow.string(),
        [
            "2024-02-29",
            "2023-02-29",
            "0001-01-01",
            "9999-12-31",
            "0000-01-01",
            None,
            "",
            "2024-1-1",
            "10000-01-01",
            "2024-01-01 ",
            "2024-12-31",
            "2024/01/01",
            "-001-01-01",
            "1900-02-29",
            "2000-02-29",
            "20240101",
            "2024-13-01",
            "2024-01-01T00:00:00",
        ],
    ),
    "d": (
        DATE,
        pyarrow.date32(),
        [
            day(1, 1, 1),
            day(9999, 12, 31),
            None,
            day(2024, 2, 29),
            day(1969, 12, 31),
            day(1970, 1, 1),
            day(2024, 12, 30),
            day(1582, 10, 10),
            day(1900, 3, 1),
            day(2023, 1, 1),
            day(2024, 12, 29),
            day(1, 1, 2),
            day(9999, 12, 27),
        ],
    ),
    "e": (
        DATE,
        pyarrow.date32(),
        [day(2024, 2, 29), None, day(2024, 3, 1), day(2023, 12, 31)],
    ),
    "z": (
        TIME,
        pyarrow.timestamp("us"),
        [
            time(2024, 2, 29),
            time(2024, 2, 29, 23, 59, 59, 999999),
            None,
            time(1969, 12, 31, 23),
            time(1700, 1, 1),
            time(2200, 12, 31, 12),
            time(1970, 1, 1),
        ],
    ),
}
COLUMNS = {name: Column(kind, name) for name, (kind, _, _) in VALUES.items()}
SIZE = len(PEOPLE)
ROWS = 4  # nobody has more, so nobody is weighed down


def cells(name: str) -> list[Any]:
    """Return a column: its values over and over, each round begins one place later."""
    values = VALUES[name][2]
    return [values[(i + i // len(values)) % len(values)] for i in range(SIZE)]


def columns() -> dict[str, Any]:
    """Return the table as typed columns: the unit, the number of a row, and values."""
    made = {
        "u": pyarrow.array(PEOPLE, pyarrow.int64()),
        "k": pyarrow.array(range(SIZE), pyarrow.int64()),
    }
    for name, (_, kind, _) in VALUES.items():
        made[name] = pyarrow.array(cells(name), kind)
    return made


def rows() -> list[Row]:
    """Return the rows that count: those of somebody, with what their columns hold."""
    table = {
        "u": PEOPLE,
        "k": list(range(SIZE)),
        **{name: cells(name) for name in VALUES},
    }
    found = [
        dict(zip(table, values, strict=True))
        for values in zip(*table.values(), strict=True)
    ]
    for row in found:
        row["f"] = row["f"] if row["f"] is None else single(row["f"])
    return [row for row in found if row["u"] is not None]
