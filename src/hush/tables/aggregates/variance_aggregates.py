"""Variances, standard deviations, covariances and correlations from released moments.

Moments are taken around the public middles of the bounds, as integers; nothing is ever
subtracted that depends on data before it was released.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hush.errors import short_traceback
from hush.tables.aggregates.aggregate import (
    Aggregate,
    Estimate,
    Released,
    checked_bounds,
    ratio,
    with_bounds,
)
from hush.tables.bounding.contribution_bounds import Grid
from hush.tables.bounding.relations import Term
from hush.tables.bounding.sensitivity import Floats, Form, Limit, Needs, Statistic

Three = tuple[Floats, Floats, Floats]  # value, low, high


@final
@dataclass(frozen=True)
class _Moments:
    """Centered first and second moments over rows where all expressions have values."""

    columns: tuple[tuple[str, Grid], ...]

    @property
    def _texts(self) -> tuple[str, ...]:
        return tuple(text for text, _ in self.columns)

    def first_moment(self, limit: Limit, i: int) -> Statistic:
        """Return Σ w·(x_i - middle)."""
        return Statistic(limit, Form.CENTERED, self._term(i))

    def number(self, limit: Limit) -> Statistic:
        """Return Σ w."""
        return Statistic(limit, Form.PRESENT, self._term(0))

    def second_moment(self, limit: Limit, i: int, j: int) -> Statistic:
        """Return Σ w·(x_i - middle)·(x_j - middle)."""
        others = tuple(
            t for t in self._texts if t not in (self._texts[i], self._texts[j])
        )
        term = Term((self.columns[i], self.columns[j]), others)
        return Statistic(limit, Form.TOTAL, term)

    def _term(self, i: int) -> Term:
        others = tuple(text for text in self._texts if text != self._texts[i])
        return Term((self.columns[i],), others)

    def product(self, limit: Limit, released: Released, i: int, j: int) -> Three:
        """Return the covariance of columns i and j: value, low, high."""
        number = released[self.number(limit)]
        halves = [float(grid.half) for _, grid in self.columns]
        one = ratio(released[self.first_moment(limit, i)], number, halves[i])
        two = ratio(released[self.first_moment(limit, j)], number, halves[j])
        most = halves[i] * halves[j]
        both = ratio(released[self.second_moment(limit, i, j)], number, most)
        least, largest = _product_range(one, two, square=i == j)
        floor = 0.0 if i == j else -most
        found = both[0] - one[0] * two[0], both[1] - largest, both[2] - least
        value, low, high = (np.clip(each, floor, most) for each in found)
        return value, low, high


def _product_range(one: Three, two: Three, *, square: bool) -> tuple[Floats, Floats]:
    """Return the range of a product of two numbers known by their ends."""
    ends = [a * b for a in one[1:] for b in two[1:]]
    least, largest = np.minimum.reduce(ends), np.maximum.reduce(ends)
    if square:
        straddles = (one[1] < 0) & (one[2] > 0)
        least = np.where(straddles, 0.0, np.minimum(one[1] ** 2, one[2] ** 2))
    return least, largest


@final
@dataclass(frozen=True)
class Variance(Aggregate):
    """The variance of a clamped expression over the rows that have a value.

    It divides by their number, as a population's variance does.
    """

    expression: str
    bounds: tuple[float, float]

    @property
    def expressions(self) -> tuple[str, ...]:
        """The spread one."""
        return (self.expression,)

    @property
    def _moments(self) -> _Moments:
        return _Moments(((self.expression, Grid.of(self.bounds)),))

    def needs(self, limit: Limit) -> Needs:
        """The second and first moments around the middle, and the number of values."""
        parts = self._moments
        return (
            (parts.second_moment(limit, 0, 0), 1.0),
            (parts.first_moment(limit, 0), 1.0),
            (parts.number(limit), 0.5),
        )

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return E(x - middle)² - (E(x - middle))², with ends from all its parts."""
        return Estimate(*self._moments.product(limit, released, 0, 0))


@final
@dataclass(frozen=True)
class Std(Aggregate):
    """The standard deviation of a clamped expression: the root of its variance."""

    expression: str
    bounds: tuple[float, float]

    @property
    def expressions(self) -> tuple[str, ...]:
        """The spread one."""
        return (self.expression,)

    @property
    def _variance(self) -> Variance:
        return Variance(self.expression, self.bounds)

    def needs(self, limit: Limit) -> Needs:
        """What the variance needs."""
        return self._variance.needs(limit)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the roots of the variance and its ends."""
        found = self._variance.answer(limit, released)
        return Estimate(*map(np.sqrt, (found.value, found.low, found.high)))


@dataclass(frozen=True)
class _Both(Aggregate):
    """A question about two expressions, over the rows where both have a value."""

    first: str
    second: str
    bounds: tuple[tuple[float, float], tuple[float, float]]

    @property
    def expressions(self) -> tuple[str, ...]:
        """Both."""
        return (self.first, self.second)

    @property
    def _moments(self) -> _Moments:
        one, two = map(Grid.of, self.bounds)
        return _Moments(((self.first, one), (self.second, two)))

    def needs(self, limit: Limit) -> Needs:
        """The product's moment, both means and the number of rows."""
        parts = self._moments
        return (
            (parts.second_moment(limit, 0, 1), 1.0),
            (parts.first_moment(limit, 0), 0.5),
            (parts.first_moment(limit, 1), 0.5),
            (parts.number(limit), 0.5),
        )


@final
@dataclass(frozen=True)
class Covariance(_Both):
    """The covariance of two clamped expressions."""

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return E xy - E x·E y around the middles."""
        return Estimate(*self._moments.product(limit, released, 0, 1))


@final
@dataclass(frozen=True)
class Correlation(_Both):
    """The correlation of two clamped expressions; 0 where one does not vary."""

    def needs(self, limit: Limit) -> Needs:
        """What the covariance needs, and both second moments."""
        parts = self._moments
        squares = ((parts.second_moment(limit, i, i), 0.5) for i in (0, 1))
        return (*super().needs(limit), *squares)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the ratio; its interval is ±1 where a variance may be zero."""
        parts = self._moments
        joint = parts.product(limit, released, 0, 1)
        one, two = (parts.product(limit, released, i, i) for i in (0, 1))
        scales = [np.sqrt(a * b) for a, b in zip(one, two, strict=True)]
        known = scales[1] > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [each / s for each in joint[1:] for s in scales[1:]]
            value = np.where(scales[0] > 0, joint[0] / scales[0], 0.0)
        low = np.where(known, np.minimum.reduce(ends), -1.0)
        high = np.where(known, np.maximum.reduce(ends), 1.0)
        return Estimate(*(np.clip(each, -1.0, 1.0) for each in (value, low, high)))


@short_traceback
def variance(expression: str, bounds: Any = None) -> Any:
    """Return the variance of an expression clamped to public `bounds`.

    Example:
        >>> variance("fare", bounds=(0, 80))
        Variance(expression='fare', bounds=(0.0, 80.0))
    """
    return with_bounds(
        (expression,), bounds, lambda b: Variance(expression, checked_bounds(b))
    )


@short_traceback
def std(expression: str, bounds: Any = None) -> Any:
    """Return the standard deviation of an expression clamped to public `bounds`.

    Example:
        >>> std("fare", bounds=(0, 80)).bounds
        (0.0, 80.0)
    """
    return with_bounds(
        (expression,), bounds, lambda b: Std(expression, checked_bounds(b))
    )


@short_traceback
def covariance(first: str, second: str, bounds: Any = None) -> Any:
    """Return the covariance of two expressions, each clamped to its public bounds.

    Example:
        >>> covariance("fare", "tip", bounds=((0, 80), (0, 20))).second
        'tip'
    """
    return _of_two(Covariance, first, second, bounds)


@short_traceback
def correlation(first: str, second: str, bounds: Any = None) -> Any:
    """Return the correlation of two expressions, each clamped to its public bounds.

    Example:
        >>> correlation("fare", "tip", bounds=((0, 80), (0, 20))).first
        'fare'
    """
    return _of_two(Correlation, first, second, bounds)


def _of_two(kind: type[_Both], first: str, second: str, bounds: Any) -> Any:
    def make(one: Any, two: Any) -> _Both:
        return kind(first, second, (checked_bounds(one), checked_bounds(two)))

    return with_bounds((first, second), bounds, make)
