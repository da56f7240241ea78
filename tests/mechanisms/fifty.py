"""Laws by enumeration with fifty digits: dictionaries from outcomes to chances."""

from fractions import Fraction

import mpmath as mp
import numpy as np

EPSILONS = (0.0, 1e-9, 0.05, 0.3, 1.0, 2.0, 5.0, 40.0, 700.0)


def real(x):
    x = Fraction(x)
    return mp.mpf(x.numerator) / x.denominator


def hockey(p, q, epsilon):
    """sup_S P(S) - e^ε Q(S) of laws as dictionaries."""
    e, none = mp.exp(mp.mpf(epsilon)), mp.mpf(0)
    return mp.fsum(max(none, p[x] - e * q.get(x, none)) for x in p)


def covers(curve, pairs, epsilons=EPSILONS, rounding="1e-30"):
    """Whether δ of a curve is above the hockey-sticks of all pairs, both ways."""
    claimed = curve.delta_at(np.array(epsilons))
    slack = 1 - mp.mpf(rounding)
    return all(
        claimed[k] >= hockey(a, b, x) * slack
        for k, x in enumerate(epsilons)
        for p, q in pairs
        for a, b in ((p, q), (q, p))
    )


def laplace(scale, reach):
    r = mp.exp(-1 / real(scale))
    return {k: (1 - r) / (1 + r) * r ** abs(k) for k in range(-reach, reach + 1)}


def product(*laws):
    joint = {(): mp.mpf(1)}
    for law in laws:
        joint = {(*x, y): p * q for x, p in joint.items() for y, q in law.items()}
    return joint


def shifted(law, by):
    return {x + by: p for x, p in law.items()}


def gaussian(std, reach):
    weights = {
        k: mp.exp(-(mp.mpf(k) ** 2) / (2 * real(std) ** 2))
        for k in range(-reach, reach + 1)
    }
    total = mp.fsum(weights.values())
    return {k: w / total for k, w in weights.items()}
