"""Simulation: valid at every sample size, and unbiased where the bootstrap corrects."""

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.errors import InvalidArgument
from hush.mechanisms import Laplace
from hush.noise import Seeded


def normal(source):
    return np.random.default_rng(source.bits(64)).normal()


@pytest.mark.statistical
def test_a_true_candidate_is_accepted_as_often_as_stated():
    # A clamped, skewed, two-dimensional release of 5 people: no normal law in sight.
    noise = Laplace(scale=0.5)

    def release(theta, source):
        rng = np.random.default_rng(source.bits(64))
        x = np.minimum(rng.exponential(theta, 5), 2.0)
        return noise.run(np.array([x.sum(), (x**2).sum()]), source=source)

    source, accepted = Seeded(1), 0
    for _ in range(400):
        found = inference.confidence_set(
            release(1.0, source),
            candidates=[1.0],
            simulate=release,
            draws=19,
            level=0.9,
            source=source,
        )
        accepted += len(found.accepted)
    # Exactly 0.9 by exchangeability; 318..392 of 400 fails with less than 1e-8.
    assert stats.binom.cdf(317, 400, 0.9) < 1e-8
    assert 318 <= accepted <= 392


def test_sets_report_progress_and_their_range():
    seen = []
    found = inference.confidence_set(
        5.0,
        candidates=[9.0, 1.0, 5.0, 5.5],
        simulate=lambda theta, source: theta + normal(source) / 10,
        draws=99,
        source=Seeded(2),
        progress=lambda done, every: seen.append((done, every)),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.accepted == (5.0,)
    assert found.interval() == (1.0, 5.5)
    none = inference.ConfidenceSet((1.0,), (0.0,), 0.95)
    assert np.isnan(none.interval()).all()
    with pytest.raises(InvalidArgument, match="candidates"):
        inference.confidence_set(5.0, candidates=[], simulate=lambda *_: 0.0)


@pytest.mark.statistical
def test_the_bootstrap_takes_a_bias_off():
    # A square is biased upwards by the variance, 0.25 here.
    def simulate(theta, source):
        return np.sqrt(max(theta, 0)) + normal(source) / 2

    seen = []
    found = inference.bootstrap(
        3.0,
        estimate=lambda z: z**2,
        simulate=simulate,
        draws=4000,
        source=Seeded(3),
        progress=lambda done, _: seen.append(done),
    )
    assert found.raw == 9.0
    # The bias has standard error 3/√4000 = 0.05: 6 of these are 2e-9.
    assert found.value == pytest.approx(8.75, abs=0.3)
    assert found.std == pytest.approx(3.02, abs=0.25)
    assert found.low < 6
    assert found.high > 11
    assert seen[-1] == 4000


def test_a_seed_repeats_a_simulation():
    def run(seed):
        return inference.bootstrap(
            1.0,
            estimate=float,
            simulate=lambda t, source: t + normal(source),
            draws=50,
            source=Seeded(seed),
        )

    assert run(1).draws == run(1).draws
    assert run(1).draws != run(2).draws
