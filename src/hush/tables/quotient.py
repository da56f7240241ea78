"""Quotients of two noisy numbers: those that the noise does not contradict.

Released are S = s + Z and N = n + W. For the true quotient u = s/n, S - uN is the noise
Z - uW, and its law is known: where S - uN is larger than it may be, u is contradicted.
A bar for each of the two would take both at their worst at once, which is rarer.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, final

import numpy as np

from hush.errors import Unsupported
from hush.mechanisms.discrete_gaussian import DiscreteGaussian
from hush.mechanisms.geometric import Geometric
from hush.mechanisms.mechanism import Mechanism
from hush.tables.part import Additive, Floats

_PLACES = 1024  # of |u| at which the noise of S - uN is known
_APART = 1e-3  # scales that are closer are taken this far apart
_TURNS = 6


@final
@dataclass(frozen=True)
class Noise:
    """Symmetric noise on a lattice, in the user's units: its width and its step."""

    gaussian: bool
    width: float  # a scale, or a standard deviation
    step: float

    @classmethod
    def of(cls, part: Additive, mechanism: Mechanism) -> "Noise":
        """Return the noise of a released number."""
        step = float(part.unit_value)
        if isinstance(mechanism, Geometric):
            return cls(gaussian=False, width=float(mechanism.scale) * step, step=step)
        if isinstance(mechanism, DiscreteGaussian):
            return cls(gaussian=True, width=float(mechanism.std) * step, step=step)
        raise Unsupported(f"{type(mechanism).__name__} noise has no quotients.")


@lru_cache(maxsize=256)
def reach(top: Noise, bottom: Noise, level: float) -> Any:
    """Return what |Z - uW| stays within, for |u| = 0, 1/1024, …, 1: rising numbers.

    Guarantee: each with probability `level`, the lattice included. Whole noise can be
    drawn together with continuous noise of its width and be within a step of it: the
    difference of two exponentials is Laplace, that of their floors is geometric, and
    the tail of a discrete Gaussian from m on lies between the normal ones from m + 1
    and m - 1 on. Another step of each is for sums that were rounded down.
    """
    u = np.linspace(0.0, 1.0, _PLACES + 1)
    both = top.width, u * bottom.width
    if top.gaussian and bottom.gaussian:
        found = -NormalDist().inv_cdf((1 - level) / 2) * np.hypot(*both)
    elif top.gaussian or bottom.gaussian:
        raise Unsupported("a quotient of Laplace and Gaussian noise is not known.")
    else:
        found = _laplaces(*both, 1 - level)
    return np.maximum.accumulate(found) * (1 + 1e-9) + 2 * (top.step + u * bottom.step)


def _laplaces(one: float, other: Floats, miss: float) -> Floats:
    """Return the t that two Laplace variables of these scales together rarely exceed.

    P(|X + Y| > t) = (a² e^(-t/a) - b² e^(-t/b))/(a² - b²) for scales a > b.
    """
    low = np.minimum(one, other)
    # Wider noise exceeds t more often, so that moving the wider one away is sound.
    high = np.maximum(np.maximum(one, other), low * (1 + _APART))
    # In units of the wider one, whose square may be no float.
    b = np.where(high > 0, low / np.where(high > 0, high, 1.0), 0.0)
    least, most = np.zeros_like(b), np.full_like(b, 2 * (1 - math.log(miss)))
    for _ in range(60):
        t = (least + most) / 2
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            thin = np.where(b > 0, b**2 * np.exp(-t / b), 0.0)
        often = (np.exp(-t) - thin) / (1 - b**2) > miss
        least, most = np.where(often, t, least), np.where(often, most, t)
    return most * high


def quotient(
    top: tuple[Floats, Noise], bottom: tuple[Floats, Noise], most: float, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return S/N within ±most, and ends that hold the true quotient.

    Guarantee: with probability `level` for each quotient within ±most. An end is found
    from what |u| is at most, and that from the ends before: each round is sound by
    itself. Where the number is not above zero the ends are ±most.
    """
    (sums, above), (numbers, below) = top, bottom
    scaled = Noise(below.gaussian, below.width * most, below.step * most)
    within = reach(above, scaled, level)
    value = np.clip(sums / np.maximum(numbers, 1.0), -most, most)
    known = numbers > 0
    divisor = np.where(known, numbers, 1.0)
    low, high = np.full_like(value, -most), np.full_like(value, most)
    for _ in range(_TURNS):
        largest = np.maximum(np.abs(low), np.abs(high)) / most if most else 0 * low
        place = np.minimum(np.ceil(largest * _PLACES), _PLACES).astype(np.int64)
        bar = within[place]
        low = np.where(known, np.clip((sums - bar) / divisor, low, high), -most)
        high = np.where(known, np.clip((sums + bar) / divisor, low, high), most)
    return value, np.minimum(low, value), np.maximum(high, value)
