"""Floating-point slack: how far rounding can move a clipped sum between neighbors.

All sums are computed in float32 (unit roundoff u = 2^-24) and proved in rationals:
γ(k) = ku/(1 - ku) bounds the relative error of k rounded operations in any order.
"""

import math
from fractions import Fraction

UNIT = Fraction(1, 1 << 24)
BLOCK = 1024  # squares are added in blocks, so that long sums stay accurate
HUGE = 2.0**25  # factors this far apart, in clips, count as zero
_REST = Fraction(1, 1 << 22)  # underflow of anything, relative to the clip


def gamma(operations: int) -> Fraction:
    """Return ku/(1 - ku), the error of k rounded operations, relative."""
    share = operations * UNIT
    if share >= Fraction(1, 4):
        raise OverflowError
    return share / (1 - share)


def depth(size: int) -> int:
    """Return how many additions a number meets when `size` squares are added."""
    return size if size <= BLOCK else BLOCK + math.ceil(size / BLOCK)


def contribution(longest: int) -> Fraction:
    """Return the largest norm of a clipped row, in clips.

    Guarantee: the computed square of a norm errs by γ(longest + 8) relative; dividing,
    the square root and the float clip by 8u at most; underflow by 2^-22 clips.
    """
    return (1 + gamma(longest + 8)) * (1 + 8 * UNIT) + _REST


def distance(*, rows: int, longest: int, replaced: bool) -> Fraction:
    """Return how far the float sum of groups of `rows` can move, in clips.

    One row is `replaced`, in one group. Or one comes or goes: it may take the slot of
    another, which is then added to a second group. Every other row is bit for bit the
    same, and so is the sum of every other group.

    Guarantee: a sum of m products in any order is a binary tree. Every node errs by u
    of what is below it, so a row errs by u·c per node above it, c the bound of its
    norm. The depths of m leaves add up to m(m + 1)/2 at most, and products err by m·u.
    The real sums are c apart, or 2c; each float sum of a group errs on its own.
    """
    c = contribution(longest)
    moved, sums = (2 * c, 2) if replaced else (c, 4)
    nodes = rows * (rows + 1) // 2 + rows
    return moved + sums * UNIT * (1 + gamma(rows + 2)) * nodes * c


def root(number: int) -> int:
    """Return the square root, rounded up."""
    return math.isqrt(max(number, 1) - 1) + 1
