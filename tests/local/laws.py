"""Laws of reports by enumeration, from textbook formulas and not the package."""

import itertools
import math
from fractions import Fraction

import numpy as np

from hush.local import (
    DuchiMean,
    HadamardResponse,
    HeavyHitters,
    HybridMean,
    LaplaceMean,
    LocalHashing,
    PiecewiseMean,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    VectorMean,
)


def response(size, r):
    return {
        v: {(y,): (r if y == v else 1) / (r + size - 1) for y in range(size)}
        for v in range(size)
    }


def unary(size, r, p):
    q = p / (p + r * (1 - p))
    laws = {}
    for v in range(size):
        laws[v] = {}
        for bits in itertools.product((0, 1), repeat=size):
            chance = Fraction(1)
            for i, bit in enumerate(bits):
                one = p if i == v else q
                chance *= one if bit else 1 - one
            laws[v][bits] = chance
    return laws


def subset(size, r, count):
    weight = count * r / (count * r + size - count)
    inside = weight / math.comb(size - 1, count - 1)
    outside = (1 - weight) / math.comb(size - 1, count)
    sets = list(itertools.combinations(range(size), count))
    return {
        v: {
            tuple(int(i in s) for i in range(size)): inside if v in s else outside
            for s in sets
        }
        for v in range(size)
    }


def hadamard(size, r, blocks, order):
    laws = {}
    for v in range(size):
        block, row = divmod(v, order - 1)
        weight = {}
        for place in range(blocks * order):
            i, column = divmod(place, order)
            even = bin(column & (row + 1)).count("1") % 2 == 0
            weight[(place,)] = r if i == block and even else Fraction(1)
        total = sum(weight.values())
        laws[v] = {y: w / total for y, w in weight.items()}
    return laws


def law(oracle):
    """{value: {report: chance}} of an oracle over few categories."""
    size, r = oracle.size, oracle.ratio
    if isinstance(oracle, RandomizedResponse):
        return response(size, r)
    if isinstance(oracle, UnaryEncoding):
        return unary(size, r, oracle.hit)
    if isinstance(oracle, SubsetSelection):
        return subset(size, r, oracle.subset)
    if isinstance(oracle, HadamardResponse):
        return hadamard(size, r, oracle.blocks, oracle.order)
    raise AssertionError(oracle)


def seen(oracle, rows):
    """Reports of rows in the form that `law` uses, decoded by hand."""
    if isinstance(oracle, (UnaryEncoding, SubsetSelection)):
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, : oracle.size]
        return [tuple(each) for each in bits.tolist()]
    return [(int.from_bytes(bytes(each), "little"),) for each in rows]


def small():
    """Oracles whose reports can be listed."""
    return [
        RandomizedResponse(1.0),
        RandomizedResponse(0.3, 5),
        UnaryEncoding(1.0, 4),
        UnaryEncoding.symmetric(1.0, 4),
        UnaryEncoding(0.5, 3, Fraction(2, 3)),
        SubsetSelection(1.0, 5),
        SubsetSelection(0.2, 4),
        SubsetSelection(3.0, 4),
        HadamardResponse(1.0, 5),
        HadamardResponse(3.0, 9),
        HadamardResponse(0.5, 2),
    ]


def every(size, epsilon=1.0):
    """One oracle of each kind."""
    return [
        RandomizedResponse(epsilon, size),
        UnaryEncoding(epsilon, size),
        UnaryEncoding.symmetric(epsilon, size),
        LocalHashing(epsilon, size),
        HadamardResponse(epsilon, size),
        SubsetSelection(epsilon, size),
    ]


def means(epsilon=1.0, bounds=(-1.0, 3.0)):
    """One mean of each kind."""
    kinds = (DuchiMean, PiecewiseMean, HybridMean, LaplaceMean)
    return [make(epsilon, bounds) for make in kinds]


def everything(epsilon=1.0, size=9):
    """One randomizer of every kind."""
    others = [VectorMean(epsilon, 2), HeavyHitters(epsilon, bits=12, step=5)]
    return [*every(size, epsilon), *means(epsilon), *others]


def some(randomizer, people):
    """Values that a randomizer can encode."""
    if isinstance(randomizer, VectorMean):
        return np.tile([[0.6, -0.8]], (people, 1))
    return np.arange(people) % 2


def read(randomizer, reports):
    """What a collector learns from reports."""
    if isinstance(randomizer, HeavyHitters):
        return randomizer.find(reports)
    return randomizer.estimate(reports)
