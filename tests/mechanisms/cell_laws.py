"""Exact laws of choices among weighted cells, by enumeration in plain floats."""

import itertools
import math
from fractions import Fraction

import exact
import numpy as np


def errors(weights, target, pad=(0, 0)):
    """Rank error of every cell: distance of the target from [below, up to]."""
    row = [0] * pad[0] + [int(w) for w in weights] + [0] * pad[1]
    total = sum(row)
    below, found = 0, []
    for w in row:
        found.append(max(below - target, target - (below + w), 0))
        below += w
    assert below == total
    return np.array([float(e) for e in found])


def law(weights, target, scale, pad=(0, 0)):
    """Chance of every cell of one group."""
    e = errors(weights, target, pad)
    p = np.exp(-(e - e.min()) / float(scale))
    return p / p.sum()


def joint(*laws):
    """Law of independent choices, as one vector."""
    found = np.ones(1)
    for each in laws:
        found = np.multiply.outer(found, each).ravel()
    return found


def neighbors(groups, size, most, moved, times=1):
    """Pairs of small histograms: one has `moved` units of weight more, anywhere."""
    shapes = [
        times * np.array(w).reshape(groups, size)
        for w in itertools.product(range(most + 1), repeat=groups * size)
    ]
    steps = [
        s
        for s in itertools.product(range(moved + 1), repeat=groups * size)
        if sum(s) == moved
    ]
    for base in shapes:
        for step in steps:
            yield base, base + np.array(step).reshape(groups, size)


def quantile_pairs(at, scale, groups=2, size=3, most=1, moved=1):
    """Both laws of every pair of neighbors of a single quantile."""
    level = Fraction(at).limit_denominator(10**6)

    def whole(weights, factor):
        return joint(
            *[law(row, level * int(row.sum()), scale * factor) for row in weights]
        )

    def pairs(factor):
        found = []
        for one, other in neighbors(groups, size, most, moved):
            found += exact.both(whole(one, factor), whole(other, factor))
        return found

    return pairs


def top_pairs(scale, groups=2, size=2, most=2, moved=1):
    """Both laws of every pair of neighbors of the mode of each group."""

    def pairs(factor):
        found = []
        for one, other in neighbors(groups, size, most, moved):
            laws = [
                joint(*[exact.softmax(row.tolist(), scale * factor) for row in side])
                for side in (one, other)
            ]
            found += exact.both(*laws)
        return found

    return pairs


def largest_range(p, q):
    """How far apart the log-ratios of two laws are."""
    ratio = np.log(p) - np.log(q)
    return float(ratio.max() - ratio.min())


def hockey(p, q, epsilon):
    """Hockey-stick divergence, for the worse of both directions."""
    return max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()),
        float(np.maximum(q - math.exp(epsilon) * p, 0).sum()),
    )


def deviations(level, runs):
    """How far a share of runs strays from its level: beyond it with chance 1e-9."""
    return 6.1 * math.sqrt(level * (1 - level) / runs)
