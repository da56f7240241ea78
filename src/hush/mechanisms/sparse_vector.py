"""Sparse vector: which of many queries exceed a threshold, paying only for those."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, Self, final

from hush import checks, law
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.fork_safety import Owner
from hush.mechanisms import lattice_rounding
from hush.mechanisms.error import Error
from hush.mechanisms.mechanism import Mechanism, observed_turn
from hush.mechanisms.metrics import LInf, Metric
from hush.noise import SECURE, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged

# -- A conversation with a mechanism: one question at a time, and never copied ---------


class OneAtATime:
    """Secret noise and a count that questions share.

    Guarantee: two threads never use the same hit, and no copy begins with the count or
    the noise of the original: none is made, and one that a fork made answers nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = Owner("a conversation")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidArgument(
            "a conversation is never copied or pickled: its copy could be asked once "
            "more with the same noise. Start a new one."
        )


# -- Sparse vector: which of many queries exceed a threshold, paying only for those ----


@final
@tagged("sparse_vector/1")
@dataclass(frozen=True, repr=False)
class SparseVector(Mechanism):
    """Say of each query whether it is above `threshold`, until `hits` of them were.

    Whole-number queries, asked one after another and chosen from earlier answers; the
    threshold gets noise of `scale`, each query noise of 2·hits·scale (hits·scale if
    `monotone`: a neighbor moves all queries the same way). Only yes and no come out.

    Guarantee: ε = 2·sensitivity/scale for the whole conversation, however long.

    Example:
        >>> m = SparseVector.for_epsilon(epsilon=100, threshold=50)
        >>> m.run([3, 4, 90, 95])
        [False, False, True]
        >>> talk = m.start()
        >>> talk.ask(3), talk.ask(90), talk.over
        (False, True, True)
        >>> talk
        <conversation of SparseVector(threshold=50, scale=0.02): 1 of its hits used>

    Reference: [DR14] Algorithm 2; [LSL17] for the monotone case.
    """

    threshold: int
    scale: float | Fraction
    hits: int = 1
    monotone: bool = False

    @property
    def metric(self) -> Metric:
        """The largest move of an answer."""
        return LInf(one_way=self.monotone)

    def __post_init__(self) -> None:
        checks.whole("threshold", self.threshold)
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)
        checks.whole("hits", self.hits, at_least=1)
        lattice_rounding.drawable("the scale of a query's noise", self._query_scale)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @property
    def _query_scale(self) -> Fraction:
        return self._exact * self.hits * (1 if self.monotone else 2)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no query moves by more than `sensitivity`."""
        return Pure(epsilon=at_least(2 * distance(sensitivity) / self._exact))

    @property
    def error(self) -> Error:
        """Law of the noise of one query, the larger of the two noises."""
        return Error(((law.DiscreteLaplace(self._query_scale), Fraction(1)),))

    def start(self, *, source: Source = SECURE) -> "Conversation":
        """Return a fresh conversation with its own noisy threshold."""
        return Conversation(self, source)

    def run(self, value: Iterable[int], *, source: Source = SECURE) -> list[bool]:
        """Return the answers to `value` up to the last hit."""
        talk, answers = self.start(source=source), []
        for each in value:
            if talk.over:
                break
            answers.append(talk.ask(each))
        return answers

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        return cls(scale=at_least(2 * distance(sensitivity) / wanted), **public)


@final
class Conversation(OneAtATime):
    """One run of a sparse vector: questions in, yes or no out."""

    def __init__(self, mechanism: SparseVector, source: Source) -> None:
        super().__init__()
        self._mechanism, self._source = mechanism, source
        noise = discrete_laplace(mechanism._exact, source=source)
        self._bar = mechanism.threshold + int(noise)
        self._left = mechanism.hits

    def __repr__(self) -> str:
        used = self._mechanism.hits - self._left
        return f"<conversation of {self._mechanism!r}: {used} of its hits used>"

    @property
    def over(self) -> bool:
        """Whether every hit has been used."""
        return self._left == 0

    def ask(self, value: int) -> bool:
        """Return whether a whole number, noise included, reaches the threshold."""
        self._owner.check()
        with self._lock:
            if self.over:
                raise InvalidArgument(
                    f"all hits={self._mechanism.hits} are used. A new conversation "
                    "costs as much again; more hits are allowed for by hits=."
                )
            above = bool(self._is_above(value))
            self._left -= above
        return above

    @observed_turn
    def _is_above(self, value: int) -> bool:
        exact = lattice_rounding.whole_number(value)
        self._owner.check()  # a number of one's own class may have forked
        noise = discrete_laplace(self._mechanism._query_scale, source=self._source)
        return bool(exact + int(noise) >= self._bar)
