"""The monitor finds the analyst that over-fits, and its bound holds."""

import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.holdout import monitor
from hush.mechanisms import Exponential
from hush.noise import Seeded, integers
from hush.privacy import Pure

SIZE = 60


def samples(count: int, seed: int) -> list:
    """Each record is 8 fair coins."""
    return [integers(2, (SIZE, 8), source=Seeded(seed + t)) for t in range(count)]


def greedy(sample):
    """Return the column with the most heads: chosen from the sample, without noise."""
    best = int(np.argmax(sample.mean(0)))
    return lambda record: float(record[best])


def blind(sample):
    return lambda record: float(record[0])


def truth(query):
    return 0.5


def test_g_alg2_finds_the_worst_sample():
    given = samples(20, seed=100)
    found = monitor(greedy, given, truth, epsilon=10**6, source=Seeded(1))
    gaps = [sample.mean(0).max() - 0.5 for sample in given]
    assert found.gap == pytest.approx(max(gaps))
    assert found.sample == int(np.argmax(gaps))
    assert not found.flipped


def test_it_tells_a_greedy_analyst_from_a_blind_one():
    # Means over 30 monitors; the greedy one over-fits by more than 3 standard errors.
    def mean(analyst):
        return np.mean(
            [
                monitor(
                    analyst, samples(5, seed=s), truth, epsilon=200, source=Seeded(s)
                ).gap
                for s in range(0, 3000, 100)
            ]
        )

    assert mean(greedy) > mean(blind) + 0.02


def test_the_bound_of_a_private_analyst_holds_on_average():
    epsilon, tiny = 1.0, 1.0
    choose = Exponential.for_epsilon(epsilon=epsilon, sensitivity=1)

    def private(sample):
        best = choose.run(sample.sum(0).astype(float), source=own)
        return lambda record: float(record[best])

    own = Seeded(3)
    found = [
        monitor(
            private,
            samples(4, seed=s),
            truth,
            epsilon=tiny,
            curve=None if s else Pure(epsilon),
            source=Seeded(s),
        )
        for s in range(0, 2000, 100)
    ]
    bound = found[0].bound
    assert bound < np.expm1(epsilon + tiny)  # G.L0.4 as printed is vacuous here
    assert np.mean([each.gap for each in found]) <= bound


def test_without_a_curve_there_is_no_bound_and_bad_samples_are_refused():
    assert monitor(blind, samples(2, seed=1), truth, epsilon=1).bound == 1.0
    with pytest.raises(InvalidArgument, match="same size"):
        monitor(blind, [[[1]], [[1], [0]]], truth, epsilon=1)
    with pytest.raises(InvalidArgument, match="samples"):
        monitor(blind, [], truth, epsilon=1)
