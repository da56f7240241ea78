"""Groups, exchanges, partitions, calibration, textbook bounds, filters, limits."""

import itertools
import json
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian, DiscreteLaplace
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Curve,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    advanced,
    basic,
    calibrate,
    clt,
    compose,
    fits,
    fixed_size,
    geometric,
    group,
    mixed,
    moments,
    optimal,
    parallel,
    per_step,
    poisson,
    repeat,
    replace_one,
    sgd_moment_estimate,
    sgd_std_estimate,
    shuffle,
)
from privacy import oracles

# -- groups and exchanges ------------------------------------------------------------


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


# -- calibration ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "target", [Approx(1, 1e-6), Approx(0.1, 1e-10), Approx(8, 1e-3)]
)
def test_calibrated_gaussian_is_the_smallest(target):
    std = calibrate(lambda s: GDP(mu=1 / s), target=target)
    assert oracles.gaussian_delta(1 / mp.mpf(std), target.epsilon) <= target.delta
    smaller = std * (1 - 1e-6)
    assert oracles.gaussian_delta(1 / mp.mpf(smaller), target.epsilon) > target.delta


def test_calibration_to_other_notions():
    assert calibrate(lambda s: GDP(mu=1 / s), target=GDP(mu=0.5)) == pytest.approx(2.0)
    assert calibrate(lambda s: GDP(mu=1 / s), target=ZCDP(rho=0.125)) == pytest.approx(
        2.0
    )
    assert calibrate(
        lambda s: Pair.laplace(scale=s), target=Pure(epsilon=0.5)
    ) == pytest.approx(2.0)
    wide = calibrate(lambda s: GDP(mu=1 / s), target=Profile(GDP(mu=0.5).delta_at))
    assert wide == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(NoBound, match="meets"):
        calibrate(lambda s: GDP(mu=1 / s), target=Pure(epsilon=1.0), high=1e4)
    with pytest.raises(InvalidArgument):
        calibrate(lambda s: GDP(mu=1 / s), target=1.0)


# -- textbook composition ------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 100), (0.01, 5000), (0.5, 10)])
def test_textbook_composition_is_looser_than_optimal(epsilon, times):
    loose = advanced(Pure(epsilon=epsilon), times=times, slack=1e-6)
    tight = repeat(Pure(epsilon=epsilon), times=times)
    assert tight.delta_at(loose.epsilon) <= 1e-6
    assert tight.epsilon_at(1e-6) < min(loose.epsilon, times * epsilon)
    assert basic(*[Pure(epsilon=epsilon)] * 3).epsilon == pytest.approx(3 * epsilon)
    step = per_step(0.9, slack=1e-6, times=times)
    assert advanced(step, times=times, slack=1e-6).epsilon <= 0.9


def test_optimal_composition_by_enumeration():
    # N10.2: all outcomes of k copies, with failures.
    for epsilon, delta, times in ((0.5, 0.0, 4), (0.7, 0.02, 3), (0.05, 1e-4, 5)):
        p, q = oracles.response(epsilon, delta)
        joint = oracles.product(*[p] * times), oracles.product(*[q] * times)
        curve = repeat(Approx(epsilon=epsilon, delta=delta), times=times)
        for at in (0.0, 0.4 * epsilon, 1.3 * epsilon, (times - 0.5) * epsilon):
            truth = oracles.hockey(*joint, at)
            assert curve.delta_at_lower(at) <= truth <= curve.delta_at(at)
            assert curve.delta_at(at) == pytest.approx(float(truth), rel=1e-11)


def test_ten_randomized_responses_count_ten_times():
    once, ten = Pure(epsilon=0.5), repeat(Pure(epsilon=0.5), times=10)
    assert ten.epsilon_at(0.0) == pytest.approx(5.0)
    assert ten.delta_at(1.0) > once.delta_at(0.0)
    p, q = oracles.response(0.5)
    total = mp.fsum(
        mp.binomial(10, i)
        * max(p[1] ** (10 - i) * p[2] ** i - mp.e * q[1] ** (10 - i) * q[2] ** i, 0)
        for i in range(11)
    )
    assert ten.delta_at(1.0) == pytest.approx(float(total), rel=1e-12)


def test_many_copies_keep_relative_accuracy():
    # Far in the tail, against an exact sum in 40 digits.
    epsilon, times, at = 0.1, 2000, 25.0
    e = mp.mpf(epsilon)
    p = mp.e**e / (1 + mp.e**e)
    total = mp.fsum(
        mp.binomial(times, m)
        * (p**m * (1 - p) ** (times - m) - mp.e**at * p ** (times - m) * (1 - p) ** m)
        for m in range(1126, 1500)
    )
    curve = repeat(Pure(epsilon=epsilon), times=times)
    low, high = curve.delta_at_lower(at), curve.delta_at(at)
    assert low * (1 - 1e-13) <= total <= high
    assert high - low <= 1e-11 * high


def test_different_parameters_within_a_requested_error():
    curves = [Pure(0.1), Pure(0.25), Approx(0.4, 1e-3), Pure(0.3), Approx(0.2, 1e-4)]
    laws = [oracles.response(c.epsilon, getattr(c, "delta", 0.0)) for c in curves]
    p, q = (
        oracles.product(*[law[0] for law in laws]),
        oracles.product(*[law[1] for law in laws]),
    )
    for relative in (1e-2, 1e-4):
        low, high = mixed(curves, 0.5, relative=relative)
        assert low <= oracles.hockey(p, q, 0.5) <= high
        assert high - low <= relative * high
    with pytest.raises(InvalidArgument):
        mixed([GDP(mu=1.0)], 0.5)


def test_moments_accountant():
    # N11.2 on a Gaussian: moments add, and the tail bound covers the hockey-stick.
    account = moments(GDP(mu=0.2), times=25)
    for epsilon in (1.0, 3.0, 6.0):
        truth = oracles.gaussian_delta(1, epsilon)
        assert truth <= account.delta_at(epsilon) <= account.moment_delta_at(epsilon)
    by_hand = min(math.exp(s * (s + 1) / 2 - 3 * s) for s in np.linspace(0.01, 8, 4000))
    assert account.moment_delta_at(3.0) == pytest.approx(by_hand, rel=2e-2)


def test_sgd_asymptotics_next_to_exact_numbers():
    # N11.L7: the leading term is close to the exact log moment for small rates.
    std, rate = 4.0, 1e-3
    for order in (2, 5, 12):
        estimate = sgd_moment_estimate(std, rate, order)
        exact = order * poisson(GDP(mu=1 / std), rate=rate).renyi_at(order + 1)
        assert 0.4 * estimate < exact < 1.2 * estimate
    with pytest.raises(InvalidArgument):
        sgd_moment_estimate(4.0, 0.1, 2)
    # N11.3: the estimated noise grows as √T.
    ratio = sgd_std_estimate(1.0, 1e-5, 0.01, 40000) / sgd_std_estimate(
        1.0, 1e-5, 0.01, 10000
    )
    assert ratio == pytest.approx(2.0)


# -- the central limit theorem ---------------------------------------------------------


def test_limit_of_randomized_responses():
    # N13.T5: the exact composition of k responses lies in the Berry-Esseen bracket.
    epsilon, times = 0.05, 400
    limit = clt([Pure(epsilon=epsilon)] * times)
    exact = repeat(Pure(epsilon=epsilon), times=times)
    for alpha in (0.1, 0.3, 0.6):
        low, high = limit.tradeoff_bracket(alpha)
        assert low - 1e-9 <= exact.tradeoff_at(alpha) <= high + 1e-9
        assert limit.tradeoff_estimate(alpha) == pytest.approx(
            exact.tradeoff_at(alpha), abs=0.03
        )
    assert not isinstance(limit, Curve)


def test_limit_sharpens_with_more_parts():
    # N13.T6: ε = 1/√k tends to G_1, uniformly.
    errors = []
    for times in (25, 400, 6400):
        limit = clt([Pure(epsilon=1 / math.sqrt(times))] * times)
        exact = repeat(Pure(epsilon=1 / math.sqrt(times)), times=times)
        grid = np.linspace(0.05, 0.95, 10)
        gauss = special.ndtr(special.ndtri(1 - grid) - 1)
        errors.append(np.abs(np.asarray(exact.tradeoff_at(grid)) - gauss).max())
        assert limit.mu == pytest.approx(1.0, abs=0.05)
    assert errors[0] > errors[1] > errors[2]
    with pytest.raises(NoBound):
        clt([Approx(epsilon=0.1, delta=1e-3)])
    with pytest.raises(NoBound):
        clt([poisson(GDP(mu=1.0), rate=0.1)])


# -- filters ---------------------------------------------------------------------


def test_filters_keep_exact_sums():
    budget = Approx(epsilon=1.0, delta=1e-6)
    tenth = Pure(epsilon=0.125)
    assert fits(budget, [tenth] * 7, tenth)
    assert not fits(budget, [tenth] * 8, tenth)
    assert fits(budget, [], Approx(epsilon=0.5, delta=1e-6))
    assert not fits(
        budget, [Approx(epsilon=0.5, delta=1e-6)], Approx(epsilon=0.1, delta=5e-324)
    )
    assert fits(GDP(mu=1.0), [GDP(mu=0.5)] * 3, GDP(mu=0.5))
    assert not fits(GDP(mu=1.0), [GDP(mu=0.5)] * 4, GDP(mu=1e-8))
    assert fits(ZCDP(rho=0.5), [GDP(mu=0.5)] * 3, Pair.gaussian(std=2.5))
    fixed = RDP.table([8.0], [1.0])
    assert fits(fixed, [ZCDP(rho=0.05)], ZCDP(rho=0.05))
    assert not fits(fixed, [ZCDP(rho=0.1)], ZCDP(rho=0.1))
    with pytest.raises(NoBound):
        fits(budget, [], GDP(mu=0.1))
    with pytest.raises(NoBound):
        fits(RDP.table([2.0, 8.0], [1.0, 1.0]), [], ZCDP(rho=0.05))
    with pytest.raises(NoBound):
        fits(ZCDP(rho=1.0), [], Approx(epsilon=0.1, delta=1e-9))
    with pytest.raises(InvalidArgument):
        fits(Pair.laplace(scale=1.0), [], Pure(epsilon=0.1))


def test_filter_holds_against_adaptive_adversaries():
    # C1: depth-3 adversaries choose each ε from {0.1, 0.3} by the bits so far; every
    # joint law stays within what the filter let through.
    menu, budget = (0.1, 0.3), 0.5

    def plans(depth, left):
        if depth == 0:
            return [()]
        found = [()]
        for e in menu:
            if e <= left + 1e-12:
                rest = plans(depth - 1, left - e)
                found += [(e, a, b) for a in rest for b in rest]
        return found

    def joint(plan, truth):
        if not plan:
            return [1.0]
        e, zero, one = plan
        keep = math.exp(e) / (1 + math.exp(e))
        chance = keep if truth == 0 else 1 - keep
        return [chance * v for v in joint(zero, truth)] + [
            (1 - chance) * v for v in joint(one, truth)
        ]

    allowed = Pure(epsilon=budget)
    for plan in plans(3, budget):
        p, q = joint(plan, 0), joint(plan, 1)
        for at in (0.0, 0.2, 0.45, budget):
            assert oracles.hockey(p, q, at) <= allowed.delta_at(at) + 1e-12


# -- JSON ------------------------------------------------------------------------

WRITTEN = [
    Pure(epsilon=0.5),
    Pure(epsilon=math.inf),
    Approx(epsilon=1.0, delta=1e-6),
    ZCDP(rho=0.1),
    GDP(mu=1.0),
    RDP.table([2.0, 4.0], [0.5, 1.0]),
    Pair.laplace(scale=2.0),
    Pair.gaussian(std=2.0),
    Pair.shift(DiscreteLaplace(Fraction(5, 3)), by=2),
    Pair([Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]),
    poisson(GDP(mu=1.0), rate=0.01),
    fixed_size(GDP(mu=1.0), batch=3, records=10),
    shuffle(Pure(epsilon=1.0), people=50),
    repeat(Pure(epsilon=0.1), times=7),
    parallel([Pure(epsilon=1.0), GDP(mu=0.3)], neighbors="add-remove"),
]


@pytest.mark.parametrize("curve", WRITTEN, ids=repr)
def test_curves_survive_json(curve):
    text = curve.to_json()
    json.loads(text)
    again = Curve.from_json(text)
    assert again == curve
    assert again.delta_at(0.3) == curve.delta_at(0.3)
    assert repr(again) == repr(curve)


def test_functions_are_written_as_sound_tables():
    for curve in (
        RDP(lambda order: 0.1 * order),
        Tradeoff(lambda a: float(special.ndtr(special.ndtri(1 - a) - 1))),
        Profile(GDP(mu=1.0).delta_at),
        geometric(Pure(epsilon=0.5), 2),
    ):
        again = Curve.from_json(curve.to_json())
        for epsilon in (0.0, 0.5, 2.0):
            assert again.delta_at(epsilon) >= curve.delta_at(epsilon) * (1 - 1e-9)
            assert again.delta_at(epsilon) <= curve.delta_at(epsilon) * 1.05 + 1e-6


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"type":"Nothing"}', '{"type":"Pure"}', "3"]
)
def test_other_text_is_refused(text):
    with pytest.raises(InvalidArgument):
        Curve.from_json(text)


def test_copies_of_enormous_numbers_stay_cheap_to_describe():
    assert "1000000000000" in repr(repeat(Pure(epsilon=1e-6), times=10**12))
    low, high = optimal.copies(0.001, 0.0, 100_000, np.array([1.0]))
    assert high[0] - low[0] <= 1e-9 * high[0]


# -- sums over many releases -----------------------------------------------------


def test_noise_grows_as_the_count_and_as_its_root():
    # N2.take: for q answers at a fixed total, Laplace noise grows as q, Gaussian as √q.
    def laplace(times):
        return calibrate(
            lambda s: Pure(epsilon=times / s), target=Pure(epsilon=1.0), relative=1e-6
        )

    def gaussian(times):
        return calibrate(
            lambda s: repeat(GDP(mu=1 / s), times=times), target=Approx(1.0, 1e-6)
        )

    assert laplace(400) / laplace(100) == pytest.approx(4.0, rel=1e-3)
    assert gaussian(400) / gaussian(100) == pytest.approx(2.0, rel=1e-6)


def test_basic_composition_covers_the_product():
    # N3.3: (Σε, Σδ) on enumerated products, also when the second depends on the first.
    first, second = oracles.response(0.3, 0.01), oracles.response(0.5, 0.02)
    bound = basic(Approx(0.3, 0.01), Approx(0.5, 0.02))
    p, q = oracles.product(first[0], second[0]), oracles.product(first[1], second[1])
    assert oracles.hockey(p, q, bound.epsilon) <= bound.delta
    # The second answer's truth is flipped after one outcome of the first.
    p = [a * b for i, a in enumerate(first[0]) for b in second[i % 2]]
    q = [a * b for i, a in enumerate(first[1]) for b in second[1 - i % 2]]
    assert oracles.hockey(p, q, bound.epsilon) <= bound.delta
    assert bound.epsilon == pytest.approx(0.8)


def test_renyi_divergences_of_products_add():
    # N12.3, by the definition on the product space.
    p, q, r, s = [0.5, 0.5], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]
    both = compose(Pair(p, q), Pair(r, s))
    joint = oracles.product(p, r), oracles.product(q, s)
    for order in (1, 2, 5.5):
        truth = max(oracles.renyi(*joint, order), oracles.renyi(*joint[::-1], order))
        assert both.renyi_at(order) >= truth
        assert both.renyi_at(order) <= truth * 1.2


def test_gaussian_losses_through_the_transform():
    # N14.P2: a Gaussian with a Laplace through characteristic functions, against a
    # two-dimensional integral done by hand.
    mu, b, epsilon = 0.5, 3.0, 0.4
    both = compose(GDP(mu=mu), Pair.laplace(scale=b))

    def inner(y):
        # Laplace outcome y has loss ℓ; the Gaussian must bring the rest.
        loss = (abs(y) - abs(y - 1)) / mp.mpf(b)
        rest = mp.mpf(epsilon) - loss
        a = rest / mu - mp.mpf(mu) / 2
        density = mp.e ** (-abs(y - 1) / mp.mpf(b)) / (2 * mp.mpf(b))
        return density * (mp.ncdf(-a) - mp.e**rest * mp.ncdf(-a - mu))

    truth = oracles.integral(inner, [-200, -20, 0, 1, 20, 200])
    assert both.delta_at_lower(epsilon) <= truth <= both.delta_at(epsilon)
    assert both.delta_at(epsilon) == pytest.approx(float(truth), rel=1e-6)
