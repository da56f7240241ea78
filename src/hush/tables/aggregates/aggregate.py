"""Aggregates: what a user asks for, made of parts.

An aggregate names the parts it needs and turns their released values into an answer and
an interval. Nothing here sees data.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any, final

import numpy as np

from hush import checks, law
from hush.errors import InvalidArgument, Unsupported, short_traceback
from hush.mechanisms.mechanism import Mechanism
from hush.tables.bounding.contribution_bounds import Grid
from hush.tables.bounding.relations import Term
from hush.tables.bounding.sensitivity import (
    Additive,
    Floats,
    Form,
    Limit,
    Needs,
    Part,
    Statistic,
    rows_of,
)
from hush.tables.expressions import value_range

Ends = tuple[Any, Any]


@final
@dataclass(frozen=True)
class Released:
    """Released parts in the user's units: values, and what noise stays within."""

    values: Mapping[Part, Any]
    bars: Mapping[Part, float]
    level: float
    mechanisms: Mapping[Part, Any] = field(default_factory=dict)  # what noised each

    def __getitem__(self, part: Part) -> tuple[Any, float]:
        return self.values[part], self.bars[part]


@final
@dataclass(frozen=True)
class Estimate:
    """A value per group, and ends that hold the exact bounded answer."""

    value: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Aggregate(ABC):
    """A question about the rows of each group."""

    @property
    def expressions(self) -> tuple[str, ...]:
        """Texts of numbers that it reads."""
        return ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its numbers, where there are several for each group."""
        return ()

    @property
    def within(self) -> tuple[float, float] | None:
        """What its answers lie within whatever the data; None where that is open."""
        return None

    @abstractmethod
    def needs(self, limit: Limit) -> Needs:
        """Return the parts it is made of, and how much each matters to its error.

        What matters is relative: how far the answer moves, as a share of its range, if
        a part moves by its sensitivity.
        """

    @abstractmethod
    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return values and ends from released parts and their bars."""

    def population(self, limit: Limit, released: Released, level: float) -> Ends | None:
        """Return ends that also cover sampling, or None where there are none."""
        return None

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any] | None:
        """Return each group's number of a population, or None where there is none."""
        return None


@final
@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows, each person counted at most `rows` times."""

    def needs(self, limit: Limit) -> Needs:
        """Rows."""
        return ((rows_of(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the noisy count."""
        value, bar = released[rows_of(limit)]
        return Estimate(value, value - bar, value + bar)

    def population(self, limit: Limit, released: Released, level: float) -> Ends:
        """Return ends for the expected count, people coming independently."""
        return interval_ends(self.estimates(limit, released), level)

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any]:
        """Return the expected counts."""
        return expected_totals(released, rows_of(limit), limit.rows)


@final
@dataclass(frozen=True)
class Sum(Aggregate):
    """The total of a clamped expression; rows without a value add nothing."""

    expression: str
    bounds: tuple[float, float]

    @property
    def expressions(self) -> tuple[str, ...]:
        """The summed one."""
        return (self.expression,)

    def _part(self, limit: Limit) -> Statistic:
        term = Term(((self.expression, Grid.of(self.bounds)),))
        return Statistic(limit, Form.TOTAL, term)

    def needs(self, limit: Limit) -> Needs:
        """The total."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the noisy total."""
        value, bar = released[self._part(limit)]
        return Estimate(value, value - bar, value + bar)

    def population(self, limit: Limit, released: Released, level: float) -> Ends | None:
        """Return ends for the expected total of values of one sign."""
        lower, upper = self.bounds
        if lower < 0 < upper or lower == upper == 0:
            return None
        most = upper if lower >= 0 else lower
        found = expected_totals(released, self._part(limit), most * limit.rows)
        low, high = interval_ends(found, level)
        return (low, high) if most > 0 else (-high, -low)

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any] | None:
        """Return the expected totals of values that are not negative."""
        lower, upper = self.bounds
        if lower < 0 or upper == 0:
            return None
        return expected_totals(released, self._part(limit), upper * limit.rows)


@final
@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of a clamped expression over the rows that have a value.

    The total is taken around the middle of the bounds, which halves its sensitivity.
    """

    expression: str
    bounds: tuple[float, float]

    @property
    def expressions(self) -> tuple[str, ...]:
        """The averaged one."""
        return (self.expression,)

    @property
    def within(self) -> tuple[float, float]:
        """Its bounds."""
        return self.bounds

    def _parts(self, limit: Limit) -> tuple[Statistic, Statistic]:
        term = Term(((self.expression, Grid.of(self.bounds)),))
        return Statistic(limit, Form.CENTERED, term), Statistic(
            limit, Form.PRESENT, term
        )

    def needs(self, limit: Limit) -> Needs:
        """The centered total and the number of values.

        An error of the count moves the mean by the mean's distance from the middle: by
        half of the most it could be, as a guess.
        """
        total, number = self._parts(limit)
        return (total, 1.0), (number, 0.5)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the ratio, and the ratios that the noise on both does not contradict.

        Where the count is not above zero the interval is all of the bounds.
        """
        total, number = self._parts(limit)
        grid = Grid.of(self.bounds)
        lower, upper = self.bounds
        middle = float(grid.middle * grid.step)
        top, bottom = (
            (released.values[part], Noise.of(part, released.mechanisms[part]))
            for part in (total, number)
        )
        value, low, high = quotient(top, bottom, float(grid.half), released.level)
        # A row counts as a step of the grid, which is within a step of its value: where
        # all rows are alike that does not average out, and noise may be smaller still.
        found = (value, low - float(grid.step), high + float(grid.step))
        ends = (np.clip(middle + each, lower, upper) for each in found)
        return Estimate(*ends)

    def population(self, limit: Limit, released: Released, level: float) -> Ends:
        """Return ends for the mean of the population that the people came from."""
        low, high = np.clip(
            interval_ends(self.estimates(limit, released), level), *self.bounds
        )
        value = self.answer(limit, released).value  # the same up to its own rounding
        return np.minimum(low, value), np.maximum(high, value)

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any]:
        """Return the means of the population, each with the variance of one value."""
        from hush import inference

        total, number = self._parts(limit)
        grid = Grid.of(self.bounds)
        middle, half = float(grid.middle * grid.step), float(grid.half)
        sums, counts = released.values[total], released.values[number]
        known = [None] * len(counts) if variance is None else list(variance)
        return [
            inference.mean_from_totals(
                each / half,
                count,
                mechanism=released.mechanisms[total],
                count_mechanism=released.mechanisms[number],
                bounds=(middle - half, middle + half),
                variance=spread,
                units=(float(total.unit_value) / half, float(number.unit_value)),
                most=limit.rows,
            )
            for each, count, spread in zip(sums, counts, known, strict=True)
        ]


def expected_totals(released: Released, part: Statistic, most: float) -> list[Any]:
    """Return expected totals to which one person adds 0 to `most`, in its sign."""
    from hush import inference

    sign = 1 if most > 0 else -1
    return [
        inference.total_interval(
            sign * value,
            mechanism=released.mechanisms[part],
            unit=float(part.unit_value),
            most=abs(most),
        )
        for value in released.values[part]
    ]


def interval_ends(estimates: list[Any], level: float) -> Ends:
    """Return the ends of estimates: an array of the lower and one of the upper."""
    found = [each.interval(level) for each in estimates]
    low, high = np.array(found).reshape(-1, 2).T
    return low, high


def ratio(
    total: tuple[Floats, float], number: tuple[Floats, float], most: float
) -> tuple[Floats, Floats, Floats]:
    """Return total/number and its ends within ±most, where noise stays in its bars."""
    (sums, sum_bar), (counts, count_bar) = total, number
    least, largest = counts - count_bar, counts + count_bar
    known = least > 0
    divisors = np.where(known, least, 1.0), np.where(known, largest, 1.0)
    ends = [(sums + side * sum_bar) / n for side in (-1, 1) for n in divisors]
    low = np.where(known, np.minimum.reduce(ends), -most)
    high = np.where(known, np.maximum.reduce(ends), most)
    value = sums / np.maximum(counts, 1.0)
    return (
        np.clip(value, -most, most),
        np.clip(low, -most, most),
        np.clip(high, -most, most),
    )


@short_traceback
def count(*columns: str) -> Count:
    """Count rows.

    Example:
        >>> count()
        Count()
    """
    if columns:
        raise InvalidArgument(
            f"count takes no column; got {', '.join(map(repr, columns))}. It counts "
            "rows: for those that have a value, ask .where('... IS NOT NULL') first; "
            "for different values, hush.count_distinct."
        )
    return Count()


@short_traceback
def sum(expression: str, bounds: Any = None) -> Any:
    """Add up an expression clamped to public `bounds`, or to "private" ones.

    Example:
        >>> sum("fare", bounds=(0, 80))
        Sum(expression='fare', bounds=(0.0, 80.0))
    """
    return with_bounds(
        (expression,), bounds, lambda b: Sum(expression, checked_bounds(b))
    )


@short_traceback
def mean(expression: str, bounds: Any = None) -> Any:
    """Average an expression clamped to public `bounds`, or to "private" ones.

    Example:
        >>> mean("fare", bounds=(0, 80))
        Mean(expression='fare', bounds=(0.0, 80.0))
    """
    return with_bounds(
        (expression,), bounds, lambda b: Mean(expression, checked_bounds(b))
    )


@final
@dataclass(frozen=True)
class Unbounded:
    """An aggregate that waits for the bounds of its expressions."""

    expressions: tuple[str, ...]
    make: Callable[..., Aggregate]


@final
@dataclass(frozen=True)
class TypeBounded:
    """An aggregate without bounds: a table may know them of columns of truth values."""

    expressions: tuple[str, ...]
    make: Callable[..., Aggregate]

    def with_type_bounds(self, truth: Callable[[str], bool]) -> Aggregate:
        """Return the aggregate, where `truth` says which texts are truth values."""
        own = [
            value_range.TRUTH if truth(each) else value_range.bounds_of(each)
            for each in self.expressions
        ]
        if None in own:
            raise InvalidArgument(
                _bounds_needed(self.expressions), code="bounds-missing"
            )
        return self.make(*own)


def with_bounds(
    expressions: tuple[str, ...], bounds: Any, make: Callable[..., Aggregate]
) -> Any:
    """Return the aggregate, or one that waits where bounds are to be found.

    Conditions, and CASE between literal numbers, have bounds of their own; columns may
    have them by their type, which `agg` sees.

    `make` takes the bounds of each expression; one for all if there is but one.
    """
    expressions = tuple(checks.text("expression", each) for each in expressions)
    if bounds is None:
        own = [value_range.bounds_of(each) for each in expressions]
        return TypeBounded(expressions, make) if None in own else make(*own)
    if isinstance(bounds, str):
        if bounds != "private":
            raise InvalidArgument(
                f'bounds must be two numbers or "private"; got {bounds!r}.'
            )
        return Unbounded(expressions, make)
    return make(bounds) if len(expressions) == 1 else make(*bounds)


def _bounds_needed(expressions: tuple[str, ...]) -> str:
    """Say why bounds have to be given, and how."""
    one = "(0, 80)"
    shown = one if len(expressions) == 1 else f"({one}, {one})"
    return (
        f"{' and '.join(map(repr, expressions))} must have bounds: they limit what one "
        "person can add, and are public, so they must come from what is known without "
        f"the data. Write bounds={shown}, the lowest and the highest value that counts "
        'and (0, 1) for true and false; or bounds="private", which spends a '
        "quarter of epsilon to find them."
    )


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return public bounds as two floats, or refuse what cannot be bounds."""
    Grid.of(bounds)
    return float(bounds[0]), float(bounds[1])


# -- Quotients of two noisy numbers: those that the noise does not contradict ----------
#
# Released are S = s + Z and N = n + W. For the true quotient u = s/n, S - uN is the
# noise Z - uW, and its law is known: where S - uN is larger than it may be, u is
# contradicted. A bar for each of the two would take both at their worst at once,
# which is rarer.

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
        ((drawn, lattice), *others) = mechanism.error.cases
        if others or lattice != 1:
            raise Unsupported(f"{type(mechanism).__name__} noise has no quotients.")
        if isinstance(drawn, law.DiscreteLaplace):
            return cls(gaussian=False, width=float(drawn.scale) * step, step=step)
        if isinstance(drawn, law.DiscreteGaussian):
            return cls(gaussian=True, width=float(drawn.std) * step, step=step)
        raise Unsupported(f"{type(mechanism).__name__} noise has no quotients.")


@lru_cache(maxsize=256)
def quotient_noise(top: Noise, bottom: Noise, level: float) -> Any:
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
        found = _laplace_sum_quantile(*both, 1 - level)
    return np.maximum.accumulate(found) * (1 + 1e-9) + 2 * (top.step + u * bottom.step)


def _laplace_sum_quantile(one: float, other: Floats, miss: float) -> Floats:
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
    within = quotient_noise(above, scaled, level)
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
