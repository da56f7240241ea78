"""Keys row by row: a group holds the rows that the engine calls equal to its key.

Public keys of odd values (decimals, floats of 32 bits, padded texts, timestamps, days
at the ends of the calendar) count the rows that hold them, or are refused before
anything is paid for; never do they count nothing in silence. Private keys name every
value.
"""

import collections
import datetime
from decimal import Decimal

import pyarrow
import pytest

import hush
from seams.asking import Asker, Refused, plain
from seams.rows import VALUES, columns, rows, single
from seams.rowwise import held

day, time = datetime.date, datetime.datetime
WIDE = Decimal("12345678901234567890.123456789")
ENDS = {
    "u": pyarrow.array(range(6)),
    "z": pyarrow.array(
        [
            time(1, 1, 1),
            time(9999, 12, 31, 23, 59, 59),
            None,
            time(2024, 1, 1, 0, 0, 1),
            time(9999, 12, 31, 23, 59, 59),
            time(2024, 1, 1, 0, 0, 1),
        ],
        pyarrow.timestamp("us"),
    ),
    "d": pyarrow.array(
        [day(1, 1, 1), day(9999, 12, 31), None, day(1, 1, 1), day(1, 1, 1), None],
        pyarrow.date32(),
    ),
    "wide": pyarrow.array(
        [WIDE, WIDE, None, WIDE, -WIDE, -WIDE], pyarrow.decimal128(38, 9)
    ),
    "whole": pyarrow.array(
        [2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**53 + 1, None], pyarrow.int64()
    ),
    "tiny": pyarrow.array([1, -128, 127, None, 1, 1], pyarrow.int8()),
}
ODD = [
    ("p", [Decimal("0.10"), Decimal("0.20"), None]),
    ("p", [0.1, 0.2]),
    ("p", [1, Decimal("99999999.99")]),
    ("p", [Decimal("0.1"), Decimal("2.500")]),
    ("p", [Decimal("0.105")]),
    ("f", [0.1, 0.25, None]),
    ("f", [single(0.1), single(0.3)]),
    ("f", [-3, 16777216]),
    ("x", [0.1, 0.5, -2.5, None]),
    ("x", [0, 1, 7]),
    ("x", [-0.0]),
    ("x", [1e70, -1e70, 0]),
    ("x", [1e300]),
    ("x", [1e-300, 1e70]),
    ("f", [1e70, -3]),
    ("y", [0.1, 0.2, 10]),
    ("m", [0, 1.0, -1, None]),
    ("m", [0.5]),
    ("m", [2**40]),
    ("n", [2**53 - 1, -(2**40), None]),
    ("n", [Decimal(12)]),
    ("s", ["a", "a ", " a", "A", "", None]),
    ("s", ["é", "e\u0301", "É", "ß", "漢字", "😀a"]),
    ("s", ["it's", "a\tb", "%", "  "]),
    ("b", [True, False, None]),
    ("b", [False]),
    ("d", [day(1, 1, 1), day(9999, 12, 31), None]),
    ("d", ["2024-02-29", "0001-01-02"]),
    ("z", [time(2024, 2, 29), time(2024, 2, 29, 23, 59, 59, 999999), None]),
    ("z", [time(1700, 1, 1), time(2200, 12, 31, 12)]),
    ("z", [day(2024, 2, 29)]),
    ("z", ["2024-02-29"]),
]
AT_ENDS = [
    ("z", [time(9999, 12, 31, 23, 59, 59), time(1, 1, 1)]),
    ("z", [time(2024, 1, 1, 0, 0, 1), None]),
    ("d", [day(1, 1, 1), day(9999, 12, 31), None]),
    ("wide", [WIDE, None]),
    ("wide", [-WIDE, WIDE]),
    ("wide", [1e19]),
    ("whole", [2**53, 2**53 + 1, None]),
    ("whole", [2**63 - 1, -(2**63)]),
    ("whole", [float(2**53)]),
    ("tiny", [1, -128, 127, 128]),
]


def same(key, cell, kind):
    """Whether a cell holds a key, once the key is a value of the column's type."""
    if key is None or cell is None:
        return key is cell
    if pyarrow.types.is_float32(kind):
        return cell == held(single(key))  # beyond 10^±70 all are one
    if pyarrow.types.is_decimal(kind):
        return Decimal(str(key)) == cell
    if pyarrow.types.is_temporal(kind):
        return instant(key) == instant(cell)
    return key == cell


def instant(value):
    if isinstance(value, str):
        value = day.fromisoformat(value)
    return (
        value if isinstance(value, time) else time(value.year, value.month, value.day)
    )


def cell_of(value):
    """Return what a row is grouped by: NaN is NULL, and doubles are held."""
    return held(value) if isinstance(value, float) else value


def ids(case):
    return f"{case[0]}-{case[1]!r}"


def counts(asker, name, keys):
    """Return the counts of public keys in the Python interface, or the refusal."""
    query = asker.data.group_by(name, keys=keys).agg(n=hush.count())
    return query.release(epsilon=1e4)["n"].tolist()


@pytest.fixture(scope="module")
def opened():
    return {}


@pytest.fixture
def asker(engine, opened):
    if engine.name not in opened:
        opened[engine.name] = Asker(engine.table(columns()))
    return opened[engine.name]


@pytest.fixture
def ends(engine, opened):
    if ("ends", engine.name) not in opened:
        opened["ends", engine.name] = Asker(engine.table(ENDS), rows=1)
    return opened["ends", engine.name]


def check_public(asker, name, keys, cells, kind):
    expected = [sum(same(key, cell_of(cell), kind) for cell in cells) for key in keys]
    got = asker.quietly(lambda: counts(asker, name, keys))
    assert isinstance(got, Refused) or got == expected
    return got


@pytest.mark.thin(5)
@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("case", ODD, ids=ids)
def test_a_public_key_counts_the_rows_that_hold_it(asker, case):
    name, keys = case
    check_public(asker, name, keys, [row[name] for row in rows()], VALUES[name][1])


@pytest.mark.thin(2)
@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("case", AT_ENDS, ids=ids)
def test_keys_at_the_ends_of_their_types_count_their_rows(ends, case):
    name, keys = case
    check_public(ends, name, keys, ENDS[name].to_pylist(), ENDS[name].type)


PLAIN = [("s", ["a", "A", ""]), ("m", [0, 1]), ("b", [True, False]), ("x", [0.5])]


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("case", PLAIN, ids=ids)
def test_plain_keys_are_not_refused(asker, case):
    name, keys = case
    cells = [row[name] for row in rows()]
    assert isinstance(check_public(asker, name, keys, cells, VALUES[name][1]), list)


def private_counts(asker, name):
    query = asker.data.group_by(name, keys="private").agg(n=hush.count())
    return query.release(epsilon=1e4, delta=1e-3).to_dict()


def check_private(asker, name, cells):
    expected = collections.Counter(plain(cell_of(cell)) for cell in cells)
    got = asker.quietly(lambda: private_counts(asker, name))
    if not isinstance(got, Refused):
        found = dict(zip(map(plain, got[name]), got["n"], strict=True))
        assert found == expected


@pytest.mark.thin(5)
@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("name", VALUES)
def test_private_keys_name_every_value_of_a_column(asker, name):
    check_private(asker, name, [row[name] for row in rows()])


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("name", ["z", "d", "tiny"])
def test_private_keys_at_the_ends_of_their_types_are_named(ends, name):
    check_private(ends, name, ENDS[name].to_pylist())


PADDED = (
    "CREATE TABLE padded (u int, s char(5), v varchar(5), m money, r real, n numeric)"
)
FILLED = (
    "INSERT INTO padded SELECT i, CASE WHEN i % 3 > 0 THEN 'a' END, 'a ', 1, 0.1, 0.1 "
    "FROM generate_series(1, 30) i"
)


@pytest.fixture(scope="module")
def padded(postgres_engine):
    """A table of PostgreSQL's own types."""
    connection = postgres_engine.connection
    connection.raw_sql(PADDED).close()
    connection.raw_sql(FILLED).close()
    return Asker(connection.table("padded"), rows=1)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    ("name", "keys", "expected"),
    [
        ("s", ["a"], [20]),
        ("s", ["a    ", None], [20, 10]),
        ("s", ["a "], [20]),
        ("s", [" a"], [0]),
        ("v", ["a", "a "], [0, 30]),
        ("r", [0.1], [30]),
        ("n", [0.1], [30]),
        ("n", [Decimal("0.1"), Decimal("0.10")], [30, 30]),
        ("n", [Decimal("0.10")], [30]),
        ("m", [1], [30]),
    ],
)
def test_types_of_postgresql_count_as_it_compares(padded, name, keys, expected):
    got = padded.quietly(lambda: counts(padded, name, keys))
    assert isinstance(got, Refused) or got == expected


def by_spelling(rows, key):
    """A fault on purpose: values are equal when Python prints them alike."""
    return sum(repr(row) == repr(key) for row in rows)


def test_keys_that_are_compared_by_their_spelling_are_caught():
    cells = [row["p"] for row in rows()]
    kind = VALUES["p"][1]
    right = [
        sum(same(key, cell, kind) for cell in cells) for key in (0.1, Decimal("0.1"))
    ]
    wrong = [by_spelling(cells, key) for key in (0.1, Decimal("0.1"))]
    assert right == [2, 2]
    assert wrong == [0, 0]
