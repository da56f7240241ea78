"""Slow, independent truths: high-precision quadrature, sums and enumeration."""

import itertools
from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 40


def hockey(p: Sequence, q: Sequence, epsilon) -> mp.mpf:
    """Largest P(S) - e^ε Q(S) over all sets, by summing the outcomes that gain."""
    gamma = mp.e ** mp.mpf(epsilon)
    gains = (mp.mpf(a) - gamma * mp.mpf(b) for a, b in zip(p, q, strict=True))
    return mp.fsum(gain for gain in gains if gain > 0)


def hockey_by_subsets(p: Sequence, q: Sequence, epsilon) -> mp.mpf:
    """The same by trying every event."""
    gamma = mp.e ** mp.mpf(epsilon)
    best = mp.mpf(0)
    for size in range(len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            gain = mp.fsum(mp.mpf(p[i]) - gamma * mp.mpf(q[i]) for i in event)
            best = max(best, gain)
    return best


def product(*tables: Sequence) -> list:
    """Joint law of independent outcomes."""
    joint = [mp.mpf(1)]
    for table in tables:
        joint = [a * mp.mpf(b) for a in joint for b in table]
    return joint


def response(epsilon, delta=0) -> tuple[list, list]:
    """Randomized response that gives the truth away with probability δ."""
    e, d = mp.e ** mp.mpf(epsilon), mp.mpf(delta)
    high, low = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
    return [d, high, low, 0], [0, low, high, d]


def integral(f: Callable, points: Sequence) -> mp.mpf:
    return mp.quad(f, points)


def gaussian_delta(mu, epsilon) -> mp.mpf:
    """∫ (φ(x-μ) - e^ε φ(x))+ dx, where the integrand is positive: x > ε/μ + μ/2."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    start = epsilon / mu + mu / 2
    size = mp.npdf(start, mu, 1)  # quadrature is accurate relative to one

    def gain(x):
        p, q = mp.npdf(x, mu, 1), mp.npdf(x, 0, 1)
        return (p - mp.e**epsilon * q) / size

    width = 12 / (1 + abs(start - mu))
    return size * integral(gain, [start + i * width / 4 for i in range(0, 40)])


def laplace_delta(scale, epsilon) -> mp.mpf:
    """∫ (p - e^ε q)+ for densities e^(-|x-1|/b)/2b and e^(-|x|/b)/2b."""
    b, gamma = mp.mpf(scale), mp.e ** mp.mpf(epsilon)
    # The gain changes sign where (|x| - |x-1|)/b = ε: at x = (1 + bε)/2 inside (0, 1).
    turn = min((1 + b * mp.mpf(epsilon)) / 2, mp.mpf(1))

    def gain(x):
        p = mp.e ** (-abs(x - 1) / b) / (2 * b)
        q = mp.e ** (-abs(x) / b) / (2 * b)
        return max(p - gamma * q, mp.mpf(0))

    return integral(gain, sorted({mp.mpf(0), turn, mp.mpf(1), 1 + 20 * b, 1 + 150 * b}))


def renyi(p: Sequence, q: Sequence, order) -> mp.mpf:
    a = mp.mpf(order)
    pairs = [(mp.mpf(x), mp.mpf(y)) for x, y in zip(p, q, strict=True) if x > 0]
    if a == 1:
        return mp.fsum(x * mp.log(x / y) for x, y in pairs)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in pairs)) / (a - 1)
