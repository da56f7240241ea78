"""Proportions against enumeration, linear programming and their own inversion."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from hush.errors import InvalidArgument
from hush.inference import proportion_interval, proportion_power, proportion_test
from hush.inference.binomial import solve, weights
from hush.inference.proportion import noisy_count
from hush.mechanisms import (
    Canonical,
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
)
from hush.noise import Seeded
from hush.privacy import Approx, Pure

MECHANISMS = {
    "tulap": Canonical(Pure(epsilon=1.0)),
    "tulap-delta": Canonical(Approx(epsilon=0.5, delta=0.01)),
    "geometric": Geometric(scale=2),
    "laplace": Laplace(scale=0.7),
    "discrete-gaussian": DiscreteGaussian(std=2),
    "gaussian": Gaussian(std=1.5),
}


def released_law(n, theta, mechanism):
    """Probabilities of every released whole count, by enumeration in 40 digits."""
    law = next(law for law, step in mechanism.error.cases if step == 1)
    reach = 200
    noise = law.pmf(np.arange(-reach, reach + 1)).tolist()
    table = {}
    with mpmath.workdps(40):
        for x in range(n + 1):
            weight = (
                mpmath.binomial(n, x)
                * mpmath.mpf(theta) ** x
                * (1 - mpmath.mpf(theta)) ** (n - x)
            )
            for k in range(-reach, reach + 1):
                chance = weight * noise[k + reach]
                table[x + k] = table.get(x + k, mpmath.mpf(0)) + chance
    return {z: float(p) for z, p in table.items()}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("theta", [0.01, 0.4, 0.9])
def test_p_values_are_those_of_enumeration(name, theta):
    mechanism, n = MECHANISMS[name], 7
    law = released_law(n, theta, mechanism)
    for z in (-9, -1, 0, 3, 7, 12):
        above = math.fsum(p for each, p in law.items() if each > z)
        below = math.fsum(p for each, p in law.items() if each < z)
        for tie in (0.0, 0.3, 1.0):
            count = noisy_count(z, n, mechanism, tie)
            assert count.upper(theta) == pytest.approx(
                above + tie * law[z], rel=1e-7, abs=1e-15
            )
            assert count.lower(theta) == pytest.approx(
                below + (1 - tie) * law[z], rel=1e-7, abs=1e-15
            )


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_the_level_is_exact(name, alpha):
    # P(p <= alpha) over count, noise and tie, exactly: the p-value is linear in the
    # tie, from P(Z > z) to P(Z >= z).
    mechanism, n, theta = MECHANISMS[name], 12, 0.3
    level = 0.0
    for z, chance in released_law(n, theta, mechanism).items():
        if abs(z) > 150:
            continue
        low = noisy_count(z, n, mechanism, 0.0).upper(theta)
        high = noisy_count(z, n, mechanism, 1.0).upper(theta)
        level += chance * np.clip((alpha - low) / max(high - low, 1e-300), 0, 1)
    assert level == pytest.approx(alpha, abs=1e-9)


def most_powerful(n, null, theta, alpha, epsilon, delta):
    """The best power of any private test, by linear programming over its chances."""
    x = np.arange(n + 1)
    choose = np.array([math.comb(n, int(k)) for k in x], dtype=float)
    start = choose * null**x * (1 - null) ** (n - x)
    goal = choose * theta**x * (1 - theta) ** (n - x)
    rows, limits = [start], [alpha]
    grow = math.exp(epsilon)
    for i in range(n):
        for a, b in ((i, i + 1), (i + 1, i)):
            row = np.zeros(n + 1)
            row[a], row[b] = 1, -grow
            rows.append(row)  # φ_a <= e^ε φ_b + δ
            limits.append(delta)
            row = np.zeros(n + 1)
            row[a], row[b] = -1, grow
            rows.append(row)  # 1 - φ_a <= e^ε (1 - φ_b) + δ
            limits.append(grow - 1 + delta)
    found = optimize.linprog(-goal, np.array(rows), limits, bounds=(0, 1))
    return -found.fun


@pytest.mark.parametrize(
    ("n", "null", "theta", "epsilon", "delta"),
    [
        (30, 0.9, 0.98, 1.0, 0.0),
        (10, 0.3, 0.7, 0.5, 0.0),
        (20, 0.5, 0.8, 0.7, 0.01),
        (15, 0.1, 0.4, 2.0, 0.001),
    ],
)
def test_no_private_test_has_more_power(n, null, theta, epsilon, delta):
    best = most_powerful(n, null, theta, 0.05, epsilon, delta)
    target = Approx(epsilon, delta) if delta else Pure(epsilon)
    whole = Canonical(target)
    ours = proportion_power(theta, null=null, n=n, mechanism=whole)
    # Whole noise is exact for pure targets; δ cuts a cell, which only pieces resolve.
    assert ours == pytest.approx(best, abs=1e-3 if delta else 1e-6)
    assert ours <= best + 1e-7
    fine = Canonical(target, pieces=64)
    ours = proportion_power(theta, null=null, n=n, mechanism=fine)
    assert ours == pytest.approx(best, abs=1e-5 if delta else 1e-6)
    # A twin with as much guarantee and another law has less.
    other = Geometric(scale=1.2 / epsilon)
    assert proportion_power(theta, null=null, n=n, mechanism=other) < best - 1e-4


def test_the_example_of_the_literature():
    # n = 30, θ₀ = 0.9, ε = 1: level 0.05, and power 0.242 at 0.98.
    noise = Canonical(Pure(epsilon=1.0))
    assert proportion_power(0.9, null=0.9, n=30, mechanism=noise) == pytest.approx(0.05)
    power = proportion_power(0.98, null=0.9, n=30, mechanism=noise)
    assert power == pytest.approx(0.242, abs=5e-4)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("z", "n"), [(3, 40), (120, 1000), (70_000, 200_000)])
def test_ends_invert_the_test(name, z, n):
    found = proportion_interval(z, n=n, mechanism=MECHANISMS[name], tie=0.4, level=0.9)
    low, high = found
    assert 0 <= low < found.value < high <= 1
    if low > 0:
        assert found.count.upper(low) == pytest.approx(0.05, rel=1e-6)
    assert found.count.lower(high) == pytest.approx(0.05, rel=1e-6)
    wider = found.interval(0.99)
    assert wider[0] <= low
    assert wider[1] >= high


@settings(deadline=None)
@given(
    z=st.integers(-(10**6), 10**6),
    n=st.integers(1, 10**6),
    level=st.floats(1e-6, 1 - 1e-9),
    name=st.sampled_from(sorted(MECHANISMS)),
    tie=st.floats(0, 1),
)
def test_there_is_always_an_interval(z, n, level, name, tie):
    mechanism = MECHANISMS[name]
    low, high = proportion_interval(z, n=n, mechanism=mechanism, level=level, tie=tie)
    assert 0 <= low <= high <= 1
    test = proportion_test(z, null=0.3, n=n, mechanism=mechanism, tie=tie)
    assert 0 <= test.p_value <= 1


def test_floats_on_a_fine_lattice_have_intervals_too():
    low, high = proportion_interval(41.7, n=100, mechanism=Laplace(scale=1.0))
    assert low < 0.417 < high
    same = proportion_interval(41.7, n=100, mechanism=Laplace(scale=1.0), tie=0.5)
    assert same.low == pytest.approx(low, abs=1e-6)  # an atom has mass 2^-40


def test_ties_are_drawn_from_the_source():
    noise = MECHANISMS["tulap"]
    a = proportion_interval(5, n=30, mechanism=noise, source=Seeded(1))
    b = proportion_interval(5, n=30, mechanism=noise, source=Seeded(1))
    c = proportion_interval(5, n=30, mechanism=noise, source=Seeded(2))
    assert a == b
    assert a.count.tie != c.count.tie


def test_weights_and_roots():
    first, chance = weights(50, 0.2)
    exact = [math.comb(50, k) * 0.2**k * 0.8 ** (50 - k) for k in range(51)]
    assert first == 0
    assert chance == pytest.approx(exact[: chance.size], rel=1e-11)
    assert solve(50, lambda a, b: np.arange(a, b + 1) / 50, 0.37) == pytest.approx(0.37)
    assert solve(5, lambda a, b: np.full(b - a + 1, 0.5), 0.2) == 0.0
    assert solve(5, lambda a, b: np.full(b - a + 1, 0.1), 0.2) == 1.0


def test_wrong_arguments_are_named():
    noise = Geometric(scale=1)
    with pytest.raises(InvalidArgument, match="alternative"):
        proportion_test(1, null=0.5, n=5, mechanism=noise, alternative="both")
    with pytest.raises(InvalidArgument, match="n must be"):
        proportion_interval(1, n=0, mechanism=noise)
    with pytest.raises(InvalidArgument, match="level"):
        proportion_interval(1, n=5, mechanism=noise, level=1.0)
    with pytest.raises(InvalidArgument, match="released"):
        proportion_interval(math.nan, n=5, mechanism=noise)
    with pytest.raises(InvalidArgument, match="mechanism"):
        proportion_interval(1, n=5, mechanism=Fraction(1))


def test_a_share_in_place_of_a_count_is_refused():
    # Noise for a share is too small to take any count there.
    small = Laplace(scale=1 / 500)
    with pytest.raises(InvalidArgument, match="noisy count"):
        proportion_interval(0.3, n=500, mechanism=small)
    with pytest.raises(InvalidArgument, match="noisy count"):
        proportion_test(0.3, null=0.2, n=500, mechanism=small)
    # Counts are not: whole ones, and what noise of that size makes of them.
    assert proportion_interval(3.004, n=500, mechanism=small, tie=0.5).value > 0.005
    assert proportion_interval(0.3, n=500, mechanism=Laplace(1.0), tie=0.5).value >= 0
