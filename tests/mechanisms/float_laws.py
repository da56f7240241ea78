"""Exact laws of choices among all floats, from the bits of a float by `struct`."""

import itertools
import struct

import exact
import numpy as np

LARGEST = 1.7976931348623157e308
POINTS = (-3.0, 0.0, 5e-324, 1.5, 1e300)


def rank(x):
    """How many floats lie between 0 and x, negative below zero."""
    bits = struct.unpack("<q", struct.pack("<d", abs(x)))[0]
    return bits if x >= 0 else -bits


def pieces(points=POINTS):
    """The cells of eight floats: of each point, and how many lie between them."""
    places = sorted({rank(x) // 8 for x in points})
    ends = [rank(-LARGEST) // 8 - 1, *places, rank(LARGEST) // 8 + 1]
    inside = [b - a - 1 for a, b in itertools.pairwise(ends)]
    counts = np.ones(2 * len(places) + 1)
    counts[0::2] = inside
    return places, counts


def law(records, at, scale, points=POINTS):
    """Chance of every piece: between two points, or at one."""
    places, counts = pieces(points)
    cells = [rank(x) // 8 for x in records]
    errors = []
    for i in range(counts.size):
        if i % 2:
            below = sum(c < places[i // 2] for c in cells)
            up_to = sum(c <= places[i // 2] for c in cells)
        else:
            below = up_to = sum(c <= places[i // 2 - 1] for c in cells) if i else 0
        target = at * len(records)
        errors.append(max(below - target, target - up_to, 0.0))
    weights = counts * np.exp(-np.array(errors) / scale)
    return weights / weights.sum()


def neighbors(*, replace, sizes=(1, 2, 3), points=POINTS):
    """Pairs of small lists: one record exchanged, or one more."""
    for n in sizes:
        for data in itertools.combinations_with_replacement(points, n):
            for x in points:
                yield data, ((x, *data[1:]) if replace else (x, *data))


def quantile_pairs(at, scale, *, replace):
    """Both laws of every pair of neighbors."""

    def pairs(factor):
        found = []
        for one, other in neighbors(replace=replace):
            laws = [law(each, at, scale * factor) for each in (one, other)]
            found += exact.both(*laws)
        return found

    return pairs


def clipped_pairs(scale, rank_scale):
    """A choice of the middle, and Laplace noise on a share that moves by all of it."""

    def pairs(factor):
        coarse = 8  # a coarse lattice is the worse case
        noise = exact.shifted(exact.laplace(coarse * scale * factor), coarse)
        found = []
        for one, other in neighbors(replace=True, sizes=(1, 2)):
            laws = [law(each, 0.5, rank_scale) for each in (one, other)]
            found += exact.both(
                *(exact.product(*each) for each in zip(laws, noise, strict=True))
            )
        return found

    return pairs
