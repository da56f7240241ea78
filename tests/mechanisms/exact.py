"""Output laws by enumeration, from textbook formulas: independent of the package."""

import itertools
import math
from functools import cache

import numpy as np


def hockey(p, q, epsilon):
    """E_Q[(P/Q - e^ε)+] for probability arrays, at each ε."""
    p, q = np.ravel(p), np.ravel(q)
    return np.array([np.maximum(p - math.exp(e) * q, 0.0).sum() for e in epsilon])


def both(p, q):
    return [(p, q), (q, p)]


def laplace(scale, reach=None):
    """Pmf of the integer Laplace on -reach..reach."""
    reach = reach or math.ceil(45 * scale) + 2
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(np.arange(-reach, reach + 1))


def gaussian(std, reach=None):
    reach = reach or math.ceil(12 * std) + 2
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / std) ** 2)
    return weights / weights.sum()


def staircase(epsilon, width, inner, levels=60):
    reach = inner + levels * width
    k = np.abs(np.arange(-reach, reach + 1))
    level = np.where(k < inner, 0, (k - inner) // width + 1)
    weights = np.exp(-epsilon * level)
    return weights / weights.sum()


def tulap(epsilon, delta, reach=60):
    """Integer Tulap: rounded truncated-uniform-Laplace, [AS18] Definition 4.1."""
    b = math.exp(-epsilon)
    cut = 2 * delta * b / (1 - b + 2 * delta * b)

    def raw(k):  # F at k + 1/2, k < 0: b^-(k)·b/(1+b) · ... the next integer's start
        return b ** (-k) / (1 + b) if k < 0 else 1 - b ** (k + 1) / (1 + b)

    def cdf(k):
        return min(max((raw(k) - cut / 2) / (1 - cut), 0.0), 1.0)

    return np.array([cdf(k) - cdf(k - 1) for k in range(-reach, reach + 1)])


def shifted(law, by):
    """(law, law moved by `by`) on a common support."""
    pad = np.zeros(by)
    return np.concatenate([law, pad]), np.concatenate([pad, law])


def product(*laws):
    joint = np.ones(1)
    for each in laws:
        joint = np.multiply.outer(joint, each).ravel()
    return joint


def softmax(u, scale):
    w = np.exp((np.asarray(u, float) - max(u)) / scale)
    return w / w.sum()


def permute_and_flip(u, scale):
    """Average over all orders of the chance to be the first success."""
    keep = np.exp((np.asarray(u, float) - max(u)) / scale)
    chance = np.zeros(len(u))
    orders = list(itertools.permutations(range(len(u))))
    for order in orders:
        left = 1.0
        for i in order:
            chance[i] += left * keep[i]
            left *= 1 - keep[i]
    return chance / len(orders)


def noisy_max(u, scale):
    """Integer Laplace noise on each score; ties shared evenly.

    P(i wins) = Σ_x P(score_i = x) · Σ over subsets of rivals that tie at x, the others
    below: summed over x, with the tie split by the size of the tied set.
    """
    return np.array(_noisy_max(tuple(int(each) - max(u) for each in u), scale))


@cache
def _noisy_max(u, scale):
    wide = math.ceil(40 * scale)
    law = laplace(scale, wide)
    x = np.arange(-wide - 8, wide + 9)

    def at(score):  # pmf and cdf below of score + noise on x
        pmf = np.interp(x - score, np.arange(-wide, wide + 1), law, left=0, right=0)
        return pmf, np.concatenate([[0.0], np.cumsum(pmf)[:-1]])

    laws = [at(each) for each in u]
    chances = []
    for i in range(len(u)):
        rivals = [j for j in range(len(u)) if j != i]
        total = 0.0
        for tied in itertools.product((False, True), repeat=len(rivals)):
            weight = laws[i][0] / (1 + sum(tied))
            for j, tie in zip(rivals, tied, strict=True):
                weight = weight * laws[j][0 if tie else 1]
            total += weight.sum()
        chances.append(total)
    return tuple(chances)


def above_threshold(queries, threshold, scale, query_scale):
    """P(first yes at j), and P(no yes): the law of one-hit sparse vector."""
    reach = math.ceil(40 * scale)
    noise = laplace(scale, reach)
    wide = math.ceil(40 * query_scale)
    each = laplace(query_scale, wide)
    tail = np.cumsum(each[::-1])[::-1]  # tail[i] = P(noise >= i - wide)

    def yes(need):
        return tail[np.clip(need + wide, 0, 2 * wide)]

    bar = threshold + np.arange(-reach, reach + 1)
    result, left = [], noise.copy()
    for q in queries:
        chance = yes(bar - q)
        result.append((left * chance).sum())
        left = left * (1 - chance)
    return np.array([*result, left.sum()])


def top_two(u, scale):
    """Ordered pairs of the exponential mechanism without replacement."""
    first = softmax(u, scale)
    result = []
    for i in range(len(u)):
        rest = [each for j, each in enumerate(u) if j != i]
        result += list(first[i] * softmax(rest, scale))
    return np.array(result)


def quantile(data, other, at, bounds, scale):
    """Laws on the pieces between all records of both data sets."""
    cuts = np.unique(np.concatenate([data, other, bounds]).clip(*bounds))

    def law(records):
        left = cuts[:-1]
        below = np.array([(np.asarray(records).clip(*bounds) <= x).sum() for x in left])
        w = np.diff(cuts) * np.exp(-np.abs(at * len(records) - below) / scale)
        return w / w.sum()

    return law(data), law(other)


def radial(norm, dimension, scale, reach, shift):
    """exp(-⌈‖x‖⌉/scale) on a box of Z^d, and the same around `shift`."""
    axes = [np.arange(-reach, reach + 1)] * dimension
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, dimension)

    def law(center):
        size = np.ceil(np.linalg.norm(points - center, norm, axis=1) - 1e-9)
        return np.exp(-size / scale)

    total = law(np.zeros(dimension)).sum()
    return law(np.zeros(dimension)) / total, law(np.array(shift)) / total
