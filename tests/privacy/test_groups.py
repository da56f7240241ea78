"""Groups of people, one in the place of another, and parts of a table."""

import itertools
import math

import pytest

from hush.errors import NoBound
from hush.law import DiscreteGaussian
from hush.privacy import (
    GDP,
    ZCDP,
    Approx,
    Pair,
    Pure,
    geometric,
    group,
    parallel,
    replace_one,
)
from privacy import oracles


def _chain(laws, epsilon):
    """Largest hockey-stick between the ends of a chain of laws, both ways."""
    first, last = laws[0], laws[-1]
    return max(
        oracles.hockey(first, last, epsilon), oracles.hockey(last, first, epsilon)
    )


def test_group_of_shifted_noise_by_its_definition():
    # Distance k on integer noise is a shift by k: the group bound must cover it.
    law = DiscreteGaussian(3)
    for size in (2, 3):
        bound = geometric(Pair.shift(law, by=1), size)
        exact = Pair.shift(law, by=size)
        for epsilon in (0.0, 0.2, 0.8, 1.5):
            assert bound.delta_at(epsilon) >= exact.delta_at_lower(epsilon)
        assert bound.delta_at(0.2) <= exact.delta_at(0.2) * 1.1


def test_group_of_a_gaussian_is_a_gaussian():
    # N13.T3: the polygon of G_μ composed with itself is G_2μ.
    bound = geometric(GDP(mu=0.5), 2)
    for epsilon in (0.0, 0.7, 2.0):
        truth = oracles.gaussian_delta(1, epsilon)
        assert truth <= bound.delta_at(epsilon)
        assert bound.delta_at(epsilon) <= truth * 1.01
        assert bound.delta_at_lower(epsilon) <= truth
    assert group(GDP(mu=0.5), size=2) == GDP(mu=1.0)
    assert group(ZCDP(rho=0.1), size=3).rho == pytest.approx(0.9)
    assert group(Pure(epsilon=0.5), size=4) == Pure(epsilon=2.0)
    assert group(Pure(epsilon=0.5), size=0) == Pure(epsilon=0.0)


def test_group_bound_for_approximate_privacy():
    # N3.2g: a chain of laws, neighbors (ε,δ)-close, ends within the bound.
    epsilon, delta, size = 0.4, 0.02, 3
    bound = group(Approx(epsilon=epsilon, delta=delta), size=size)
    by_hand = delta * sum(math.exp(i * epsilon) for i in range(size))
    assert bound.delta == pytest.approx(by_hand)
    assert bound.epsilon == pytest.approx(size * epsilon)
    sharp = geometric(Approx(epsilon=epsilon, delta=delta), size)
    assert sharp.delta_at(size * epsilon) <= bound.delta * (1 + 1e-9)
    assert sharp.delta_at(size * epsilon) == pytest.approx(bound.delta, rel=1e-6)
    # Worst chain: mass climbs by e^ε and leaks δ each step.
    laws = [[0.01, 0.99]]
    for _ in range(size):
        top = laws[-1][0] * math.exp(epsilon) + delta
        laws.append([top, 1 - top])
    for near, far in itertools.pairwise(laws):
        assert (
            max(oracles.hockey(near, far, epsilon), oracles.hockey(far, near, epsilon))
            <= delta + 1e-12
        )
    for at in (0.0, 0.5, 1.2):
        assert _chain(laws, at) <= sharp.delta_at(at) + 1e-12


def test_replace_one_gaussian():
    # V13: an accountant that treats replace-one as add/remove says 4.73 here.
    curve = replace_one(GDP(mu=1.0))
    assert curve.epsilon_at(1e-5) == pytest.approx(9.997, abs=5e-4)
    assert oracles.gaussian_delta(2, curve.epsilon_at(1e-5)) <= 1e-5
    as_moments = replace_one(ZCDP(rho=0.5))
    assert as_moments.epsilon_at(1e-5) >= curve.epsilon_at_lower(1e-5)


def test_replace_one_of_asymmetric_pairs():
    # N4.2: M(x), M(-), M(x') by hand; x' mirrors x, so their hockey-sticks agree.
    with_x, without, with_y = [0.5, 0.4, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]
    curve = replace_one(Pair(with_x, without))
    for epsilon in (0.0, 0.2, 0.5, 0.9, 1.5):
        gap = _chain([with_x, with_y], epsilon)
        assert gap <= curve.delta_at(epsilon) + 1e-12
    assert curve.delta_at(0.0) <= 1.5 * _chain([with_x, with_y], 0.0)
    # One person's loss is log(5/3) one way, log 3 the other; together log 5.
    assert curve.epsilon_at(0.0) == pytest.approx(math.log(5))
    assert replace_one(Pure(epsilon=0.3)) == Pure(epsilon=0.6)


def test_parallel_composition():
    curves = [Pure(epsilon=0.5), Pure(epsilon=1.0), Pure(epsilon=0.2)]
    assert parallel(curves, neighbors="add-remove") == Pure(epsilon=1.0)
    with pytest.raises(NoBound, match="replace_one"):
        parallel(curves, neighbors="replace-one")
    both = parallel([Pure(epsilon=0.5), GDP(mu=0.5)], neighbors="add-remove")
    for epsilon in (0.0, 0.3, 1.0):
        assert both.delta_at(epsilon) == max(
            Pure(epsilon=0.5).delta_at(epsilon), GDP(mu=0.5).delta_at(epsilon)
        )
    # N4.3 remark: the tradeoff function is the convex hull of the smaller one.
    lower = min(Pure(epsilon=0.5).tradeoff_at(0.2), GDP(mu=0.5).tradeoff_at(0.2))
    assert both.tradeoff_at(0.2) <= lower


def test_parallel_fails_for_replace_one_by_enumeration():
    # S10: a record moves between two parts, each answered by randomized response on its
    # parity; the joint law exceeds max ε but not the exchange of the parallel curve.
    e = 0.5
    keep = math.exp(e) / (1 + math.exp(e))
    response = {0: [keep, 1 - keep], 1: [1 - keep, keep]}
    before = oracles.product(response[1], response[0])  # the record is in part one
    after = oracles.product(response[0], response[1])
    alone = parallel([Pure(epsilon=e)] * 2, neighbors="add-remove")
    assert oracles.hockey(before, after, 0.6) > alone.delta_at(0.6)
    for at in (0.0, 0.6, 0.9):
        assert oracles.hockey(before, after, at) <= replace_one(alone).delta_at(at)
