"""Simulated adaptive analyses: all intervals of one analysis hold at once.

Labels are coins, so every prediction's population accuracy is known. An analysis misses
if any of its answers does. A holdout that misses with chance 1 - level fails the fast
lane with probability below FALSE_ALARM over the choice of seeds.
"""

import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM
from hush.holdout import Answer, Holdout
from hush.holdout.analysts import Booster, HillClimber, PlainBoard
from hush.noise import Seeded, integers

PEOPLE, QUERIES = 400, 60


class Watched:
    """A board that remembers whether any interval missed one half."""

    def __init__(self, submit):
        self._submit, self.missed, self.worst = submit, False, 0.0

    def submit(self, predictions):
        answer = self._submit(predictions)
        self.missed |= 0.5 not in answer
        self.worst = max(self.worst, abs(answer.value - 0.5) / answer.radius)
        return answer


def analyses(count: int, level: float, board) -> tuple[int, float]:
    """Return the misses of `count` analyses, and the largest error in radii."""
    missed, worst = 0, 0.0
    for seed in range(count):
        labels = integers(2, PEOPLE, source=Seeded(10_000 + seed))
        watched = Watched(board(labels, level, Seeded(20_000 + seed)))
        kind = (Booster, HillClimber)[seed % 2]
        analyst = kind(QUERIES, source=Seeded(30_000 + seed))
        analyst.attack(watched.submit, PEOPLE)
        missed += watched.missed
        worst = max(worst, watched.worst)
    return missed, worst


def private(labels, level, source):
    return Holdout(labels, queries=QUERIES, level=level, source=source).submit


def naive(labels, level, source):
    """The exact accuracy with the interval that holds for questions fixed before."""
    radius = float(np.sqrt(np.log(2 * QUERIES / (1 - level)) / (2 * PEOPLE)))
    plain = PlainBoard(labels)

    def submit(predictions):
        value = plain.submit(predictions)
        return Answer(value, radius, (0.0, 1.0), level, 0, "fixed")

    return submit


def test_forty_analyses_are_covered_and_a_naive_holdout_is_not():
    count, level = 40, 0.8
    allowed = int(stats.binom.isf(FALSE_ALARM, count, 1 - level))
    assert analyses(count, level, private)[0] <= allowed
    assert analyses(count, level, naive)[0] > count // 4


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_coverage_over_500_adaptive_analyses_is_at_least_the_level(level):
    count = 500
    missed, worst = analyses(count, level, private)
    assert missed <= (1 - level) * count
    assert worst > 0.3  # the simulation does stress the interval


def test_splitting_covers():
    # One analysis of three questions, many times: the radius is Hoeffding's, so misses
    # are rarer than 1 - level.
    missed = 0
    for seed in range(60):
        labels = integers(2, 300, source=Seeded(seed))
        holdout = Holdout(labels, queries=3, level=0.8, source=Seeded(500 + seed))
        assert holdout.plan.method == "split"
        guess = integers(2, 300, source=Seeded(900 + seed))
        for _ in range(3):
            answer = holdout.submit(guess)
            missed += 0.5 not in answer
            guess = guess if answer.value > 0.5 else 1 - guess
    assert missed <= int(stats.binom.isf(FALSE_ALARM, 60, 0.2))
