"""Sampling and shuffling against exact mixtures and enumeration."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hush.errors import InvalidArgument, NoBound
from hush.privacy import (
    GDP,
    ZCDP,
    Approx,
    Pair,
    Pure,
    Tradeoff,
    amplified,
    amplified_approx,
    amplified_loose,
    compose,
    fixed_size,
    poisson,
    replace_one,
    shuffle,
)
from privacy import oracles

P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]


def _mix(rate, p, q):
    r = mp.mpf(rate)
    return [(1 - r) * mp.mpf(b) + r * mp.mpf(a) for a, b in zip(p, q, strict=True)]


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("epsilon", [0.0, 0.005, 0.2, 1.0])
def test_poisson_is_the_mixture_in_each_direction(rate, epsilon):
    curve = poisson(Pair(P, Q), rate=rate)
    mixture = _mix(rate, P, Q)
    remove = oracles.hockey(mixture, Q, epsilon)
    add = oracles.hockey(Q, mixture, epsilon)
    assert (
        curve.remove.delta_at_lower(epsilon) <= remove <= curve.remove.delta_at(epsilon)
    )
    assert curve.add.delta_at_lower(epsilon) <= add <= curve.add.delta_at(epsilon)
    assert curve.remove.delta_at(epsilon) == pytest.approx(
        float(remove), rel=1e-9, abs=1e-15
    )
    assert curve.add.delta_at(epsilon) == pytest.approx(float(add), rel=1e-9, abs=1e-15)
    assert curve.delta_at(epsilon) == max(
        curve.remove.delta_at(epsilon), curve.add.delta_at(epsilon)
    )


def test_poisson_over_whole_data_sets_by_enumeration():
    # A counting query with randomized response on each of the sampled count's parities:
    # people {1,2} against {1,2,3}, all subsets enumerated.
    rate, keep = 0.3, 0.8

    def release(count):
        return [keep, 1 - keep] if count % 2 == 0 else [1 - keep, keep]

    def law(people):
        total = [0.0, 0.0]
        for coins in itertools.product([0, 1], repeat=people):
            chance = math.prod(rate if c else 1 - rate for c in coins)
            for i, value in enumerate(release(sum(coins))):
                total[i] += chance * value
        return total

    curve = poisson(Pure(epsilon=math.log(keep / (1 - keep))), rate=rate)
    for epsilon in (0.0, 0.1, 0.3):
        assert (
            oracles.hockey(law(3), law(2), epsilon)
            <= curve.remove.delta_at(epsilon) + 1e-15
        )
        assert (
            oracles.hockey(law(2), law(3), epsilon)
            <= curve.add.delta_at(epsilon) + 1e-15
        )


def test_amplification_formulas_match_the_exact_mixture():
    # N11.1: tight for pure mechanisms, and the looser textbook forms are looser.
    for epsilon, rate in ((1.0, 0.1), (0.2, 0.5), (3.0, 0.01)):
        p, q = (law[1:3] for law in oracles.response(epsilon))
        mixture = _mix(rate, p, q)
        loss = max(mp.log(a / b) for a, b in zip(mixture, q, strict=True))
        assert amplified(epsilon, rate) == pytest.approx(float(loss), rel=1e-12)
        assert poisson(Pure(epsilon=epsilon), rate=rate).epsilon_at(0.0) >= loss
    near, far = amplified_loose(0.1)
    assert amplified(1.0, 0.1) < near < far
    weak = amplified_approx(1.0, 1e-3, rate=0.25)
    curve = poisson(Approx(epsilon=1.0, delta=1e-3), rate=0.25)
    assert curve.delta_at(weak.epsilon) == pytest.approx(weak.delta, rel=1e-9)


def test_add_and_remove_differ_and_the_worse_is_reported():
    curve = poisson(GDP(mu=1.0), rate=0.01)
    assert curve.remove.epsilon_at(1e-4) > 1.5 * curve.add.epsilon_at(1e-4)
    assert curve.epsilon_at(1e-4) == curve.remove.epsilon_at(1e-4)


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_rates_outside_the_unit_interval_are_refused(rate):
    with pytest.raises(InvalidArgument, match="rate"):
        poisson(Pure(epsilon=1.0), rate=rate)


def test_rates_at_the_ends():
    assert poisson(GDP(mu=1.0), rate=1.0) == GDP(mu=1.0)
    assert poisson(GDP(mu=1.0), rate=0.0) == Pure(epsilon=0.0)
    assert fixed_size(GDP(mu=1.0), batch=5, records=5) == GDP(mu=1.0)
    with pytest.raises(InvalidArgument, match="batch"):
        fixed_size(GDP(mu=1.0), batch=6, records=5)


def test_sampled_renyi_is_an_upper_bound_and_near():
    rate, order = 0.2, 4
    curve = poisson(GDP(mu=1.0), rate=rate)

    def ratio(x):
        return 1 - rate + rate * mp.npdf(x, 1, 1) / mp.npdf(x, 0, 1)

    points = [-12, -4, 0, 4, 8, 14]
    for a in (2, 2.5, order):
        remove = oracles.integral(
            lambda x, a=a: ratio(x) ** a * mp.npdf(x, 0, 1), points
        )
        add = oracles.integral(
            lambda x, a=a: ratio(x) ** (1 - a) * mp.npdf(x, 0, 1), points
        )
        truth = float(mp.log(max(remove, add)) / (a - 1))
        assert truth * (1 - 1e-9) <= curve.renyi_at(a) <= truth * 1.25


# -- batches of fixed size --------------------------------------------------------


def test_fixed_size_against_every_batch():
    # Replace one of n records; the mechanism answers a table that depends on the batch.
    n, m = 4, 2
    tables = {0: [0.6, 0.3, 0.1], 1: [0.3, 0.4, 0.3], 2: [0.1, 0.3, 0.6]}

    def law(values):
        total = np.zeros(3)
        batches = list(itertools.combinations(values, m))
        for batch in batches:
            total += np.array(tables[sum(batch)]) / len(batches)
        return total

    loss = max(
        abs(math.log(a / b))
        for i, j in ((0, 1), (1, 2))
        for a, b in zip(tables[i], tables[j], strict=True)
    )
    curve = fixed_size(Pure(epsilon=loss), batch=m, records=n)
    for rest in itertools.product([0, 1], repeat=n - 1):
        p, q = law((0, *rest)), law((1, *rest))
        for epsilon in (0.0, 0.1, 0.4):
            assert oracles.hockey(p, q, epsilon) <= curve.delta_at(epsilon) + 1e-15
            assert oracles.hockey(q, p, epsilon) <= curve.delta_at(epsilon) + 1e-15


def test_fixed_size_is_the_subsampling_operator():
    # N13.T7, N13.c2: C_p(f) of f_{ε,δ} in closed form, against hull(min(f_p, f_p⁻¹)).
    epsilon, delta, p = 1.2, 0.01, 0.25
    curve = fixed_size(Approx(epsilon=epsilon, delta=delta), batch=1, records=4)
    grown = math.log(1 - p + p * math.exp(epsilon))
    spread = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    for alpha in (0.01, 0.1, 0.35, 0.6, 0.9):
        missing = 1 - p * delta
        lines = [
            0.0,
            missing - math.exp(grown) * alpha,
            math.exp(-grown) * (missing - alpha),
            # The printed corollary forgets that δ' leaves a share 1-δ for the response.
            1 - p * delta - p * (1 - delta) * spread - alpha,
        ]
        assert curve.tradeoff_at(alpha) == pytest.approx(max(lines), abs=1e-7)


def test_fixed_size_for_add_remove_keeps_directions_apart():
    curve = fixed_size(GDP(mu=1.0), batch=10, records=100, neighbors="add-remove")
    assert curve.remove.delta_at(0.1) > curve.add.delta_at(0.1)
    both = fixed_size(GDP(mu=1.0), batch=10, records=100)
    assert both.remove.delta_at(0.1) == both.add.delta_at(0.1) == both.delta_at(0.1)
    # Replace-one of what was accounted for add/remove costs twice the shift.
    twice = fixed_size(replace_one(GDP(mu=1.0)), batch=10, records=100)
    assert twice.delta_at(0.1) > both.delta_at(0.1)


# -- shuffling ---------------------------------------------------------------------


def _counts(laws, size):
    """Law of the histogram of independent reports, by convolution."""
    state = {tuple([0] * size): 1.0}
    for law in laws:
        grown: dict[tuple[int, ...], float] = {}
        for key, value in state.items():
            for i, chance in enumerate(law):
                new = list(key)
                new[i] += 1
                grown[tuple(new)] = grown.get(tuple(new), 0.0) + value * chance
        state = grown
    return state


def _kary(value, size, epsilon):
    weight = [math.exp(epsilon) if i == value else 1.0 for i in range(size)]
    return [w / sum(weight) for w in weight]


@pytest.mark.thin(3)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("people", [2, 3, 6])
def test_shuffle_covers_every_histogram_of_reports(epsilon, size, people):
    curve = shuffle(Pure(epsilon=epsilon), people=people)
    for others in itertools.combinations_with_replacement(range(size), people - 1):
        rest = [_kary(v, size, epsilon) for v in others]
        first = _counts([_kary(0, size, epsilon), *rest], size)
        second = _counts([_kary(1, size, epsilon), *rest], size)
        p, q = [first[k] for k in first], [second[k] for k in first]
        for at in (0.0, 0.2 * epsilon, 0.6 * epsilon):
            gap = float(np.maximum(np.array(p) - math.exp(at) * np.array(q), 0).sum())
            assert gap <= curve.delta_at(at) + 1e-14


@pytest.mark.parametrize("people", [2, 7, 25])
def test_shuffle_equals_its_own_clones_by_enumeration(people):
    epsilon, at = 1.0, 0.3
    r = mp.e**epsilon / (1 + mp.e**epsilon)
    clone = 2 / (mp.e**epsilon + 1)
    total = mp.mpf(0)
    for c in range(people):
        weight = mp.binomial(people - 1, c) * clone**c * (1 - clone) ** (people - 1 - c)
        coin = [mp.binomial(c, a) / mp.mpf(2) ** c for a in range(c + 1)] + [mp.mpf(0)]
        p = [r * (coin[a - 1] if a else 0) + (1 - r) * coin[a] for a in range(c + 2)]
        q = [(1 - r) * (coin[a - 1] if a else 0) + r * coin[a] for a in range(c + 2)]
        total += weight * oracles.hockey(p, q, at)
    curve = shuffle(Pure(epsilon=epsilon), people=people)
    assert total <= curve.delta_at(at)
    assert curve.delta_at(at) == pytest.approx(float(total), rel=1e-9)
    assert curve.delta_at_lower(at) <= curve.delta_at(at)


def test_shuffle_amplifies_and_refuses_what_it_cannot_prove():
    few, many = (
        shuffle(Pure(epsilon=1.0), people=100),
        shuffle(Pure(epsilon=1.0), people=10**5),
    )
    assert many.epsilon_at(1e-6) < few.epsilon_at(1e-6) <= 1.0
    assert many.epsilon_at_lower(1e-6) <= many.epsilon_at(1e-6)
    assert shuffle(Pure(epsilon=1.0), people=1) == Pure(epsilon=1.0)
    with pytest.raises(NoBound, match="finite"):
        shuffle(GDP(mu=1.0), people=100)
    with pytest.raises(NoBound):
        shuffle(Approx(epsilon=1.0, delta=1e-9), people=100)


def test_sampling_a_composition_stays_sound():
    pair = Pair(P, Q)
    twice = compose(pair, pair)
    p, q = oracles.product(P, P), oracles.product(Q, Q)
    curve = poisson(twice, rate=0.2)
    mixture = _mix(0.2, p, q)
    for epsilon in (0.0, 0.3):
        assert oracles.hockey(mixture, q, epsilon) <= curve.remove.delta_at(epsilon)
        assert oracles.hockey(q, mixture, epsilon) <= curve.add.delta_at(epsilon)


def test_sampled_bounds_of_other_notions():
    for base in (ZCDP(rho=0.1), Tradeoff(lambda a: max(0.0, 1 - 2 * a, (1 - a) / 2))):
        curve = poisson(base, rate=0.1)
        assert curve.delta_at(0.2) < base.delta_at(0.2)


def test_rates_are_rounded_towards_less_privacy():
    # 1/3 as a float is too small, and a product of floats may be.
    assert Fraction(fixed_size(GDP(1.0), 1, 3).rate) >= Fraction(1, 3)
    added = fixed_size(GDP(1.0), 1, 3, neighbors="add-remove")
    assert Fraction(added.rate) >= Fraction(1, 3)
    for rate in (0.1, 0.3, 0.7, 1e-9):
        found = amplified_approx(1.0, 1e-6, rate).delta
        assert Fraction(found) >= Fraction(1e-6) * Fraction(rate)
