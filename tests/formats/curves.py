"""Every kind of guarantee that is ever written down, by a name that never changes."""

import math
from fractions import Fraction

from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Geometric
from hush.mechanisms import Canonical, Gaussian, Laplace, mean
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    compose,
    fixed_size,
    geometric,
    group,
    parallel,
    poisson,
    repeat,
    replace_one,
    shuffle,
    worst,
)

THIRD = Fraction(1, 3)


def _tent(alpha: float) -> float:
    return max(0.0, 1 - 1.8 * alpha, (1 - alpha) / 1.8)


def plain():
    """Return the notions and the pairs of laws."""
    return {
        "pure": Pure(epsilon=0.7),
        "pure, nothing": Pure(epsilon=0.0),
        "pure, no bound": Pure(epsilon=math.inf),
        "approx": Approx(epsilon=0.4, delta=1e-4),
        "zcdp": ZCDP(rho=0.1),
        "gdp": GDP(mu=0.6),
        "rdp, table": RDP.table([2.0, 8.0, 32.0], [0.1, 0.3, 1.0]),
        "rdp, function": RDP(lambda order: 0.05 * order),
        "tradeoff": Tradeoff(_tent),
        "profile": Profile(GDP(mu=0.6).delta_at),
        "pair, laplace": Pair.laplace(scale=2.0),
        "pair, gaussian": Pair.gaussian(std=1.5),
        "pair, finite": Pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]),
        "pair, fractions": Pair([THIRD, 1 - THIRD], [1 - THIRD, THIRD]),
        "pair, discrete laplace": Pair.shift(DiscreteLaplace(Fraction(5, 3)), by=2),
        "pair, discrete gaussian": Pair.shift(DiscreteGaussian(2), by=1),
        "pair, geometric": Pair(Geometric(THIRD), Geometric(Fraction(1, 2))),
        "pair, finite law": Pair(Finite((0.25, 0.75)), Finite((0.5, 0.5))),
    }


def made():
    """Return what the algebra of curves makes of them."""
    pair = Pair.laplace(scale=3.0)
    return {
        "compose, mixed": compose(GDP(mu=0.5), pair),
        "compose, sampled": compose(
            poisson(Pure(epsilon=1.0), rate=0.3), Approx(epsilon=0.1, delta=1e-5)
        ),
        "compose, gdp": compose(GDP(mu=0.3), GDP(mu=0.4)),
        "repeat, pure": repeat(Pure(epsilon=0.1), times=20),
        "repeat, approx": repeat(Approx(epsilon=0.1, delta=1e-7), times=5),
        "repeat, sampled": repeat(poisson(GDP(mu=1.0), rate=0.01), times=100),
        "poisson, gdp": poisson(GDP(mu=1.0), rate=0.1),
        "poisson, pair": poisson(pair, rate=0.25),
        "fixed size": fixed_size(GDP(mu=1.0), batch=1, records=8),
        "shuffle": shuffle(Pure(epsilon=1.0), people=40),
        "group, pure": group(Pure(epsilon=0.5), size=2),
        "group, gdp": group(GDP(mu=0.5), size=3),
        "group, pair": group(Pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]), size=2),
        "geometric": geometric(Pure(epsilon=0.5), 2),
        "replace one": replace_one(poisson(Pure(epsilon=0.5), rate=0.5)),
        "parallel": parallel([Pure(epsilon=1.0), GDP(mu=0.3)], neighbors="add-remove"),
        "worst": worst([Pure(epsilon=0.5), GDP(mu=0.5)]),
    }


def of_mechanisms():
    """Return guarantees of noise that runs, lattice and all."""
    return {
        "of laplace": Laplace(2.0).curve(1),
        "of laplace, coarse": Laplace(1.0, step=Fraction(1, 4)).curve(1),
        "of gaussian": Gaussian(4.0, step=2.0**-11).curve(1),
        "of gaussian, vector": Gaussian(1.5, step=Fraction(1, 4)).curve(1, dimension=3),
        "of canonical": Canonical(Approx(1.0, 0.01)).curve(1),
        "of a mean": (mean((0, 1)) >> Laplace(2.0, step=Fraction(1, 4))).curve(),
    }


def every_curve():
    """Return every stored kind of curve by its name."""
    return {**plain(), **made(), **of_mechanisms()}
