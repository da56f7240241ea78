"""HAZARDS N5, N6: integers at the limits of their types, and rows in any order."""

import decimal

import numpy as np
import pyarrow
import pytest

import hush

pytestmark = pytest.mark.usefixtures("one_text")
LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def vectors(table, bounds, text="x"):
    data = hush.open(table, unit="u", rows=2, budget=hush.Budget(epsilon=1))
    query = data.group_by("g", keys=["a", "b"]).agg(
        s=hush.sum(text, bounds=bounds),
        v=hush.variance(text, bounds=bounds),
        q=hush.median(text, bounds=bounds),
    )
    found = query.compiled.result()
    return [(p, p.exact(found, query.groups.keys)) for p in query.compiled.parts]


def columns(values, kind):
    n = len(values)
    return {
        "u": pyarrow.array([i // 2 for i in range(n)], pyarrow.int64()),
        "g": pyarrow.array((["a", "b"] * n)[:n], pyarrow.string()),
        "x": pyarrow.array(values, kind),
    }


@pytest.mark.thin(4)
@pytest.mark.parametrize("kind", LIMITS)
def test_whole_numbers_at_the_limits_of_their_types(engine, kind):
    low, high = LIMITS[kind]
    values = [low, high, 0, low, high, high, 1, -1]
    dtype = getattr(pyarrow, kind)()
    bounds = (low, high)
    everybody = vectors(engine.table(columns(values, dtype)), bounds)
    fewer = vectors(engine.table(columns(values[:-2], dtype)), bounds)
    for (part, one), (_, two) in zip(everybody, fewer, strict=True):
        if part.pure:
            continue
        moved = sum(
            abs(int(a) - int(b)) for a, b in zip(one.flat, two.flat, strict=True)
        )
        assert moved <= part.sensitivity(1)


def test_decimals_count_as_numbers(engine):
    values = [decimal.Decimal("123456789.123"), decimal.Decimal("-99999999.999")] * 2
    table = engine.table(columns(values, pyarrow.decimal128(20, 3)))
    part, found = vectors(table, (-1e8, 1e8))[0]
    assert abs(part.read(found).sum() - (2e8 - 2 * 99999999.999)) < 100


def test_any_order_and_any_partition_gives_the_same_integers():
    # HAZARDS N6 (b): permuted 20 times, in chunks, on one to four threads.
    import ibis

    generator = np.random.default_rng(0)
    n = 5000
    base = {
        "u": generator.integers(0, 500, n),
        "g": generator.choice(["a", "b"], n),
        "x": np.concatenate(
            [2.0**52 + np.arange(n // 2), generator.normal(0, 1e-9, n // 2)]
        ),
    }
    seen = set()
    for turn in range(20):
        order = generator.permutation(n)
        table = pyarrow.table({name: column[order] for name, column in base.items()})
        batches = table.to_batches(max_chunksize=int(generator.integers(1, 2048)))
        connection = ibis.duckdb.connect()
        connection.raw_sql(f"SET threads = {turn % 4 + 1}")
        made = connection.create_table("rows", pyarrow.Table.from_batches(batches))
        found = vectors(made, (0, 2.0**53))
        seen.add(tuple(int(v) for p, each in found if not p.pure for v in each.flat))
    assert len(seen) == 1
