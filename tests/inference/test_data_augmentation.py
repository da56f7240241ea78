"""Latent records are sampled as they should be: stationary, and against enumeration.

A chain that starts from the joint law of parameters, records and release, and moves by
steps that leave the posterior alone, keeps that law after any number of turns. So
thousands of chains with a release each are started there; after some turns the prior's
distribution functions at the parameters must again be uniform, and independent of the
release as much as before. Each check fails wrongly with probability 1e-6 at most over
the choice of its seed, and has a sabotaged twin that must fail it.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from hush.errors import InvalidArgument
from hush.inference import (
    LinearMoments,
    LogisticMoments,
    NormalMoments,
    PoissonMoments,
    RateModel,
    posterior,
)
from hush.inference.bayes.data_augmentation import Chains, Priors
from hush.inference.bayes.noisy_observation import Observation
from hush.mechanisms import Gaussian, Geometric, Laplace
from hush.noise import Seeded

FALSE_ALARM = 1e-6
COUNT = 4000

NORMAL = NormalMoments(n=5, bounds=(-1, 2))
POISSON = PoissonMoments(n=4, most=2)
LINEAR = LinearMoments(n=4, bounds=[(-1, 1)], response=(-2, 2))
LOGISTIC = LogisticMoments(n=5, bounds=[(-1, 1)])
COLUMN = {"x1 mean": stats.norm(0, 0.5), "x1 std": stats.uniform(0.5, 1)}
CASES = {
    "normal": (
        NORMAL,
        {"mean": stats.norm(0.5, 1), "std": stats.uniform(0.3, 1)},
        Laplace(scale=0.5),
        Laplace(scale=0.3),
    ),
    "Poisson": (
        POISSON,
        {"rate": stats.gamma(1.5)},
        Geometric(scale=1),
        Geometric(scale=0.6),
    ),
    "linear": (
        LINEAR,
        {
            "intercept": stats.norm(0, 1),
            "slope 1": stats.norm(0, 1),
            "std": stats.uniform(0.3, 1),
            **COLUMN,
        },
        Gaussian(std=0.5),
        Gaussian(std=0.3),
    ),
    "logistic": (
        LOGISTIC,
        {"intercept": stats.norm(0, 1), "slope 1": stats.norm(0, 2), **COLUMN},
        Laplace(scale=0.5),
        Laplace(scale=0.3),
    ),
}


def started(model, prior, noise, told, seed):
    """Chains at the joint law of parameters, records and a release for each."""
    source = Seeded(seed)
    rng = np.random.default_rng(seed)
    priors = Priors.of(model.names, prior)
    cube = rng.uniform(size=(COUNT, len(priors.laws)))
    uniform = rng.uniform(size=(COUNT, model.n, model.width))
    records = model.records(priors.theta(cube), model.fresh(uniform))
    totals = model.moments(records).sum(axis=1)
    whole = isinstance(noise, Geometric)
    if whole:
        totals = totals.astype(np.int64)
    released = noise.run(totals, source=source)
    first = released[0, 0] if whole else float(released[0, 0])
    one = Observation.of(first, told.error)
    numbers = (one,) * totals.shape[1]
    steps = np.asarray(released, float) / float(one.step)
    chains = Chains(model, priors, numbers, steps, source, cube, records)
    return chains, np.asarray(released, float)


def alarms(model, prior, noise, told, seed=5, turns=4):
    """P-values: uniform parameters, and release and noise as they were at first."""
    chains, released = started(model, prior, noise, told, seed)
    before = chains.cube.copy()
    missed = np.abs(released - model.moments(chains.records).sum(axis=1))
    for _ in range(turns):
        chains.turn()
    after = chains.cube
    found = []
    scores = (released - released.mean(axis=0)) / released.std(axis=0)
    for j in range(after.shape[1]):
        observed, _ = np.histogram(after[:, j], bins=20, range=(0, 1))
        found.append(stats.chisquare(observed).pvalue)
        # E[g(cube)·release] is the same before and after: a paired difference.
        for k in range(scores.shape[1]):
            moved = (after[:, j] - before[:, j]) * scores[:, k]
            z = moved.mean() / (moved.std(ddof=1) / math.sqrt(COUNT))
            found.append(2 * stats.norm.sf(abs(z)))
    # So is the size of the noise that the latent records leave for each release.
    moved = np.abs(released - model.moments(chains.records).sum(axis=1)) - missed
    z = moved.mean(axis=0) / (moved.std(axis=0, ddof=1) / math.sqrt(COUNT))
    return np.concatenate([found, 2 * stats.norm.sf(np.abs(z))])


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_stationary(name):
    model, prior, noise, _ = CASES[name]
    found = alarms(model, prior, noise, noise)
    assert found.min() > FALSE_ALARM / found.size


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_chains_that_are_told_other_noise_are_caught(name):
    model, prior, noise, other = CASES[name]
    found = alarms(model, prior, noise, other, turns=12)
    assert found.min() < FALSE_ALARM / found.size


@pytest.mark.statistical
def test_chains_that_do_not_clamp_are_caught(monkeypatch):
    model, prior, noise, _ = CASES["normal"]
    chains, _ = started(model, prior, noise, noise, 5)

    def unclamped(self, records):
        u = (records - 0.5) / 1.5
        return np.concatenate([u, u * u], axis=2)

    monkeypatch.setattr(NormalMoments, "moments", unclamped)
    for _ in range(8):
        chains.turn()
    observed, _ = np.histogram(chains.cube[:, 1], bins=20, range=(0, 1))
    assert stats.chisquare(observed).pvalue < FALSE_ALARM


@pytest.mark.parametrize("steps", ["exchange", "centered", "moved"])
@pytest.mark.parametrize("name", ["normal", "logistic"])
@pytest.mark.statistical
def test_every_step_alone_leaves_the_posterior(name, steps):
    model, prior, noise, _ = CASES[name]
    chains, _ = started(model, prior, noise, noise, 8)
    for _ in range(3):
        getattr(chains, steps)()
    for j in range(chains.cube.shape[1]):
        observed, _ = np.histogram(chains.cube[:, j], bins=20, range=(0, 1))
        assert stats.chisquare(observed).pvalue > FALSE_ALARM
    totals = model.moments(chains.records).sum(axis=1)
    fresh = started(model, prior, noise, noise, 9)[0]
    others = model.moments(fresh.records).sum(axis=1)
    for j in range(totals.shape[1]):
        assert stats.ks_2samp(totals[:, j], others[:, j]).pvalue > FALSE_ALARM


def poisson_oracle(z, most, scale, grid, density):
    """P(rate | z) for two people, by sums over both counts: none of hush."""
    weights = []
    for rate, prior in zip(grid, density, strict=True):
        chance = [
            mpmath.exp(-rate) * mpmath.mpf(rate) ** x / mpmath.factorial(x)
            for x in range(most)
        ]
        chance.append(1 - sum(chance))
        like = sum(
            chance[a] * chance[b] * mpmath.exp(-abs(z - a - b) / mpmath.mpf(scale))
            for a in range(most + 1)
            for b in range(most + 1)
        )
        weights.append(float(like) * prior)
    weights = np.array(weights) / sum(weights)
    return float(weights @ grid)


@pytest.mark.parametrize("z", [-1, 2, 5])
def test_two_clamped_counts_have_the_posterior_that_enumeration_gives(z):
    prior = stats.gamma(2)
    grid = (np.arange(400) + 0.5) / 400 * 14
    expected = poisson_oracle(z, 2, 1.0, grid, prior.pdf(grid))
    found = posterior(
        z,
        PoissonMoments(n=2, most=2),
        {"rate": prior},
        mechanism=Geometric(scale=1),
        source=Seeded(4),
        chains=200,
        warmup=60,
        draws=20_000,
    )
    # Chains of 100 turns: at least 4 000 draws are as good as independent.
    error = found.std["rate"] / math.sqrt(4000)
    assert found.mean["rate"] == pytest.approx(expected, abs=5 * error)
    assert max(found.r_hat.values()) < 1.05


# -- The queries of moments, and what is refused ---------------------------------------


def small_data(model):
    """Records at the ends, the middles and beyond the bounds of a model."""
    if isinstance(model, PoissonMoments):
        return [0, 1, 2, 5, 1.5, -3, math.nan]
    one = [-1e9, -1.0, 0.3, 1.0, 2.0, math.inf, math.nan]
    if isinstance(model, NormalMoments):
        return one
    ends = [0.0, 1.0] if isinstance(model, LogisticMoments) else one
    return [[x, y] for x in one for y in ends]


@pytest.mark.parametrize("model", [NORMAL, POISSON, LINEAR, LOGISTIC], ids=repr)
def test_one_record_moves_each_moment_by_its_move_at_most_and_that_far(model):
    query = model.query()
    records = small_data(model)
    rest = [records[1]] * (model.n - 1)
    kind = float if isinstance(model, (LINEAR.__class__, LOGISTIC.__class__)) else list
    data = [[each, *rest] for each in records]
    if kind is float:
        data = [np.array(each) for each in data]
    answers = [query(each) for each in data]
    for j, move in enumerate(query.moves):
        column = [answer[j] for answer in answers]
        assert max(column) - min(column) <= move
        assert max(column) - min(column) >= 0.9 * float(move)


def test_a_query_wants_the_declared_number_of_records():
    with pytest.raises(InvalidArgument, match="n=5"):
        NORMAL.query()([1.0, 2.0])
    with pytest.raises(InvalidArgument, match="columns"):
        LINEAR.query()(np.zeros(4))


def test_a_strange_record_is_no_reason_to_refuse_the_others():
    query = LINEAR.query()
    plain = [[0.5, 1.0]] * 3
    low = query(np.array([*plain, [-1.0, -2.0]]))  # the lower bounds
    strange = np.array([*plain, [None, "three"]], dtype=object)
    assert query(strange) == low
    masked = np.ma.masked_array([*plain, [7.0, 7.0]], mask=[[0, 0]] * 3 + [[1, 1]])
    assert query(masked) == low
    with pytest.raises(InvalidArgument, match="columns"):
        query([*plain, [0.0, 0.0]])  # a list has no type of its own


@pytest.mark.statistical
def test_a_slope_is_found_again_and_a_seed_repeats_its_draws():
    rng = np.random.default_rng(6)
    n, noise = 120, Laplace(scale=1.0)
    x = rng.normal(0, 1, n)
    rows = np.stack([x, (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * x)))], axis=1)
    model = LogisticMoments(n=n, bounds=[(-3, 3)])
    released = (model.query() >> noise).run(rows, source=Seeded(7))
    prior = {
        "intercept": stats.norm(0, 2),
        "slope 1": stats.norm(0, 4),
        "x1 mean": 0.0,
        "x1 std": 1.0,
    }

    def found(turns):
        return posterior(
            released,
            model,
            prior,
            mechanism=noise,
            source=Seeded(1),
            chains=20,
            warmup=turns,
            draws=20 * turns,
        )

    long = found(150)
    low, high = long.interval("slope 1", 0.999)
    assert low < 2.0 < high
    assert long.std["slope 1"] < 2.0  # the prior's is 4
    assert long.r_hat["slope 1"] < 1.2
    assert "x1 mean is 0" in repr(long)
    assert np.array_equal(found(4).draws, found(4).draws)


def test_draws_agree_with_the_grid_where_both_apply():
    noise, prior = Geometric(scale=2), stats.gamma(3)
    grid = posterior(14, RateModel(exposure=6), prior, mechanism=noise)
    found = posterior(
        14,
        PoissonMoments(n=6, most=1000),  # nothing is clamped
        {"rate": prior},
        mechanism=noise,
        source=Seeded(2),
        chains=100,
        warmup=60,
        draws=10_000,
    )
    # At least a fifth of the draws are as good as independent: five deviations.
    assert found.mean["rate"] == pytest.approx(
        grid.mean, abs=5 * grid.std / math.sqrt(2000)
    )
    assert found.std["rate"] == pytest.approx(grid.std, rel=0.1)
    assert max(found.r_hat.values()) < 1.05


def test_chains_that_have_not_met_say_so():
    found = posterior(
        [-250.0, 170.0],
        NormalMoments(n=300, bounds=(0, 10)),
        {"mean": stats.norm(0, 300), "std": stats.uniform(0.1, 50)},
        mechanism=Laplace(scale=0.01),
        source=Seeded(2),
        chains=8,
        warmup=0,
        draws=32,
    )
    assert max(found.r_hat.values()) > 1.05
    assert "NOT MIXED" in repr(found)


def test_priors_and_releases_that_do_not_fit_are_refused():
    noise = Laplace(scale=0.5)
    right = {"mean": stats.norm(0, 1), "std": stats.uniform(0.3, 1)}
    with pytest.raises(InvalidArgument, match="moments"):
        posterior([1.0], NORMAL, right, mechanism=noise)
    with pytest.raises(InvalidArgument, match="each of: mean, std"):
        posterior([1.0, 2.0], NORMAL, {"mean": stats.norm(0, 1)}, mechanism=noise)
    wrong = {**right, "std": stats.norm(0, 1)}
    with pytest.raises(InvalidArgument, match="at least 0"):
        posterior([1.0, 2.0], NORMAL, wrong, mechanism=noise)
    with pytest.raises(InvalidArgument, match="open"):
        posterior([1.0, 2.0], NORMAL, {"mean": 0.0, "std": 1.0}, mechanism=noise)
    with pytest.raises(InvalidArgument, match="scipy"):
        posterior([1.0, 2.0], NORMAL, {**right, "std": "one"}, mechanism=noise)
    with pytest.raises(InvalidArgument, match="chains"):
        posterior([1.0, 2.0], NORMAL, right, mechanism=noise, chains=6)
    with pytest.raises(InvalidArgument, match="bounds"):
        LinearMoments(n=5, bounds=(0, 1), response=(0, 1))
