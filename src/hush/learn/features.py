"""Features: rows inside public bounds, and the one place where they are first read.

Each row is mapped by itself, so replacing one person replaces one row. A row with a
NaN, an infinity or a value that is no number becomes the zero row: no data value can
raise an error or reach another row.
"""

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hush import checks
from hush.errors import InvalidArgument, Withheld
from hush.serialization import tagged

Floats = NDArray[np.float64]
# Norms and quotients are computed in floats; this covers their rounding.
_SLACK = 1 + 2.0**-40


def shape(features: Any) -> tuple[int, int]:
    """Return the public shape of the features; their values are not looked at."""
    if sparse.issparse(features):
        raise InvalidArgument("X is sparse, which is not supported: pass X.toarray().")
    if getattr(getattr(features, "dtype", None), "kind", "") == "c":
        raise InvalidArgument("Complex data not supported: X must hold real numbers.")
    if isinstance(features, (list, tuple)):
        found = _lengths(features)
    elif hasattr(features, "shape"):
        found = tuple(features.shape)
    else:
        found = np.asarray(features).shape
    if len(found) != 2:
        raise InvalidArgument(
            f"X must have two dimensions, rows and columns; got shape {found}. Reshape "
            "your data with X.reshape(-1, 1) if it has one column."
        )
    if found[0] < 1 or found[1] < 1:
        empty = "sample(s)" if found[0] < 1 else "feature(s)"
        raise InvalidArgument(
            f"X must be no empty table; got 0 {empty} (shape={found}) while a minimum "
            "of 1 is required."
        )
    return int(found[0]), int(found[1])


def _lengths(rows: Any) -> tuple[int, ...]:
    """Return the shape of a list of rows; lengths inside of cells do not count."""
    found = {_length(row) for row in rows}
    if len(found) > 1:
        raise InvalidArgument("X must be rows of one length; got some that differ.")
    return (len(rows), *(found.pop() if found else ()))


def _length(row: Any) -> tuple[int, ...]:
    """Return how many entries a list, an array or a series has; () for a single one."""
    if isinstance(row, (list, tuple)):
        return (len(row),)
    with Withheld():  # what fails to tell is a single one
        return tuple(getattr(row, "shape", ()))
    return ()


def kind(given: Any) -> str:
    """Return what an argument is, not what it holds: it may be the data by mistake."""
    return "None" if given is None else f"a {type(given).__name__}"


def _pairs(bounds: Any) -> str:
    """Return what to do with one pair per column, if that is what bounds are."""
    if not isinstance(bounds, (tuple, list)) or not all(
        isinstance(each, (tuple, list)) and len(each) == 2 for each in bounds
    ):
        return ""
    return " of pairs: write bounds=tuple(zip(*pairs)), all lower ends first"


def refuse_pairs(bounds: Any, lower: Floats, upper: Floats) -> None:
    """Refuse bounds of two columns that are one pair for each: they would be misread.

    A list of tuples is written for pairs, and so are ends that cross, or all meet.
    """
    if np.ndim(bounds[0]) != 1 or len(lower) != 2:
        return
    listed = isinstance(bounds, list) and isinstance(bounds[0], tuple)
    if listed or bool((lower > upper).any() or (lower == upper).all()):
        raise InvalidArgument(
            "bounds must be all lower ends, then all upper ends, as bounds=([18, 0], "
            "[90, 50_000]) for ages and incomes; got what reads as one pair per column"
            ". Write bounds=tuple(zip(*pairs))."
        )


def check_one_bound(norm: Any, bounds: Any) -> None:
    """Refuse a model of rows that has no bound, or two."""
    if (norm is None) == (bounds is None):
        raise InvalidArgument(
            "give either norm, a bound on the ℓ2 norm of a row, or bounds=(lower, "
            "upper) of the columns. Both are public: never take them from the data."
        )


def numbers(values: Any) -> Floats:
    """Return values as new floats; what is no number becomes NaN.

    Guarantee: each value is read by itself, whatever type the others have.
    """
    if isinstance(values, np.ma.MaskedArray):
        found = numbers(np.ma.getdata(values))
        found[np.ma.getmaskarray(values)] = math.nan
        return found
    with np.errstate(all="ignore"):  # a warning would depend on the data
        listed = isinstance(values, (list, tuple))
        table = None if listed else np.asarray(values)
        # Of a list NumPy would choose one type for all, or fail for one of them.
        if table is None and _are_plain_numbers(values):
            with Withheld():  # a whole number that no float holds
                table = np.array(values, dtype=np.float64)
        if table is not None and table.dtype.kind in "biuf" and table.ndim <= 2:
            # Row by row, where NumPy adds squares in pairs: down columns their rounding
            # would grow with the number of columns, beyond what norms leave for it.
            return np.array(table, dtype=np.float64, order="C")
        table = as_objects(values)
        flat = [_number(each) for each in table.ravel()]
    return np.array(flat, dtype=np.float64).reshape(table.shape)


_PLAIN = {bool, int, float, np.bool_, np.int64, np.float64}


def _are_plain_numbers(values: Any) -> bool:
    """Whether all entries of a list are plain numbers, which are read alike at once.

    Rows may be lists of one length, or arrays, which have a type.
    """
    kinds = set(map(type, values))
    if kinds == {np.ndarray}:
        return all(row.dtype.kind in "biuf" for row in values)
    if not kinds <= {list, tuple}:
        return kinds <= _PLAIN
    return all(set(map(type, row)) <= _PLAIN for row in values)


def as_objects(values: Any) -> Any:
    """Return values as objects: of lists each entry, or each of each row, as it is.

    NumPy would look into entries that are lists themselves, and fail where not all are.
    """
    if not isinstance(values, (list, tuple)):
        return np.asarray(values, dtype=object)
    lengths = {_length(each) for each in values}
    if len(lengths) != 1 or lengths == {()}:
        return _objects(map(_single_entry, values), (len(values),))
    return _objects((cell for r in values for cell in r), (len(values), len(values[0])))


def _objects(values: Any, shape: tuple[int, ...]) -> Any:
    found = np.empty(math.prod(shape), dtype=object)
    for place, each in enumerate(values):
        found[place] = each
    return found.reshape(shape)


def _single_entry(value: Any) -> Any:
    """Return the one entry of a list that has one: a column has such rows."""
    listed = isinstance(value, (list, tuple)) and len(value) == 1
    return value[0] if listed else value


def _number(value: Any) -> float:
    with Withheld():
        several = isinstance(value, np.ndarray) and value.ndim > 0
        masked = isinstance(value, np.ma.MaskedArray)
        if several or masked or isinstance(value, (complex, np.complexfloating)):
            return math.nan
        return float(value)
    return math.nan


class Rows(ABC):
    """A public rule that turns any row into one inside public bounds."""

    intercept: bool

    @property
    @abstractmethod
    def noise_norm(self) -> float:
        """The norm in which one row is bounded: 2 or infinity."""

    @abstractmethod
    def bound(self) -> float:
        """Return a bound on a mapped row in `noise_norm`, its constant included."""

    @abstractmethod
    def length(self, columns: int) -> float:
        """Return a bound on a mapped row in ℓ2, its constant included."""

    @abstractmethod
    def map(self, features: Any) -> Floats:
        """Return mapped rows, the constant column last; bad rows are zero."""

    @abstractmethod
    def unmap(self, theta: Floats) -> tuple[Floats, float]:
        """Return (coefficients, intercept) for features as the user gives them."""

    def dimension(self, columns: int) -> int:
        """Return how many coefficients there are, the constant's included."""
        return columns + self.intercept

    def _finish(self, rows: Floats, bad: Any, constant: float) -> Floats:
        if self.intercept:
            rows = np.column_stack([rows, np.full(len(rows), constant)])
        rows[bad] = 0.0
        return np.ascontiguousarray(rows)


@final
@tagged("learn.ball/1")
@dataclass(frozen=True)
class Ball(Rows):
    """Rows shortened to ℓ2 norm at most `norm`; the constant column is `norm` too.

    Guarantee: every mapped row has ℓ2 norm at most `length`.

    Example:
        >>> Ball(norm=1.0).map([[3.0, 4.0], [float("nan"), 0.0]]).round(2)
        array([[0.6, 0.8, 1. ],
               [0. , 0. , 0. ]])
    """

    norm: float
    intercept: bool = True

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        # Below, products with the norm would lose digits and rows get longer.
        checks.real("norm", self.norm, above=1e-300)

    @property
    def noise_norm(self) -> float:
        """Two."""
        return 2

    def bound(self) -> float:
        """Return the bound in ℓ2."""
        return self.norm * math.sqrt(1 + self.intercept) * _SLACK

    def length(self, columns: int) -> float:
        """Return the bound in ℓ2."""
        return self.bound()

    def map(self, features: Any) -> Floats:
        """Return rows of norm at most `norm`, then the constant."""
        rows = numbers(features)
        bad = ~np.isfinite(rows).all(axis=1)
        rows[bad] = 0.0
        # Relative to the largest entry no square overflows or vanishes.
        with np.errstate(all="ignore"):  # a warning would depend on the data
            rows /= self.norm
            np.clip(rows, -1e300, 1e300, out=rows)
            top = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
            rows /= top
            size = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
            rows /= np.maximum(size, 1 / top)
        return self._finish(rows * self.norm, bad, self.norm)

    def unmap(self, theta: Floats) -> tuple[Floats, float]:
        """Return the coefficients as they are and the constant's share."""
        if not self.intercept:
            return theta.copy(), 0.0
        return theta[:-1].copy(), float(theta[-1] * self.norm)


def ends_of(name: str, end: Any) -> NDArray[np.float64]:
    """Return one end of public bounds as floats; NumPy would read texts and times."""
    try:
        array = np.asarray(end)
        found = (
            np.asarray(end, dtype=np.float64) if array.dtype.kind in "iufO" else None
        )
        if array.dtype.kind == "O":
            _ = [checks.real(name, each, infinite=True) for each in array.flat]
    except Exception:  # what is in it may raise anything
        found = None
    if found is None or np.ma.is_masked(end):
        raise InvalidArgument(f"{name} must be one number or one per column.")
    return found


@final
@tagged("learn.box/1")
@dataclass(frozen=True)
class Box(Rows):
    """Columns clipped to [lower, upper] and moved to [-1, 1]; the constant is 1.

    Rows longer than `reach` in ℓ2 are shortened to it, before the constant is added.

    Guarantee: every entry of a mapped row lies in [-1, 1], and its ℓ2 norm is at most
    `length`.

    Example:
        >>> Box(lower=(0.0, 0.0), upper=(1.0, 10.0)).map([[0.5, 99.0]])
        array([[0., 1., 1.]])
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    intercept: bool = True
    reach: float = math.inf

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("reach", self.reach, above=0, infinite=True)
        if len(self.lower) != len(self.upper):
            raise InvalidArgument(
                f"bounds must have as many lower as upper ends; got {len(self.lower)} "
                f"and {len(self.upper)}."
            )
        for each in zip(self.lower, self.upper, strict=True):
            checks.interval("bounds", each)
            checks.real("bounds[1] - bounds[0]", each[1] - each[0])

    @classmethod
    def of(
        cls,
        bounds: Any,
        columns: int,
        *,
        intercept: bool,
        reach: float = math.inf,
    ) -> "Box":
        """Return the box of (lower, upper), two numbers or two lists of them."""
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
            raise InvalidArgument(
                "bounds must be a pair (lower, upper) of numbers or of lists with one "
                "number per column. They are public: never take them from the data. "
                f"Got {kind(bounds)}{_pairs(bounds)}."
            )
        ends = []
        for name, end in zip(("bounds[0]", "bounds[1]"), bounds, strict=True):
            spread = ends_of(name, end)
            if spread.ndim > 1 or spread.size not in (1, columns):
                raise InvalidArgument(
                    f"{name} must be one number or one per column ({columns}); got "
                    f"shape {spread.shape}."
                )
            ends.append(np.broadcast_to(spread.reshape(-1), (columns,)))
        refuse_pairs(bounds, *ends)
        lower, upper = (tuple(float(each) for each in end) for end in ends)
        return cls(lower, upper, intercept, reach)

    @property
    def noise_norm(self) -> float:
        """Infinity."""
        return math.inf

    def bound(self) -> float:
        """Return the bound in ℓ∞: exactly 1, as clipping does not round."""
        return 1.0

    def length(self, columns: int) -> float:
        """Return the bound in ℓ2."""
        return math.sqrt(min(columns, self.reach**2) + self.intercept) * _SLACK

    @property
    def _middle(self) -> Floats:
        return np.array(self.lower) / 2 + np.array(self.upper) / 2

    @property
    def _half(self) -> Floats:
        return np.array(self.upper) / 2 - np.array(self.lower) / 2

    def map(self, features: Any) -> Floats:
        """Return rows in [-1, 1], then the constant."""
        rows = numbers(features)
        bad = ~np.isfinite(rows).all(axis=1)
        rows[bad] = 0.0
        half = self._half
        with np.errstate(all="ignore"):
            np.clip(rows, self.lower, self.upper, out=rows)
            rows -= self._middle
            # A column without width says nothing, whatever it holds: it is zero.
            rows /= np.where(half > 0, half, np.inf)
            np.clip(rows, -1, 1, out=rows)
            if self.reach < math.sqrt(len(half)):
                long = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)) / self.reach
                rows /= np.maximum(long, 1.0)
        return self._finish(rows, bad, 1.0)

    def unmap(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients of the columns as the user gives them."""
        half = self._half
        slopes = theta[: len(half)]
        coefficients = np.divide(
            slopes, half, out=np.zeros_like(slopes), where=half > 0
        )
        constant = float(theta[-1]) if self.intercept else 0.0
        return coefficients, constant - float(coefficients @ self._middle)


# -- What the type of an array or a frame says of its values: it is public -------------
#
# An array of objects and a list say nothing, so nothing is refused of them: only
# their values could tell, and a refusal would tell of the values.

# By name, so that no package of frames is needed to know its types.
_TEXT = re.compile(r"(large_)?str(ing)?\b|utf8\b|categorical\b|enum\b", re.IGNORECASE)
_NUMBER = re.compile(r"(u?int|float)\d+\b", re.IGNORECASE)


def text(dtype: Any) -> bool:
    """Whether a type is one of texts.

    Example:
        >>> import numpy as np
        >>> text(np.array(["yes", "no"]).dtype), text(np.array([1, "no"], object).dtype)
        (True, False)
    """
    known = getattr(dtype, "kind", "") in tuple("UST")
    # pandas calls a category "category", and one may be of numbers; Polars' are texts.
    return known or _TEXT.match(str(dtype)) is not None


def number(dtype: Any) -> bool:
    """Whether a type is one of numbers; truth values are not."""
    known = getattr(dtype, "kind", "") in tuple("iuf")
    return known or _NUMBER.match(str(dtype)) is not None


def is_truth(dtype: Any) -> bool:
    """Whether a type is one of truth values."""
    return str(dtype).lower() in ("bool", "boolean")


def types(values: Any) -> list[tuple[Any, Any]]:
    """Return names and types of the columns of a frame; an array has one, unnamed."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        return list(zip(values.columns, values.dtypes, strict=True))
    return [(None, values.dtype)] if hasattr(values, "dtype") else []


def numeric(argument: str, values: Any) -> None:
    """Refuse texts before they are paid for: each would count as no number."""
    named = [name for name, dtype in types(values) if text(dtype)]
    if not named:
        return
    if named == [None]:
        raise InvalidArgument(
            f"{argument} is an array of texts, and what is no number is not counted. "
            f"Encode them by a public rule, as in ({argument} == 'yes').astype(float), "
            "or convert numbers that are spelt out by astype(float)."
        )
    shown = ", ".join(map(repr, named))
    raise InvalidArgument(
        f"{argument} has columns of texts ({shown}), and what is no number is not "
        f"counted. Encode them by a public rule, as in (frame[{named[0]!r}] == 'yes')"
        ".astype(float), or convert numbers that are spelt out by astype(float)."
    )
