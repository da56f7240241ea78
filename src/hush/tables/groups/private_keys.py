"""Private keys: groups found in the data; one is named if enough people hold it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.optimal_partition_selection import OptimalKeySelection
from hush.mechanisms.partition_selection import KeySelection, Selected
from hush.noise import SECURE, Source
from hush.privacy import Curve
from hush.serialization import stored_text, tagged
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT, Moment
from hush.tables.bounding.contribution_caps import (
    hash_of,
    keyed_hash,
    nth_smallest,
    runs_on_duckdb,
)
from hush.tables.bounding.packing import (
    PERSON,
    Column,
    Ints,
    Keys,
    Layout,
    Packed,
    Range,
    Ranked,
    Rule,
    rank_codes,
)
from hush.tables.bounding.relations import BoundedRows, QueryResult, Relation, Sums
from hush.tables.bounding.sensitivity import Amount, Key, Limit, Part
from hush.tables.engines import engine
from hush.tables.engines.columns import Columns
from hush.tables.groups.groups import Groups

# -- Votes for keys: how much each person speaks for the groups they are in.

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
        "_heavy", _hash=keyed_hash(salt, *(many[c] for c in ("_unit", *by)))
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
    mine = keyed_hash(salt, *(joined[c] for c in ("_unit", *by)))
    return joined.filter(joined["_cut"].isnull() | (mine < joined["_cut"]))


def kept_pairs(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int, salt: int = 0
) -> ir.Table:
    """Return the keys that each person keeps: at most `cap` rows for each of them.

    Guarantee: which keys a person keeps depends on that person's keys alone.
    """
    by = checked_columns(table, unit, by, cap)
    return _kept(table, unit, by, cap, salt)


def kept_rows(
    table: ir.Table, unit: str, by: tuple[str, ...], *, cap: int = 100, salt: int = 0
) -> ir.Table:
    """Return the rows of the keys that each person keeps: those that `votes` counts.

    Guarantee: a person is in at most `cap` groups, and which ones depends on that
    person's keys alone.
    """
    by = checked_columns(table, unit, by, cap)
    _, cuts = _cuts(_pairs(table, unit, by), by, cap, salt)
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
    by = checked_columns(table, unit, by, cap)
    kept = table if unit is None else _kept(table, unit, by, cap, salt)
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
        return held.group_by(*by).agg(**columns, **_weighed(held, moments))

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


def _weighed(held: ir.Table, moments: tuple[Moment, ...]) -> dict[str, Any]:
    """Return the sums of `bounding.sums`, from partial ones."""
    columns: dict[str, Any] = {"_n": (held["_held"] * held["_w"]).sum()}
    for each in moments:
        columns[f"{each.name}_w"] = (held[f"{each.name}_w"] * held["_w"]).sum()
        steps = held[f"{each.name}_s"] * held["_w"]
        columns[f"{each.name}_sum"] = steps.sum().cast("decimal(38, 0)")
    return columns


# -- Packed votes: who holds which key, read as words from an engine in this process.

_PART = 1 << 25  # rows that are sorted at once; more are read in several parts
Tally = tuple[Keys, Ints, Ints]  # keys, their votes, their weighted rows


def can_be_packed(table: ir.Table, unit: str | None, by: tuple[str, ...]) -> bool:
    """Return whether votes can be packed: from public types alone."""
    if unit is None or not runs_on_duckdb(table):
        return False
    kinds = [table[name].type() for name in (unit, *by)]
    return all(kind.is_integer() and not kind.is_uint64() for kind in kinds)


@final
@dataclass(frozen=True)
class PackedVotes(Relation):
    """A ballot, and the rows of each key, from sorted words.

    Guarantee: that of `Words.tallied`. Parts that are read apart hold different people.
    """

    note: ClassVar[str] = (
        "The engine hands over people and keys; they are counted in this process."
    )
    ballot: Ballot
    sums: Sums | None  # of no terms: rows are counted
    cut: bool

    @property
    def answers(self) -> tuple[Relation, ...]:
        """Both."""
        return (self.ballot, self.sums) if self.sums else (self.ballot,)

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per row that is somebody's: the person and the key."""
        ballot = self.ballot
        by = checked_columns(bounded.whole, ballot.unit, ballot.by, ballot.cap)
        known = bounded.whole.filter(bounded.whole[str(ballot.unit)].notnull())
        keys = {name: known[name] for name in by}
        return known.select(known[str(ballot.unit)].cast("int64").name(PERSON), **keys)

    def fetch(self, relation: ir.Table, bounded: BoundedRows) -> Columns:
        """Return one row per key that somebody holds, as `VotesWithSums` does."""
        keys, vote, weighed = self._tally(relation, bounded.rows)
        named = zip(
            self.ballot.by, (each.nullable_values for each in keys), strict=True
        )
        return Columns({**dict(named), self.ballot.column: vote, "_n": weighed})

    def _tally(self, relation: ir.Table, rows: int) -> Tally:
        held, layout = _layout(relation, self.ballot.by)
        rule = Rule(self.ballot.cap, rows, self.cut)
        parts = -(-held // _PART)
        found = [_part(relation, layout, rule, i, parts) for i in range(parts)]
        return _joined(found, len(self.ballot.by))

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return both answers; `QueryResult` asks each of them itself."""
        return tuple(each.collect(rows, by) for each in self.answers)


def _layout(relation: ir.Table, by: tuple[str, ...]) -> tuple[int, Layout]:
    """Return the number of rows, and how they become words."""
    ends: dict[str, Any] = {}
    for name in (PERSON, *by):
        column = relation[name].cast("int64")
        ends |= {f"low {name}": column.min(), f"high {name}": column.max()}
    (found,) = engine.fetch(relation.agg(rows=relation.count(), **ends)).to_pylist()
    ranges = [
        Range(name, found[f"low {name}"] or 0, found[f"high {name}"] or 0)
        for name in (PERSON, *by)
    ]
    rows, packed = found["rows"], Packed(ranges[0], tuple(ranges[1:]))
    return rows, packed if packed.fits(rows) else Ranked(by)


def _part(
    relation: ir.Table, layout: Layout, rule: Rule, part: int, parts: int
) -> Tally:
    """Return the keys of the people of one part."""
    if parts > 1:
        left = hash_of(relation[PERSON]) % ibis.literal(parts, "int64")
        relation = relation.filter(left == ibis.literal(part, "int64"))
    words, decoded = layout.read(relation)
    vote, weighed = words.votes_and_weights(rule)
    held = np.flatnonzero(vote + weighed)
    return decoded(held), vote[held], weighed[held]


def _joined(found: list[Tally], width: int) -> Tally:
    """Add up the parts, key by key."""
    if len(found) == 1:
        return found[0]
    if not found:
        none = np.zeros(0, np.int64)
        return (Column(none, none.astype(np.bool_)),) * width, none, none
    columns = tuple(
        Column(
            np.concatenate([keys[i].values for keys, _, _ in found]),
            np.concatenate([keys[i].null for keys, _, _ in found]),
        )
        for i in range(width)
    )
    code, keys = rank_codes(columns)
    totals = np.zeros((2, len(keys[0].values)), np.int64)
    for total, each in zip(totals, (1, 2), strict=True):
        np.add.at(total, code, np.concatenate([tally[each] for tally in found]))
    return keys, totals[0], totals[1]


# -- The groups: found keys, released before anything about them -----------------------

_UNKNOWN = 1 << 62
_MANY = 8  # parts from which Gaussian noise may serve better: half of δ is left to it


@final
@tagged("tables.naming/1")
@dataclass(frozen=True, repr=False)
class Naming(Mechanism):
    """Name keys by a selection, sorted, so that nothing of the data's order is left.

    Guarantee: the selection's; sorting is post-processing.
    """

    noise: ClassVar[str] = "selection"
    selection: KeySelection | OptimalKeySelection

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        return self.selection.curve(sensitivity)

    @property
    def error(self) -> Any:
        """What the selection says."""
        return self.selection.error

    def run(self, value: KeyVotes, *, source: Source = SECURE) -> list[Key]:
        """Return the named keys in a public order."""
        found = self.selection.run(np.asarray(value.votes, np.int64), source=source)
        places = found.places if isinstance(found, Selected) else found
        return sorted((value.keys[int(i)] for i in places), key=_order)


def _order(key: Key) -> tuple[tuple[bool, str, Any], ...]:
    """Return what sorts keys of any kind: NULL last, then by type and value."""
    return tuple(
        (each is None, type(each).__name__, 0 if each is None else each) for each in key
    )


@final
@stored_text("_Named")
@dataclass(frozen=True, repr=False)
class SelectedKeys(Part):
    """The keys themselves, which are released first."""

    ballot: Ballot

    @property
    def name(self) -> str:
        """What is released."""
        return f"keys of {', '.join(self.ballot.by)}"

    @property
    def relation(self) -> Relation:
        """The ballot."""
        return self.ballot

    def sensitivity(self, norm: int) -> int:
        """Return 1: selections count people."""
        return 1

    def mechanism(self, amount: Amount) -> Mechanism:
        """Refuse: keys are found with an (ε, δ) of their own."""
        raise TypeError(f"keys have no share of {amount!r}")

    def exact(self, found: QueryResult, keys: tuple[Key, ...]) -> KeyVotes:
        """Return keys and votes."""
        ballots: KeyVotes = found[self.ballot]
        return ballots

    def read(self, answer: Any) -> Any:
        """Return the keys."""
        return answer

    def half_width(self, mechanism: Mechanism, level: float) -> float:
        """Return nothing: keys have no error bar."""
        return float("nan")

    def typical_values(self, cell: float, mechanism: Mechanism) -> Any:
        """Return no keys."""
        return []

    def describe(self) -> str:
        """Say what one person can do to it."""
        return f"one person votes for at most {self.ballot.cap} keys."


@final
@dataclass(frozen=True)
class FoundGroups(Groups):
    """Keys found in the data, of which one person holds at most `cap`.

    Guarantee: a key that one person alone holds is named with probability at most δ.
    """

    by: tuple[str, ...]
    cap: int
    unit: str | None
    mode: ClassVar[str] = "private"

    @property
    def keys(self) -> None:
        """They are not known before the release."""
        return

    @property
    def number(self) -> int:
        """Any number."""
        return _UNKNOWN

    @property
    def groups_per_person(self) -> int:
        """The keys that a person keeps."""
        return self.cap

    @property
    def _ballot(self) -> Ballot:
        return Ballot(self.unit, self.by, self.cap)

    def relations(
        self, table: ir.Table, sums: Sums | None, *, cut: bool
    ) -> tuple[Relation, ...]:
        """Return the ballot, and the sums: read once where the engine can."""
        if can_be_packed(table, self.unit, self.by):
            if sums is None or not sums.terms:
                return (PackedVotes(self._ballot, sums, cut),)
            if not cut:
                return (PackedVotes(self._ballot, None, cut), sums)
        if sums and self.unit is not None and contribution_bounds.has_wide_sums(table):
            return (VotesWithSums(self._ballot, sums, cut),)
        return (sums, self._ballot) if sums else (self._ballot,)

    def parts(self, limit: Limit) -> tuple[Part, ...]:
        """Return the keys, which are released first."""
        return (SelectedKeys(self._ballot),)

    def selection(
        self, epsilon: Fraction, delta: float, limit: Limit, parts: int
    ) -> tuple[tuple[Mechanism, ...], Fraction, float]:
        """Return the selection, and what is left for the aggregates.

        It costs as much ε as one more part would.
        """
        if delta == 0:
            raise InvalidArgument(
                'delta must be above 0 for keys="private": release(epsilon=1, '
                "delta=1e-6). A key of one person appears with at most that chance.",
                code="delta-missing",
            )
        own = epsilon / (parts + 1)
        share = delta if parts < _MANY else delta / 2
        rest = 0.0 if parts < _MANY else delta - share
        # One key per person: no rule names keys more often than the optimal one.
        selection: Any = KeySelection if self.cap > 1 else OptimalKeySelection
        found = selection.for_epsilon(
            float(own) * (1 - 1e-12),
            delta=share * (1 - 1e-9),  # room for the rounding of a composition
            keys_per_person=self.cap,
            neighbors=limit.neighbors,
        )
        return (Naming(found),), epsilon - own, rest

    def rows(self, table: ir.Table, unit: str | None) -> ir.Table:
        """Return the rows whose keys a person keeps."""
        if unit is None:
            return table
        return kept_rows(table, unit, self.by, cap=self.cap)

    def place(self, table: ir.Table) -> Any:
        """Refuse: rows are grouped by the columns of their keys."""
        raise TypeError("keys that are found in the data have no places")

    def is_near(self, table: ir.Table) -> bool:
        """Whether rows need no search for their key."""
        return True

    def describe(self, *, cut: bool) -> str:
        """Say what the groups are, and whether rows of others are `cut`."""
        kept = "of who has more, other rows do not count" if cut else "all rows count"
        return (
            f"Groups by {', '.join(self.by)} that enough people are in; one person "
            f"votes for at most {self.cap} of them, and {kept}."
        )
