"""The event that tells two data sets apart, chosen on training runs alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.audit.evidence import PASS, RIGHT, WRONG, Guesses, Point, best_stake
from hush.audit.outputs import Floats, Table
from hush.audit.score import Score, scores

_LEVELS = 60
_BETTING = 0.75  # a bet needs about so much more evidence than a binomial tail
_HOPE = 0.05  # a violation worth finding


@final
@dataclass(frozen=True)
class Event:
    """Guess "neighbor" above `high`, "data" below `low`, abstain in between."""

    score: Score = field(repr=False)
    point: Point
    low: float
    high: float
    promise: float  # how many standard errors one run is worth, in training
    stake: float

    def guess(self, table: Table, side: NDArray[np.bool_]) -> tuple[Guesses, Floats]:
        """Return whether each guess is right, wrong or not made, and the scores."""
        found = self.score.of(table)
        return self.judge(found, side), found

    def judge(self, values: Floats, side: NDArray[np.bool_]) -> Guesses:
        """Return whether the guess from each score is right, wrong or not made."""
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


def _thresholds(values: Floats) -> Floats:
    """Return all values where they are few, else quantiles, closer in the tails."""
    distinct = np.unique(values)
    if len(distinct) <= _LEVELS:
        return distinct
    tail = np.geomspace(1 / len(values), 1 / _LEVELS, 8)
    levels = np.concatenate([tail, np.linspace(0, 1, _LEVELS), 1 - tail])
    return np.unique(np.quantile(values, levels, method="nearest"))


def _rates(values: Floats, side: NDArray[np.bool_], cuts: Floats) -> Any:
    """Return P1(s >= t), P0(s >= t), P1(s <= t), P0(s <= t), with a never each."""
    near, far = np.sort(values[side]), np.sort(values[~side])
    found = []
    for each in (near, far):
        found.append(1 - np.searchsorted(each, cuts, side="left") / len(each))
    for each in (near, far):
        found.append(np.searchsorted(each, cuts, side="right") / len(each))
    return [np.append(each, 0.0) for each in found]


def _standard(point: Point, right: Any, wrong: Any, sides: Any) -> Any:
    """Return how many standard errors one run is worth at these rates.

    Right guesses count a little more than they should: among events that are equally
    close to the claim, the one with more mass would show a small violation first.
    """
    if point.kind == "accuracy":
        chance = min(point.chance, 1 - 1e-12)
        return (right - chance) / np.sqrt(chance * (1 - chance))
    rate = np.exp(min(point.epsilon, 300.0))  # its square is still a float
    gain = (1 + _HOPE) * right - rate * wrong - sides * point.delta / 2
    worth = gain / np.sqrt(right + rate**2 * wrong)
    if point.kind == "binomial":
        return worth
    return np.where(worth > 0, worth * _BETTING, worth / _BETTING)


def _best(score: Score, values: Floats, side: NDArray[np.bool_], point: Point) -> Event:
    """Return the best thresholds on a score."""
    cuts = _thresholds(values)
    up1, up0, down1, down0 = _rates(values, side, cuts)
    if point.kind == "accuracy":
        # Everybody is guessed: neighbor from the cut on, data below it.
        worth = _standard(point, (up1 + 1 - up0) / 2, None, 2)
        at = int(np.argmax(worth))
        high = cuts[at] if at < len(cuts) else np.inf
        low = np.nextafter(high, -np.inf)
        return Event(score, point, float(low), float(high), float(worth[at]), 0.0)
    right = (up1[:, None] + down0[None, :]) / 2
    # One wrong guess more than was seen.
    wrong = (up0[:, None] + down1[None, :]) / 2 + 1 / len(values)
    apart = np.append(cuts, np.inf)[:, None] > np.append(cuts, -np.inf)[None, :]
    # There are about 1/m separate events of mass m, and the luckiest of them looks
    # better than it is by about √(2 log 1/m) standard errors.
    mass = np.minimum(right + wrong, 1.0)
    luck = np.sqrt(-2 * np.log(mass) / len(values))
    ends = np.append(np.ones(len(cuts)), 0.0)
    sides = ends[:, None] + ends[None, :]
    worth = _standard(point, right, wrong, sides) - luck
    worth = np.where(apart, worth, -np.inf)
    i, j = np.unravel_index(int(np.argmax(worth)), worth.shape)
    high = cuts[i] if i < len(cuts) else np.inf
    low = cuts[j] if j < len(cuts) else -np.inf
    charge = float(sides[i, j]) * point.delta / 2
    stake = best_stake(float(right[i, j]), float(wrong[i, j]), point.epsilon, charge)
    return Event(score, point, float(low), float(high), float(worth[i, j]), stake)


def choose(table: Table, side: NDArray[np.bool_], offered: Sequence[Point]) -> Event:
    """Return the most promising event.

    Scores are fitted on one third of the training runs, thresholds on the second, and
    the third judges. A score with many free numbers must win clearly: where the truth
    is near the claim all promises are noise, and the simplest score has most power.
    """
    third = np.arange(len(table)) // 4 % 3
    fit, cut, judge = (_part(table, third == i) for i in range(3))
    sides = [side[third == i] for i in range(3)]
    error = 1 / np.sqrt(max(len(judge), 1))
    best: tuple[float, Score, Point] | None = None
    for score in scores(fit, sides[0]):
        values, judged = score.of(cut), score.of(judge)
        for point in offered:
            event = _best(score, values, sides[1], point)
            handicap = score.handicap + (point.kind == "betting")
            worth = _worth(event, judged, sides[2]) - handicap * error
            if best is None or worth > best[0]:
                best = worth, score, point
    assert best is not None  # there is always a size
    kept = slice(None) if best[1].plain else third > 0
    mask = np.zeros(len(table), dtype=bool)
    mask[kept] = True
    fresh = _part(table, mask)
    found = _best(best[1], best[1].of(fresh), side[mask], best[2])
    return replace(found, promise=best[0])


def _worth(event: Event, values: Floats, side: NDArray[np.bool_]) -> float:
    """Return how many standard errors one run is worth, on runs not fitted to."""
    guesses = event.judge(values, side)
    right = float(np.mean(guesses == RIGHT))
    wrong = float(np.mean(guesses == WRONG)) + 1 / len(values)
    return float(_standard(event.point, right, wrong, event.sides))


def _part(table: Table, kept: NDArray[np.bool_]) -> Table:
    return Table(
        table.names,
        table.values[kept],
        table.codes[kept],
        table.size[kept],
        table.words,
    )
