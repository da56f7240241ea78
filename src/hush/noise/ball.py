"""Uniform points of a unit ball on a fine grid: ℓ1, ℓ2 and ℓ∞, in any dimension.

The ℓ1 and ℓ2 balls are cut out of discrete Laplace and discrete Gaussian vectors: a
vector inside the ball is kept with the probability that makes every lattice point
equally likely. About √(3d) tries on average in dimension d.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.bernoulli import flips
from hush.noise.exact import Bracket, exp_bracket
from hush.noise.gaussian import discrete_gaussian
from hush.noise.ladder import Integers
from hush.noise.laplace import discrete_laplace
from hush.noise.source import SECURE, Source
from hush.noise.uniform import integers
from hush.serialization import tagged


@tagged("norm/1")
class Norm(IntEnum):
    """The norms whose balls are sampled; `math.inf` names the last."""

    ONE = 1
    TWO = 2
    INFINITY = -1

    @classmethod
    def of(cls, norm: Any) -> "Norm":
        """Return the norm called 1, 2 or math.inf."""
        known = {1: cls.ONE, 2: cls.TWO, math.inf: cls.INFINITY}
        if isinstance(norm, cls):
            return norm
        number = checks.plain(norm)
        if type(number) not in (int, float, Fraction) or number not in known:
            raise InvalidArgument(
                f"norm must be 1, 2 or math.inf; got {checks.shown(norm)}."
            )
        return known[number]


def _cut_out(
    count: int,
    propose: Callable[[int], Integers],
    power: int,
    radius: int,
    unit: Fraction,
    source: Source,
) -> Integers:
    """Return proposals with Σ|z|^power <= radius^power, all points equally likely.

    A proposal has weight exp(-Σ|z|^power/unit), so it is kept with chance
    exp(-(radius^power - Σ|z|^power)/unit).
    """
    limit = radius**power
    kept: list[Integers] = []
    found = 0
    while found < count:
        z = propose(count - found)
        # Floats sort out the far ones, so that the integer sums below cannot overflow.
        near = (np.abs(z).astype(np.float64) ** power).sum(axis=1) < 1.01 * limit
        z = z[near]
        left = limit - (np.abs(z) ** power).sum(axis=1)
        z, left = z[left >= 0], left[left >= 0]

        def exact(place: int, digits: int, left: Integers = left) -> Bracket:
            return exp_bracket(int(left[place]) / unit, digits)

        kept.append(z[flips(np.exp(-left / float(unit)), exact, source)])
        found += kept[-1].shape[0]
    return np.concatenate(kept)[:count]


def ball(
    norm: Any,
    dimension: int,
    size: int | None = None,
    *,
    bits: int = 30,
    source: Source = SECURE,
) -> NDArray[np.float64]:
    """Return points uniform on the grid 2^-bits·Z^d inside the unit ball of `norm`.

    Guarantee: every grid point of the ball has exactly the same probability.

    Example:
        >>> bool(abs(ball(1, dimension=5)).sum() <= 1)
        True
    """
    kind = Norm.of(norm)
    d = checks.whole("dimension", dimension, at_least=1)
    count = 1 if size is None else checks.whole("size", size, at_least=0)
    bits = checks.whole("bits", bits, at_least=1, at_most=30)
    radius = 2**bits

    def shape(missing: int) -> tuple[int, int]:
        return math.ceil(missing * (1 + math.sqrt(3 * d))) + 8, d

    if kind is Norm.INFINITY:
        z = integers(2 * radius + 1, size=(count, d), source=source) - radius
    elif kind is Norm.ONE:
        scale = Fraction(radius, d)  # the mean of Σ|z| is then the radius
        z = _cut_out(
            count,
            lambda missing: discrete_laplace(scale, size=shape(missing), source=source),
            1,
            radius,
            scale,
            source,
        )
    else:
        std = Fraction(max(1, math.isqrt(radius**2 // d)))
        z = _cut_out(
            count,
            lambda missing: discrete_gaussian(std, size=shape(missing), source=source),
            2,
            radius,
            2 * std**2,
            source,
        )
    points: NDArray[np.float64] = np.ldexp(z.astype(np.float64), -bits)
    return points[0] if size is None else points
