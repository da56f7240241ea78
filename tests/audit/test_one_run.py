"""One training run, many canaries: the bounds hold, and they see."""

import itertools
import math
from operator import ne

import numpy as np
import pytest
from scipy import optimize

from hush import mechanisms as m
from hush.audit import one_run
from hush.audit.hypothesis_tests import binomial
from hush.audit.one_run import approximate, level_of, tradeoff
from hush.errors import InvalidArgument
from hush.noise import Seeded, integers
from hush.privacy import GDP, ZCDP, Approx, Pure


def trainer(std, source):
    noise = m.Gaussian(std)
    return lambda included: noise.run(included * 1.0, source=source)


@pytest.mark.statistical
@pytest.mark.parametrize("claim", [GDP(1.0), Approx(5.0, 1e-5), Pure(8.0)], ids=str)
def test_one_run_rarely_accuses_a_correct_trainer(claim):
    # GDP(1) implies the others but Pure(8), which it breaks with chance below 1e-4 per
    # canary. 40 runs at level 0.95: more than 10 accusations have chance below 1e-5.
    accused = 0
    for seed in range(40):
        source = Seeded(seed)
        found = one_run(trainer(1.0, source), 400, claim=claim, source=source)
        accused += found.violated
        assert found.mu_lower < 1.6
    assert accused <= 10


@pytest.mark.statistical
@pytest.mark.parametrize("claim", [GDP(0.4), Approx(1.0, 1e-5), Pure(0.8)], ids=str)
def test_one_run_catches_too_little_noise(claim):
    source = Seeded(3)
    found = one_run(trainer(0.5, source), 2000, claim=claim, source=source)
    assert found.violated
    assert 1.0 < found.mu_lower < 2.0
    assert found.epsilon_lower > 1.0
    assert "violated" in str(found)


def test_one_run_bounds_cover_randomized_response():
    # With one answer per canary by randomized response, right guesses are binomial:
    # every valid bound lies above that tail, and the one for pure claims is that tail.
    for epsilon in (0.3, 1.0, 2.5):
        chance = 1 / (1 + math.exp(-epsilon))
        needed = level_of(Pure(epsilon))
        for made in (5, 20, 60):
            for right in range(made // 2, made + 1):
                exact = binomial(right, made, chance)
                assert approximate(made, made, right, epsilon, 0.0) == exact
                assert tradeoff(made, made, right, needed) >= exact * (1 - 1e-6)
                assert approximate(made, made, right, epsilon, 1e-3) >= exact


def test_one_run_bounds_cover_gaussian_canaries():
    # All canaries guessed by the sign of their score: right with chance Φ(μ/2) each.
    from scipy import special

    for mu in (0.5, 1.0, 2.0):
        chance = float(special.ndtr(mu / 2))
        for made in (10, 100):
            for right in range(made // 2, made + 1, 5):
                exact = binomial(right, made, chance)
                bound = tradeoff(made, made, right, level_of(GDP(mu)))
                assert bound >= exact * (1 - 1e-6)


def accused(mechanism, claim, canaries, runs, guesses=None):
    """How often a mechanism is accused that is exactly as private as it says."""
    return sum(
        one_run(
            lambda bits, s=source: mechanism(bits, s),
            canaries,
            claim=claim,
            guesses=guesses,
            source=source,
        ).violated
        for source in map(Seeded, range(runs))
    )


def responded(bits, source):
    return m.RandomizedResponse(0.75).run(bits.astype(int), source=source)


def responded_or_betrayed(bits, source):
    """Like it, but for one canary in fifty whose bit is simply told."""
    told = np.asarray(integers(50, len(bits), source=source)) == 0
    return np.where(told, 3.0 * bits - 1, responded(bits, source))


def noisy(bits, source):
    return m.Gaussian(1.0).run(bits * 1.0, source=source)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (responded, Pure(math.log(3))),
        (responded, Approx(math.log(3), 1e-6)),
        (responded_or_betrayed, Approx(math.log(3), 0.02)),
        (noisy, GDP(1.0)),
        (noisy, ZCDP(0.5)),
    ],
    ids=["response", "response, delta", "betrayed", "gauss", "zcdp"],
)
@pytest.mark.parametrize("guesses", [40, None], ids=["forty", "five numbers"])
def test_one_run_keeps_its_level_where_the_claim_is_exact(mechanism, claim, guesses):
    # 200 runs at level 0.95: more than 28 accusations have chance 1e-6.
    assert accused(mechanism, claim, 100, 200, guesses) <= 28


def test_one_run_never_bounds_a_chance_from_below_by_enumeration():
    # Every law of the number of right guesses that canaries answered one by one can
    # have: randomized response, with a share of canaries betrayed outright.
    from scipy import stats

    for epsilon, delta in ((0.5, 0.05), (1.0, 0.1), (2.0, 0.01)):
        lie = (1 - delta) / (1 + math.exp(epsilon))
        claim = Approx(epsilon, delta)
        for made in (3, 12, 40):
            for right in range(made + 1):
                exact = stats.binom.sf(right - 1, made, 1 - lie)
                for bound in (
                    approximate(made, made, right, epsilon, delta),
                    tradeoff(made, made, right, level_of(claim)),
                ):
                    assert bound >= exact * (1 - 1e-6)


def test_one_run_bounds_are_not_empty():
    # At twice the noise that is claimed the bounds must see it.
    assert tradeoff(1000, 250, 230, level_of(GDP(0.5))) < 1e-3
    assert tradeoff(1000, 250, 230, level_of(Approx(1.0, 1e-5))) < 1e-3
    assert approximate(1000, 250, 230, 1.0, 1e-5) < 4e-3
    assert approximate(250, 250, 230, 1.0, 1e-5) < 1e-3


def test_one_run_levels_lie_below_the_tradeoff():
    for claim in (ZCDP(0.5), Pure(1.0), m.Laplace(1.0).curve(3)):
        needed = level_of(claim)
        for power in (0.01, 0.2, 0.5, 0.9):
            assert needed(power) <= claim.tradeoff_at(1 - power) + 1e-12
            assert needed(power) >= claim.tradeoff_at(1 - power) - 0.01


def test_wrong_trainers_are_named():
    with pytest.raises(InvalidArgument, match="scores"):
        one_run(lambda _: [1.0], 10, claim=Pure(1.0))
    with pytest.raises(InvalidArgument, match="guesses"):
        one_run(lambda bits: bits * 1.0, 10, claim=Pure(1.0), guesses=11)


def most_right(canaries, guesses, right, epsilon, delta):
    """The largest P(W >= right) of all (ε, δ)-private mechanisms, by a linear program.

    Unknowns are the chances of every set of guesses given every choice of the coins,
    and, for two choices that differ in one coin, how far one exceeds e^ε the other.
    """
    coins = list(itertools.product((0, 1), repeat=canaries))
    told = [
        list(zip(places, bits, strict=True))
        for places in itertools.combinations(range(canaries), guesses)
        for bits in itertools.product((0, 1), repeat=guesses)
    ]
    size, pairs = len(told), list(itertools.permutations(range(len(coins)), 2))
    pairs = [(i, j) for i, j in pairs if sum(map(ne, coins[i], coins[j])) == 1]
    eye, none = np.eye(size), np.zeros((size, size))
    rows, limits = [], []
    for at, (i, j) in enumerate(pairs):
        blocks = {i: eye, j: -math.exp(epsilon) * eye, len(coins) + at: -eye}
        every = range(len(coins) + len(pairs))
        rows.append(np.hstack([blocks.get(block, none) for block in every]))
        limits += [0.0] * size
    for at in range(len(pairs)):
        over = np.zeros(size * (len(coins) + len(pairs)))
        over[size * (len(coins) + at) :][:size] = 1
        rows.append(over[None])
        limits.append(delta)
    wins = [
        float(sum(coin[place] == bit for place, bit in each) >= right)
        for coin in coins
        for each in told
    ]
    extra = size * len(pairs)
    found = optimize.linprog(
        -np.array(wins + [0.0] * extra) / len(coins),
        A_ub=np.vstack(rows),
        b_ub=limits,
        A_eq=np.hstack(
            [np.kron(np.eye(len(coins)), np.ones(size)), np.zeros((len(coins), extra))]
        ),
        b_eq=np.ones(len(coins)),
    )
    return -found.fun


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 3)])
def test_one_run_covers_the_best_of_all_mechanisms(canaries, guesses):
    for epsilon, delta in ((1.0, 0.1), (0.0, 0.2), (1.5, 0.01)):
        for right in range(1, guesses + 1):
            best = most_right(canaries, guesses, right, epsilon, delta)
            found = approximate(canaries, guesses, right, epsilon, delta)
            other = tradeoff(canaries, guesses, right, level_of(Approx(epsilon, delta)))
            assert min(found, other) >= best - 1e-9
            if right == guesses:  # and it is attained there
                assert found == pytest.approx(best, rel=1e-6)


def most_right_of_all(canaries, right, epsilon, delta):
    """The same where all are guessed: averaged over orders and signs of the canaries.

    Then only the number d of wrong guesses counts, P_d its chance. Between neighbors,
    (m-d)/m of P_d stands against (d+1)/m of P_(d+1).
    """
    m, ratio = canaries, math.exp(epsilon)
    size = 3 * m + 1  # P_0..P_m, and what is over in either order
    rows = np.zeros((2 * m + 1, size))
    for d in range(m):
        stay, move = (m - d) / m, (d + 1) / m
        rows[d, [d, d + 1, m + 1 + d]] = stay, -ratio * move, -1
        rows[m + d, [d, d + 1, 2 * m + 1 + d]] = -ratio * stay, move, -1
    rows[-1, m + 1 :] = 1
    limits = np.append(np.zeros(2 * m), delta)
    every = np.append(np.ones(m + 1), np.zeros(2 * m))[None]
    wins = np.append(np.arange(m + 1) <= m - right, np.zeros(2 * m))
    found = optimize.linprog(-wins, A_ub=rows, b_ub=limits, A_eq=every, b_eq=[1.0])
    return -found.fun


@pytest.mark.parametrize("canaries", [3, 10, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.001), (0.3, 0.01), (2.5, 0.01)])
def test_one_run_is_near_the_best_that_guesses_all(canaries, epsilon, delta):
    needed = level_of(Approx(epsilon, delta))
    for right in range(canaries // 2, canaries + 1):
        best = most_right_of_all(canaries, right, epsilon, delta)
        bounds = (
            approximate(canaries, canaries, right, epsilon, delta),
            tradeoff(canaries, canaries, right, needed),
        )
        assert min(bounds) >= best * (1 - 1e-7)
        assert min(bounds) <= best * 1.15
    if canaries == 3:
        assert best == pytest.approx(most_right(3, 3, 3, epsilon, delta), rel=1e-6)


def test_it_says_where_canaries_are_too_few():
    told = one_run(lambda coins: coins * 1.0, 300, claim=GDP(1.6), source=Seeded(1))
    assert not told.violated
    assert not told.can_refute
    assert "So few canaries cannot refute this claim" in str(told)
    enough = one_run(lambda coins: coins * 0.0, 300, claim=GDP(0.5), source=Seeded(1))
    assert not enough.violated
    assert enough.can_refute
    assert "So few" not in str(enough)
