"""Expected totals and shares of noisy numbers of people, against enumeration."""

import math

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.errors import InvalidArgument
from hush.mechanisms import Geometric, Laplace

NOISE = Geometric(scale=2)


def poisson_tail(z, mean, most=1.0):
    """Return P(most·X + N > z) + P(=)/2, X Poisson, N the noise."""
    x = np.arange(stats.poisson.ppf(1 - 1e-14, mean / most) + 1)
    law = NOISE.error.law
    away = z - most * x
    strictly = np.exp(law.log_survival(np.floor(away)))
    equal = np.where(away == np.floor(away), law.pmf(np.floor(away)), 0.0)
    return float(stats.poisson.pmf(x, mean / most) @ (strictly + equal / 2))


@pytest.mark.parametrize("z", [-3, 0, 4, 250])
@pytest.mark.parametrize("most", [1.0, 3.0])
def test_ends_of_an_expected_total_invert_the_tests(z, most):
    low, high = inference.total_interval(z, mechanism=NOISE, most=most)
    assert 0 <= low <= high
    if low > 0:
        assert poisson_tail(z, low, most) == pytest.approx(0.025, rel=1e-4)
    if high > 0:
        assert poisson_tail(z, high, most) == pytest.approx(0.975, rel=1e-5)


@pytest.mark.parametrize("mean", [0.5, 3.0, 40.0])
def test_an_expected_total_is_covered(mean):
    # Exactly, by enumeration: the middle of an atom is not exact, only nearly.
    far = 40
    x = np.arange(stats.poisson.ppf(1 - 1e-12, mean) + 1)
    law = np.convolve(
        stats.poisson.pmf(x, mean), NOISE.error.law.pmf(np.arange(-far, far + 1))
    )
    hit = 0.0
    for i, chance in enumerate(law):
        if chance > 1e-9:
            low, high = inference.total_interval(i - far, mechanism=NOISE)
            hit += chance * (low <= mean <= high)
    assert hit == pytest.approx(0.95, abs=0.012)


def test_units_scale_a_total():
    plain = inference.total_interval(64, mechanism=NOISE)
    scaled = inference.total_interval(64 / 8, mechanism=NOISE, unit=1 / 8, most=1 / 8)
    assert tuple(scaled) == pytest.approx([each / 8 for each in plain])
    wider = inference.total_interval(64, mechanism=NOISE, most=10.0)
    assert wider.low < plain.low
    assert wider.high > plain.high
    with pytest.raises(InvalidArgument, match="most"):
        inference.total_interval(64, mechanism=NOISE, most=0.0)


@pytest.mark.parametrize(("hits", "people"), [(0, 50), (3, 60), (480, 1000)])
def test_a_silent_number_of_people_is_a_public_one(hits, people):
    silent = Geometric(scale=0.02)
    found = inference.proportion_from_counts(
        hits, people, mechanism=NOISE, people_mechanism=silent
    )
    public = inference.proportion_interval(hits, n=people, mechanism=NOISE, tie=0.5)
    assert tuple(found) == pytest.approx(tuple(public), abs=1e-6)


def test_a_noisy_number_of_people_widens():
    loud = Geometric(scale=20)
    quiet = inference.proportion_from_counts(
        500, 1000, mechanism=NOISE, people_mechanism=NOISE
    )
    wide = inference.proportion_from_counts(
        500, 1000, mechanism=NOISE, people_mechanism=loud
    )
    assert wide.high - wide.low > 1.3 * (quiet.high - quiet.low)
    assert wide.effective < quiet.effective


@pytest.mark.parametrize("hits", [-40.0, 0.0, 7.5, 300.0])
@pytest.mark.parametrize("people", [-30.0, 0.0, 100.0])
def test_there_is_always_a_share(hits, people):
    noise = Laplace(scale=10.0)
    low, high = inference.proportion_from_counts(
        hits, people, mechanism=noise, people_mechanism=noise
    )
    assert 0 <= low <= high <= 1
    assert math.isfinite(low + high)
