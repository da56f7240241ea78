"""Aggregates: what a user asks for, made of parts.

An aggregate names the parts it needs and turns their released values into an answer and
an interval. Nothing here sees data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from hush import checks
from hush.brief import brief
from hush.errors import InvalidArgument
from hush.tables import known
from hush.tables.bounding import Grid
from hush.tables.part import Floats, Limit, Needs, Part
from hush.tables.quotient import Noise, quotient
from hush.tables.reading import Term
from hush.tables.statistic import Form, Statistic, rows_of

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
        return ends(self.estimates(limit, released), level)

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any]:
        """Return the expected counts."""
        return expected(released, rows_of(limit), limit.rows)


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
        found = expected(released, self._part(limit), most * limit.rows)
        low, high = ends(found, level)
        return (low, high) if most > 0 else (-high, -low)

    def estimates(
        self, limit: Limit, released: Released, variance: Any = None
    ) -> list[Any] | None:
        """Return the expected totals of values that are not negative."""
        lower, upper = self.bounds
        if lower < 0 or upper == 0:
            return None
        return expected(released, self._part(limit), upper * limit.rows)


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
        low, high = np.clip(ends(self.estimates(limit, released), level), *self.bounds)
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


def expected(released: Released, part: Statistic, most: float) -> list[Any]:
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


def ends(estimates: list[Any], level: float) -> Ends:
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


@brief
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


@brief
def sum(expression: str, bounds: Any = None) -> Any:
    """Add up an expression clamped to public `bounds`, or to "private" ones.

    Example:
        >>> sum("fare", bounds=(0, 80))
        Sum(expression='fare', bounds=(0.0, 80.0))
    """
    return bounded((expression,), bounds, lambda b: Sum(expression, limits(b)))


@brief
def mean(expression: str, bounds: Any = None) -> Any:
    """Average an expression clamped to public `bounds`, or to "private" ones.

    Example:
        >>> mean("fare", bounds=(0, 80))
        Mean(expression='fare', bounds=(0.0, 80.0))
    """
    return bounded((expression,), bounds, lambda b: Mean(expression, limits(b)))


@final
@dataclass(frozen=True)
class Unbounded:
    """An aggregate that waits for the bounds of its expressions."""

    expressions: tuple[str, ...]
    make: Callable[..., Aggregate]


@final
@dataclass(frozen=True)
class Untold:
    """An aggregate without bounds: a table may know them of columns of truth values."""

    expressions: tuple[str, ...]
    make: Callable[..., Aggregate]

    def told(self, truth: Callable[[str], bool]) -> Aggregate:
        """Return the aggregate, where `truth` says which texts are truth values."""
        own = [
            known.TRUTH if truth(each) else known.bounds_of(each)
            for each in self.expressions
        ]
        if None in own:
            raise InvalidArgument(_needed(self.expressions))
        return self.make(*own)


def bounded(
    expressions: tuple[str, ...], bounds: Any, make: Callable[..., Aggregate]
) -> Any:
    """Return the aggregate, or one that waits where bounds are to be found.

    Conditions, and CASE between literal numbers, have bounds of their own; columns may
    have them by their type, which `agg` sees.

    `make` takes the bounds of each expression; one for all if there is but one.
    """
    expressions = tuple(checks.text("expression", each) for each in expressions)
    if bounds is None:
        own = [known.bounds_of(each) for each in expressions]
        return Untold(expressions, make) if None in own else make(*own)
    if isinstance(bounds, str):
        if bounds != "private":
            raise InvalidArgument(
                f'bounds must be two numbers or "private"; got {bounds!r}.'
            )
        return Unbounded(expressions, make)
    return make(bounds) if len(expressions) == 1 else make(*bounds)


def _needed(expressions: tuple[str, ...]) -> str:
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


def limits(bounds: Any) -> tuple[float, float]:
    """Return public bounds as two floats, or refuse what cannot be bounds."""
    Grid.of(bounds)
    return float(bounds[0]), float(bounds[1])
