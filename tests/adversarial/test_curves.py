"""Attempts on the algebra of curves: rounding, round trips, groups, wrong relations."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hush.errors import HushError, NoBound
from hush.mechanisms import Geometric
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    compose,
    fixed_size,
    group,
    parallel,
    poisson,
    repeat,
    replace_one,
    shuffle,
)  # fmt: skip


def gaussian_delta(mu: float, epsilon: float):
    """Return δ(ε) of μ-GDP to 120 digits."""
    with mpmath.workdps(120):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def test_gaussian_brackets_hold_on_random_points_down_to_subnormals():
    rng = random.Random(9)
    for _ in range(120):
        mu = 10 ** rng.uniform(-8, 1.5)
        epsilon = mu * 10 ** rng.uniform(-3, 1.58)
        curve, truth = GDP(mu=mu), gaussian_delta(mu, epsilon)
        assert curve.delta_at_lower(epsilon) <= truth <= curve.delta_at(epsilon)
        delta = 10 ** rng.uniform(-305, -0.5)
        high, low = curve.epsilon_at(delta), curve.epsilon_at_lower(delta)
        assert gaussian_delta(mu, high) <= delta
        assert low == 0 or gaussian_delta(mu, low) >= delta


def test_the_tail_where_a_series_takes_over_is_bracketed():
    # Before: the lower bound lay 1.5e-11 above the truth from ε/μ = 30 on.
    for mu in (1e-8, 0.01, 0.3998):
        for a in (29.9, 30.05, 30.2, 33.0, 37.0):
            curve, epsilon = GDP(mu=mu), mu * a
            truth = gaussian_delta(mu, epsilon)
            assert curve.delta_at_lower(epsilon) <= truth <= curve.delta_at(epsilon)


def _tables(rng: random.Random):
    size = rng.choice([2, 3, 5])

    def table():
        many = [rng.choice([1, rng.randint(1, 10**6), 10 ** rng.randint(0, 25)])
                for _ in range(size)]  # fmt: skip
        return [Fraction(each, sum(many)) for each in many]

    p = table()
    if rng.random() < 0.7:
        return p, table()
    q, tiny = list(p), min(p) / 10 ** rng.randint(5, 30)  # nearly, but not quite, p
    q[0], q[1] = q[0] + tiny, q[1] - tiny
    return p, q


def test_pairs_of_tables_never_understate_their_exact_loss():
    rng = random.Random(1)
    with mpmath.workdps(150):
        for _ in range(300):
            p, q = _tables(rng)
            real = [
                [mpmath.mpf(v.numerator) / v.denominator for v in t] for t in (p, q)
            ]
            worst = max(abs(mpmath.log(a / b)) for a, b in zip(*real, strict=True))
            curve = Pair(p, q)
            claimed = curve.epsilon_at(0)
            assert claimed >= worst
            for epsilon in (0.0, claimed * 0.5, claimed * 0.99, 1e-3):
                e = mpmath.exp(mpmath.mpf(epsilon))
                truth = max(
                    sum(max(0, a - e * b) for a, b in zip(x, y, strict=True))
                    for x, y in (real, real[::-1])
                )
                assert curve.delta_at(epsilon) >= truth


FAST = [
    Pure(1e-6), Pure(50.0), Pure(1e-300), Approx(1.0, 1e-300), Approx(0.0, 0.5),
    GDP(1e-6), GDP(40.0), poisson(Pure(5.0), rate=0.5), poisson(GDP(0.1), rate=1.0),
    Profile(lambda e: max(0.0, 0.1 - 0.05 * e)), Pair.laplace(scale=1e6),
    Tradeoff(lambda a: max(0.0, 1 - a - 0.05)),
    group(GDP(0.5), 7), group(Approx(0.5, 1e-9), 3),
]  # fmt: skip
SLOW = [
    ZCDP(1e-12), ZCDP(100.0), RDP(lambda order: order * 0.01),
    poisson(GDP(1.0), rate=1e-9), compose(Pure(0.5), GDP(0.2)),
    fixed_size(GDP(1.0), batch=1, records=10**7), shuffle(Pure(1.0), people=10**5),
    replace_one(poisson(GDP(1.0), rate=0.01)), repeat(Pure(1e-4), times=10**6),
]  # fmt: skip
CURVES = [pytest.param(c, id=f"fast{i}") for i, c in enumerate(FAST)] + [
    pytest.param(c, id=f"slow{i}", marks=pytest.mark.slow) for i, c in enumerate(SLOW)
]
_AT = [0.0, 1e-300, 1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0, 300.0]


@pytest.mark.parametrize("curve", CURVES)
def test_curves_fall_and_convert_on_the_safe_side(curve):
    high = [float(curve.delta_at(e)) for e in _AT]
    low = [float(curve.delta_at_lower(e)) for e in _AT]
    # Two brackets at neighboring points may differ by what their widths allow.
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(high))
    assert all(0 <= a <= b <= 1 for a, b in zip(low, high, strict=True))
    for delta in (1e-300, 1e-9, 0.5, 1.0):
        above, below = curve.epsilon_at(delta), curve.epsilon_at_lower(delta)
        assert below <= above
        # Back again: the δ of that ε is the δ asked for, up to the padding of δ itself.
        if math.isfinite(above):
            assert curve.delta_at(above) <= delta * (1 + 1e-12)
    for alpha in (0.0, 1e-12, 0.5, 1.0):
        assert 0 <= curve.tradeoff_at(alpha) <= 1 - alpha + 1e-15


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.7, 2.0, 1e3])
def test_a_group_is_no_better_off_than_the_exact_law_of_its_shift(scale, size):
    noise = Geometric(scale)
    claimed = group(noise.curve(1), size=size)
    exact = noise.curve(size)  # k people move the count by k, exactly
    for share in (0.0, 0.25, 0.5, 0.9):
        epsilon = size / scale * share
        assert claimed.delta_at(epsilon) >= exact.delta_at_lower(epsilon)
    assert claimed.epsilon_at(0.0) >= exact.epsilon_at_lower(0.0)


def test_a_group_of_huge_losses_is_rounded_up():
    for epsilon, size in ((1000 / 3, 7), (701.1, 3), (123.456, 11)):
        found = group(Approx(epsilon, 0.0), size=size)
        assert Fraction(found.epsilon_at(0.0)) >= size * Fraction(epsilon)


def test_moments_of_gaussian_privacy_are_rounded_up():
    rng = random.Random(2)
    for _ in range(200):
        mu, order = 10 ** rng.uniform(-5, 3), rng.uniform(1, 100)
        curve = GDP(mu=mu)
        assert Fraction(curve.rho) >= Fraction(mu) ** 2 / 2
        assert (
            Fraction(curve.renyi_at(order)) >= Fraction(order) * Fraction(mu) ** 2 / 2
        )


def test_exchanges_are_refused_or_charged_twice():
    with pytest.raises(NoBound, match="replace-one"):
        parallel([Pure(0.5), Pure(0.5)], neighbors="replace-one")
    assert replace_one(Pure(0.5)).epsilon_at(0.0) == 1.0
    with pytest.raises(HushError):
        parallel([Pure(0.5)], neighbors="add")


def test_composition_is_never_cheaper_than_its_parts():
    rng = random.Random(4)
    for _ in range(8):
        a, b = (rng.choice([Pure, GDP, ZCDP])(10 ** rng.uniform(-3, 0)) for _ in "ab")
        both = compose(a, b)
        for epsilon in (0.0, 0.01, 0.5):
            worse = max(a.delta_at_lower(epsilon), b.delta_at_lower(epsilon))
            assert both.delta_at(epsilon) >= worse


def test_what_a_caller_changes_later_does_not_change_a_pair():
    p, q = np.array([0.75, 0.25]), [0.25, 0.75]
    curve = Pair(p, q)
    before = curve.delta_at(0.3)
    p[:], q[0] = 0.5, 0.9
    assert curve.delta_at(0.3) == Pair([0.75, 0.25], [0.25, 0.75]).delta_at(0.3)
    assert curve.delta_at(0.3) == before


def test_a_delta_among_the_last_floats_has_no_epsilon_that_is_too_small():
    # δ that are sums of floats near 5e-324 are off by a float or more: at 1e-320 the
    # upper end lay below an extrapolation, at 5e-324 the lower end far above it.
    few = repeat(poisson(GDP(mu=1.0), rate=0.01), times=100)
    known = float(few.epsilon_at(1e-300))
    for delta in (1e-310, 1e-320, 5e-324):
        upper, lower = few.epsilon_at(delta), few.epsilon_at_lower(delta)
        assert known * (1 - 1e-6) <= lower <= known <= upper
    step = known - float(few.epsilon_at(1e-290))  # of ten decades, and they shrink
    assert few.epsilon_at_lower(5e-324) <= known + 2.331 * step
    assert few.epsilon_at(1e-320) >= known + 1.99 * step
    pure = compose(Pair.laplace(scale=1.0), Pair.laplace(scale=2.0))
    assert 1.49 < pure.epsilon_at(1e-310) <= 1.5 * (1 + 1e-11)  # no more than at zero
