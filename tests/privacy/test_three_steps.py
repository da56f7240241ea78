"""Three sampled Gaussian steps by nested integrals, in every order of directions.

A step is `+` where the mixture (1-q)N(0,1) + qN(μ,1) is told from N(0,1), and `-` the
other way round. The last step is integrated in closed form, the first two by the
double-exponential rule, cut where all that follows has become certain.
"""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from hush.privacy import GDP, Pure, fixed_size, poisson, repeat, shuffle
from privacy import truths
from privacy.truths import Truth

ROOT = math.sqrt(2 * math.pi)
GRID = np.linspace(-3.2, 3.2, 129)
NODES = np.tanh(np.pi / 2 * np.sinh(GRID))
WEIGHTS = np.pi / 2 * np.cosh(GRID) / np.cosh(np.pi / 2 * np.sinh(GRID)) ** 2 * 0.05
REACH = 9.5
EXACT = 1e-10  # of the integrals, relative: seen by halving the step


def mills(x):
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def last(s, k, q, mu):
    """E (s·l(x) - k)+ for x ~ N(0,1), l the likelihood ratio of the mixture."""
    ratio = (k / s - (1 - q)) / q
    sure = ratio <= 0
    cut = (np.log(np.where(sure, 1.0, ratio)) + mu * mu / 2) / mu
    far = np.maximum(cut, -5.0)
    small = np.exp(-((far - mu) ** 2) / 2) / ROOT * (mills(far - mu) - mills(far))
    large = s * ((1 - q) * ndtr(-cut) + q * ndtr(mu - cut)) - k * ndtr(-cut)
    return np.where(sure, s - k, np.where(cut > -5, s * q * small, large))


def split(middle, mu):
    """Nodes and weights from -REACH to REACH + μ, dense at `middle`."""
    low, high = -REACH, REACH + mu
    middle = np.clip(middle, low, high)[..., None]
    left, right = (middle - low) / 2, (high - middle) / 2
    x = np.concatenate([low + left * (1 + NODES), middle + right * (1 + NODES)], -1)
    return x, np.concatenate([left * WEIGHTS, right * WEIGHTS], -1)


def hockey(q, mu, kinds, epsilon):
    """sup_S P(S) - e^ε Q(S) for steps such as "--+"; the last one is a `+`."""
    k = math.exp(epsilon)

    def following(s, step):
        if step == len(kinds) - 1:
            return last(s, k, q, mu)
        rest = kinds[step + 1 :]
        want = k / (s * (1 - q) ** (rest.count("+") - rest.count("-")))
        ratio = ((want if kinds[step] == "+" else 1 / want) - (1 - q)) / q
        cut = (np.log(np.where(ratio > 0, ratio, 1.0)) + mu * mu / 2) / mu
        x, w = split(np.where(ratio > 0, cut, -REACH), mu)
        mixed = 1 - q + q * np.exp(mu * x - mu * mu / 2)
        w = w * np.exp(-x * x / 2) / ROOT
        if kinds[step] == "+":
            return (following(s[..., None] * mixed, step + 1) * w).sum(-1)
        return (following(s[..., None] / mixed, step + 1) * w * mixed).sum(-1)

    return float(following(np.array(1.0), 0))


CASES = [(0.1, 1.0), pytest.param(1e-3, 2.0, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("q", "mu"), CASES)
def test_three_poisson_steps_lie_between_their_bounds(q, mu):
    curve = repeat(poisson(GDP(mu), rate=q), times=3)
    for epsilon in (0.05, 1.0):
        truth = hockey(q, mu, "+++", epsilon)
        assert curve.remove.delta_at(epsilon) >= truth * (1 - EXACT)
        assert curve.remove.delta_at_lower(epsilon) <= truth * (1 + EXACT)
        # H(Q||P) at e^ε from H(P||Q) at e^-ε; absolute, because it cancels.
        back = (
            1 - math.exp(epsilon) + math.exp(epsilon) * hockey(q, mu, "+++", -epsilon)
        )
        assert curve.add.delta_at(epsilon) >= back - 10 * EXACT
        assert curve.add.delta_at_lower(epsilon) <= back + 10 * EXACT


@pytest.mark.parametrize(("batch", "records", "mu"), [(10, 100, 1.0)])
def test_three_batches_cover_directions_in_every_order(batch, records, mu):
    """An exchange may look like a removal in one step and an addition in the next."""
    curve = repeat(fixed_size(GDP(mu), batch=batch, records=records), times=3)
    for epsilon in (0.0, 0.5):
        for kinds in ("+++", "-++", "--+"):
            truth = hockey(batch / records, mu, kinds, epsilon)
            assert curve.delta_at(epsilon) >= truth * (1 - EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(("q", "mu"), [(1e-6, 1.0), (0.01, 3.0), (0.9, 0.2)])
@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.7, 4.0, 12.0])
def test_more_poisson_steps_lie_between_their_bounds(q, mu, epsilon):
    curve = repeat(poisson(GDP(mu), rate=q), times=3)
    truth = hockey(q, mu, "+++", epsilon)
    assert curve.remove.delta_at(epsilon) >= truth * (1 - 1e-8)
    # Cut at 9.5 deviations, the integrals miss what is rarer than that: e^(-9.5²/2).
    if truth > 1e-18:
        assert curve.remove.delta_at_lower(epsilon) <= truth * (1 + 1e-8)


def test_one_step_too_few_is_noticed():
    curve = repeat(poisson(GDP(1.0), rate=0.1), times=2)
    assert curve.remove.delta_at(0.05) < hockey(0.1, 1.0, "+++", 0.05)


def subsets(answers, chosen, epsilon):
    """Report a set of `chosen` answers: e^ε times likelier if it holds the truth."""
    sets = list(itertools.combinations(range(answers), chosen))
    odds = [
        [mp.exp(epsilon) if v in s else mp.mpf(1) for s in sets] for v in range(answers)
    ]
    return [[x / mp.fsum(row) for x in row] for row in odds]


def skewed(epsilon):
    """A randomizer of two values with answers of very different chances."""
    e = mp.exp(epsilon)
    a, b = mp.mpf("0.02") / (1 + e), mp.mpf("0.98") / (1 + e)
    return [[e * a, a, e * b, b], [a, e * a, b, e * b]]


@pytest.mark.parametrize("people", [2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make", [lambda e: subsets(3, 2, e), lambda e: subsets(2, 1, e), skewed]
)
@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_shuffled_sets_and_skewed_answers(people, make, epsilon):
    """All inputs of the others; the lower bound is that of two even answers."""
    with mp.workdps(50):
        rows = make(mp.mpf(epsilon))
        curve = shuffle(Pure(epsilon), people=people)
        grid = np.array([0.0, 1e-6, 0.1 * epsilon, 0.6 * epsilon, 0.999 * epsilon])
        above, below = curve.delta_at(grid), curve.delta_at_lower(grid)
        best = [mp.mpf(0)] * grid.size
        for others in itertools.combinations_with_replacement(
            range(len(rows)), people - 1
        ):
            rest = [rows[v] for v in others]
            one, two = (truths.shuffled_law([row, *rest]) for row in rows[:2])
            truth = Truth([(one[x], two[x]) for x in one])
            best = [
                max(b, truth.delta(x)) for b, x in zip(best, grid.tolist(), strict=True)
            ]
        assert all(a >= b for a, b in zip(above, best, strict=True))
        if len(rows) == 2 == len(rows[0]):
            assert all(a <= b * (1 + 1e-13) for a, b in zip(below, best, strict=True))
