"""The transfer bound against every event of small conversations, and its limits."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from hush.holdout.holdout_plan import (
    gaussian_overfit_estimate,
    noise_beyond,
    overfit,
    worst_noise,
)
from hush.privacy import GDP, Approx, Pure, compose


def response(epsilon: float, people: int) -> np.ndarray:
    """P(transcript | records): everybody answers by randomized response."""
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    worlds = list(itertools.product((0, 1), repeat=people))
    return np.array(
        [
            [
                math.prod(
                    honest if a == x else 1 - honest for a, x in zip(o, w, strict=True)
                )
                for o in worlds
            ]
            for w in worlds
        ]
    )


def noisy_sum(epsilon: float, people: int) -> np.ndarray:
    """P(transcript | records): a noisy sum of bits, cut at its ends."""
    worlds = list(itertools.product((0, 1), repeat=people))
    decay = math.exp(-epsilon)
    rows = []
    for world in worlds:
        s, row = sum(world), []
        for o in range(-6, people + 7):
            mass = (1 - decay) / (1 + decay) * decay ** abs(o - s)
            if o in (-6, people + 6):
                mass /= 1 - decay
            row.append(mass)
        rows.append(row)
    return np.array(rows)


def worst_gaps(table: np.ndarray, chance: float, people: int) -> list:
    """Return (P(E), E[1_E (q(S) - q(D))]) of the best events, the best q for each."""
    worlds = list(itertools.product((0, 1), repeat=people))
    prior = np.array(
        [math.prod(chance if x else 1 - chance for x in w) for w in worlds]
    )
    joint = prior[:, None] * table
    marginal = joint.sum(0)
    gap = np.zeros(table.shape[1])
    for i in range(people):
        ones = np.array([w[i] == 1 for w in worlds])
        # Two values: the best query is the indicator of the likelier one.
        gap += np.abs(joint[ones].sum(0) - chance * marginal) / people
    order = np.argsort(-gap / marginal)
    return list(zip(np.cumsum(marginal[order]), np.cumsum(gap[order]), strict=True))


@pytest.mark.parametrize("kind", [response, noisy_sum])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("people", [1, 2, 3])
def test_every_event_of_a_small_conversation(kind, epsilon, people):
    table = kind(epsilon, people)
    assert np.allclose(table.sum(1), 1)
    for chance in (0.02, 0.3, 0.5, 1 / (1 + math.exp(epsilon / 2))):
        for p, gap in worst_gaps(table, chance, people):
            assert gap <= p * overfit(Pure(epsilon=epsilon), min(p, 1.0)) + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomized_response_attains_it_so_a_smaller_claim_is_noticed(epsilon):
    chance = 1 / (1 + math.exp(epsilon / 2))
    p, gap = worst_gaps(response(epsilon, 1), chance, 1)[0]
    claim = p * overfit(Pure(epsilon=epsilon), p)
    assert claim * 0.999999 <= gap <= claim  # the sabotaged twin: 0.999999 of it


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("p", [0.2, 0.01, 1e-4])
def test_gaussian_answers_come_near(mu, p):
    # One person with a bit, released with noise 1/μ; the event is the best of a fine
    # grid of answers, in both tails.
    edges = np.linspace(-8, 8 + mu, 8001)
    off, on = (np.diff(stats.norm.cdf(edges - shift)) for shift in (0, mu))
    best = 0.0
    for chance in np.linspace(0.05, 0.6, 23):
        marginal = chance * on + (1 - chance) * off
        gap = np.abs(chance * (on - marginal))
        order = np.argsort(-gap / np.maximum(marginal, 1e-300))
        reached = np.interp(p, np.cumsum(marginal[order]), np.cumsum(gap[order]))
        best = max(best, float(reached) / p)
    claim = overfit(GDP(mu=mu), p)
    assert best <= claim
    assert best >= 0.7 * claim


@pytest.mark.thin(3)
@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.5, 2.0])
@pytest.mark.parametrize("p", [1.0, 0.05, 1e-5])
def test_the_gaussian_bound_against_sixty_digits(mu, p):
    # λ + E_Q[(x - 1 - λ(1 + √x)²)+]/p at the best corner, by closed form in mpmath.
    with mpmath.workdps(60):
        m = mpmath.mpf(mu)

        def sf(t):
            return mpmath.erfc(t / mpmath.sqrt(2)) / 2

        def bound(z):
            corner = mpmath.tanh((m * z - m * m / 2) / 4)
            event = sf(z) + sf(z - m) + 2 * mpmath.exp(-m * m / 8) * sf(z - m / 2)
            return corner + (sf(z - m) - sf(z) - corner * event) / p

        low, high = m / 2, m / 2 + 20
        for _ in range(200):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if bound(a) < bound(b) else (a, high)
        truth = bound(low)
    found = overfit(GDP(mu=mu), p)
    assert truth <= found <= truth * (1 + 1e-3)
    estimate = gaussian_overfit_estimate(np.array([mu]), p)[0]
    assert float(estimate) == pytest.approx(float(truth), rel=1e-6)


def test_approximate_privacy_in_closed_form():
    slope = math.tanh(0.025)
    truth = slope + (1 - slope) * 1e-3 / 0.05
    assert truth <= overfit(Approx(0.1, 1e-3), 0.05) <= truth * (1 + 1e-3)
    assert overfit(Approx(0.1, 0.2), 0.05) == 1.0  # vacuous, and it says so


def test_it_never_rises_with_the_chance_and_never_falls_with_the_loss():
    for curve in (Pure(0.1), GDP(0.1), Approx(0.1, 1e-4)):
        values = [overfit(curve, p) for p in (1e-6, 1e-3, 0.05, 0.5, 1.0)]
        assert all(a >= b * (1 - 1e-3) for a, b in itertools.pairwise(values))
    assert overfit(GDP(0.1), 0.05) < overfit(GDP(0.2), 0.05)


def test_a_composition_is_read_through_its_profile():
    mixed = overfit(compose(GDP(0.1), Pure(0.1)), 0.05)
    assert mixed >= overfit(GDP(0.1), 0.05)
    # A pure guarantee is a Gaussian one too, a little looser.
    assert mixed <= overfit(GDP(math.hypot(0.1, Pure(0.1).mu)), 0.05)


def test_limits_of_a_gaussian_curve():
    assert overfit(GDP(mu=0.0), 0.05) < 1e-9
    assert overfit(GDP(mu=math.inf), 0.05) == 1.0


@pytest.mark.parametrize("queries", [1, 10, 1000])
@pytest.mark.parametrize("p", [0.5, 0.05, 1e-3])
def test_worst_noise_covers_independent_normals_closely(queries, p):
    # Exact: mean of max |N| over its upper p, from P(max <= u) = (1 - 2Q(u))^k.
    def above(u):
        return -np.expm1(queries * np.log1p(-2 * stats.norm.sf(u)))

    grid = np.linspace(1e-9, 40, 400_001)
    values = above(grid)
    start = np.searchsorted(-values, -p)
    truth = grid[start] + np.trapezoid(values[start:], grid[start:]) / p
    assert truth - 1e-4 <= worst_noise(queries, p) <= truth * 1.2 + 0.3
    if p <= 0.05:
        assert worst_noise(queries, p) <= truth * 1.02


def test_noise_beyond_is_the_integral():
    z, rest = noise_beyond(20, 0.025)
    grid = np.linspace(z, 40, 400_001)
    truth = np.trapezoid(40 * stats.norm.sf(grid), grid)
    assert 40 * stats.norm.sf(z) == pytest.approx(0.025)
    assert truth * (1 - 1e-6) <= rest <= truth * (1 + 1e-4)


class Exact:
    """The profile of a finite family of laws: the worst of all pairs."""

    def __init__(self, laws: np.ndarray):
        self.laws = laws

    def delta_at(self, epsilon):
        ratio = np.exp(np.atleast_1d(epsilon))[:, None]
        pairs = itertools.permutations(self.laws, 2)
        return np.max([np.maximum(p - ratio * q, 0).sum(1) for p, q in pairs], axis=0)

    def epsilon_at(self, delta):
        grid = np.linspace(0, 20, 4001)
        return float(grid[np.argmax(self.delta_at(grid) <= delta)])


@pytest.mark.thin(5)
@pytest.mark.parametrize("seed", range(12))
def test_any_family_of_laws_and_any_prior(seed):
    # One person with four values; nothing is Gaussian or pure here, and laws may be
    # nearly disjoint. Best query of each transcript, best event of each size.
    draw = np.random.default_rng(seed)
    laws = draw.dirichlet(np.full(30, [0.2, 1.0, 20.0][seed % 3]), size=4)
    prior = draw.dirichlet(np.ones(4))
    marginal = prior @ laws
    gap = prior @ np.maximum(laws - marginal, 0)
    order = np.argsort(-gap / marginal)
    curve = Exact(laws)
    reached = zip(np.cumsum(marginal[order]), np.cumsum(gap[order]), strict=True)
    for p, found in reached:
        assert found <= min(p, 1.0) * overfit(curve, min(p, 1.0)) + 1e-12
