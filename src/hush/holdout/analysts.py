"""Analysts that over-fit: what a holdout has to withstand, as objects.

Each talks to a board through `submit` or `ask` alone. They draw from a seeded source:
an attack is a rehearsal, and repeats.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, SupportsFloat, final

import numpy as np
from numpy.typing import NDArray

from hush.noise import Seeded, Source, integers, permutation

Submit = Callable[[NDArray[np.int64]], SupportsFloat]
Ask = Callable[[Callable[[Any], float]], SupportsFloat]


@final
@dataclass(frozen=True)
class Claim:
    """What an analyst believes at the end: its predictions and their reported score."""

    predictions: NDArray[np.int64] = field(repr=False)
    reported: SupportsFloat


@final
class PlainBoard:
    """An ordinary leaderboard: the exact accuracy, as often as anybody likes.

    Example:
        >>> PlainBoard(np.array([0, 1, 1, 1])).submit(np.ones(4))
        0.75
    """

    def __init__(self, labels: Any) -> None:
        self._labels = np.asarray(labels)

    def submit(self, predictions: Any) -> float:
        """Return the share of right predictions."""
        return float(np.mean(np.asarray(predictions) == self._labels))


@final
@dataclass(frozen=True)
class Booster:
    """The leaderboard boosting attack: vote among random guesses that scored well.

    `queries` - 1 random submissions, each turned around if it scored below one half,
    then their majority. Without noise it is reported right in about Φ(√(2k/(πn))) of n
    coin-flip labels after k queries, while the truth stays at one half.

    Example:
        >>> labels = integers(2, 400, source=Seeded(1))
        >>> claim = Booster(queries=200).attack(PlainBoard(labels).submit, 400)
        >>> claim.reported > 0.6
        True

    Reference: [BH15].
    """

    queries: int
    source: Source = field(default_factory=lambda: Seeded(0), repr=False)

    def attack(self, submit: Submit, size: int) -> Claim:
        """Return what `queries` submissions lead to."""
        votes = np.zeros(size, dtype=np.int64)
        for _ in range(self.queries - 1):
            guess = integers(2, size, source=self.source)
            side = 1 if float(submit(guess)) >= 0.5 else -1
            votes += side * (2 * guess - 1)
        final_guess = (votes >= 0).astype(np.int64)
        return Claim(final_guess, submit(final_guess))


@final
@dataclass(frozen=True)
class HillClimber:
    """Change a few predictions at a time and keep what the board likes.

    Example:
        >>> labels = integers(2, 200, source=Seeded(1))
        >>> claim = HillClimber(queries=300).attack(PlainBoard(labels).submit, 200)
        >>> claim.reported > 0.6
        True
    """

    queries: int
    flips: int = 5
    source: Source = field(default_factory=lambda: Seeded(0), repr=False)

    def attack(
        self, submit: Submit, size: int, start: NDArray[np.int64] | None = None
    ) -> Claim:
        """Return the best reported predictions, from `start` or from random ones."""
        guess = integers(2, size, source=self.source) if start is None else start.copy()
        best = submit(guess)
        for _ in range(self.queries - 1):
            moved = guess.copy()
            places = permutation(size, source=self.source)[: self.flips]
            moved[places] = 1 - moved[places]
            found = submit(moved)
            if float(found) > float(best):
                guess, best = moved, found
        return Claim(guess, best)


@final
@dataclass(frozen=True)
class FeatureSelector:
    """Greedy selection: keep features whose correlation holds up on the holdout.

    Features are -1 or 1, labels too. A feature is kept if training and holdout agree on
    the sign of its correlation and both exceed `cutoff`/√n; the rule is the signed vote
    of what is kept, and its accuracy is the last question.

    Example:
        >>> rows = 2 * integers(2, (300, 150), source=Seeded(3)) - 1
        >>> labels = 2 * integers(2, 300, source=Seeded(4)) - 1
        >>> def plain(query):
        ...     return np.mean([query(r) for r in zip(rows[150:], labels[150:])])
        ...
        >>> selector = FeatureSelector(cutoff=0.5)
        >>> float(selector.attack(rows[:150], labels[:150], plain).reported) > 0.6
        True

    Reference: [DFHPRR15].
    """

    cutoff: float = 1.0

    def attack(self, rows: NDArray[Any], labels: NDArray[Any], ask: Ask) -> "Rule":
        """Return the rule found after one question per feature and one at the end.

        `ask` gets queries about records (row, label) with scores in [-1, 1].
        """
        bar = self.cutoff / math.sqrt(len(labels))
        weights = np.zeros(rows.shape[1], dtype=np.int64)
        for j in range(rows.shape[1]):
            own = float(np.mean(rows[:, j] * labels))
            other = float(ask(partial(_product, j)))
            if own * other > 0 and min(abs(own), abs(other)) > bar:
                weights[j] = 1 if other > 0 else -1
        return Rule(weights, ask(lambda record: _is_right(weights, record)))


@final
@dataclass(frozen=True)
class Rule:
    """A signed vote of features, and its reported accuracy."""

    weights: NDArray[np.int64] = field(repr=False)
    reported: SupportsFloat

    def accuracy(self, rows: NDArray[Any], labels: NDArray[Any]) -> float:
        """Return its accuracy on other data."""
        both = zip(rows, labels, strict=True)
        return float(np.mean([_is_right(self.weights, record) for record in both]))


def _product(column: int, record: Any) -> float:
    return float(record[0][column] * record[1])


def _is_right(weights: NDArray[np.int64], record: Any) -> float:
    """Return 1 if the vote has the label's sign; a tie is a vote for 1."""
    row, label = record
    return float((1 if int(row @ weights) >= 0 else -1) == label)
