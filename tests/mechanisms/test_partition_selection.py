"""Keys from the data: exact laws of all neighbors, exact tails, singletons (N8, S7)."""

import itertools
import math
from fractions import Fraction

import exact
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import mechanisms as m
from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian
from hush.mechanisms.partition_selection import WHOLE, _odds, _separate, vote
from hush.noise import Seeded
from hush.privacy import GDP, Approx, compose
from hush.privacy.pairs.curve_interval import Worst

SMALL = m.KeySelection(std=20.0, threshold=62, keys_per_person=3, whole=8)
REACH = 200  # ten standard deviations
RATES = np.array([0.0, 1e-3, 0.05, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 4.0])


def named(votes, std, threshold):
    """The law of one key: its noisy votes from the threshold on, or nothing."""
    k = np.arange(-REACH, REACH + 1 + 130)
    if votes == 0:
        law = np.zeros(k.size - threshold - REACH + 1)
        law[0] = 1.0
        return law
    weight = np.exp(-((k - votes) ** 2) / (2 * std**2))
    weight /= weight.sum()
    at = threshold + REACH
    return np.concatenate([[weight[:at].sum()], weight[at:]])


def law(votes, mechanism):
    """The joint law of up to two keys."""
    laws = [named(v, float(mechanism.std), mechanism.threshold) for v in votes]
    return exact.product(*laws) if len(laws) > 1 else laws[0]


def neighbors(whole, others):
    """Votes with and without a person who holds one or two of at most two keys.

    Three kept keys, of which two are looked at, are neighbors too: the third is far
    above the threshold for both.
    """
    for kept in (1, 2, 3):
        size = vote(kept, whole)
        for held in itertools.product((0, 1), repeat=2):
            if 0 < sum(held) <= kept:
                for base in itertools.product(others, repeat=2):
                    yield (
                        tuple(b + size * h for b, h in zip(base, held, strict=True)),
                        base,
                    )


def worst_removal(mechanism, rates, others=(0, 8, 130)):
    found = np.zeros(rates.size)
    for a, b in neighbors(mechanism.whole, others):
        p, q = law(a, mechanism), law(b, mechanism)
        for pair in ((p, q), (q, p)):
            found = np.maximum(found, exact.hockey(*pair, rates))
    return found


def test_the_curve_covers_every_neighbor_of_two_keys():
    # Shared keys, keys of one person alone, and one of each; both directions.
    assert isinstance(SMALL.curve(), Worst)
    truth = worst_removal(SMALL, RATES)
    claim = SMALL.curve().delta_at(RATES)
    assert np.all(claim >= truth - 1e-12)
    # The claim is not idle: the Gaussian part and the threshold part are both near.
    assert claim[0] <= truth[0] * 1.05
    assert claim[-1] <= truth[-1] * 1.6  # three keys of one person alone, two seen


def test_a_threshold_one_noise_lower_is_caught():
    low = m.KeySelection(std=20.0, threshold=42, keys_per_person=3, whole=8)
    claim = SMALL.curve().delta_at(RATES)
    assert np.any(claim < worst_removal(low, RATES) - 1e-6)
    quiet = m.KeySelection(std=18.0, threshold=62, keys_per_person=3, whole=8)
    assert np.any(claim < worst_removal(quiet, RATES) - 1e-6)


def test_the_curve_covers_every_exchange_of_two_people():
    mechanism = m.KeySelection(
        std=20.0, threshold=70, keys_per_person=2, whole=8, neighbors="replace-one"
    )
    claim = mechanism.curve().delta_at(RATES)
    contributions = [
        tuple(vote(kept, 8) * h for h in held)
        for kept in (1, 2)
        for held in itertools.product((0, 1), repeat=2)
        if 0 < sum(held) <= kept
    ]
    truth = np.zeros(RATES.size)
    for base in itertools.product((0, 8, 130), repeat=2):
        laws = [
            law(tuple(b + c for b, c in zip(base, mine, strict=True)), mechanism)
            for mine in contributions
        ]
        for p, q in itertools.permutations(laws, 2):
            truth = np.maximum(truth, exact.hockey(p, q, RATES))
    assert np.all(claim >= truth - 1e-12)
    single = m.KeySelection(std=20.0, threshold=70, keys_per_person=2, whole=8)
    assert np.any(single.curve().delta_at(RATES) < truth - 1e-6)


@given(
    st.floats(0.01, 4.0), st.floats(1e-9, 0.3), st.floats(0.0, 6.0), st.floats(0.0, 1.0)
)
def test_no_mixture_is_worse_than_the_worse_part(mu, odds, epsilon, alone):
    # Theorem 2: a share of a person's keys is theirs alone, the rest is shared.
    if not _separate(mu, odds):
        return
    shared = GDP(mu=mu * math.sqrt(1 - alone)).delta_at(epsilon)
    ends = max(GDP(mu=mu).delta_at(epsilon), odds)
    assert alone * odds + shared <= ends * (1 + 1e-9)


def test_where_a_mixture_is_worse_the_sum_is_charged():
    # A threshold far too low for its noise: half the keys alone is the worst case.
    mu, odds = 0.1, 0.05
    mixed = odds / 2 + GDP(mu=mu * math.sqrt(0.5)).delta_at(0.0)
    assert mixed > max(GDP(mu=mu).delta_at(0.0), odds)
    assert not _separate(mu, odds)
    low = m.KeySelection(std=80.0, threshold=150, keys_per_person=2, whole=8)
    assert not isinstance(low.curve(), Worst)
    assert np.all(low.curve().delta_at(RATES) >= worst_removal(low, RATES) - 1e-12)


def tail(std, reach):
    """P(Z >= reach) for discrete Gaussian noise, to 40 digits."""
    with mpmath.workdps(40):
        width = int(60 * std) + 60
        weight = [
            mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(std) ** 2))
            for k in range(-width, width + 1)
        ]
        return mpmath.fsum(weight[reach + width :]) / mpmath.fsum(weight)


@pytest.mark.thin(3)
@pytest.mark.parametrize("std", [0.5, 1, 3, 10])
@pytest.mark.parametrize("threshold", [2, 5, 17, 40])
def test_n8_tails_are_exact_and_rounded_up(std, threshold):
    whole = 4
    with mpmath.workdps(400):  # 1 - τ keeps the digits of a tiny τ
        exact_odds = max(
            (1 - tail(std, threshold - vote(k, whole))) ** -k - 1 for k in range(1, 7)
        )
    found = _odds(DiscreteGaussian(Fraction(std)), threshold, 6, whole)
    assert found >= exact_odds
    if 1e-300 < exact_odds < 1:  # beyond, τ is so near 1 that its odds lose digits
        assert found <= exact_odds * (1 + mpmath.mpf(1e-10))


@pytest.mark.parametrize("keys", [1, 2, 7, 100])
def test_the_calibrated_threshold_is_the_lowest(keys):
    found = m.KeySelection.for_epsilon(1.0, delta=1e-6, keys_per_person=keys)
    law = DiscreteGaussian(Fraction(found.std))
    assert found.odds <= 1e-6 < _odds(law, found.threshold - 1, keys, WHOLE)
    assert found.curve().delta_at(1.0) <= 1e-6
    assert m.KeySelection.for_epsilon(1.0, delta=1e-6, keys_per_person=keys) == found
    quieter = m.KeySelection(found.std * 0.999, found.threshold, keys)
    assert quieter.curve().delta_at(1.0) > 1e-6


def test_the_worst_number_of_keys_is_looked_for():
    # With few keys the single one is the worst, with a lower threshold the many are.
    law = DiscreteGaussian(Fraction(4 * WHOLE))
    each = [
        math.expm1(-k * math.log1p(-float(law.survival(24 * WHOLE - vote(k) - 1))))
        for k in range(1, 101)
    ]
    assert _odds(law, 24 * WHOLE, 100, WHOLE) == pytest.approx(max(each), rel=1e-9)
    assert max(each) > 2 * each[0]


@pytest.mark.statistical
@pytest.mark.parametrize("std", [0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("wanted", [0.01, 0.05])
def test_n8_singletons_appear_no_more_often_than_claimed(std, wanted):
    # 10^5 keys with one holder each. Six standard deviations: false alarm 1e-9.
    law = DiscreteGaussian(Fraction(std))
    threshold = next(t for t in range(1, 99) if _odds(law, t, 1, 1) <= wanted)
    claimed = m.KeySelection(std, threshold, 1, whole=1)
    delta = claimed.curve().delta_at(50.0)
    assert delta == pytest.approx(claimed.singleton, rel=0.06)
    many, draws = np.ones(100_000, dtype=np.int64), 100_000
    slack = 6 * math.sqrt(delta * draws)
    found = claimed.run(many, source=Seeded(91)).places.size
    assert found <= delta * draws + slack
    # The twin names a key one step earlier: > instead of >=, or a tail off by one.
    twin = m.KeySelection(std, max(threshold - 1, 1), 1, whole=1)
    if twin.threshold < threshold:
        assert twin.run(many, source=Seeded(92)).places.size > delta * draws + slack


@pytest.mark.statistical
def test_n8_people_with_many_keys_of_their_own():
    # 20 000 people with nine keys each that nobody else holds.
    claimed = m.KeySelection(10.0, threshold=32, keys_per_person=9, whole=12)
    votes = np.full(180_000, vote(9, 12))
    found = claimed.run(votes, source=Seeded(93)).places
    people = np.unique(found // 9).size
    # The sum is charged here: the threshold part is what is left at a large ε.
    delta = claimed.curve().delta_at(50.0)
    assert people <= 20_000 * delta + 6 * math.sqrt(20_000 * delta)
    # A claim that forgets the other eight keys is caught.
    one = claimed.chance(vote(9, 12))
    assert people > 20_000 * one + 6 * math.sqrt(20_000 * one)


def test_s7_only_keys_that_somebody_holds_are_named():
    mechanism = m.KeySelection(std=100.0, threshold=1, keys_per_person=1)
    found = mechanism.run(np.zeros(10_000, dtype=np.int64), source=Seeded(94))
    assert found.places.size == found.votes.size == 0
    assert mechanism.run([], source=Seeded(94)).places.size == 0
    assert mechanism.run([10**6] * 3, source=Seeded(94)).places.tolist() == [0, 1, 2]
    assert m.OptimalKeySelection(1.0, 0.5).run([0] * 99, source=Seeded(1)).size == 0


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[1]], 3, ["a"], None])
def test_votes_that_are_no_whole_numbers_are_refused(bad):
    for mechanism in (SMALL, m.OptimalKeySelection(1.0, 0.01)):
        with pytest.raises(InvalidArgument):
            mechanism.run(bad)


def test_only_delta_can_pay_for_names():
    for kind in (m.KeySelection, m.OptimalKeySelection):
        with pytest.raises(NoBound):
            kind.for_epsilon(1.0)
        with pytest.raises(NoBound):
            kind.for_curve(GDP(mu=1.0))
        with pytest.raises(InvalidArgument):
            kind.for_epsilon(1.0, 2, delta=1e-6)
        with pytest.raises(InvalidArgument):
            kind.for_accuracy(3)
    with pytest.raises(InvalidArgument):
        _ = m.OptimalKeySelection(1.0, 0.1).error


def test_large_deltas_are_divided():
    found = m.KeySelection.for_epsilon(0.1, delta=0.2, keys_per_person=5)
    assert not isinstance(found.curve(), Worst)
    assert found.curve().delta_at(0.1) <= 0.2


def test_composition_is_no_worse_than_noise_and_threshold_apart():
    found = m.KeySelection.for_epsilon(1.0, delta=1e-6)
    parts = found.curve().curves
    other = Approx(epsilon=0.5, delta=0.0)
    together = compose(found.curve(), other).epsilon_at(2e-6)
    assert together <= compose(*parts, other).epsilon_at(2e-6) * (1 + 1e-6)


# -- the optimal rule for keys counted in people ----------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (3.0, 1e-12), (0.5, 0.3)]
)
def test_optimal_chances_are_private_and_as_large_as_can_be(epsilon, delta):
    found = m.OptimalKeySelection(epsilon, delta)
    with mpmath.workdps(60):
        grow, slack = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        best = mpmath.mpf(0)
        exact_chances = [mpmath.mpf(int(p)) / 2**62 for p in found.chances]
        for p, q in itertools.pairwise(exact_chances):
            assert q <= grow * p + slack
            assert 1 - p <= grow * (1 - q) + slack
            assert p <= q
        for n, p in enumerate(exact_chances):
            assert p <= best
            # Rounding δ down to 2^-62 is all that is lost.
            lost = mpmath.mpf(2) ** -58 / slack
            assert best - p <= best * lost + mpmath.mpf(2) ** -50, n
            best = min(
                grow * best + slack, 1 - (1 - best - slack) / grow, mpmath.mpf(1)
            )
    assert found.chances[0] == 0
    assert found.chance(1) == pytest.approx(delta, rel=1e-6)
    assert found.chance(10**9) == 1.0


@pytest.mark.statistical
def test_n8_optimal_singletons():
    delta, draws = 0.01, 100_000
    found = m.OptimalKeySelection(1.0, delta).run([1] * draws, source=Seeded(95))
    slack = 6 * math.sqrt(delta * draws)
    assert abs(found.size - delta * draws) <= slack
    twin = m.OptimalKeySelection(1.0, delta).run([2] * draws, source=Seeded(95))
    assert twin.size > delta * draws + slack


def test_the_choice_depends_on_public_numbers():
    kinds = [
        type(m.choose_key_selection(1.0, 1e-6, keys_per_person=k)).__name__
        for k in (1, 2, 4, 50)
    ]
    assert kinds == ["OptimalKeySelection"] * 2 + ["KeySelection"] * 2
    both = m.choose_key_selection(1.0, 1e-6, keys_per_person=2, neighbors="replace-one")
    assert both.curve().delta_at(1.0) <= 1e-6 * (1 + 1e-9)
