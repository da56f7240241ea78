"""Random expressions over poisoned rows: no engine ever raises (HAZARDS Q1)."""

import math
import random

import pytest

from hush.errors import Unsupported
from hush.tables.engines import engine as engines
from hush.tables.expressions import expression
from tables.expressions.test_expression import poisoned

NUMBERS = ["x", "y", "i", "0", "1", "-3", "0.5", "1e300", "1e-300", "100"]
TEXTS = ["s", "'a'", "''", "'12'"]
DATES = ["d", "e", "ts", "DATE '2024-02-29'"]
BATCH = 15


def number(pick, depth):
    if depth <= 0:
        return pick.choice(NUMBERS)

    def sub():
        return number(pick, depth - pick.randint(1, 2))

    forms = [
        lambda: f"({sub()} {pick.choice('+-*/')} {sub()})",
        lambda: f"({sub()} {pick.choice('+-*/')} {sub()})",
        lambda: f"{pick.choice(['ABS', 'SIGN', 'FLOOR', 'CEIL', 'ROUND'])}({sub()})",
        lambda: f"{pick.choice(['SQRT', 'LN', 'LOG2', 'LOG10', 'EXP'])}({sub()})",
        lambda: f"POWER({sub()}, {pick.randint(-4, 4)})",
        lambda: f"{pick.choice(['LEAST', 'GREATEST'])}({sub()}, {sub()})",
        lambda: f"BIN({sub()}, -5, 100, {pick.randint(1, 9)})",
        lambda: f"WIDTH_BUCKET({sub()}, 0, 1e9, 3)",
        lambda: f"COALESCE({sub()}, {sub()})",
        lambda: f"NULLIF({sub()}, {sub()})",
        lambda: f"CASE WHEN {truth(pick, depth - 1)} THEN {sub()} ELSE {sub()} END",
        lambda: f"CAST({text(pick, depth - 1)} AS {pick.choice(['DOUBLE', 'INT'])})",
        lambda: f"LENGTH({text(pick, depth - 1)})",
        lambda: (
            f"{pick.choice(['YEAR', 'MONTH', 'DAY', 'QUARTER', 'ISODOW'])}"
            f"({date(pick, depth - 1)})"
        ),
        lambda: f"DATE_DIFF('day', {date(pick, depth - 1)}, {date(pick, depth - 1)})",
        lambda: f"(-{sub()})",
    ]
    return pick.choice(forms)()


def text(pick, depth):
    if depth <= 0:
        return pick.choice(TEXTS)
    inner = text(pick, depth - 1)
    return pick.choice(
        [
            f"{pick.choice(['LOWER', 'UPPER', 'TRIM'])}({inner})",
            f"SUBSTRING({inner}, {pick.randint(1, 9)}, {pick.randint(0, 9)})",
            f"LEFT({inner}, {pick.randint(0, 9)})",
            f"COALESCE({inner}, 'z')",
        ]
    )


def date(pick, depth):
    if depth <= 0:
        return pick.choice(DATES)
    unit = pick.choice(["day", "week", "month", "quarter", "year"])
    return pick.choice(
        [
            f"DATE_TRUNC('{unit}', {date(pick, depth - 1)})",
            f"CAST({text(pick, depth - 1)} AS DATE)",
            f"CAST({date(pick, depth - 1)} AS DATE)",
        ]
    )


def truth(pick, depth):
    if depth <= 0:
        return pick.choice(["b", "x > 0", "s = 'a'", "d < e", "x IS NULL"])
    n, m = (number(pick, depth - 1) for _ in range(2))
    one, two = (truth(pick, depth - 2) for _ in range(2))
    return pick.choice(
        [
            f"({n} {pick.choice(['<', '<=', '=', '<>', '>', '>='])} {m})",
            f"({one} {pick.choice(['AND', 'OR'])} {two})",
            f"(NOT {one})",
            f"({n} BETWEEN -1 AND {m})",
            f"({n} IN (1, 2.5, -7))",
            f"({n} IS NOT NULL)",
            f"({text(pick, depth - 1)} LIKE '{pick.choice(['a%', '%a', '%', 'a%c'])}')",
            f"({text(pick, depth - 1)} IN ('a', '12'))",
        ]
    )


def expressions(seed, count):
    pick = random.Random(seed)
    return [
        pick.choice([number, number, number, truth, text, date])(
            pick, pick.randint(1, 3)
        )
        for _ in range(count)
    ]


def fine(value):
    return not isinstance(value, float) or math.isfinite(value)


def run(engine, texts):
    """Run all in batches; return how many there were and how many are refused."""
    table = engine.table(poisoned())
    refused = 0
    values = {}
    for each in texts:
        try:
            values[each] = expression.typed_value(table, each).value
        except Unsupported:
            refused += 1
    names = list(values)
    spark = engine.name == "spark"
    batch = 1 if spark else BATCH  # its time grows faster than a statement
    for start in range(0, len(names), batch):
        some = names[start : start + batch]
        if spark and start % 10 == 0:
            engine.forget()
        asked = table.select(**{f"v{n}": values[t] for n, t in enumerate(some)})
        try:
            found = engines.fetch(asked)
        except Exception as problem:
            raise AssertionError(f"one of {some} raised") from problem
        for n, each in enumerate(some):
            assert all(map(fine, found[f"v{n}"].tolist())), each
    return refused


@pytest.mark.parametrize(
    "count", [80, pytest.param(10_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_no_expression_makes_an_engine_fail(engine, count):
    if engine.name == "spark":
        count //= 20  # the same rules, and each statement takes seconds
    refused = run(engine, expressions(count, count))
    assert refused < count / 4


def test_the_fuzzer_notices_an_unguarded_cast():
    import ibis
    import pyarrow

    class Unguarded:
        name = "duckdb"

        def table(self, columns):
            made = ibis.duckdb.connect().create_table("t", pyarrow.table(columns))
            return made.mutate(x=made.s.cast("float64"))  # fails on a text

    with pytest.raises(AssertionError, match="raised"):
        run(Unguarded(), ["x + 1"])
