"""Tallies: sums of reports that merge in any order, in streams and in parallel."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.local import randomizer as wire
from hush.local.coins import Bytes
from hush.local.randomizer import Randomizer, Reports


@final
@dataclass(frozen=True, eq=False)
class Tally:
    """The sum of reports: all that an estimate needs; tallies add.

    Example:
        >>> from hush.local import RandomizedResponse
        >>> oracle = RandomizedResponse(epsilon=1, size=4)
        >>> morning = oracle.aggregate(oracle.encode([0, 1, 1]))
        >>> evening = oracle.aggregate(oracle.encode([3, 3]))
        >>> (morning + evening).people
        5
    """

    randomizer: Randomizer
    totals: NDArray[Any]  # whole numbers: sums are exact
    people: int
    rejected: int = 0
    seeded: bool = False

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if other.randomizer != self.randomizer:
            raise InvalidArgument(
                f"tallies must be of one randomizer; these are of {self.randomizer!r} "
                f"and {other.randomizer!r}."
            )
        return Tally(
            self.randomizer,
            self.totals + other.totals,
            self.people + other.people,
            self.rejected + other.rejected,
            self.seeded or other.seeded,
        )


class Collector(Randomizer):
    """A randomizer whose reports are summed before they are read."""

    @abstractmethod
    def _zero(self) -> NDArray[Any]:
        """Return the totals of no reports."""

    @abstractmethod
    def _count(self, rows: Bytes) -> NDArray[Any]:
        """Return the totals of a block of valid reports."""

    @property
    @abstractmethod
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × an estimate."""

    def aggregate(self, reports: Reports) -> Tally:
        """Return the sum of reports; sums of parts add up to that of the whole.

        A row that cannot be a report is counted as rejected, whoever made the rows.
        """
        given = wire.own_reports(self, reports)
        totals, people = self._zero(), 0
        for start, stop in self._blocks(len(given)):
            rows = given.rows[start:stop]
            good = self.valid(rows)
            kept = rows if good.all() else rows[good]
            totals = totals + self._count(kept)
            people += len(kept)
        rejected = given.rejected + len(given) - people
        return Tally(self, totals, people, rejected, given.seeded)

    def _tally(self, reports: Reports | Tally) -> Tally:
        """Return a tally of this randomizer with at least one report."""
        tally = reports if isinstance(reports, Tally) else self.aggregate(reports)
        if tally.randomizer != self:
            raise InvalidArgument(
                f"reports must come from {self!r}; these come from "
                f"{tally.randomizer!r}."
            )
        if tally.people == 0:
            raise wire.none_valid(tally.rejected)
        return tally
