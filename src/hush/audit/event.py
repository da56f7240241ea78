"""The event that tells two data sets apart, chosen on earlier runs alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush.audit.evidence import PASS, RIGHT, WRONG, Guesses, best_stake
from hush.audit.outputs import Floats, Table
from hush.audit.point import Point
from hush.audit.score import Candidate, Score, candidates

_LEVELS = 60
_PRIOR = 60.0  # guesses that are taken as seen, right as often as the claim allows
_HOPE = 0.05  # a violation worth finding, as a share of ε
_TIE = 1.5  # scores whose prospects differ by no more are told apart by all their runs
_UNEVEN = 1.0  # by so much must an event win that guesses one side more often
_NEVER = 1e3
_FOLDS = 3
_FREE = 8  # a score with more free numbers than this is cut on runs of its own


@final
@dataclass(frozen=True)
class Event:
    """Guess "neighbor" above `high`, "data" below `low`, abstain in between."""

    score: Score = field(repr=False)
    point: Point
    low: float
    high: float
    promise: float  # by how many standard errors a test may hope to refute the claim
    stake: float

    def guess(self, table: Table, side: NDArray[np.bool_]) -> tuple[Guesses, Floats]:
        """Return whether each guess is right, wrong or not made, and the scores."""
        found = self.score.of(table)
        return self.judge(found, side), found

    def judge(self, values: Floats, side: NDArray[np.bool_]) -> Guesses:
        """Return whether the guess from each score is right, wrong or not made.

        An infinite threshold is never passed, and NaN is a score like any other: the
        proof counts on how many sides are guessed, and where all runs are guessed.
        """
        values = np.nan_to_num(values)
        up, down = values >= self.high, values <= self.low
        right = np.where(up, side, ~side)
        guesses = np.where(right, RIGHT, WRONG)
        return np.where(up | down, guesses, PASS).astype(np.int64)

    @property
    def sides(self) -> int:
        """How many of the two data sets are ever guessed."""
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def __str__(self) -> str:
        return self.score.words(self.low, self.high)


@final
@dataclass(frozen=True)
class Goal:
    """What an event is chosen for: a test of so many runs at an error rate alpha."""

    offered: Sequence[Point]
    runs: int
    alpha: float


def prospect(
    point: Point, goal: Goal, right: Any, wrong: Any, seen: int, sides: Any
) -> Any:
    """Return by how many standard errors a test may hope to pass the claim.

    `right` and `wrong` guesses were counted in `seen` runs. How often a guess is right
    is taken as a normal number around what was seen, drawn towards the claim where few
    guesses were made: the luckiest of many rare events looks better than it is. The
    result is the normal quantile of the power of the test, averaged over that number.
    """
    made = right + wrong
    mass = (made + 1.0) / (seen + 1.0)
    if point.kind == "accuracy":
        bound: Any = min(point.chance(0.0, 2, 1.0), 1 - 1e-9)
        tests = np.full(np.shape(made), float(goal.runs))
    else:
        tests = goal.runs * mass
        # The least mass that a test of this size would be sure of.
        slack = math.sqrt(-2 * math.log(goal.alpha / 100)) if point.delta else 0.0
        sure = mass if point.kind == "betting" else mass * _sure(slack, tests)
        charge = np.minimum(sides * point.delta / 2 / np.maximum(sure, 1e-300), 1.0)
        lied = special.expit(-point.epsilon) * (1 - charge)
        bound = np.clip(1 - lied, 1e-9, 1 - 1e-9)
    strength = made + _PRIOR
    chance = (right + _PRIOR * bound) / strength
    # Among events that are equally close to the claim, the one with more mass would
    # show a small violation first.
    far = np.log(bound / (1 - bound)) if point.kind == "accuracy" else point.epsilon
    chance = chance + _HOPE * far * bound * (1 - bound)
    spread = np.maximum(chance * (1 - chance), 1 / strength) / strength
    root = np.sqrt(tests / (bound * (1 - bound)))
    # A bet wins with the logarithm of 2/α, a tail with the quantile of α.
    need = -float(special.ndtri(goal.alpha))
    if point.kind == "betting":
        need = math.sqrt(2 * math.log(2 / goal.alpha))
    found = (root * (chance - bound) - need) / np.sqrt(1 + root**2 * spread)
    # Where every guess may be right, nothing can speak against the claim.
    return np.where(bound < 1 - 1e-9, found, -_NEVER)


def _sure(slack: float, tests: Any) -> Any:
    return np.maximum(1 - slack / np.sqrt(np.maximum(tests, 1.0)), 1e-3)


def _thresholds(values: Floats) -> Floats:
    """Return all values where they are few, else quantiles, closer in the tails."""
    distinct = np.unique(values)
    if len(distinct) <= _LEVELS:
        return distinct
    tail = np.geomspace(1 / len(values), 1 / _LEVELS, 8)
    levels = np.concatenate([tail, np.linspace(0, 1, _LEVELS), 1 - tail])
    return np.unique(np.quantile(values, levels, method="nearest"))


def _counts(values: Floats, side: NDArray[np.bool_], cuts: Floats) -> Any:
    """Count s >= t and s <= t on either side (near, far), with a never each."""
    near, far = np.sort(values[side]), np.sort(values[~side])
    found = []
    for each in (near, far):
        found.append(len(each) - np.searchsorted(each, cuts, side="left"))
    for each in (near, far):
        found.append(np.searchsorted(each, cuts, side="right"))
    return [np.append(each, 0) for each in found]


def _best(
    score: Score, values: Floats, side: NDArray[np.bool_], point: Point, goal: Goal
) -> Event:
    """Return the best thresholds on a score."""
    cuts = _thresholds(values)
    up1, up0, down1, down0 = _counts(values, side, cuts)
    seen = len(values)
    if point.kind == "accuracy":
        # Everybody is guessed: neighbor from the cut on, data below it.
        right = up1 + (~side).sum() - up0
        worth = prospect(point, goal, right, seen - right, seen, 2)
        at = int(np.argmax(worth))
        high = cuts[at] if at < len(cuts) else np.inf
        low = np.nextafter(high, -np.inf)
        return Event(score, point, float(low), float(high), float(worth[at]), 0.0)
    right = up1[:, None] + down0[None, :]
    wrong = up0[:, None] + down1[None, :]
    apart = np.append(cuts, np.inf)[:, None] > np.append(cuts, -np.inf)[None, :]
    ends = np.append(np.ones(len(cuts)), 0.0)
    sides = ends[:, None] + ends[None, :]
    worth = prospect(point, goal, right, wrong, seen, sides)
    # Noise is mostly alike on either side: what looks better on one is often luck.
    often = (up1 + up0)[:, None] - (down1 + down0)[None, :]
    even = np.abs(often) == np.min(np.abs(often), axis=1, keepdims=True)
    worth = np.where(apart, worth - np.where(even, 0.0, _UNEVEN), -np.inf)
    i, j = np.unravel_index(int(np.argmax(worth)), worth.shape)
    high = cuts[i] if i < len(cuts) else np.inf
    low = cuts[j] if j < len(cuts) else -np.inf
    charge = float(sides[i, j]) * point.delta / 2
    rates = float(right[i, j]) / seen, float(wrong[i, j] + 1) / seen
    stake = best_stake(*rates, point.epsilon, charge)
    return Event(score, point, float(low), float(high), float(worth[i, j]), stake)


def choose(table: Table, side: NDArray[np.bool_], goal: Goal) -> Event:
    """Return the most promising event.

    Scores are fitted on one third of the runs, thresholds on the second, and the third
    judges; the thirds change places, so that every run judges once.
    """
    fold = np.arange(len(table)) // 4 % _FOLDS
    parts = [_part(table, fold == i) for i in range(_FOLDS)]
    sides = [side[fold == i] for i in range(_FOLDS)]
    tried = [
        _Judged(candidate, point, worth, area)
        for candidate in candidates(table)
        for point, worth, area in _judged(candidate, parts, sides, goal)
    ]
    most = max(each.worth for each in tried)
    luck = 0.1 / math.sqrt(len(table))  # equal areas: what was not fitted wins
    best = max(
        (each for each in tried if each.worth >= most - _TIE),
        key=lambda each: (each.area - luck * (each.candidate.free > 0), each.worth),
    )
    found = _settled(best.candidate, best.point, table, side, goal)
    return replace(found, promise=most)


@final
@dataclass(frozen=True)
class _Judged:
    """A score for a promise: what it may hope for, and the area under its ROC."""

    candidate: Candidate
    point: Point
    worth: float
    area: float


def _judged(
    candidate: Candidate, parts: Any, sides: Any, goal: Goal
) -> list[tuple[Point, float, float]]:
    """Return what each promise of the claim may hope for with this score."""
    right = np.zeros((len(goal.offered), 3))  # right, wrong, sides
    area = 0.0
    for turn in range(_FOLDS):
        fit, cut, judge = (
            (parts[(turn + i) % _FOLDS], sides[(turn + i) % _FOLDS]) for i in range(3)
        )
        score = candidate.fit(*fit)
        values, judged = score.of(cut[0]), score.of(judge[0])
        area += _area(judged, judge[1]) / _FOLDS
        for at, point in enumerate(goal.offered):
            event = _best(score, values, cut[1], point, goal)
            guesses = event.judge(judged, judge[1])
            right[at, 0] += np.sum(guesses == RIGHT)
            right[at, 1] += np.sum(guesses == WRONG)
            right[at, 2] += event.sides / _FOLDS
    seen = sum(map(len, sides))
    return [
        (
            point,
            float(
                prospect(point, goal, right[at, 0], right[at, 1], seen, right[at, 2])
            ),
            area,
        )
        for at, point in enumerate(goal.offered)
    ]


def _area(values: Floats, side: NDArray[np.bool_]) -> float:
    """Return how often a score of the neighbor is larger than one of the data."""
    near, far = np.sort(values[side]), values[~side]
    below = np.searchsorted(near, far, side="left")
    upto = np.searchsorted(near, far, side="right")
    return 1 - float(np.mean(below + upto)) / (2 * max(len(near), 1))


def _settled(
    candidate: Candidate,
    point: Point,
    table: Table,
    side: NDArray[np.bool_],
    goal: Goal,
) -> Event:
    """Fit and cut on all runs; with many free numbers, on half of them each."""
    if candidate.free <= _FREE:
        score = candidate.fit(table, side)
        return _best(score, score.of(table), side, point, goal)
    half = np.arange(len(table)) // 4 % 2 == 0
    score = candidate.fit(_part(table, half), side[half])
    fresh = _part(table, ~half)
    return _best(score, score.of(fresh), side[~half], point, goal)


def _part(table: Table, kept: NDArray[np.bool_]) -> Table:
    return Table(
        table.names,
        table.values[kept],
        table.codes[kept],
        table.size[kept],
        table.words,
    )
