"""Values in, private values out: whole numbers stay whole, floats stay on a lattice.

A float is moved to the nearest point of a public power-of-two lattice, noise is added
as an integer number of steps, and the sum is returned as the nearest float: a function
of the exact lattice sum alone. Halves are always rounded up, so the rounding commutes
with every shift by whole steps and adds nothing to a sensitivity of whole steps.
"""

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise import Lattice
from hush.noise.given import finite, fraction, given

Draw = Callable[[Any], Any]  # size -> integers; None -> one int
FINE = 40  # default lattices are 2^40 times finer than the noise
_FINEST = 44  # noise beyond 2^53 steps, which floats would round, has chance e^-512
_EXACT = 2.0**52  # from here on every float is a multiple of its lattice step
_FAR = 1 << 61


def lattice(step: Any, noise: Fraction) -> Lattice:
    """Return the lattice of a public `step`, or the default one under `noise`."""
    if step is None:
        fine = Lattice.under(noise, bits=FINE)
        return fine if fine.exponent <= 0 else Lattice(0)
    exact = checks.rational("step", step)
    if noise / exact > 2**_FINEST:
        raise InvalidArgument(
            f"step must be at least 2^-{_FINEST} of the noise; got {float(exact):g}. "
            "Leave it out for the default lattice."
        )
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact != Fraction(2) ** exponent:
        raise InvalidArgument(
            f"step must be a power of two; got {float(exact):g}. Rounding to a lattice "
            f"is exact only there; use {2.0**exponent:g}."
        )
    return Lattice(exponent)


def steps(grid: Lattice, distance: Fraction, dimension: int = 1) -> int:
    """Return how many steps apart, in ℓ1, vectors `distance` apart can be rounded.

    Guarantee: rounding with halves up turns x into at most ⌈x⌉ steps, and d ceilings
    of numbers with sum D add up to at most ⌈D⌉ + d - 1.
    """
    checks.whole("dimension", dimension, at_least=1)
    if distance == 0:
        return 0
    return math.ceil(distance / grid.step) + dimension - 1


def _nearest(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def as_float(value: Fraction) -> float:
    """Return the nearest float; the largest one where there is none."""
    try:
        return float(value)
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return largest if value > 0 else -largest


def snap(values: NDArray[np.float64], grid: Lattice) -> NDArray[np.float64]:
    """Return the nearest lattice points as floats, halves up, without -0.0."""
    # Powers of two scale exactly; what overflows or underflows is far or rounds to 0.
    with np.errstate(over="ignore", under="ignore"):
        scaled = values * math.ldexp(1.0, -grid.exponent)
    far = np.abs(scaled) >= _EXACT
    some = bool(far.any())
    if some:
        scaled[far] = 0.0
    whole = np.floor(scaled)
    scaled -= whole
    # The fraction is exact wherever it could round across 1/2.
    whole += scaled >= 0.5
    whole *= math.ldexp(1.0, grid.exponent)
    if some:
        whole[far] = values[far]
    whole += 0.0
    return whole


def _scalar(value: Any, grid: Lattice, draw: Draw, whole: Draw | None) -> int | float:
    if isinstance(value, numbers.Integral):
        if whole is not None or grid.exponent == 0:
            return int(value) + int((whole or draw)(None))
        exact = Fraction(int(value))
    else:
        if not isinstance(value, numbers.Rational):
            value = float(value)
            checks_finite(np.asarray(value))
        exact = Fraction(value)
    released = (_nearest(exact / grid.step) + int(draw(None))) * grid.step
    if isinstance(value, numbers.Integral) and grid.exponent >= 0:
        return int(released)
    return as_float(released)


def checks_finite(values: NDArray[Any]) -> None:
    """Refuse NaN and infinities before anything is drawn; the message has no data."""
    if not finite(values):
        raise InvalidArgument(
            "value must be finite. Clamp it to public bounds first, or run a query of "
            "hush.mechanisms on the data: queries map NaN and infinities into bounds."
        )


def whole(value: Any) -> int:
    """Return one whole number, or refuse it without repeating it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidArgument("value must be a whole number; round your query first.")
    return int(value)


def vector(value: Any) -> NDArray[Any]:
    """Return numbers as integers or floats, or as they are where floats round them."""
    array = given("value", value)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iufO":
        raise InvalidArgument(
            f"value must hold whole numbers or floats; got dtype {array.dtype}."
        )
    checks_finite(array)
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array


def are_whole(array: NDArray[Any]) -> bool:
    """Return whether what `vector` gave are whole numbers, by type and not by value."""
    if array.dtype.kind == "O":
        return all(isinstance(each, numbers.Integral) for each in array.flat)
    return array.dtype.kind in "iu"


def whole_vector(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers as int64, moved inside ±2^61 so that noise cannot overflow.

    Moving to a public range never increases a distance.
    """
    if array.dtype.kind == "O":
        near = [min(max(int(each), -_FAR), _FAR) for each in array.flat]
        return np.array(near, dtype=np.int64).reshape(array.shape)
    kind = np.iinfo(array.dtype)
    inside = np.clip(array, max(-_FAR, kind.min), min(_FAR, kind.max))
    moved: NDArray[np.int64] = inside.astype(np.int64)
    return moved


def behind(array: NDArray[Any], grid: Lattice) -> NDArray[np.int64]:
    """Return how many steps each number lies behind the largest, rounded to the grid.

    Gaps below 2^52 steps are exact; larger ones saturate, which moves none farther.
    """
    if array.dtype.kind == "O":
        places = [_nearest(fraction(each) / grid.step) for each in array]
        gaps = [max(each - max(places), -int(_EXACT)) for each in places]
        return np.array(gaps, dtype=np.int64)
    points = snap(array.astype(np.float64), grid)
    with np.errstate(over="ignore"):
        near = np.maximum(points - points.max(), -math.ldexp(_EXACT, grid.exponent))
    steps_behind: NDArray[np.int64] = np.ldexp(near, -grid.exponent).astype(np.int64)
    return steps_behind


def release(value: Any, grid: Lattice, draw: Draw, whole: Draw | None = None) -> Any:
    """Return `value` plus noise, a scalar for a scalar and an array for the rest.

    `draw` counts lattice steps; `whole`, if given, is the noise of whole numbers.
    """
    if isinstance(value, np.generic):
        value = given("value", value).item()
    if isinstance(value, numbers.Real):  # True counts as 1
        return _scalar(value, grid, draw, whole)
    if isinstance(value, (list, tuple)) and any(isinstance(v, Fraction) for v in value):
        return np.array([_scalar(v, grid, draw, whole) for v in value])
    array = vector(value)
    if are_whole(array) and (whole is not None or grid.exponent == 0):
        return whole_vector(array) + (whole or draw)(array.shape)
    return moved(array, grid, draw(array.shape))


def moved(array: NDArray[Any], grid: Lattice, noise: NDArray[Any]) -> NDArray[Any]:
    """Return what `vector` gave on its lattice, moved by whole steps, as floats."""
    # From 2^53 on a float skips whole numbers, and neighbors would part. Either way
    # the answer holds floats: its type must not tell how large values are.
    if array.dtype.kind in "iu":
        far = array.itemsize == 8 and np.any(np.abs(array.astype(float)) >= 2.0**53)
        array = array.astype(object if far else np.float64)
    if array.dtype.kind == "O":
        places = (_nearest(fraction(v) / grid.step) for v in array.flat)
        sums = (k + int(n) for k, n in zip(places, noise.flat, strict=True))
        answers = [as_float(each * grid.step) for each in sums]
        return np.array(answers, dtype=np.float64).reshape(array.shape)
    answer = noise.astype(np.float64)
    answer *= math.ldexp(1.0, grid.exponent)
    with np.errstate(over="ignore"):
        answer += snap(array, grid)
    if not np.isfinite(answer.sum()):  # beyond the largest float: answer with it
        np.nan_to_num(answer, copy=False)
    return answer
