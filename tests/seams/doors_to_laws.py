"""The doors that lead to a law: mechanisms, curves, samplers, the local model."""

from fractions import Fraction

import numpy as np

from hush import bounds, local, noise, privacy
from hush import mechanisms as m
from hush.noise import Seeded
from hush.privacy import GDP, RDP, ZCDP, Approx, Pure
from seams.doors import Door

LIST = [3, 1, 4, 1, 5]
AGES = [0.5, 2.5, 7.25, 1.0, 9.0]


def seed():
    return Seeded(7)


def made(make, value, *, people=1, **public):
    """Return the call that makes a mechanism: its price, its error, and its answer."""

    def call(**given):
        mechanism = make(**given, **public)
        return mechanism.curve(people), mechanism.run(value, source=seed())

    return call


def _constructors():
    whole = frozenset({"bounds"})
    yield Door("Laplace", made(m.Laplace, 3), {"scale": 2.0})
    yield Door("Laplace of a list", made(m.Laplace, AGES), {"scale": 1})
    yield Door(
        "Laplace with step",
        made(m.Laplace, AGES),
        {"scale": 2.0, "step": 0.25},
        optional=frozenset({"step"}),
    )
    yield Door("Gaussian", made(m.Gaussian, 3), {"std": 2.0})
    yield Door(
        "Gaussian with step",
        made(m.Gaussian, AGES),
        {"std": 2.0, "step": 1},
        optional=frozenset({"step"}),
    )
    yield Door("Geometric", made(m.Geometric, 3), {"scale": 2})
    yield Door("DiscreteGaussian", made(m.DiscreteGaussian, 3), {"std": 2})
    yield Door(
        "Staircase",
        made(m.Staircase, 3),
        {"scale": 1, "width": 2, "inner": 0.5, "step": 1},
        optional=frozenset({"inner", "step"}),
    )
    yield Door(
        "Staircase of floats", made(m.Staircase, 3.5), {"scale": 0.5, "width": 0.75}
    )
    for kind in (m.Exponential, m.PermuteAndFlip):
        yield Door(kind.__name__, made(kind, LIST), {"scale": 2.0})
        yield Door(f"{kind.__name__} of 1", made(kind, LIST), {"scale": 1})
    for kind in ("laplace", "gumbel", "exponential"):
        call = made(m.NoisyMax, LIST, kind=kind)
        yield Door(f"NoisyMax, {kind}", call, {"scale": 2.0})
    yield Door("TopK", made(m.TopK, LIST), {"count": 2, "scale": 1.0})
    yield Door("RandomizedResponse", made(m.RandomizedResponse, 1), {"honesty": 0.75})
    yield Door(
        "RandomizedResponse of 5",
        made(m.RandomizedResponse, [0, 4, 2]),
        {"honesty": 0.5, "categories": 5},
    )
    yield Door(
        "KNorm",
        made(m.KNorm, [0.0, 1.0]),
        {"scale": 2.0, "dimension": 2, "norm": 2, "bits": 4},
    )
    yield Door(
        "Quantile",
        made(m.Quantile, AGES),
        {"at": 0.5, "bounds": (0, 10), "scale": 2.0},
        lists=frozenset({"at"}),
    )
    yield Door(
        "Quantiles",
        made(m.Quantile, AGES),
        {"at": (0.25, 0.5), "bounds": (0.0, 10.0), "scale": 1},
    )
    yield Door(
        "WinsorizedMean", made(m.WinsorizedMean, AGES), {"bounds": (0, 16), "scale": 2}
    )
    yield Door("Histogram", made(m.Histogram, AGES), {"scale": 2.0, "edges": (0, 1, 8)})
    yield Door(
        "SparseVector",
        made(m.SparseVector, LIST),
        {"threshold": 3, "scale": 2.0, "hits": 2},
    )
    yield Door("TreeSum", made(m.TreeSum, [1, 0, 2]), {"horizon": 4, "scale": 2.0})
    yield Door(
        "KeySelection",
        lambda **given: m.KeySelection(**given).curve(),
        {"std": 20.0, "threshold": 600, "keys_per_person": 3, "whole": 8},
    )
    yield Door(
        "OptimalKeySelection",
        lambda **given: m.OptimalKeySelection(**given).curve(),
        {"epsilon": 1.0, "delta": 2.0**-7, "keys_per_person": 1},
    )
    yield Door(
        "choose_key_selection",
        lambda **given: m.choose_key_selection(**given),
        {"epsilon": 1.0, "delta": 2.0**-7, "keys_per_person": 2},
    )
    yield Door(
        "Canonical",
        lambda epsilon, delta, width, pieces: made(m.Canonical, 3)(
            target=Approx(epsilon, delta), width=width, pieces=pieces
        ),
        {"epsilon": 1.0, "delta": 2.0**-7, "width": 1, "pieces": 2},
    )
    yield Door(
        "CellQuantile",
        lambda **given: m.CellQuantile(**given).curve(1),
        {"at": 0.5, "size": 8, "scale": 2.0},
        lists=frozenset({"at"}),
    )
    yield Door(
        "CellInterval",
        lambda **given: m.CellInterval(**given).curve(1),
        {"at": 0.5, "size": 8, "scale": 2.0, "level": 0.75},
    )
    yield Door(
        "CellTop",
        lambda **given: m.CellTop(**given).curve(1),
        {"count": 2, "scale": 2.0},
    )
    yield Door(
        "sum of whole numbers",
        lambda bounds: released(m.sum(bounds)),
        {"bounds": (-3, 5)},
        declared=whole,
    )
    yield Door(
        "sum of floats",
        lambda bounds: released(m.sum(bounds)),
        {"bounds": (0.0, 0.5)},
        declared=whole,
    )
    for kind in (m.mean, m.variance):
        yield Door(
            f"{kind.__name__} of a known size",
            lambda bounds, size, kind=kind: released(
                kind(bounds, size=size, neighbors="replace-one")
            ),
            {"bounds": (0, 10), "size": 5},
        )
        yield Door(
            kind.__name__,
            lambda bounds, kind=kind: released(kind(bounds)),
            {"bounds": (0.0, 10.0)},
        )
    yield Door(
        "proportion",
        lambda size: released(m.proportion(size=size, neighbors="replace-one")),
        {"size": 5},
    )
    yield Door(
        "Query of whole moves",
        lambda moves: released(m.Query("mine", len, moves, "add-remove")),
        {"moves": (2,)},
        declared=frozenset({"moves"}),
    )
    yield Door(
        "Query of moves",
        lambda moves: released(
            m.Query("mine", lambda data: Fraction(len(data), 4), moves, "add-remove")
        ),
        {"moves": (0.25,)},
        declared=frozenset({"moves"}),
    )
    yield Door(
        "Query of two moves",
        lambda moves: (
            m.Query("mine", lambda _: [1, 2], moves, "add-remove") >> m.Gaussian(2.0)
        ).curve(1),
        {"moves": (1, 3)},
        declared=frozenset({"moves"}),
    )


def released(query):
    """Return what a query says of itself, and its answer with seeded noise."""
    noisy = query >> m.Laplace(2.0)
    answer = noisy.run(AGES, source=seed())
    return query.sensitivity(1), query.sensitivity(2), noisy.curve(1), answer


NOISE = {
    "Laplace": m.Laplace(2.0),
    "Laplace, step 1": m.Laplace(2.0, step=1),
    "Gaussian": m.Gaussian(2.0),
    "Gaussian, step 1": m.Gaussian(2.0, step=1),
    "Geometric": m.Geometric(2),
    "DiscreteGaussian": m.DiscreteGaussian(2),
    "Staircase": m.Staircase(1.0, width=4),
    "Canonical": m.Canonical(Approx(1.0, 2.0**-7)),
    "Exponential": m.Exponential(2.0),
    "NoisyMax": m.NoisyMax(2.0),
    "NoisyMax, laplace": m.NoisyMax(2.0, kind="laplace"),
    "PermuteAndFlip": m.PermuteAndFlip(2.0),
    "TopK": m.TopK(2, 2.0),
    "KNorm": m.KNorm(2.0, dimension=2, bits=4),
    "RandomizedResponse": m.RandomizedResponse(0.75),
    "SparseVector": m.SparseVector(3, 2.0),
    "TreeSum": m.TreeSum(4, 2.0),
    "Quantile": m.Quantile(0.5, (0, 10), 2.0),
    "WinsorizedMean": m.WinsorizedMean((0, 10), 2.0),
    "Histogram": m.Histogram(2.0, edges=(0, 1, 2)),
    "count": m.count() >> m.Laplace(2.0),
    "mean": m.mean((0, 10)) >> m.Gaussian(2.0),
}


def _curves():
    for name, mechanism in NOISE.items():
        for distance in (1, 2):
            yield Door(
                f"{name}.curve at {distance}",
                mechanism.curve,
                {"sensitivity": distance},
            )
    for name in ("Laplace", "Gaussian", "DiscreteGaussian"):
        yield Door(
            f"{name}.curve with dimension",
            NOISE[name].curve,
            {"sensitivity": 1.5 if name != "DiscreteGaussian" else 2, "dimension": 2},
        )


def _targets():
    kinds = {
        m.Laplace: {},
        m.Geometric: {},
        m.Staircase: {},
        m.Exponential: {},
        m.NoisyMax: {},
        m.PermuteAndFlip: {},
        m.RandomizedResponse: {},
        m.TreeSum: {"horizon": 4},
        m.TopK: {"count": 2},
        m.KNorm: {"dimension": 2, "bits": 4},
        m.SparseVector: {"threshold": 3},
        m.Quantile: {"at": 0.5, "bounds": (0, 10)},
        m.WinsorizedMean: {"bounds": (0, 10)},
        m.Histogram: {"edges": (0, 1, 2)},
    }
    for kind, public in kinds.items():
        name = kind.__name__
        yield Door(
            f"{name}.for_epsilon",
            lambda kind=kind, public=public, **given: kind.for_epsilon(
                **given, **public
            ),
            {"epsilon": 1, "sensitivity": 1},
        )
    for kind in (m.Gaussian, m.DiscreteGaussian):
        yield Door(
            f"{kind.__name__}.for_epsilon",
            kind.for_epsilon,
            {"epsilon": 1, "sensitivity": 1, "delta": 2.0**-7},
        )
    for kind in (m.Laplace, m.Gaussian, m.Geometric, m.DiscreteGaussian, m.Staircase):
        yield Door(
            f"{kind.__name__}.for_accuracy",
            kind.for_accuracy,
            {"within": 5, "level": 0.75, "sensitivity": 1},
        )
    yield Door(
        "RandomizedResponse.for_accuracy",
        m.RandomizedResponse.for_accuracy,
        {"within": 0, "level": 0.75, "sensitivity": 1},
    )
    for name in ("Laplace", "Gaussian", "Geometric", "Staircase", "Canonical"):
        error = NOISE[name].error
        yield Door(f"{name}.error.interval", error.interval, {"level": 0.75})
        yield Door(f"{name}.error.quantile", error.quantile, {"p": 0.75})
    for name in ("Exponential", "NoisyMax, laplace", "PermuteAndFlip"):
        error = NOISE[name].error
        yield Door(
            f"{name}.error.among",
            lambda candidates, p, error=error: error.among(candidates).quantile(p),
            {"candidates": 4, "p": 0.75},
        )


def _notions():
    yield Door("Pure", Pure, {"epsilon": 0.5})
    yield Door("Pure of 1", Pure, {"epsilon": 1})
    yield Door("Approx", Approx, {"epsilon": 1, "delta": 2.0**-7})
    yield Door("ZCDP", ZCDP, {"rho": 0.125})
    yield Door("GDP", GDP, {"mu": 1})
    yield Door("RDP", lambda slope: RDP(lambda _: slope), {"slope": 0.125})
    curves = {
        "Pure": Pure(1.0),
        "Approx": Approx(1.0, 2.0**-7),
        "ZCDP": ZCDP(0.5),
        "GDP": GDP(1.0),
        "Laplace": m.Laplace(2.0).curve(1),
        "RDP": RDP(lambda order: order / 2),
    }
    for name, curve in curves.items():
        yield Door(
            f"{name}.delta_at",
            curve.delta_at,
            {"epsilon": 1},
            lists=frozenset({"epsilon"}),
        )
        yield Door(
            f"{name}.epsilon_at",
            curve.epsilon_at,
            {"delta": 0.25},
            lists=frozenset({"delta"}),
        )
        yield Door(
            f"{name}.tradeoff_at",
            curve.tradeoff_at,
            {"alpha": 0.25},
            lists=frozenset({"alpha"}),
        )
        yield Door(
            f"{name}.renyi_at", curve.renyi_at, {"order": 2}, lists=frozenset({"order"})
        )
        yield Door(
            f"repeat {name}",
            lambda times, c=curve: privacy.repeat(c, times),
            {"times": 3},
        )
        yield Door(
            f"group {name}", lambda size, c=curve: privacy.group(c, size), {"size": 3}
        )
        if name != "RDP":
            yield Door(
                f"poisson {name}",
                lambda rate, c=curve: privacy.poisson(c, rate),
                {"rate": 0.125},
            )
            yield Door(
                f"fixed_size {name}",
                lambda batch, records, c=curve: privacy.fixed_size(c, batch, records),
                {"batch": 2, "records": 16},
            )
    yield Door(
        "advanced",
        lambda times, slack: privacy.advanced(Pure(0.5), times, slack),
        {"times": 4, "slack": 2.0**-7},
    )
    yield Door("amplified", privacy.amplified, {"epsilon": 1, "rate": 0.125})
    yield Door(
        "amplified_approx",
        privacy.amplified_approx,
        {"epsilon": 1, "delta": 2.0**-7, "rate": 0.125},
    )
    yield Door("amplified_loose", privacy.amplified_loose, {"rate": 0.125})
    yield Door(
        "per_step",
        privacy.per_step,
        {"epsilon": 0.5, "slack": 2.0**-7, "times": 4},
    )
    yield Door(
        "shuffle", lambda people: privacy.shuffle(Pure(1.0), people), {"people": 4096}
    )
    yield Door("from_tail", privacy.from_tail, {"epsilon": 1, "probability": 0.125})
    yield Door(
        "calibrate",
        lambda **given: privacy.calibrate(
            lambda std: GDP(1 / std), Approx(1, 0.01), **given
        ),
        {"low": 0.125, "high": 64, "relative": 2.0**-10},
    )
    yield Door(
        "mixed",
        lambda epsilon: privacy.mixed([Pure(0.5), Pure(0.25)], epsilon),
        {"epsilon": 0.5},
    )
    halves = ((0.25, 0.75), (0.5, 0.5))
    yield Door(
        "hockey_stick",
        lambda epsilon: privacy.hockey_stick(*halves, epsilon),
        {"epsilon": 0.25},
    )
    yield Door("renyi", lambda order: privacy.renyi(*halves, order), {"order": 2})
    yield Door(
        "tail_at", lambda epsilon: privacy.tail_at(Pure(1.0), epsilon), {"epsilon": 0.5}
    )
    yield Door(
        "Pair.laplace", lambda scale: privacy.Pair.laplace(scale=scale), {"scale": 2}
    )
    yield Door(
        "Pair",
        lambda p, q: privacy.Pair(p, q),
        {"p": (0.25, 0.75), "q": (0.75, 0.25)},
    )


def _samplers():
    def drawn(sampler, **more):
        return lambda **given: sampler(**given, **more, source=seed())

    yield Door(
        "discrete_laplace",
        drawn(noise.discrete_laplace),
        {"scale": 2, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"size"}),
    )
    yield Door(
        "discrete_gaussian",
        drawn(noise.discrete_gaussian),
        {"std": 2.5, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"size"}),
    )
    yield Door(
        "geometric",
        drawn(noise.geometric),
        {"scale": 2.5, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"size"}),
    )
    yield Door(
        "bernoulli",
        drawn(noise.bernoulli),
        {"p": 0.25, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"p", "size"}),
    )
    yield Door(
        "bernoulli_exp",
        drawn(noise.bernoulli_exp),
        {"x": 0.25, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"x", "size"}),
    )
    yield Door(
        "integers",
        drawn(noise.integers),
        {"high": 100, "size": 4},
        optional=frozenset({"size"}),
        lists=frozenset({"size"}),
    )
    yield Door("permutation", drawn(noise.permutation), {"count": 5})
    yield Door(
        "subsample by rate",
        drawn(noise.subsample),
        {"records": 50, "rate": 0.25},
        optional=frozenset({"rate"}),
    )
    yield Door(
        "subsample by batch",
        drawn(noise.subsample),
        {"records": 50, "batch": 4},
        optional=frozenset({"batch"}),
    )
    yield Door(
        "ball",
        drawn(noise.ball),
        {"norm": 2, "dimension": 3, "size": 2, "bits": 10},
        optional=frozenset({"size"}),
    )
    yield Door("gumbel_argmax", drawn(noise.gumbel_argmax, scores=LIST), {"scale": 2})
    yield Door(
        "exponential_argmax", drawn(noise.exponential_argmax, scores=LIST), {"scale": 2}
    )
    yield Door(
        "Seeded", lambda seed: noise.integers(2**60, source=Seeded(seed)), {"seed": 7}
    )
    yield Door(
        "Lattice", lambda exponent: noise.Lattice(exponent).step, {"exponent": -3}
    )
    yield Door(
        "StaircaseLaw",
        lambda epsilon, width, inner: noise.staircase(
            noise.StaircaseLaw(epsilon, width, inner), 5, source=seed()
        ),
        {"epsilon": 1, "width": 4, "inner": 2},
    )


def _local():
    sized = {
        "RandomizedResponse": (local.RandomizedResponse, {"size": 4}),
        "UnaryEncoding": (local.UnaryEncoding, {"size": 4}),
        "LocalHashing": (local.LocalHashing, {"size": 4}),
        "HadamardResponse": (local.HadamardResponse, {"size": 4}),
        "SubsetSelection": (local.SubsetSelection, {"size": 4}),
    }
    for name, (kind, public) in sized.items():
        yield Door(
            f"local {name}",
            lambda kind=kind, **given: (
                kind(**given).curve(),
                kind(**given).encode([0, 1, 2], source=seed()).to_bytes(),
            ),
            {"epsilon": 1, **public},
        )
        yield Door(
            f"local {name} of one half",
            lambda kind=kind, **given: (kind(**given, size=4).curve(),),
            {"epsilon": 0.5},
        )
    for kind in (
        local.LaplaceMean,
        local.DuchiMean,
        local.PiecewiseMean,
        local.HybridMean,
    ):
        yield Door(
            f"local {kind.__name__}",
            lambda kind=kind, **given: (
                kind(**given).curve(),
                kind(**given).encode([0.0, 0.5], source=seed()).to_bytes(),
            ),
            {"epsilon": 1, "bounds": (-1, 1)},
        )
    yield Door(
        "local VectorMean",
        lambda **given: (
            local.VectorMean(**given).curve(),
            local.VectorMean(**given)
            .encode(np.zeros((2, 3)), source=seed())
            .to_bytes(),
        ),
        {"epsilon": 2, "dimension": 3, "radius": 1},
    )
    yield Door(
        "local HeavyHitters",
        lambda **given: local.HeavyHitters(**given).curve(),
        {"epsilon": 4, "bits": 8, "step": 4},
    )
    yield Door(
        "local Conversation",
        lambda epsilon: local.Conversation(epsilon).curve(),
        {"epsilon": 1},
    )
    yield Door(
        "local best",
        lambda **given: local.best(**given).curve(),
        {"epsilon": 1, "size": 16, "people": 1000},
    )


def _bounds():
    yield Door("hoeffding", bounds.hoeffding, {"n": 100, "epsilon": 0.25})
    yield Door("from_privacy", bounds.from_privacy, {"n": 100, "epsilon": 0.25})
    yield Door("chernoff", bounds.chernoff, {"n": 100, "epsilon": 0.25, "mean": 0.5})
    yield Door(
        "bernstein", bounds.bernstein, {"n": 100, "epsilon": 0.25, "variance": 0.5}
    )
    yield Door(
        "noisy_max_gap",
        bounds.noisy_max_gap,
        {"candidates": 10, "epsilon": 1, "sensitivity": 1},
    )
    yield Door(
        "exponential_gap",
        bounds.exponential_gap,
        {"candidates": 10, "epsilon": 1, "sensitivity": 1},
    )
    yield Door("laplace_counts", bounds.laplace_counts, {"dimension": 10, "epsilon": 1})
    yield Door(
        "gaussian_counts",
        bounds.gaussian_counts,
        {"dimension": 10, "epsilon": 1, "delta": 2.0**-7},
    )
    yield Door(
        "minimax_mean", bounds.minimax_mean, {"n": 100, "epsilon": 1, "moments": 2}
    )
    yield Door("counts_crossing", bounds.counts_crossing, {"delta": 2.0**-7})


def doors():
    """Return every door to a law."""
    parts = (_constructors, _curves, _targets, _notions, _samplers, _local, _bounds)
    return [door for part in parts for door in part()]
