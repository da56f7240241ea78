"""Two tests side by side are read as databases read them, or refused.

`b = c IS NULL` is (b = c) IS NULL to DuckDB and PostgreSQL, and b = (c IS NULL) to a
parser with other rules. Every pair of operators is put side by side, without
parentheses, and held against DuckDB's own reading.
"""

import itertools

import duckdb
import ibis
import pyarrow
import pytest

from hush.errors import Unsupported
from seams.asking import Asker, Refused
from tables.conftest import DuckDB

INFIX = ["=", "<>", "<", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "AND", "OR"]
POSTFIX = [
    *("IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "IS TRUE", "IS NOT FALSE"),
    *("IN (TRUE)", "NOT IN (TRUE)", "BETWEEN c AND d", "NOT BETWEEN c AND d"),
]
SIGNS = ["+", "-", "*", "/"]
TRUTHS = [True, False, None]
ROWS = list(itertools.product(TRUTHS, TRUTHS, TRUTHS, [1.0, 2.0, None]))


def texts():
    """Return every pair of operators, with and without NOT before it."""
    for one, two in itertools.product(INFIX, POSTFIX):
        yield from (f"b {one} c {two}", f"b {two} {one} c")
    for one, two in itertools.product(INFIX, INFIX):
        yield f"b {one} c {two} d"
    for one, two in itertools.product(POSTFIX, POSTFIX):
        yield f"b {one} {two}"
    for one, two in itertools.product(SIGNS, POSTFIX[:4]):
        yield from (f"x {one} 1 {two}", f"1 < x {one} 1 {two}")
    for one, two in itertools.product(SIGNS, SIGNS):
        yield from (f"7 {one} x {two} 2 > 3", f"7 {one} - x {two} 2 > 3")


def columns():
    kinds = [pyarrow.bool_()] * 3 + [pyarrow.float64()]
    cells = zip(*ROWS, strict=True)
    found = {
        name: pyarrow.array(values, kind)
        for name, values, kind in zip("bcdx", cells, kinds, strict=True)
    }
    return {"u": pyarrow.array(range(len(ROWS))), **found}


@pytest.fixture(scope="module")
def own():
    with duckdb.connect() as connection:
        connection.register("t", pyarrow.table(columns()))
        yield connection


@pytest.fixture(scope="module")
def asker():
    return Asker(DuckDB().table(columns()), rows=1)


def read_as(connection, text):
    """How many rows a text is true of, and is NULL of; None if it cannot be read."""
    try:
        found = connection.execute(
            f"SELECT COUNT(*) FILTER (WHERE {text}), COUNT({text}) FROM t"
        )
    except duckdb.Error:
        return None
    return list(found.fetchone())


def answered(asker, texts):
    """Return the same of texts that hush accepts, all in one release."""
    items = [
        f"COUNT(*) FILTER (WHERE {text}) AS t{i}, COUNT({text}) AS k{i}"
        for i, text in enumerate(texts)
    ]
    text = f"SELECT {', '.join(items)} FROM t"
    got = asker.quietly(lambda: asker.data.sql(text, epsilon=1e6).to_dict())
    assert not isinstance(got, Refused), got
    return {text: [*got[f"t{i}"], *got[f"k{i}"]] for i, text in enumerate(texts)}


def accepted(asker, text):
    try:
        asker.data.where(text)
    except Unsupported:
        return False
    return True


@pytest.mark.parametrize("before", ["", "NOT "])
def test_operators_side_by_side_are_read_as_duckdb_reads_them(own, asker, before):
    found = [before + text for text in texts() if accepted(asker, before + text)]
    known = {text: read_as(own, text) for text in found}
    assert len(found) > 60
    found = [text for text in found if known[text] is not None]
    for start in range(0, len(found), 40):
        for text, got in answered(asker, found[start : start + 40]).items():
            assert got == known[text], text


@pytest.mark.parametrize(
    "text", ["b = c IS NULL", "b <> c IS NOT NULL", "1 < x + 1 IS NULL", "b = c = d"]
)
def test_a_test_of_a_test_needs_parentheses(asker, text):
    with pytest.raises(Unsupported, match="parentheses"):
        asker.data.where(text)
    with pytest.raises(Unsupported, match="parentheses"):
        asker.data.prepare(f"SELECT COUNT_IF({text}) AS n FROM t")
    with pytest.raises(Unsupported, match="parentheses"):
        asker.data.prepare(f"SELECT COUNT(*) AS n FROM t WHERE {text}")


def test_parentheses_say_what_is_meant(own, asker):
    meant = ["(b = c) IS NULL", "b = (c IS NULL)", "(b <> c) IS NOT NULL"]
    got = answered(asker, meant)
    assert got == {text: read_as(own, text) for text in meant}
    assert got[meant[0]] != got[meant[1]]


def test_an_ibis_expression_keeps_its_order(asker):
    query = asker.data.where((ibis._.b == ibis._.c).isnull())
    assert query.steps
