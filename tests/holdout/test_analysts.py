"""Adaptive analysts fool a plain holdout; the Holdout stays inside its interval."""

import math

import numpy as np
import pytest
from scipy import stats

from hush.holdout import Holdout
from hush.holdout.analysts import Booster, FeatureSelector, HillClimber, PlainBoard
from hush.noise import Seeded, bernoulli, integers

PEOPLE, QUERIES = 4000, 600


def coins(size: int, seed: int) -> np.ndarray:
    return integers(2, size, source=Seeded(seed))


def claimed(queries: int, people: int, level: float = 0.95) -> float:
    """The interval that a plain holdout would claim: Hoeffding and Bonferroni."""
    return math.sqrt(math.log(2 * queries / (1 - level)) / (2 * people))


def test_g_use_boosting_fools_a_plain_holdout_and_not_the_private_one():
    labels = coins(PEOPLE, 1)
    plain = Booster(QUERIES, Seeded(2)).attack(PlainBoard(labels).submit, PEOPLE)
    # Coin-flip labels: every prediction is right for half of the population.
    assert float(plain.reported) > 0.5 + 2 * claimed(QUERIES, PEOPLE)
    expected = stats.norm.cdf(math.sqrt(2 * QUERIES / (math.pi * PEOPLE)))
    assert float(plain.reported) == pytest.approx(expected, abs=0.03)

    holdout = Holdout(labels, queries=QUERIES, source=Seeded(3))
    found = Booster(QUERIES, Seeded(2)).attack(holdout.submit, PEOPLE)
    assert 0.5 in found.reported
    assert not found.reported.vacuous
    assert holdout.left == 0
    # What it was led to is also less over-fitted, not only honestly reported.
    board = PlainBoard(labels)
    assert board.submit(found.predictions) < board.submit(plain.predictions) - 0.05


def test_g_use_with_signal_the_true_accuracy_is_kept():
    labels = coins(PEOPLE, 4)
    wrong = bernoulli(0.2, PEOPLE, source=Seeded(5)).astype(bool)
    honest = np.where(wrong, 1 - labels, labels)
    holdout = Holdout(labels, queries=QUERIES, source=Seeded(6))
    Booster(QUERIES // 2, Seeded(7)).attack(holdout.submit, PEOPLE)
    answer = holdout.submit(honest)
    assert 0.8 in answer
    assert answer.interval()[0] > 0.5  # the signal is visible, not only covered
    climbed = HillClimber(QUERIES // 2 - 1, source=Seeded(8)).attack(
        holdout.submit, PEOPLE, start=honest
    )
    truth = np.mean(np.where(climbed.predictions == honest, 0.8, 0.2))
    assert truth in climbed.reported


def test_hill_climbing_fools_a_plain_holdout():
    labels = coins(500, 9)
    plain = HillClimber(400, source=Seeded(1)).attack(PlainBoard(labels).submit, 500)
    assert float(plain.reported) > 0.5 + claimed(400, 500)


@pytest.mark.parametrize("signal", [False, True])
def test_greedy_feature_selection(signal):
    size, wide = 700, 300
    rows = 2 * integers(2, (2 * size, wide), source=Seeded(20)) - 1
    labels = 2 * integers(2, 2 * size, source=Seeded(21)) - 1
    if signal:
        keep = bernoulli(0.5, 2 * size, source=Seeded(22)).astype(bool)
        labels = np.where(keep, rows[:, 0], labels)
    train, kept = (rows[:size], labels[:size]), (rows[size:], labels[size:])

    def plain(query):
        return float(np.mean([query(record) for record in zip(*kept, strict=True)]))

    selector = FeatureSelector(cutoff=0.5)
    fooled = selector.attack(*train, plain)
    holdout = Holdout(kept, queries=wide + 1, score_range=(-1, 1), source=Seeded(23))
    rule = selector.attack(*train, holdout.ask)
    fresh = 2 * integers(2, (4000, wide), source=Seeded(24)) - 1
    other = 2 * integers(2, 4000, source=Seeded(25)) - 1
    if signal:
        again = bernoulli(0.5, 4000, source=Seeded(26)).astype(bool)
        other = np.where(again, fresh[:, 0], other)
    truth = rule.accuracy(fresh, other)
    assert truth - 0.04 <= rule.reported.interval()[1]
    assert truth + 0.04 >= rule.reported.interval()[0]
    if not signal:
        assert float(fooled.reported) - fooled.accuracy(fresh, other) > claimed(
            wide + 1, size
        )
