"""Private keys: groups found in the data; one is named if enough people hold it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import ibis.expr.types as ir
import numpy as np

from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.optimal_partition_selection import OptimalKeySelection
from hush.mechanisms.partition_selection import KeySelection, Selected
from hush.noise import SECURE, Source
from hush.privacy import Curve
from hush.serialization import stored_text, tagged
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.relations import QueryResult, Relation, Sums
from hush.tables.bounding.sensitivity import Amount, Key, Limit, Part
from hush.tables.groups import packed_votes, votes
from hush.tables.groups.groups import Groups
from hush.tables.groups.packed_votes import PackedVotes
from hush.tables.groups.votes import Ballot, KeyVotes, VotesWithSums

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
        if packed_votes.can_be_packed(table, self.unit, self.by):
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
        return votes.kept_rows(table, unit, self.by, cap=self.cap)

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
