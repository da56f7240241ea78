"""Calibration: privacy first, accuracy first, against independent computations."""

import math
from dataclasses import make_dataclass

import mpmath
import numpy as np
import pytest

from hush import bounds
from hush import mechanisms as m
from hush.errors import InvalidArgument, NoBound
from hush.noise import SECURE, Seeded
from hush.privacy import GDP, ZCDP, Approx, Profile, Pure


def analytic_delta(std, epsilon):
    """Δ = 1: Φ(1/(2σ) - εσ) - e^ε Φ(-1/(2σ) - εσ), 50 digits."""
    with mpmath.workdps(50):
        s, e = mpmath.mpf(std), mpmath.mpf(epsilon)
        a = mpmath.ncdf(1 / (2 * s) - e * s)
        return a - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * s) - e * s)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15])
def test_n9_3_the_gaussian_is_calibrated_exactly(epsilon, delta):
    std = m.Gaussian.for_epsilon(epsilon, delta=delta).std
    assert analytic_delta(std, epsilon) <= delta
    assert analytic_delta(std * (1 - 1e-8), epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
def test_n9_3_the_textbook_constant_is_enough_and_never_better(epsilon, delta):
    std = m.Gaussian.for_epsilon(epsilon, delta=delta, classical=True).std
    assert analytic_delta(std, epsilon) <= delta
    assert std >= m.Gaussian.for_epsilon(epsilon, delta=delta).std
    with pytest.raises(InvalidArgument):
        m.Gaussian.for_epsilon(1.5, delta=delta, classical=True)


def test_n13_t1_the_gaussian_is_mu_gdp():
    for std, sensitivity in ((2.0, 1), (0.7, 3), (10.0, 0.25)):
        assert m.Gaussian(std).curve(sensitivity).mu == pytest.approx(sensitivity / std)


def test_gaussian_needs_delta():
    with pytest.raises(InvalidArgument):
        m.Gaussian.for_epsilon(1)
    with pytest.raises(NoBound):
        m.DiscreteGaussian.for_curve(Pure(epsilon=1.0))


def test_n3_1_randomized_response():
    for epsilon in (0.1, 1.0, 3.0):
        p = 2 / (1 + math.exp(epsilon))  # kept with 1 - p/2
        mechanism = m.RandomizedResponse.for_epsilon(epsilon)
        assert float(mechanism.honesty) == pytest.approx(1 - p / 2, rel=1e-12)
        assert mechanism.curve().epsilon_at(0) <= epsilon
        assert mechanism.curve().epsilon_at(0) == pytest.approx(math.log((2 - p) / p))


PURE = [
    (m.Laplace, {}),
    (m.Geometric, {}),
    (m.Staircase, {}),
    (m.Exponential, {}),
    (m.Exponential, {"monotone": True}),
    (m.NoisyMax, {"kind": "laplace"}),
    (m.NoisyMax, {"kind": "gumbel"}),
    (m.NoisyMax, {}),
    (m.PermuteAndFlip, {}),
    (m.TopK, {"count": 3}),
    (m.KNorm, {"dimension": 4, "norm": 2}),
    (m.KNorm, {"dimension": 4, "norm": 1}),
    (m.Quantile, {"at": 0.3, "bounds": (0, 1)}),
    (m.WinsorizedMean, {"bounds": (0, 1)}),
    (m.Histogram, {"edges": (0, 1, 2)}),
    (m.Histogram, {"edges": (0, 1, 2), "neighbors": "replace-one"}),
    (m.SparseVector, {"threshold": 5, "hits": 2}),
    (m.TreeSum, {"horizon": 100}),
    (m.RandomizedResponse, {"categories": 4}),
]


@pytest.mark.parametrize(
    ("cls", "public"), PURE, ids=lambda x: getattr(x, "__name__", str(x))
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_for_epsilon_meets_its_target_and_wastes_nothing(cls, public, epsilon):
    mechanism = cls.for_epsilon(epsilon, **public)
    spent = mechanism.curve(1).epsilon_at(0.0)
    assert epsilon * (1 - 1e-3) <= spent <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("sensitivity", [0.1, 1, 1.0, 2.7, 3, 1e-9, 1e9])
def test_laplace_rounds_towards_privacy(sensitivity):
    mechanism = m.Laplace.for_epsilon(0.7, sensitivity)
    assert mechanism.curve(sensitivity).epsilon_at(0.0) <= 0.7 * (1 + 1e-12)
    assert mechanism.scale == pytest.approx(sensitivity / 0.7, rel=1e-6)


@pytest.mark.parametrize(
    ("target", "read"),
    [(GDP(mu=0.5), "mu"), (ZCDP(rho=0.125), "rho")],
)
def test_for_curve_meets_other_notions(target, read):
    mechanism = m.Gaussian.for_curve(target, sensitivity=2)
    assert getattr(mechanism.curve(2), read) <= getattr(target, read)
    assert mechanism.std == pytest.approx(4.0, rel=1e-9)
    other = Profile(lambda epsilon: max(0.0, 1 - math.exp(epsilon - 1)))
    with pytest.raises(InvalidArgument):
        m.Gaussian.for_curve(other)


@pytest.mark.parametrize(
    "cls", [m.Laplace, m.Gaussian, m.Geometric, m.DiscreteGaussian]
)
def test_for_accuracy_is_the_noisiest_that_is_accurate(cls):
    mechanism = cls.for_accuracy(within=5, level=0.95, sensitivity=1)
    assert mechanism.error.chance(5) >= 0.95
    noise = getattr(mechanism, cls.noise)
    assert cls(noise * 1.001).error.chance(5) < 0.95


def test_n9_ex1_counts_by_laplace_and_by_gauss():
    epsilon, delta = 1.0, 1e-6
    cross = bounds.counts_crossing(delta)
    for d in (cross - 2, cross + 2, 400):
        laplace = m.Laplace.for_epsilon(epsilon, d)
        gauss = m.Gaussian.for_epsilon(epsilon, math.sqrt(d), delta=delta)
        # The bounds are what the mechanisms do, or more (the analytic Gaussian).
        assert laplace.error.std == pytest.approx(
            bounds.laplace_counts(d, epsilon), rel=0.01
        )
        assert gauss.error.std <= bounds.gaussian_counts(d, epsilon, delta) * 1.01
        better = bounds.gaussian_counts(d, epsilon, delta) < bounds.laplace_counts(
            d, epsilon
        )
        assert better == (d >= cross)
    # N2.take: noise grows as q under pure, as √q under Gaussian privacy.
    grow = [m.Laplace.for_epsilon(1.0, q).scale for q in (10, 1000)]
    assert grow[1] / grow[0] == pytest.approx(100)
    roots = [
        m.Gaussian.for_epsilon(1.0, math.sqrt(q), delta=1e-6).std for q in (10, 1000)
    ]
    assert roots[1] / roots[0] == pytest.approx(10, rel=1e-6)


@pytest.mark.statistical
def test_l_acc_the_accuracy_of_laplace_noise():
    scale, d = 3.0, 50
    draws = np.abs(m.Laplace(scale).run(np.zeros((20_000, d)), source=Seeded(61)))
    assert draws.mean() == pytest.approx(scale, rel=0.01)  # E|Z| = b, E‖Z‖₁ = db
    for t in (0.5, 1.0, 3.0):
        share = np.mean(draws > t * scale)
        assert share == pytest.approx(math.exp(-t), abs=0.003)
    worst = draws.max(axis=1)
    assert worst.mean() <= bounds.laplace_maximum(d, scale)
    for t in (1.0, 3.0):
        level = scale * (math.log(d) + t)
        slack = 6 * math.sqrt(math.exp(-t) / 20_000)
        assert (
            np.mean(worst > level)
            <= bounds.laplace_maximum_tail(d, level, scale) + slack
        )
    joint = m.Laplace(scale).error.joint(d).interval(0.9)[1]
    assert np.mean(worst <= joint) == pytest.approx(0.9, abs=0.03)


@pytest.mark.statistical
def test_n4_t2_a_clamped_mean_follows_the_central_rate():
    # Student's t with 3 degrees, scaled to E X² = 1: heavy tails, two moments.
    rng, source = np.random.default_rng(17), Seeded(62)
    errors = []
    for n in (500, 8000):
        clip = bounds.minimax_clip(n, 0.05, moments=2)
        query = m.mean((-clip, clip), size=n, neighbors="replace-one")
        release = query >> m.Laplace.for_epsilon(0.05, float(query.sensitivity()))
        runs = []
        for _ in range(60):
            x = rng.standard_t(3, n) / math.sqrt(3)
            runs.append(release.run(x, source=source) ** 2)
        errors.append(np.mean(runs))
    rate = bounds.minimax_mean(500, 0.05, 2) / bounds.minimax_mean(8000, 0.05, 2)
    assert errors[0] / errors[1] == pytest.approx(rate, rel=0.8)
    assert bounds.minimax_mean(500, 0.05, 2, "local") > bounds.minimax_mean(
        500, 0.05, 2
    )


def test_n7_knorm_radius_and_cost():
    source = Seeded(63)
    for norm, order in ((1, 1), (2, 2), (math.inf, np.inf)):
        mechanism = m.KNorm(2.0, dimension=5, norm=norm)
        draws = np.array(
            [mechanism.run(np.zeros(5), source=source) for _ in range(800)]
        )
        size = np.linalg.norm(draws, order, axis=1)
        assert size.mean() == pytest.approx(mechanism.error.mean, rel=0.1)
        # A Gamma(5) has std √5·scale; six standard errors of the mean.
        assert abs(size.mean() - 10) < 6 * 2 * math.sqrt(5) / math.sqrt(800)
        assert mechanism.curve(2).epsilon_at(0) == pytest.approx(1, rel=1e-3)


@pytest.mark.statistical
def test_tree_totals_carry_the_noise_of_their_blocks():
    source, mechanism = Seeded(64), m.TreeSum(horizon=8, scale=3.0)
    runs = np.array([mechanism.run([1] * 8, source=source) for _ in range(4000)])
    assert runs.mean(axis=0) == pytest.approx(np.arange(1, 9), abs=0.6)
    one = m.Geometric(3.0).error.std ** 2
    blocks = np.array([bin(t).count("1") for t in range(1, 9)])
    assert runs.var(axis=0) == pytest.approx(one * blocks, rel=0.2)
    low, high = mechanism.error.interval(0.95)
    assert np.mean((runs[:, 6] - 7 >= low) & (runs[:, 6] - 7 <= high)) > 0.94


def test_canonical_noise_meets_its_target():
    for target in (Pure(epsilon=1.0), Approx(epsilon=1.0, delta=0.01), GDP(mu=1.0)):
        mechanism = m.Canonical(target)
        epsilon = np.linspace(0, 3, 40)
        reached = mechanism.curve(1).delta_at(epsilon)
        assert np.all(reached <= np.asarray(target.delta_at(epsilon)) + 1e-12)
    # Tulap is unbiased for tests: at (ε, δ) itself the target is attained.
    tulap = m.Canonical(Approx(epsilon=1.0, delta=0.01))
    assert tulap.curve(1).delta_at(1.0) == pytest.approx(0.01, rel=1e-9)
    assert tulap.error.std < m.Geometric.for_epsilon(1.0).error.std


def test_names_of_other_libraries_are_refused_with_ours():
    for wrong, said in (
        (lambda: m.TopK.for_epsilon(1, k=2), "count"),
        (lambda: m.SparseVector.for_epsilon(1, threshold=9, c=3), "hits"),
        (lambda: m.Quantile.for_epsilon(1, q=0.5, bounds=(0, 1)), "at"),
        (lambda: m.Laplace.for_accuracy(5, digits=3), "step"),
        (lambda: m.SparseVector.for_epsilon(1, 10), "needs threshold"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            wrong()


def test_a_missing_delta_is_asked_for_by_name():
    # A second number in its place would be taken for the sensitivity.
    with pytest.raises(InvalidArgument, match="by name, delta="):
        m.Gaussian.for_epsilon(1, 1e-6)
    with pytest.raises(InvalidArgument, match=r"sensitivity must be .* above 0"):
        m.Laplace.for_epsilon(1, sensitivity=0)
    with pytest.raises(InvalidArgument, match=r"query\.sensitivity\(\)"):
        m.Laplace.for_epsilon(1, sensitivity=m.sum(bounds=(0, 1)).sensitivity)


class Bare(m.Mechanism):
    """A mechanism whose author forgot the decorator, or the name of its noise."""

    def __init__(self, std):
        self.std = std

    def curve(self, sensitivity=1):
        return GDP(mu=sensitivity / self.std)

    @property
    def error(self):
        return m.Gaussian(self.std).error

    def run(self, value, *, source=SECURE):
        return m.Gaussian(self.std).run(value, source=source)


def test_a_mechanism_of_ones_own_is_told_what_it_lacks():
    with pytest.raises(InvalidArgument, match=r"@dataclass\(frozen=True\)"):
        repr(Bare(1.0))
    unnamed = make_dataclass("Unnamed", ["std"], bases=(Bare,), frozen=True, repr=False)
    with pytest.raises(InvalidArgument, match='noise = "std"'):
        unnamed.for_epsilon(1, delta=1e-6)
    named = make_dataclass(
        "Named", ["std"], bases=(Bare,), frozen=True, namespace={"noise": "std"}
    )
    assert named.for_epsilon(1, delta=1e-6).std == pytest.approx(4.2247, rel=1e-4)


def test_a_sparse_vector_that_is_used_up_says_what_another_costs():
    talk = m.SparseVector(threshold=50, scale=0.01).start(source=Seeded(1))
    assert talk.ask(10**6)
    with pytest.raises(InvalidArgument, match="costs as much again"):
        talk.ask(10**6)


def test_an_error_prints_what_it_means():
    assert repr(m.Laplace(1.0).error) == "Error(within 3 at 95%, std 1.414)"
    gap = m.Exponential(scale=2.0).error.among(1000)
    assert repr(gap) == "Gap(at most 19.7 below the best of 1000 at 95%)"
