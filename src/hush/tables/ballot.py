"""Ballots: the votes for keys that people hold, alone or together with sums over them.

Votes and sums need the same thing of every person: their keys. Where an engine adds
integers up without overflow, one pass over the rows gives what each person holds of
each key, and everything else is worked out from these partial sums. A weight is the
same for all rows of a person, so weight times partial sum is what the rows would add up
to: the integers are those of two separate relations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import ibis
import ibis.expr.types as ir

from hush.tables import bounding, votes
from hush.tables.bounding import Moment
from hush.tables.columns import Columns
from hush.tables.hashes import keyed, nth_smallest
from hush.tables.reading import Key, Reading, Sums, View


@final
@dataclass(frozen=True, eq=False)
class Ballots:
    """Keys somebody holds, in any order, and the votes or people for each: private."""

    keys: Sequence[Key]
    votes: Any


@final
@dataclass(frozen=True)
class Ballot(Reading):
    """Votes for the keys that people hold: weighted, or one per person."""

    unit: str | None
    by: tuple[str, ...]
    cap: int

    def relation(self, view: View) -> ir.Table:
        """One row per key that somebody holds."""
        if self.cap == 1:
            return votes.holders(view.whole, self.unit, self.by)
        return votes.votes(view.whole, self.unit, self.by, cap=self.cap)

    @property
    def column(self) -> str:
        """The column of the votes."""
        return "_people" if self.cap == 1 else "_votes"

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Ballots:
        """Return the keys that have votes: every vote is above 0."""
        rows = rows.filter(rows[self.column] > 0)
        return Ballots(rows.tuples(by), rows[self.column])


@final
@dataclass(frozen=True)
class Poll(Reading):
    """A ballot and sums in one relation; `cut` leaves dropped keys out of the sums."""

    ballot: Ballot
    sums: Sums
    cut: bool

    @property
    def answers(self) -> tuple[Reading, ...]:
        """Both."""
        return self.ballot, self.sums

    def relation(self, view: View) -> ir.Table:
        """One row per key that somebody holds, kept or not."""
        ballot = self.ballot
        by = votes.checked(view.whole, ballot.unit, ballot.by, ballot.cap)
        known = view.whole.filter(view.whole[str(ballot.unit)].notnull())
        table, moments = self.sums.moments(known)
        partial = _partial(table, str(ballot.unit), by, moments)
        people = _people(partial, by, ballot.cap, view.rows, cut=self.cut)
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
        return held.group_by(*by).agg(**columns, **_weighed(held, moments))

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return both answers; `Fetched` asks each of them itself."""
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
    return keyed(0, *(table[name] for name in ("_unit", *by)))


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
        _w=bounding.share(held, rows),
        _vote=votes.vote(people["_keys"], cap),
        _cut=people["_cut"],
    )


def _weighed(held: ir.Table, moments: tuple[Moment, ...]) -> dict[str, Any]:
    """Return the sums of `bounding.sums`, from partial ones."""
    columns: dict[str, Any] = {"_n": (held["_held"] * held["_w"]).sum()}
    for each in moments:
        columns[f"{each.name}_w"] = (held[f"{each.name}_w"] * held["_w"]).sum()
        steps = held[f"{each.name}_s"] * held["_w"]
        columns[f"{each.name}_sum"] = steps.sum().cast("decimal(38, 0)")
    return columns
