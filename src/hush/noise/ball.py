"""Uniform points of a unit ball, and radial vectors for any norm with a known ball.

The ℓ1 and ℓ2 balls are cut out of discrete Laplace and discrete Gaussian vectors: a
vector inside the ball is kept with the probability that makes every lattice point
equally likely. About √(3d) tries on average in dimension d.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.bernoulli import bernoulli, coin_flips
from hush.noise.gaussian import discrete_gaussian
from hush.noise.inversion import Bracket, Integers, Uniform, exp_bracket
from hush.noise.laplace import discrete_laplace, geometric
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
        number = checks.plain_number(norm)
        if type(number) not in (int, float, Fraction) or number not in known:
            raise InvalidArgument(
                f"norm must be 1, 2 or math.inf; got {checks.value_text(norm)}."
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

        kept.append(z[coin_flips(np.exp(-left / float(unit)), exact, source)])
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


# -- Vectors with P(x) ∝ exp(-⌈‖x‖⌉/scale) on Z^d, for any norm with a known ball ------
#
# With r = e^(-1/scale), r^⌈‖x‖⌉ ∝ Σ_M r^M [‖x‖ <= M]: choose a whole radius M and a
# uniform lattice point of its ball. M is proposed with weight C(M+d, d)·r^M, a sum of
# d + 1 geometric variables; the point is proposed from a law that covers the ball,
# and both are kept with the ratio of the wanted to the proposed weight.

Points = NDArray[np.int64]
_LOOSE = 1e-8  # floats of thousands of terms decide only outside this margin


@final
@dataclass(frozen=True)
class Body:
    """The unit ball of a norm, for points of a lattice.

    `inside(x, radius)` says whether an integer vector lies in radius times the ball;
    the ball lies in [-box, box]^d; `ones` bounds the norm of every (±1, ..., ±1), by
    which rounding can move a vector: for a slanted ball it is not that of (1, ..., 1).

    Example:
        >>> diamond = Body(lambda x, radius: abs(x).sum() <= radius, box=1, ones=3)
        >>> diamond.inside(np.array([1, -1, 0]), 2)
        np.True_
    """

    inside: Callable[[Points, int], Any]
    box: float | Fraction
    ones: float | Fraction

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("box", self.box, at_least=0.5)
        checks.real("ones", self.ones, above=0)


def cube(x: Points, radius: int) -> bool:
    """Return whether the largest coordinate is at most `radius`."""
    return bool(np.abs(x).max() <= radius)


def _in_body(body: Body, d: int, radius: int, source: Source) -> Points | None:
    """Return a uniform point of radius·body with chance ∝ its number of points."""
    reach = math.floor(Fraction(body.box) * radius)
    # (2R+1)^d / ((2·box)^d d! C(M+d, d)) <= 1, since Π(M+i) >= (M+1)^d.
    below = math.prod(range(radius + 1, radius + d + 1))
    chance = Fraction((2 * reach + 1) ** d, below) / (2 * Fraction(body.box)) ** d
    if not bernoulli(chance, source=source):
        return None
    x: Points = integers(2 * reach + 1, size=d, source=source) - reach
    return x if body.inside(x, radius) else None


@lru_cache(maxsize=16)
def _root_two_pi(digits: int) -> tuple[Fraction, Fraction]:
    """Return fractions around √(2π), by Machin's formula in integers."""
    unit = 10 ** (digits + 10)

    def arctan(x: int) -> int:
        power, total, n = unit // x, 0, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power, n = power // (x * x), n + 2
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    context = Context(prec=digits + 5)
    root = context.sqrt(context.divide(Decimal(2 * pi), Decimal(unit)))
    exact = Fraction(root)
    slack = Fraction(1, 10 ** (digits - 2))
    return exact - slack, exact + slack


def _mass(std: int, digits: int) -> Bracket:
    """Return fractions around Σ_k exp(-k²/(2 std²))."""
    if std < 16:
        low, high, k = Fraction(1), Fraction(1), 1
        while True:
            a, b = exp_bracket(Fraction(k * k, 2 * std * std), digits)
            low, high, k = low + 2 * a, high + 2 * b, k + 1
            if b < Fraction(1, 10**digits):  # the rest falls faster than a half each σ
                return low, high + 8 * std * b
    a, b = _root_two_pi(digits)
    return std * a, std * b * (1 + Fraction(4, 10**2000))  # Poisson: 2e^(-2π²σ²)


@lru_cache(maxsize=64)
def _peak(d: int) -> float:
    """Return a bound on the log of the acceptance ratio, over all radii."""
    radii = np.unique(
        np.concatenate([np.arange(4096), np.geomspace(4096, 2**30, 4000)])
    )
    return max(_log_ratio(d, int(m), int(m) ** 2) for m in radii) + 0.01


def _std(d: int, radius: int) -> int:
    return max(1, math.isqrt(radius * radius // d))


def _log_ratio(d: int, radius: int, square: int) -> float:
    std = _std(d, radius)
    mass = math.log(std * math.sqrt(2 * math.pi))
    mass += math.log1p(2 * math.exp(-2 * (math.pi * std) ** 2))
    if radius < 1 << 14:
        choose = math.lgamma(radius + d + 1) - math.lgamma(radius + 1)
    else:  # lgamma loses digits to cancellation there: 6e-8 at 10^7, beyond `_LOOSE`
        choose = float(np.log1p(np.arange(1, d + 1) / radius).sum())
        choose += d * math.log(radius)
    choose -= math.lgamma(d + 1)
    return square / (2 * std * std) + d * mass - choose


def _in_sphere(d: int, radius: int, source: Source) -> Points | None:
    """Return a uniform point of the ℓ2 ball with chance ∝ its number of points."""
    std = _std(d, radius)
    x: Points = discrete_gaussian(std, size=d, source=source)
    square = sum(int(each) ** 2 for each in x)
    if square > radius * radius:
        return None
    peak = _peak(d)
    chance = math.exp(_log_ratio(d, radius, square) - peak)
    if chance > 1 - _LOOSE:
        raise InvalidArgument("dimension is too large for the ℓ2 ball sampler.")

    def exact(digits: int) -> Bracket:
        e = exp_bracket(Fraction(square, 2 * std * std), digits)
        top, z = exp_bracket(Fraction(peak), digits), _mass(std, digits)
        points = math.comb(radius + d, d)
        return z[0] ** d * top[0] / (e[1] * points), z[1] ** d * top[1] / (
            e[0] * points
        )

    word = source.bits(64)
    if abs(word * 2.0**-64 - chance) > _LOOSE:
        return x if word * 2.0**-64 < chance else None
    return x if Uniform(word, 64, source).below(exact) else None


def radial(
    body: Body | None, dimension: int, scale: Any, *, source: Source = SECURE
) -> Points:
    """Return one vector with P(x) ∝ exp(-⌈‖x‖⌉/scale); `None` is the ℓ2 norm.

    Guarantee: the law is exact for the rational `scale`.

    Example:
        >>> radial(None, 3, 1000).shape
        (3,)

    Reference: [HT10] for the continuous law; the lattice form is derived above.
    """
    d = checks.whole("dimension", dimension, at_least=1)
    while True:
        radius = int(geometric(scale, size=d + 1, source=source).sum())
        x = (
            _in_sphere(d, radius, source)
            if body is None
            else _in_body(body, d, radius, source)
        )
        if x is not None:
            return x
