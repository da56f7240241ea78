"""Values in, private values out, on a lattice that is public and declared.

A number is moved to the nearest point of a power-of-two lattice, noise is added as an
integer number of steps, and the sum is returned as a whole number where the lattice is
declared as one of whole numbers, else as the nearest float: a function of the exact
lattice sum alone. Neither the lattice nor the type of an answer depends on the type of
the value, which may be one of the data. Halves are always rounded up, so the rounding
commutes with every shift by whole steps and adds nothing to a sensitivity of whole
steps.
"""

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks, law
from hush.checks import finite, fraction, number_array
from hush.errors import InvalidArgument
from hush.noise import Lattice
from hush.noise.laplace import LARGEST
from hush.privacy.curve import Curve
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.pairs.dominating import Pair
from hush.privacy.rounding import total_up

FINE = 40  # default lattices are 2^40 times finer than the noise
_FINEST = 44  # noise beyond 2^53 steps, which floats would round, has chance e^-512
_EXACT = 2.0**52  # from here on every float is a multiple of its lattice step
_FAR = 1 << 61
WHOLE_NUMBERS = Lattice(0)
LEAST, WIDEST = Fraction(1, 1 << 500), 1 << 500  # floats hold the squares of both


def lattice(step: Any, noise: Fraction) -> Lattice:
    """Return the lattice of a public `step`, or the default one under `noise`.

    The default one holds all whole numbers, unless the noise is so wide that 64 bits
    would not hold it in steps of 1.
    """
    if step is None:
        if noise > LARGEST:
            return Lattice.under(noise, bits=_FINEST)
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
    dimension = checks.whole("dimension", dimension, at_least=1)
    if distance == 0:
        return 0
    return math.ceil(distance / grid.step) + dimension - 1


def _nearest(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def as_float(value: Any) -> float:
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


def drawable(name: str, noise: Any, *, most: int | None = LARGEST) -> Fraction:
    """Return an amount of noise that can be drawn and priced, or refuse it.

    Whole noise must fit into 64 bits, and a price into a float.

    Example:
        >>> drawable("scale", 2.5)
        Fraction(5, 2)
    """
    exact = checks.rational(name, noise)
    if exact < LEAST:
        raise InvalidArgument(
            f"{name} must be at least 2^-500; got {float(exact):g}. Use smaller units."
        )
    if most is not None and exact > most:
        raise InvalidArgument(
            f"{name} must be at most 2^{most.bit_length() - 1}, so that noise can be "
            f"drawn; got {float(exact):g}. Use larger units, or a larger epsilon."
        )
    return exact


def checks_finite(values: NDArray[Any]) -> None:
    """Refuse NaN and infinities before anything is drawn; the message has no data."""
    if not finite(values):
        raise not_finite()


def not_finite() -> InvalidArgument:
    """Return the refusal of NaN and infinities."""
    return InvalidArgument(
        "value must be finite. Clamp it to public bounds first, or run a query of "
        "hush.mechanisms on the data: queries map NaN and infinities into bounds."
    )


def whole_number(value: Any) -> int:
    """Return one whole number, or refuse it without repeating it."""
    number = checks.plain_number(value)
    if type(number) is not int:
        raise InvalidArgument("value must be a whole number; round your query first.")
    return number


def vector(value: Any) -> NDArray[Any]:
    """Return numbers as integers or floats, or as they are where floats round them."""
    array = number_array("value", value)
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


def steps_behind_largest(array: NDArray[Any], grid: Lattice) -> NDArray[np.int64]:
    """Return how many steps each number lies behind the largest, rounded to the grid.

    Gaps below 2^52 steps are exact; larger ones saturate, which moves none farther.
    """
    if array.dtype.kind == "O" or grid.exponent > 0:
        places = [_nearest(fraction(each) / grid.step) for each in array]
        gaps = [max(each - max(places), -int(_EXACT)) for each in places]
        return np.array(gaps, dtype=np.int64)
    if array.dtype.kind in "iu":  # on the grid; modular: exact where int64 overflows
        wide = array.max().astype(np.uint64) - array.astype(np.uint64)
        most = np.uint64(int(_EXACT) >> -grid.exponent)
        near = np.minimum(wide, most) << np.uint64(min(-grid.exponent, 63))
        gap = np.where(wide > most, np.uint64(int(_EXACT)), near)
        return -gap.astype(np.int64)
    points = snap(array.astype(np.float64), grid)
    with np.errstate(over="ignore"):
        near = np.maximum(points - points.max(), -math.ldexp(_EXACT, grid.exponent))
    steps_behind: NDArray[np.int64] = np.ldexp(near, -grid.exponent).astype(np.int64)
    return steps_behind


def finite_numbers(value: Any) -> Any:
    """Return one finite number, or an array of them: what noise may be added to.

    Nothing is drawn for what is refused here.
    """
    if isinstance(value, np.generic):
        value = number_array("value", value)[()]
    if not isinstance(value, numbers.Real):  # True counts as 1
        return vector(value)
    if not math.isfinite(as_float(value)):
        raise not_finite()
    return value


def shape_of(exact: Any) -> tuple[int, ...] | None:
    """Return the shape that noise for `finite_numbers` has; None for one number."""
    return exact.shape if isinstance(exact, np.ndarray) else None


def add_noise(exact: Any, grid: Lattice, noise: Any, *, whole: bool = False) -> Any:
    """Return `finite_numbers` moved by `noise` lattice steps: a scalar for a scalar.

    `whole` is public: answers are whole numbers, on a lattice of whole numbers, or else
    floats, whatever the type of the value.
    """
    if isinstance(exact, np.ndarray):
        return (
            _whole_steps(exact, grid, noise)
            if whole
            else with_steps_added(exact, grid, noise)
        )
    released = (_nearest(fraction(exact) / grid.step) + int(noise)) * grid.step
    return int(released) if whole else as_float(released)


def _whole_steps(
    array: NDArray[Any], grid: Lattice, noise: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return numbers on a lattice of whole numbers, moved by whole steps.

    Numbers are moved inside ±2^61 before, and answers inside ±2^62 after the noise.
    """
    k, step = grid.exponent, 1 << grid.exponent
    if array.dtype.kind == "f":
        near = snap(np.clip(array, -float(_FAR), float(_FAR)), grid).astype(np.int64)
        places = near >> k
    elif array.dtype.kind == "O":
        ends = Fraction(-_FAR), Fraction(_FAR)
        inside = [min(max(fraction(each), ends[0]), ends[1]) for each in array.flat]
        exact = [_nearest(each / step) for each in inside]
        places = np.array(exact, dtype=np.int64).reshape(array.shape)
    else:
        places = (whole_vector(array) + (step >> 1)) >> k
    far = 2 * _FAR >> k
    answer: NDArray[np.int64] = np.clip(places + noise, -far, far) << k
    return answer


def with_steps_added(
    array: NDArray[Any], grid: Lattice, noise: NDArray[Any]
) -> NDArray[Any]:
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


# -- What Gaussian noise on a lattice guarantees ---------------------------------------

_SMOOTH = 2  # steps of continuous noise that hide a lattice up to 1e-33 per coordinate
_TABLE = 4096  # wider noise or farther values are not listed outcome by outcome


def lattice_curve(std: Fraction, norm: float | Fraction, *, scalar: bool) -> Curve:
    """Return the guarantee of discrete Gaussian noise at an ℓ2 `norm`, in steps.

    Guarantee: one coordinate of moderate width exactly. Otherwise GDP: observing
    continuous noise of variance std² - 4, and choosing a lattice point with weight
    exp(-distance²/8), is discrete Gaussian noise of std² up to a factor 1 ± 1e-33
    (docs/proofs/gaussian_lattices.md). Below that, zCDP, which is exact everywhere.
    """
    if norm == 0:
        return Pure(epsilon=0.0)
    if scalar and std <= _TABLE and norm <= _TABLE:
        return Pair.shift(law.DiscreteGaussian(std), by=math.ceil(norm))
    if std >= 2 * _SMOOTH:
        # A ratio of fractions: squares of huge numbers are beyond floats.
        squared = total_up([Fraction(norm) ** 2 / (std**2 - _SMOOTH**2)])
        return GDP(mu=math.sqrt(squared) * (1 + 2.0**-50))
    rho = total_up([Fraction(norm) ** 2 / (2 * std**2)])
    return ZCDP(rho=rho * (1 + 2.0**-50))
