"""Seals: a keyed order of rows that fill a whole word.

A word has no room for a hash beside a wide row. So the row itself is mixed, with a
person's hash as key, by steps that can be taken back: what comes out orders the rows of
that person as a hash would, and still is the row.

Each step exchanges two halves and mixes one into the other: (a, b) → (b, a xor f(b)).
Whatever f is, (b, c) → (c xor f(b), b) takes it back, so a seal is one to one.
"""

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.types as ir

from hush.tables.hashes import hashed

_HALF = 31
_STEPS = (0x243F6A88, 0x13198A2E, 0x03707344)  # public; they tell the steps apart
BITS = 2 * _HALF


def sealed(table: ir.Table, unit: str, names: Sequence[str], salt: int) -> ir.Table:
    """Return `unit` and columns of sealed numbers, of numbers below 2^62.

    Guarantee: for one person different numbers have different seals.
    """
    table = _halves(table, unit, names, salt)
    for step in _STEPS:
        halves: dict[str, Any] = {}
        for i in range(len(names)):
            high, low = table[f"_h{i}"], table[f"_l{i}"]
            halves |= {f"_h{i}": low, f"_l{i}": high ^ _mixed(table, low, step)}
        table = table.select(unit, "_key", **halves)
    return _joined(table, unit, names)


def opened(table: ir.Table, unit: str, names: Sequence[str], salt: int) -> ir.Table:
    """Return `unit` and columns of the numbers that were sealed; NULL stays NULL."""
    table = _halves(table, unit, names, salt)
    for step in reversed(_STEPS):
        halves: dict[str, Any] = {}
        for i in range(len(names)):
            high, low = table[f"_h{i}"], table[f"_l{i}"]
            halves |= {f"_l{i}": high, f"_h{i}": low ^ _mixed(table, high, step)}
        table = table.select(unit, "_key", **halves)
    return _joined(table, unit, names)


def _halves(table: ir.Table, unit: str, names: Sequence[str], salt: int) -> ir.Table:
    half, mask = ibis.literal(_HALF, "int64"), _mask()
    highs = {f"_h{i}": table[name] >> half for i, name in enumerate(names)}
    lows = {f"_l{i}": table[name] & mask for i, name in enumerate(names)}
    key = hashed(table[unit]) ^ ibis.literal(salt, "int64")
    return table.select(unit, _key=key, **highs, **lows)


def _mixed(table: ir.Table, half: Any, step: int) -> Any:
    return hashed(half ^ table["_key"] ^ ibis.literal(step, "int64")) & _mask()


def _mask() -> Any:
    return ibis.literal((1 << _HALF) - 1, "int64")


def _joined(table: ir.Table, unit: str, names: Sequence[str]) -> ir.Table:
    room = ibis.literal(1 << _HALF, "int64")
    words = {n: table[f"_h{i}"] * room + table[f"_l{i}"] for i, n in enumerate(names)}
    return table.select(unit, **words)
