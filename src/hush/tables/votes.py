"""Votes for keys: how much each person speaks for the groups they are in.

A person who holds k distinct keys gives each the vote 1/√k, as an integer number of
2^-20 rounded down. A person with more keys than a public cap keeps those with the
smallest keyed hashes and gives each 1/√cap. Everything depends on that person's keys
and public numbers alone, so one person's votes have ℓ2 ≤ 2^20 over all keys and
removing somebody changes nobody else's votes (docs/proofs/caps.md).

Rows without a unit (NULL) belong to nobody and are dropped. A NULL in a grouping column
is a key like any other, as in GROUP BY.
"""

from typing import Any

import ibis
import ibis.expr.types as ir

from hush import checks
from hush.errors import InvalidArgument
from hush.tables.bounding import UNIT
from hush.tables.hashes import keyed, nth_smallest

_OURS = ("_unit", "_keys", "_heavy", "_hash", "_list", "_cut", "_person", "_w")


def _pairs(table: ir.Table, unit: str, by: tuple[str, ...]) -> ir.Table:
    known = table.filter(table[unit].notnull())
    return known.select(
        _unit=known[unit], **{name: known[name] for name in by}
    ).distinct()


def _cuts(pairs: ir.Table, by: tuple[str, ...], cap: int, salt: int) -> Any:
    """Return how many keys each person holds, and the hash at which theirs are cut."""
    counts = pairs.group_by("_unit").agg(_keys=pairs.count())
    heavy = counts.filter(counts["_keys"] > cap).select(_heavy=counts["_unit"])
    many = pairs.inner_join(heavy, pairs["_unit"] == heavy["_heavy"])
    hashed = many.select(
        "_heavy", _hash=keyed(salt, *(many[c] for c in ("_unit", *by)))
    )
    # Strictly below the next one: equal hashes at the edge are dropped together.
    return counts, nth_smallest(hashed, "_heavy", "_hash", cap + 1)


def _kept(table: ir.Table, unit: str, by: tuple[str, ...], cap: int, salt: int) -> Any:
    """Return distinct (person, key) pairs, at most `cap` of each, and `_keys`."""
    pairs = _pairs(table, unit, by)
    counts, cuts = _cuts(pairs, by, cap, salt)
    people = counts.left_join(cuts, counts["_unit"] == cuts["_heavy"]).select(
        _person=counts["_unit"], _keys=counts["_keys"], _cut=cuts["_cut"]
    )
    joined = pairs.inner_join(people, pairs["_unit"] == people["_person"])
    mine = keyed(salt, *(joined[c] for c in ("_unit", *by)))
    return joined.filter(joined["_cut"].isnull() | (mine < joined["_cut"]))


def kept_pairs(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int, salt: int = 0
) -> ir.Table:
    """Return the keys that each person keeps: at most `cap` rows for each of them.

    Guarantee: which keys a person keeps depends on that person's keys alone.
    """
    by = checked(table, unit, by, cap)
    return _kept(table, unit, by, cap, salt)


def kept_rows(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int = 100, salt: int = 0
) -> ir.Table:
    """Return the rows of the keys that each person keeps: those that `votes` counts.

    Guarantee: a person is in at most `cap` groups, and which ones depends on that
    person's keys alone.
    """
    by = checked(table, unit, by, cap)
    _, cuts = _cuts(_pairs(table, unit, by), by, cap, salt)
    known = table.filter(table[unit].notnull())
    joined = known.left_join(cuts, known[unit] == cuts["_heavy"])
    mine = keyed(salt, *(joined[c] for c in (unit, *by)))
    kept = joined.filter(joined["_cut"].isnull() | (mine < joined["_cut"]))
    return kept.drop("_heavy", "_cut")


def checked(
    table: ir.Table, unit: str | None, by: tuple[str, ...], cap: int
) -> tuple[str, ...]:
    """Return the grouping columns, or refuse what makes no sense."""
    checks.whole("cap", cap, at_least=1, at_most=10**5)
    names = tuple(by)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("by must name at least one grouping column, each once.")
    for name in (*names, *([unit] if unit else [])):
        if name not in table.columns:
            raise InvalidArgument(f"the table has no column {name!r}.")
        if name in _OURS:
            raise InvalidArgument(f"column {name!r} is one of hush's own.")
    return names


def votes(
    table: ir.Table,
    unit: str | None,
    by: tuple[str, ...],
    *,
    cap: int = 100,
    salt: int = 0,
) -> ir.Table:
    """Return one row per key that somebody holds, and its votes `_votes` (int64).

    Guarantee: one person changes at most `cap` keys, by ⌊2^20/√k⌋ each if they keep k,
    so by at most 2^20 in ℓ2; nobody else's votes depend on them.
    """
    by = checked(table, unit, by, cap)
    if unit is None:  # each row is a person with one key
        one = ibis.literal(UNIT, "int64")
        return table.group_by(*by).agg(_votes=(table.count() * one).cast("int64"))
    kept = _kept(table, unit, by, cap, salt)
    weighed = kept.select(*by, _w=vote(kept["_keys"], cap))
    return weighed.group_by(*by).agg(_votes=weighed["_w"].sum().cast("int64"))


def vote(keys: Any, cap: int) -> Any:
    """Return the vote for each key of a person who holds so many: ⌊2^20/√k⌋, k <= cap.

    In floats it is exact: no quotient but whole ones is near a whole number.
    """
    root = ibis.least(keys, cap).cast("float64").sqrt()
    return (ibis.literal(float(UNIT), "float64") / root).floor().cast("int64")


def holders(
    table: ir.Table,
    unit: str | None,
    by: tuple[str, ...],
    *,
    cap: int = 1,
    salt: int = 0,
) -> ir.Table:
    """Return one row per key that somebody holds, and how many people do: `_people`.

    Guarantee: one person changes at most `cap` keys by 1 each.
    """
    by = checked(table, unit, by, cap)
    kept = table if unit is None else _kept(table, unit, by, cap, salt)
    return kept.group_by(*by).agg(_people=kept.count().cast("int64"))
