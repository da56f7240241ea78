"""Noise and keys against laws enumerated from their descriptions."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from fifty import EPSILONS, covers, gaussian, hockey, laplace, product, real, shifted

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.noise import Seeded
from hush.noise.ball import Body
from hush.privacy import GDP, Approx, Pure
from hush.units import Neighbors


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


@pytest.mark.parametrize(
    ("target", "pieces", "sensitivity"),
    [
        (Approx(1.0, 0.01), 1, 1),
        (Approx(0.3, 1e-9), 1, 2),
        (Pure(0.5), 1, 1),
        (GDP(1.0), 4, 1),
        (GDP(0.4), 2, Fraction(1, 2)),
    ],
    ids=str,
)
def test_canonical_noise_is_charged_by_its_table(target, pieces, sensitivity):
    mechanism = m.Canonical(target, pieces=pieces)
    table = mechanism.error.law
    law = {table.start + i: real(p) for i, p in enumerate(table.probabilities)}
    assert sum(table.probabilities) == 1
    steps = range(1, int(Fraction(sensitivity) * pieces) + 1)
    pairs = [(law, shifted(law, by)) for by in steps]
    curve = mechanism.curve(sensitivity)
    assert covers(curve, pairs)
    for x in EPSILONS:  # attained, and the target but for 2^-43
        truth = max(hockey(p, q, x) for p, q in pairs)
        assert curve.delta_at(x) <= truth + mp.mpf("1e-12")
        if sensitivity == 1:
            assert curve.delta_at(x) <= target.delta_at(x) + 2.0**-43


def test_tulap_is_the_law_of_its_definition():
    """[AS18]: discrete Laplace plus uniform noise, tails of chance q/2 cut away."""
    epsilon, delta = mp.mpf(1), mp.mpf("0.01")
    b = mp.exp(-epsilon)
    cut = 2 * delta * b / (1 - b + 2 * delta * b)

    def cdf(k):  # at k + 1/2, where the uniform part is used up
        whole = b ** (-k) / (1 + b) if k < 0 else 1 - b ** (k + 1) / (1 + b)
        return min(max((whole - cut / 2) / (1 - cut), mp.mpf(0)), mp.mpf(1))

    law = m.Canonical(Approx(1.0, 0.01)).error.law
    for k in range(-9, 10):
        assert abs(law.pmf(k) - (cdf(k) - cdf(k - 1))) < 2e-15


@pytest.mark.parametrize(("width", "inner"), [(3, 1), (4, 2), (5, 5)])
def test_staircases_of_whole_numbers(width, inner):
    """Every shift up to the width, and the next ones at their multiple."""
    scale, reach = Fraction(2, 3), 90
    mechanism = m.Staircase(scale, width=width, inner=Fraction(inner, width), step=1)
    level = [0 if k < inner else (k - inner) // width + 1 for k in range(reach + 1)]
    weights = {
        k: mp.exp(-level[abs(k)] / real(scale)) for k in range(-reach, reach + 1)
    }
    total = mp.fsum(weights.values())
    law = {k: w / total for k, w in weights.items()}
    for by in (1, width - 1, width, width + 1, 2 * width):
        pair = tuple({k: x[k] for k in range(-70, 71)} for x in (law, shifted(law, by)))
        assert covers(mechanism.curve(by), [pair], EPSILONS[:7], "1e-12")
    draws = mechanism.run(np.zeros(6000, dtype=np.int64), source=Seeded(1))
    seen = np.bincount(np.clip(draws, -20, 20) + 20, minlength=41)
    expected = [float(law[k]) * 6000 for k in range(-20, 21)]
    assert p_value(seen, expected) > FALSE_ALARM


def slanted(x, radius):
    return 2 * abs(int(x[0]) - int(x[1])) + abs(int(x[0]) + int(x[1])) <= radius


NORMS = {
    "diamond": (1, lambda x, y: abs(x) + abs(y)),
    "round": (2, lambda x, y: math.isqrt(x * x + y * y - 1) + 1 if x or y else 0),
    "square": (math.inf, lambda x, y: max(abs(x), abs(y))),
    "slanted": (
        Body(slanted, box=1, ones=4),
        lambda x, y: 2 * abs(x - y) + abs(x + y),
    ),
}


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    ["diamond", "square", *(pytest.param(n, marks=SLOW) for n in ("round", "slanted"))],
)
def test_k_norm_noise_in_the_plane(name):
    """Law exp(-⌈‖x‖⌉/2) on whole points; every pair of rounded neighbors is covered."""
    norm, size = NORMS[name]
    mechanism = m.KNorm(2.0, dimension=2, norm=norm, bits=1)
    reach = 50
    box = list(itertools.product(range(-reach, reach + 1), repeat=2))
    weights = {x: math.exp(-size(*x) / 2) for x in box}
    total = math.fsum(weights.values())
    claimed = mechanism.curve(1).epsilon_at(0)
    # Coordinates one apart or less, rounded halves up, are moved by -2..2 steps.
    fractions = [Fraction(k, 4) for k in range(-4, 5)]
    moves = {
        (math.floor(a + u + HALF) - math.floor(u + HALF),
         math.floor(b + v + HALF) - math.floor(v + HALF))
        for a, b in itertools.product(fractions, repeat=2)
        if length(name, a, b) <= 1
        for u, v in itertools.product(fractions[4:8], repeat=2)
    }  # fmt: skip
    far = max(
        abs(size(x - a, y - b) - size(x, y))
        for a, b in moves
        for x, y in itertools.product(range(-8, 9), repeat=2)
    )
    assert far / 2 <= claimed
    source = Seeded(2)
    drawn = [tuple(mechanism.run([0.0, 0.0], source=source)) for _ in range(500)]
    cells = {}
    for x in box:
        cell = (min(size(*x), 12), x[0] > 0, x[1] > x[0])
        cells[cell] = cells.get(cell, 0) + weights[x] / total * len(drawn)
    seen = dict.fromkeys(cells, 0)
    for x, y in drawn:
        a, b = int(x), int(y)
        assert (a, b) == (x, y)
        seen[min(size(a, b), 12), a > 0, b > a] += 1
    assert p_value(list(seen.values()), list(cells.values())) > FALSE_ALARM


HALF = Fraction(1, 2)


def length(name, a, b):
    if name == "round":
        return math.sqrt(a * a + b * b) - 1e-12
    return NORMS[name][1](a, b)


def test_totals_of_a_tree_from_their_blocks():
    """Four totals are three noisy blocks for the first number, and post-processed."""
    scale = 1.6  # 3/scale is not one of the ε tried
    mechanism = m.TreeSum(horizon=4, scale=scale)
    # The loss of one block is 1/scale up to zero and -1/scale above: two atoms.
    r = mp.exp(-1 / real(scale))
    p, q = ({True: x / (1 + r), False: 1 - x / (1 + r)} for x in (mp.mpf(1), r))
    assert covers(
        mechanism.curve(1), [(product(p, p, p), product(q, q, q))], rounding="1e-9"
    )
    source = Seeded(3)
    runs = np.array([mechanism.run([0] * 4, source=source) for _ in range(3000)])
    r = math.exp(-1 / scale)
    variance = 2 * r / (1 - r) ** 2
    # Totals 1..4 are the blocks (1), (12), (12)+(3), (1234).
    wanted = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 2, 0], [0, 0, 0, 1]])
    error = 12 * variance / math.sqrt(len(runs))  # six deviations of a fourth moment
    assert np.all(np.abs(np.cov(runs.T) - wanted * variance) < 3 * error)
    fresh = runs[:, 2] - runs[:, 1]  # the third number's own block
    law = laplace(scale, 30)
    seen = np.bincount(np.clip(fresh, -12, 12) + 12, minlength=25)
    expected = [float(law[k]) * len(runs) for k in range(-12, 13)]
    expected[0] = expected[-1] = float(r**12 / (1 + r)) * len(runs)
    assert p_value(seen, expected) > FALSE_ALARM


def sums(law, count):
    total = {0: mp.mpf(1)}
    for _ in range(count):
        found = {}
        for (x, p), (y, q) in itertools.product(total.items(), law.items()):
            found[x + y] = found.get(x + y, mp.mpf(0)) + p * q
        total = found
    return total


def leaving(std, vote, shared, alone, epsilon):
    """δ in both directions when a person with keys of both kinds leaves.

    Keys that others hold far above the threshold show noisy votes; of these the sum is
    enough. `alone` is the chance that a key of this person's own is named.
    """
    e, named = mp.exp(mp.mpf(epsilon)), alone
    law = sums(gaussian(std, math.ceil(7 * std)), shared)
    pairs = []
    for x, p in law.items():  # Q at x; P at x is Q·exp((vote·x - shared·vote²/2)/σ²)
        loss = (vote * x - mp.mpf(shared * vote * vote) / 2) / real(std) ** 2
        pairs.append((p * mp.exp(loss), p))
    remove = named + mp.fsum(max(mp.mpf(0), (1 - named) * p - e * q) for p, q in pairs)
    add = mp.fsum(max(mp.mpf(0), q - e * (1 - named) * p) for p, q in pairs)
    return max(remove, add)


@pytest.mark.parametrize(
    ("std", "threshold"),
    [(2.5, 14), *(pytest.param(6.0, t, marks=SLOW) for t in (22, 45))],
)
def test_key_selection_covers_everyone_with_two_keys(std, threshold):
    whole = 8
    mechanism = m.KeySelection(std, threshold, keys_per_person=2, whole=whole)
    law = gaussian(std, 160)
    claimed = mechanism.curve().delta_at(np.array(EPSILONS))
    for keys in (1, 2):
        vote = math.isqrt(whole * whole // keys)
        tail = mp.fsum(p for k, p in law.items() if k + vote >= threshold)
        assert mechanism.singleton >= tail or keys == 2
        for own in range(keys + 1):
            alone = 1 - (1 - tail) ** own
            for k, x in enumerate(EPSILONS):
                truth = leaving(std, vote, keys - own, alone, x)
                assert claimed[k] >= truth * (1 - mp.mpf("1e-9")), (keys, own, x)


def test_two_people_who_share_a_key_of_their_own():
    """A key that two people alone hold is named more than twice as often as one's."""
    mechanism = m.KeySelection(20.0, threshold=60, keys_per_person=1, whole=8)
    law = gaussian(20.0, 400)
    together = mp.fsum(p for k, p in law.items() if k + 16 >= 60)
    assert together > 2 * mechanism.singleton
    for x in (0.0, 1.0, 5.0, 700.0):
        assert mechanism.curve(2).delta_at(x) >= together


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.01, 0.003), (20.0, 1e-12)]
)
@pytest.mark.parametrize("relation", list(Neighbors))
def test_optimal_keys_are_private_by_fractions_and_drawn(epsilon, delta, relation):
    mechanism = m.OptimalKeySelection(epsilon, delta, 2, relation)
    chances = [real(Fraction(int(c), 2**62)) for c in mechanism.chances] + [mp.mpf(1)]
    e, d = mp.exp(mp.mpf(epsilon)), mp.mpf(delta)
    for p, q in itertools.pairwise(chances):
        assert q <= e * p + d
        assert 1 - p <= e * (1 - q) + d
        assert p <= q
    # Two keys, moved at once; an exchange moves two more the other way.
    k = max(range(len(chances) - 1), key=lambda i: chances[i + 1] - chances[i])
    coins = [{0: 1 - c, 1: c} for c in (chances[1], chances[k + 1])]
    before = [{0: 1 - c, 1: c} for c in (chances[0], chances[k])]
    if relation is Neighbors.REPLACE_ONE:
        coins, before = coins + before, before + coins
    assert covers(mechanism.curve(), [(product(*coins), product(*before))])
    votes = np.repeat(np.arange(len(chances) - 1), 300)
    named = mechanism.run(votes, source=Seeded(6))
    seen = np.bincount(votes[named], minlength=len(chances) - 1)[: k + 3]
    for n, count in enumerate(seen):
        rate = float(chances[n]) * 300
        # Bernstein's inequality, twice: fails wrongly with chance 1e-10 for each n.
        assert abs(count - rate) <= 16 + 7 * math.sqrt(rate)
