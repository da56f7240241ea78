"""Truth values in every position mean what SQL says, on every engine.

The oracle is the three-valued logic of SQL, written out below row by row.
"""

import itertools
import random

import ibis
import pytest
import sqlglot
from sqlglot import expressions as sql

from hush.tables.expressions.parse import sql_text
from seams.exact import counted, opened

VALUES = [True, False, None]
ROWS = [
    (b, c)
    for i, (b, c) in enumerate(itertools.product(VALUES, VALUES))
    for _ in range(i + 1)
]


def no(a):
    return None if a is None else not a


def both(a, b):
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def either(a, b):
    return no(both(no(a), no(b)))


def empty(a):
    return a is None


def equal(a, b):
    return None if a is None or b is None else a == b


# SQL, and the same of a row.
CONDITIONS = {
    "b AND c": both,
    "b OR c": either,
    "NOT b": lambda b, _: no(b),
    "NOT (b AND c)": lambda b, c: no(both(b, c)),
    "NOT b OR c": lambda b, c: either(no(b), c),
    "(NOT b) IS NULL": lambda b, _: empty(no(b)),
    "NOT b IS NULL": lambda b, _: no(empty(b)),
    "(b AND c) IS NOT NULL": lambda b, c: no(empty(both(b, c))),
    "(b IS NULL) IS NULL": lambda *_: False,
    "(NOT b) = c": lambda b, c: equal(no(b), c),
    "(b IS NULL) = c": lambda b, c: equal(empty(b), c),
    "(NOT b) IS NULL AND c": lambda b, c: both(empty(no(b)), c),
}


@pytest.fixture
def data(engine):
    b, c = (list(each) for each in zip(*ROWS, strict=True))
    return opened(engine.table({"b": b, "c": c}), name="t")


def rows(meaning, wanted):
    return sum(wanted(meaning(b, c)) for b, c in ROWS)


def test_conditions_count_and_pick_the_rows_that_sql_says(data):
    for text, meaning in CONDITIONS.items():
        known = rows(meaning, lambda v: v is not None)
        true = rows(meaning, lambda v: v is True)
        assert counted(data, f"SELECT COUNT({text}) AS n FROM t") == known, text
        assert counted(data, f"SELECT COUNT(*) AS n FROM t WHERE {text}") == true, text


def test_conditions_group_rows_as_sql_says_and_lose_none(data):
    for text, meaning in CONDITIONS.items():
        by = f"SELECT {text} AS g, COUNT(*) AS n FROM t GROUP BY g"
        found = counted(data, by)
        assert sum(found.values()) == len(ROWS), text
        for value, many in found.items():
            assert many == rows(meaning, lambda v, w=value: v is w), (text, value)


def test_conditions_in_other_aggregates(data):
    asked = {
        "SELECT COUNT(DISTINCT NOT b) AS n FROM t": 2,
        "SELECT COUNT_IF((NOT b) IS NULL) AS n FROM t": rows(
            lambda b, _: empty(no(b)), bool
        ),
        "SELECT COUNT(NOT b) FILTER (WHERE NOT c) AS n FROM t": rows(
            lambda b, c: b is not None and c is False, bool
        ),
        "SELECT SUM(CASE WHEN (NOT b) IS NULL THEN 1 ELSE 0 END) AS n FROM t": rows(
            lambda b, _: b is None, bool
        ),
    }
    for text, right in asked.items():
        assert counted(data, text) == right, text


def test_a_negated_column_of_an_ibis_table_is_one_value(engine):
    b, c = (list(each) for each in zip(*ROWS, strict=True))
    table = engine.table({"b": b, "c": c})
    data = opened(table.mutate(nb=~table.b), name="t")
    empty_rows = rows(lambda b, _: b is None, bool)
    assert counted(data, "SELECT COUNT(*) AS n FROM t WHERE nb IS NULL") == empty_rows
    by = counted(data, "SELECT nb, COUNT(*) AS n FROM t GROUP BY nb")
    assert by[None] == empty_rows
    assert by[True] == rows(lambda b, _: b is False, bool)


@pytest.mark.parametrize(
    ("condition", "meaning"),
    [
        ((~ibis._.b).isnull(), lambda b, _: b is None),
        ((~ibis._.b) == ibis._.c, lambda b, c: equal(no(b), c) is True),
        (~(ibis._.b & ibis._.c), lambda b, c: no(both(b, c)) is True),
    ],
    ids=["null", "equal", "and"],
)
def test_ibis_conditions_are_read_as_they_were_built(condition, meaning):
    b, c = (list(each) for each in zip(*ROWS, strict=True))
    data = opened({"b": b, "c": c}, name="t").where(condition)
    assert counted(data, "SELECT COUNT(*) AS n FROM t") == rows(meaning, bool)


def test_any_tree_is_read_back_from_its_text():
    pick = random.Random(24)

    def tree(depth):
        if depth == 0:
            return sqlglot.parse_one(pick.choice(["a", "b", "1", "-1"]))
        one, two, three = (tree(depth - 1) for _ in range(3))
        return pick.choice(
            [
                sql.Not(this=one),
                sql.Neg(this=one),
                sql.And(this=one, expression=two),
                sql.Or(this=one, expression=two),
                sql.EQ(this=one, expression=two),
                sql.Sub(this=one, expression=two),
                sql.Is(this=one, expression=sql.Null()),
                sql.Between(this=one, low=two, high=three),
            ]
        )

    for _ in range(300):
        built = tree(pick.randrange(1, 4))
        assert bare(sqlglot.parse_one(sql_text(built), dialect="duckdb")) == bare(built)


def bare(node):
    """A tree as nested tuples, without its parentheses."""
    if isinstance(node, sql.Paren):
        return bare(node.this)
    if not isinstance(node, sql.Expression):
        return str(node)
    parts = [bare(each) for each in node.iter_expressions()]
    return type(node).__name__, node.name, *parts


@pytest.mark.parametrize(
    ("condition", "right"),
    [
        ("a >= 'b'", {False: 2, True: 3, None: 1}),
        ("UPPER(a) = 'X'", {False: 3, True: 2, None: 1}),
    ],
)
@pytest.mark.slow_on("spark")
def test_a_comparison_of_texts_may_be_a_group(engine, condition, right):
    table = engine.table({"u": list(range(6)), "a": ["x", "X", "b", "a", None, "yes"]})
    data = opened(table, unit="u", rows=1)
    start = f"FROM {data.name} GROUP BY"
    text = f"SELECT {condition} AS g, COUNT(*) AS n {start} g"
    assert counted(data, text) == right
    assert counted(data, f"SELECT COUNT(*) AS n {start} {condition}") == right
