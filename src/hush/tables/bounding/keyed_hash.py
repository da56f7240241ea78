"""Keyed hashes: a public order of a person's rows that nobody else's rows change.

Which rows or keys of a person are kept is decided by their hashes under a public salt.
Nothing rests on the quality of a hash but the fairness of the sample: equal hashes are
dropped or shared, never exceeded (docs/proofs/caps.md).
"""

from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from hush import checks

_NOTHING = 0x5DEECE66D  # stands for NULL in a hash
_POSITIVE = (1 << 62) - 1


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash64(x: dt.int64) -> dt.uint64:
    """DuckDB's hash as it is."""


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash_text(x: dt.string) -> dt.uint64:
    """DuckDB's hash of a text."""


@ibis.udf.agg.builtin(name="min")  # type: ignore[untyped-decorator]
def smallest(x: dt.int64, n: dt.int32) -> dt.Array[dt.int64]:
    """DuckDB's list of the n smallest, in order."""


def embedded(expression: Any) -> bool:
    """Return whether DuckDB runs an expression; one without data runs nowhere."""
    return _named(expression, "duckdb")


def _named(expression: Any, name: str) -> bool:
    backends, _ = expression._find_backends()
    return any(each.name == name for each in backends)


def hashed(value: Any) -> Any:
    """Return the engine's own hash of one column, never NULL.

    The same value has the same hash wherever it stands.
    """
    kind = value.type()
    whole = kind.is_integer() and not kind.is_uint64()
    if _named(value, "polars"):  # hashes every type, and fails to write some values
        return ibis.coalesce(value.hash().cast("int64"), _NOTHING)
    # No other engine hashes every other type.
    value = value.cast("int64") if whole else value.cast("string")
    if not embedded(value):
        return ibis.coalesce(value.hash().cast("int64"), _NOTHING)
    found = _hash64(value) if whole else _hash_text(value)
    # Ibis would cast every hash twice, by way of a text of bits. The mask keeps the
    # type; a shift would lose it, and words would have 128 bits. NULL has a hash here.
    return (found & ibis.literal(_POSITIVE, "uint64")).cast("int64")


def keyed(salt: int, *values: Any) -> Any:
    """Return the engine's expression for a hash of `values` under a public salt.

    It is mixed column by column: the same row has the same hash wherever it stands and
    whatever else is in the table.
    """
    mixed = ibis.literal(checks.whole("salt", salt, at_least=0, at_most=2**62), "int64")
    for value in values:
        mixed = hashed(mixed ^ hashed(value))
    return mixed


def nth_smallest(table: ir.Table, by: str, column: str, count: int) -> ir.Table:
    """Return `by` and `_cut`, the `count`-th smallest of a column for each of them.

    Everybody in the table must have that many.
    """
    if not embedded(table):
        return nth_of_sorted(table, by, column, count)
    listed = table.group_by(by).agg(_list=smallest(table[column], count))
    return listed.select(by, _cut=listed["_list"][count - 1])


def nth_of_sorted(table: ir.Table, by: str, column: str, count: int) -> ir.Table:
    """Return `nth_smallest` by sorted lists, which serve all engines.

    Ibis has no window functions for Polars, and not every engine a smallest-n
    aggregate.
    """
    listed = table.group_by(by).agg(_list=table[column].collect())
    ordered = listed.mutate(_list=listed["_list"].sort())
    picked = ordered.select(by, _cut=ordered["_list"][count - 1])
    # Grouping once more makes PostgreSQL sort a list once, not for every joined row.
    return picked.group_by(by).agg(_cut=picked["_cut"].max())
