"""A query: a deterministic question about data, with a stated sensitivity."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, final

import numpy as np

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument, Unsupported
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.units import Neighbors

Answer = int | Fraction | list[int] | list[Fraction]


@final
@dataclass(frozen=True)
class Query:
    """What is asked of the data, and how far one person can move the answer.

    `exact` returns whole numbers, or fractions no rounding has touched; `moves` are the
    largest moves of its coordinates when one record is added or removed, or
    replaced, whichever `neighbors` says. `finish` turns the noisy coordinates into what
    the user reads, and costs nothing. `default` is the public answer where `exact`
    fails: without one a failure is told, and that is a bit without noise. The moves
    must hold for answers and default together.

    Guarantee: for all neighbors coordinate i moves by at most `moves[i]`; the law-suite
    searches small data sets exhaustively.

    Example:
        >>> from hush.mechanisms import Laplace, count
        >>> release = count() >> Laplace(scale=0.01)
        >>> release.run([7, 8, 9]), release.curve(1).epsilon_at(0)
        (3, 100.0)
    """

    name: str
    exact: Callable[[Any], Answer] = field(repr=False)
    moves: tuple[int | Fraction, ...]
    neighbors: Neighbors
    finish: Callable[[Any], Any] | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = None
    default: Answer | None = None
    unit: ClassVar[str] = "row"  # one record is one person, as in a table without unit

    def __post_init__(self) -> None:
        if not callable(self.exact):
            raise InvalidArgument(
                f"exact must be a function of the data; got a "
                f"{type(self.exact).__name__}."
            )
        object.__setattr__(self, "moves", _exact_moves(self.moves))
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))

    def __repr__(self) -> str:
        # Receipts of before defaults hold this text, and keys are known by it.
        default = "" if self.default is None else f", default={self.default!r}"
        return (
            f"Query(name={self.name!r}, moves={self.moves!r}, "
            f"neighbors={self.neighbors!r}, bounds={self.bounds!r}{default})"
        )

    def __str__(self) -> str:
        bounds = f"bounds={self.bounds}, " if self.bounds else ""
        return f"{self.name}({bounds}neighbors={str(self.neighbors)!r})"

    @property
    def whole(self) -> bool:
        """Whether all answers are whole numbers."""
        return all(isinstance(each, int) for each in self.moves)

    def sensitivity(self, norm: Literal[1, 2] = 1) -> int | float | Fraction:
        """Return the ℓ1 or ℓ2 distance between answers about neighbors."""
        if norm == 1 or len(self.moves) == 1:
            total: int | Fraction = sum(self.moves)
            return total
        # A float rounded up covers the root of a sum of squares.
        return math.sqrt(float(sum(m * m for m in self.moves))) * (1 + 2.0**-50)

    def __call__(self, data: Any) -> Answer:
        """Return the exact answer: private, for a mechanism only."""
        try:
            return self.exact(data)
        except (Exception, SystemExit):
            if self.default is None:
                raise
            return self.default

    def __rshift__(self, mechanism: Mechanism) -> "Released":
        if not isinstance(mechanism, Mechanism):
            return NotImplemented
        return Released(self, mechanism)


def _exact_moves(moves: Any) -> tuple[int | Fraction, ...]:
    """Return moves as exact numbers; negative ones and none at all are refused."""
    if not isinstance(moves, (tuple, list)) or not moves:
        raise InvalidArgument(
            "moves must say how far one person moves each number of the answer, as "
            f"in (1,) or (1, Fraction(1, 2)); got {checks.value_text(moves)}."
        )
    for each in moves:
        checks.real("moves", each, at_least=0)
    found = (checks.plain_number(each) for each in moves)
    return tuple(x if type(x) is int else Fraction(x) for x in found)


@final
@dataclass(frozen=True, repr=False)
class Released(Mechanism):
    """A query and the additive mechanism that answers it: `query >> mechanism`.

    The distance of `curve` is people, and the neighbors are the query's.

    Guarantee: the mechanism's curve at the query's sensitivity in its norm.

    Example:
        >>> from hush.mechanisms import Laplace, mean
        >>> ages = mean(bounds=(0, 100), size=4, neighbors="replace-one")
        >>> release = ages >> Laplace(scale=25.0)
        >>> round(release.curve(1).epsilon_at(0), 6)
        1.0
        >>> print(release)
        mean(bounds=(0.0, 100.0), neighbors='replace-one') >> Laplace(scale=25.0)
    """

    query: Query
    mechanism: Mechanism

    @property
    def neighbors(self) -> Neighbors:
        """The relation of the query: an account keeps to one."""
        return self.query.neighbors

    @property
    def unit(self) -> str:
        """What the query protects: an account keeps to one."""
        return self.query.unit

    def __post_init__(self) -> None:
        inner, metric = self.mechanism, self.mechanism.metric
        # Only what reads people knows how they differ.
        if metric.reads != "an answer":
            what = "its scores" if metric.reads == "scores" else "the data"
            raise InvalidArgument(
                f"{type(inner).__name__} adds no noise to an answer: run it on {what}, "
                "or give a ledger None as the query."
            )
        several = len(self.query.moves)
        if several > 1 and not inner.answers_vectors:
            raise InvalidArgument(
                f"{self.query.name} has {several} coordinates; use "
                f"Laplace or Gaussian, not {type(inner).__name__}."
            )

    def __str__(self) -> str:
        return f"{self.query} >> {self.mechanism}"

    @property
    def _bound(self) -> Mechanism:
        """The mechanism on the lattice that the query's answers use."""
        return self.mechanism.for_answers(whole=self.query.whole)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        inner, query = self._bound, self.query
        moved = query.sensitivity(2 if inner.metric.norm == 2 else 1)
        return inner.answer_curve(
            moved * distance(sensitivity),
            dimension=len(query.moves),
            whole=query.whole,
        )

    def inner_move(self, people: Any) -> Any:
        """Return how far `people` move the answer, in the mechanism's norm."""
        norm: Literal[1, 2] = 2 if self.mechanism.metric.norm == 2 else 1
        return self.query.sensitivity(norm) * people

    @property
    def error(self) -> Any:
        """Law of the noise on the answer."""
        if self.query.finish is not None:
            raise Unsupported(
                f"the error of {self.query.name} under {self.query.neighbors} depends "
                "on the data; read mechanism.error for its parts, or make size public."
            )
        return self._bound.error

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return the private answer about data."""
        exact: Any = self.query(value)
        inner = self._bound
        if np.size(exact) > len(self.query.moves):
            raise InvalidArgument(
                f"{self.query.name} must have one of moves for each number that it "
                "returns: more were returned than are charged."
            )
        noisy = inner.run_answer(exact, whole=self.query.whole, source=source)
        return noisy if self.query.finish is None else self.query.finish(noisy)
