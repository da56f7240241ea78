"""Votes for keys: how much each person counts for the groups they are in.

A person who holds k distinct keys gives each the vote 1/√k, as an integer number of
2^-20 rounded down. A person with more keys than a public cap keeps those with the
smallest keyed hashes and gives each 1/√cap. Everything depends on that person's keys
and public numbers alone, so one person's votes have ℓ2 ≤ 2^20 over all keys and
removing somebody changes nobody else's votes (docs/proofs/caps.md).

Rows without a unit (NULL) belong to nobody and are dropped. A NULL in a grouping column
is a key like any other, as in GROUP BY.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import ibis
import ibis.expr.types as ir

from hush import checks
from hush.errors import InvalidArgument
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT, Moment
from hush.tables.bounding.contribution_caps import keyed_hash, nth_smallest
from hush.tables.bounding.relations import BoundedRows, Key, Relation, Sums
from hush.tables.engines.columns import Columns

_OURS = ("_unit", "_keys", "_heavy", "_hash", "_list", "_cut", "_person", "_w")


def _pairs(table: ir.Table, unit: str, by: tuple[str, ...]) -> ir.Table:
    known = table.filter(table[unit].notnull())
    return known.select(
        _unit=known[unit], **{name: known[name] for name in by}
    ).distinct()


def _hash_cutoffs(pairs: ir.Table, by: tuple[str, ...], cap: int, salt: int) -> Any:
    """Return how many keys each person holds, and the hash at which theirs are cut."""
    counts = pairs.group_by("_unit").agg(_keys=pairs.count())
    heavy = counts.filter(counts["_keys"] > cap).select(_heavy=counts["_unit"])
    many = pairs.inner_join(heavy, pairs["_unit"] == heavy["_heavy"])
    hashed = many.select(
        "_heavy", _hash=keyed_hash(salt, *(many[c] for c in ("_unit", *by)))
    )
    # Strictly below the next one: equal hashes at the edge are dropped together.
    return counts, nth_smallest(hashed, "_heavy", "_hash", cap + 1)


def _kept_pairs(
    table: ir.Table, unit: str, by: tuple[str, ...], cap: int, salt: int
) -> Any:
    """Return distinct (person, key) pairs, at most `cap` of each, and `_keys`."""
    pairs = _pairs(table, unit, by)
    counts, cuts = _hash_cutoffs(pairs, by, cap, salt)
    people = counts.left_join(cuts, counts["_unit"] == cuts["_heavy"]).select(
        _person=counts["_unit"], _keys=counts["_keys"], _cut=cuts["_cut"]
    )
    joined = pairs.inner_join(people, pairs["_unit"] == people["_person"])
    mine = keyed_hash(salt, *(joined[c] for c in ("_unit", *by)))
    return joined.filter(joined["_cut"].isnull() | (mine < joined["_cut"]))


def kept_pairs(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int, salt: int = 0
) -> ir.Table:
    """Return the keys that each person keeps: at most `cap` rows for each of them.

    Guarantee: which keys a person keeps depends on that person's keys alone.
    """
    by = checked_columns(table, unit, by, cap)
    return _kept_pairs(table, unit, by, cap, salt)


def kept_rows(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int = 100, salt: int = 0
) -> ir.Table:
    """Return the rows of the keys that each person keeps: those that `votes` counts.

    Guarantee: a person is in at most `cap` groups, and which ones depends on that
    person's keys alone.
    """
    by = checked_columns(table, unit, by, cap)
    _, cuts = _hash_cutoffs(_pairs(table, unit, by), by, cap, salt)
    known = table.filter(table[unit].notnull())
    joined = known.left_join(cuts, known[unit] == cuts["_heavy"])
    mine = keyed_hash(salt, *(joined[c] for c in (unit, *by)))
    kept = joined.filter(joined["_cut"].isnull() | (mine < joined["_cut"]))
    return kept.drop("_heavy", "_cut")


def checked_columns(
    table: ir.Table, unit: str | None, by: tuple[str, ...], cap: int
) -> tuple[str, ...]:
    """Return the grouping columns, or refuse what makes no sense."""
    checks.whole("cap", cap, at_least=1, at_most=10**5)
    names = tuple(by)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("by must name at least one grouping column, each once.")
    for name in (*names, *([unit] if unit else [])):
        if name not in table.columns:
            raise InvalidArgument(
                f"the table has no column {name!r}.", code="unknown-column"
            )
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
    by = checked_columns(table, unit, by, cap)
    if unit is None:  # each row is a person with one key
        one = ibis.literal(UNIT, "int64")
        return table.group_by(*by).agg(_votes=(table.count() * one).cast("int64"))
    kept = _kept_pairs(table, unit, by, cap, salt)
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
    by = checked_columns(table, unit, by, cap)
    kept = table if unit is None else _kept_pairs(table, unit, by, cap, salt)
    return kept.group_by(*by).agg(_people=kept.count().cast("int64"))


# --------------------------------------------------------------------------------------
# Votes: those for keys that people hold, alone or together with sums over them.
#
# Votes and sums need the same thing of every person: their keys. Where an engine adds
# integers up without overflow, one pass over the rows gives what each person holds of
# each key, and everything else is worked out from these partial sums. A weight is the
# same for all rows of a person, so weight times partial sum is what the rows would
# add up to: the integers are those of two separate relations.


@final
@dataclass(frozen=True, eq=False)
class KeyVotes:
    """Keys somebody holds, in any order, and the votes or people for each: private."""

    keys: Sequence[Key]
    votes: Any


@final
@dataclass(frozen=True)
class Ballot(Relation):
    """Votes for the keys that people hold: weighted, or one per person."""

    unit: str | None
    by: tuple[str, ...]
    cap: int

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per key that somebody holds."""
        if self.cap == 1:
            return holders(bounded.whole, self.unit, self.by)
        return votes(bounded.whole, self.unit, self.by, cap=self.cap)

    @property
    def column(self) -> str:
        """The column of the votes."""
        return "_people" if self.cap == 1 else "_votes"

    def collect(self, rows: Columns, by: tuple[str, ...]) -> KeyVotes:
        """Return the keys that have votes: every vote is above 0."""
        rows = rows.filter(rows[self.column] > 0)
        return KeyVotes(rows.tuples(by), rows[self.column])


@final
@dataclass(frozen=True)
class VotesWithSums(Relation):
    """A ballot and sums in one relation; `cut` leaves dropped keys out of the sums."""

    ballot: Ballot
    sums: Sums
    cut: bool

    @property
    def answers(self) -> tuple[Relation, ...]:
        """Both."""
        return self.ballot, self.sums

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per key that somebody holds, kept or not."""
        ballot = self.ballot
        by = checked_columns(bounded.whole, ballot.unit, ballot.by, ballot.cap)
        known = bounded.whole.filter(bounded.whole[str(ballot.unit)].notnull())
        table, moments = self.sums.moments(known)
        partial = _partial(table, str(ballot.unit), by, moments)
        people = _people(partial, by, ballot.cap, bounded.rows, cut=self.cut)
        held = partial.inner_join(people, partial["_unit"] == people["_person"])
        one, zero = ibis.literal(1, "int64"), ibis.literal(0, "int64")
        # A case of its own for those without a cut spares their rows the hash.
        stays = ibis.cases(
            (held["_cut"].isnull(), one),
            (_hash(held, by) < held["_cut"], one),
            else_=zero,
        )
        held = held.mutate(_stays=stays)
        weight = held["_w"] * held["_stays"] if self.cut else held["_w"]
        held = held.mutate(_w=weight)
        vote = one if ballot.cap == 1 else held["_vote"]
        columns = {ballot.column: (held["_stays"] * vote).sum().cast("int64")}
        return held.group_by(*by).agg(**columns, **_weighted_sums(held, moments))

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return both answers; `QueryResult` asks each of them itself."""
        return tuple(each.collect(rows, by) for each in self.answers)


def _partial(
    table: ir.Table, unit: str, by: tuple[str, ...], moments: tuple[Moment, ...]
) -> ir.Table:
    """Return what each person holds of each key: rows, rows that count, and steps."""
    one, zero = ibis.literal(1, "int64"), ibis.literal(0, "int64")
    columns: dict[str, Any] = {"_held": table.count()}
    for each in moments:
        columns[f"{each.name}_w"] = ibis.ifelse(each.present, one, zero).sum()
        columns[f"{each.name}_s"] = ibis.ifelse(each.present, each.steps, zero).sum()
    keys = {name: table[name] for name in by}
    return table.group_by(_unit=table[unit], **keys).agg(**columns)


def _hash(table: ir.Table, by: tuple[str, ...]) -> Any:
    return keyed_hash(0, *(table[name] for name in ("_unit", *by)))


def _people(
    partial: ir.Table, by: tuple[str, ...], cap: int, rows: int, *, cut: bool
) -> ir.Table:
    """Return each person's weight of a row, vote for a key, and where keys are cut."""
    counts = partial.group_by("_unit").agg(
        _all=partial["_held"].sum().cast("int64"), _keys=partial.count()
    )
    heavy = counts.filter(counts["_keys"] > cap).select(_heavy=counts["_unit"])
    many = partial.inner_join(heavy, partial["_unit"] == heavy["_heavy"])
    hashed = many.select("_heavy", "_held", _hash=_hash(many, by))
    # Strictly below the next one: equal hashes at the edge are dropped together.
    cuts = nth_smallest(hashed, "_heavy", "_hash", cap + 1)
    if cut:  # rows of dropped keys are dropped, and no longer weigh on the others
        cuts = cuts.rename(_at="_heavy")
        edge = hashed.inner_join(cuts, hashed["_heavy"] == cuts["_at"])
        below = ibis.ifelse(edge["_hash"] < edge["_cut"], edge["_held"], 0)
        cuts = edge.group_by("_heavy", "_cut").agg(_left=below.sum().cast("int64"))
    people = counts.left_join(cuts, counts["_unit"] == cuts["_heavy"])
    held = ibis.coalesce(people["_left"], people["_all"]) if cut else people["_all"]
    return people.select(
        _person=people["_unit"],
        _w=contribution_bounds.row_weight(held, rows),
        _vote=vote(people["_keys"], cap),
        _cut=people["_cut"],
    )


def _weighted_sums(held: ir.Table, moments: tuple[Moment, ...]) -> dict[str, Any]:
    """Return the sums of `bounding.sums`, from partial ones."""
    columns: dict[str, Any] = {"_n": (held["_held"] * held["_w"]).sum()}
    for each in moments:
        columns[f"{each.name}_w"] = (held[f"{each.name}_w"] * held["_w"]).sum()
        steps = held[f"{each.name}_s"] * held["_w"]
        columns[f"{each.name}_sum"] = steps.sum().cast("decimal(38, 0)")
    return columns
