"""Models whose records are latent: normal, Poisson, linear and logistic, by moments.

Each clamps its records to public bounds and scales them to [-1, 1] before it adds them
up, and `query()` is the query that releases these sums.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.errors import InvalidArgument
from hush.inference.bayes.data_augmentation import LatentModel
from hush.mechanisms import Query
from hush.mechanisms.queries import clamp, column
from hush.units import Neighbors

Floats = NDArray[np.float64]
Bounds = tuple[float, float]
_BITS = 30  # digits of one record's moments after the point, in the query
_TABLE = 200  # up to this count, Poisson chances are listed


def _bounds(name: str, value: Any) -> Bounds:
    low, high = checks.width(name, value)
    if low == high:
        raise InvalidArgument(f"{name} must have lower < upper.")
    return low, high


def _scaled(values: Floats, bounds: Bounds) -> Floats:
    """Return values clamped to bounds and moved to [-1, 1]."""
    low, high = bounds
    half = (high - low) / 2
    inside = np.clip(values, low, high)
    return np.asarray(np.clip((inside - (low + half)) / half, -1.0, 1.0))


def _query(
    model: LatentModel, name: str, read: Callable[[Any], Floats], bits: int
) -> Query:
    """Return the query for the sums of a model's moments.

    Guarantee: each record's moments are whole multiples of 2^-bits inside their range,
    so exchanging one record moves each sum by its move at most, exactly.
    """

    def exact(data: Any) -> list[Any]:
        records = read(data)
        if records.shape[0] != model.n:  # a public number, so saying so reveals nothing
            raise InvalidArgument(f"data must have n={model.n} records, as declared.")
        moments = model.moments(records[None])[0]
        units = np.rint(np.ldexp(moments, bits)).astype(np.int64)
        sums = [int(each) for each in units.astype(object).sum(axis=0)]
        return sums if bits == 0 else [Fraction(each, 1 << bits) for each in sums]

    moves = model.moves if bits == 0 else tuple(map(Fraction, model.moves))
    return Query(name, exact, moves, Neighbors.REPLACE_ONE)


def _columns(data: Any, bounds: tuple[Bounds, ...]) -> Floats:
    """Return the columns of a table of records, each clamped; NaN is a lower bound.

    What is refused is refused by type and shape alone, never because of a value.
    """
    hides = isinstance(data, np.ma.MaskedArray)
    typed = hides or hasattr(data, "__array__")
    array: Any = data if hides or not typed else np.asarray(data)
    if not typed or array.ndim != 2 or array.shape[1] != len(bounds):
        raise InvalidArgument(
            f"data must be an array of numbers with {len(bounds)} columns, the "
            "predictors and then the response, and a record in each row."
        )
    pairs = enumerate(bounds)
    return np.stack([clamp(column(array[:, j]), *ends) for j, ends in pairs], axis=1)


# -- One column ------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class NormalMoments(LatentModel):
    """Mean and standard deviation of normal values, from two noisy moments.

    Values are clamped to `bounds` and scaled to u in [-1, 1]; released are Σu and Σu²
    of `n` people, with noise. Parameters are the `mean` and `std` before clamping.

    Example:
        >>> from scipy import stats
        >>> from hush.inference import posterior
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import Seeded
        >>> model = NormalMoments(n=100, bounds=(0, 10))
        >>> model.query().sensitivity(norm=1)
        Fraction(3, 1)
        >>> found = posterior(
        ...     [-20.5, 14.0], model, {"mean": stats.norm(5, 5), "std": 2.0},
        ...     mechanism=Laplace(scale=3.0), source=Seeded(1),
        ...     chains=8, warmup=50, draws=80)
        >>> 3.2 < found.mean["mean"] < 4.7
        True
    """

    n: int
    bounds: Bounds

    def __post_init__(self) -> None:
        checks.whole("n", self.n, at_least=1)
        object.__setattr__(self, "bounds", _bounds("bounds", self.bounds))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return "mean", "std"

    @property
    def moves(self) -> tuple[int, ...]:
        """Of u from end to end, and of u² from 0 to 1."""
        return 2, 1

    @property
    def width(self) -> int:
        """One value."""
        return 1

    def fresh(self, uniform: Floats) -> Floats:
        """Return standard normal numbers."""
        return np.asarray(special.ndtri(uniform))

    def records(self, theta: Floats, innovations: Floats) -> Floats:
        """Return mean + std·z."""
        return theta[:, None, :1] + theta[:, None, 1:] * innovations

    def innovations(self, theta: Floats, records: Floats, uniform: Floats) -> Floats:
        """Return (x - mean)/std."""
        return (records - theta[:, None, :1]) / theta[:, None, 1:]

    def moments(self, records: Floats) -> Floats:
        """Return u and u²."""
        u = _scaled(records, self.bounds)
        return np.concatenate([u, u * u], axis=2)

    def summary(self, records: Floats) -> Floats:
        """Return mean and variance."""
        x = records[:, :, 0]
        return np.stack([x.mean(axis=1), x.var(axis=1)], axis=1)

    def log_likelihood(self, theta: Floats, summary: Floats) -> Floats:
        """Return the normal log density of all values."""
        return _normal_logs(self.n, theta[:, 0], theta[:, 1], summary)

    def query(self) -> Query:
        """Return the query for Σu and Σu², one record being one value."""

        def read(data: Any) -> Floats:
            return clamp(column(data), *self.bounds)[:, None]

        return _query(self, "normal moments", read, _BITS)

    def conditions(self) -> tuple[str, ...]:
        """Say what values are like."""
        return (
            f"{self.n} independent normal values, one of each person, clamped to "
            f"{self.bounds} in release and model alike",
        )


def _normal_logs(n: int, mean: Floats, std: Floats, summary: Floats) -> Floats:
    """Return -n·log std - Σ(x - mean)²/(2 std²) from mean and variance of the x."""
    squares = summary[:, 1] + (summary[:, 0] - mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = -n * np.log(std) - n * squares / (2 * std**2)
    return np.asarray(np.nan_to_num(logs, nan=-np.inf, posinf=-np.inf))


@final
@dataclass(frozen=True)
class PoissonMoments(LatentModel):
    """The rate of Poisson counts that are clamped, from their noisy total.

    Each of `n` people has a count, clamped to `most`; released is the total, a whole
    number. Where nothing is clamped, `RateModel(exposure=n)` is exact and quicker.

    Example:
        >>> PoissonMoments(n=50, most=4).query()([0, 3, 9, 1, *[2] * 46])
        [100]
    """

    n: int
    most: int

    def __post_init__(self) -> None:
        checks.whole("n", self.n, at_least=1)
        checks.whole("most", self.most, at_least=1, at_most=1 << 30)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameter."""
        return ("rate",)

    @property
    def moves(self) -> tuple[int, ...]:
        """From nothing to all that counts."""
        return (self.most,)

    @property
    def width(self) -> int:
        """One count."""
        return 1

    def fresh(self, uniform: Floats) -> Floats:
        """Return uniform numbers as they are."""
        return uniform

    def records(self, theta: Floats, innovations: Floats) -> Floats:
        """Return Poisson quantiles."""
        rate, u = theta[:, :, None], innovations
        high = float(theta.max())
        top = math.ceil(high + 12 * math.sqrt(high) + 30)
        if top <= _TABLE:
            below = special.pdtr(np.arange(top), theta)
            above = (u > below[:, None, :]).sum(axis=2, keepdims=True)
            return np.asarray(above, np.float64)
        found = np.ceil(special.pdtrik(u, rate))
        before = np.maximum(found - 1, 0)
        return np.asarray(np.where(special.pdtr(before, rate) >= u, before, found))

    def innovations(self, theta: Floats, records: Floats, uniform: Floats) -> Floats:
        """Return uniform numbers between P(X < x) and P(X <= x)."""
        rate = theta[:, :, None]
        high = special.pdtr(records, rate)
        low = np.where(records > 0, special.pdtr(np.maximum(records - 1, 0), rate), 0.0)
        return np.asarray(low + uniform * (high - low))

    def moments(self, records: Floats) -> Floats:
        """Return counts, clamped."""
        return np.clip(records, 0.0, float(self.most))

    def summary(self, records: Floats) -> Floats:
        """Return the total."""
        return np.asarray(records.sum(axis=(1, 2))[:, None])

    def log_likelihood(self, theta: Floats, summary: Floats) -> Floats:
        """Return the Poisson log probability of all counts."""
        return np.asarray(special.xlogy(summary, theta) - self.n * theta)[:, 0]

    def query(self) -> Query:
        """Return the query for the clamped total, one record being one count."""

        def read(data: Any) -> Floats:
            return np.floor(clamp(column(data), 0.0, float(self.most)))[:, None]

        return _query(self, "clamped total", read, bits=0)

    def conditions(self) -> tuple[str, ...]:
        """Say what counts are like."""
        return (
            f"{self.n} independent Poisson counts, one of each person, clamped to "
            f"{self.most} in release and model alike",
        )


# -- Regression: predictors and a response ---------------------------------------------


class _Regression(LatentModel):
    """Predictors, normal and independent of one another, and a response."""

    n: int
    bounds: tuple[Bounds, ...]

    @property
    def _many(self) -> int:
        return len(self.bounds)

    @property
    def width(self) -> int:
        """Predictors and the response."""
        return self._many + 1

    @property
    def _slopes(self) -> tuple[str, ...]:
        return "intercept", *(f"slope {j + 1}" for j in range(self._many))

    @property
    def _predictors(self) -> tuple[str, ...]:
        what = ("mean", "std")
        return tuple(f"x{j + 1} {each}" for j in range(self._many) for each in what)

    def _checked(self) -> None:
        checks.whole("n", self.n, at_least=1)
        listed = isinstance(self.bounds, (list, tuple))
        if not listed or not all(isinstance(b, (list, tuple)) for b in self.bounds):
            raise InvalidArgument(
                "bounds must be a pair for each predictor, as in bounds=[(0, 1)]."
            )
        found = tuple(_bounds("bounds", each) for each in self.bounds)
        if not found:
            raise InvalidArgument("bounds must name at least one predictor.")
        object.__setattr__(self, "bounds", found)

    def _x(self, theta: Floats, innovations: Floats) -> Floats:
        """Return predictors; their means and deviations are the last parameters."""
        law = theta[:, -2 * self._many :]
        return law[:, None, ::2] + law[:, None, 1::2] * innovations

    def _z(self, theta: Floats, records: Floats) -> Floats:
        """Return what makes the predictors."""
        law = theta[:, -2 * self._many :]
        return (records[:, :, :-1] - law[:, None, ::2]) / law[:, None, 1::2]

    def _line(self, theta: Floats, x: Floats) -> Floats:
        """Return intercept + Σ slope·x."""
        slopes = theta[:, 1 : self._many + 1]
        return np.asarray(theta[:, None, 0] + np.einsum("cmj,cj->cm", x, slopes))

    def _products(self, records: Floats, response: Floats) -> Floats:
        """Return u, the products of two of them, w, and the products of both."""
        u = np.stack(
            [_scaled(records[:, :, j], ends) for j, ends in enumerate(self.bounds)],
            axis=2,
        )
        first, second = np.triu_indices(self._many)
        w = response[:, :, None]
        return np.concatenate([u, u[:, :, first] * u[:, :, second], w, u * w], axis=2)

    def _crossed(self) -> list[int]:
        """Return the moves of u, and of products of two: squares are in [0, 1]."""
        first, second = np.triu_indices(self._many)
        return [2] * self._many + [
            1 if i == j else 2 for i, j in zip(first, second, strict=True)
        ]

    def _x_summary(self, records: Floats) -> Floats:
        x = records[:, :, :-1]
        return np.concatenate([x.mean(axis=1), x.var(axis=1)], axis=1)

    def _x_logs(self, theta: Floats, summary: Floats) -> Floats:
        """Return the log density of the predictors, from their means and variances."""
        many = self._many
        law = theta[:, -2 * many :]
        logs = np.zeros(theta.shape[0])
        for j in range(many):
            each = summary[:, [j, many + j]]
            logs = logs + _normal_logs(self.n, law[:, 2 * j], law[:, 2 * j + 1], each)
        return logs


@final
@dataclass(frozen=True)
class LinearMoments(_Regression):
    """A linear regression with normal errors, from noisy moments of `n` people.

    `bounds` has a pair for each predictor, `response` is that of the response. Values
    are clamped and scaled to u (predictors) and w (response) in [-1, 1]; released are,
    in this order, Σu, Σ of products of two u (upper triangle, row by row), Σw, Σuw and
    Σw². Parameters are those before clamping: `intercept`, `slope 1`, ..., `std`, and
    the law of each predictor, `x1 mean`, `x1 std`, ...

    Example:
        >>> model = LinearMoments(n=200, bounds=[(0, 10)], response=(-5, 5))
        >>> model.names
        ('intercept', 'slope 1', 'std', 'x1 mean', 'x1 std')
        >>> model.query().sensitivity(norm=1)
        Fraction(8, 1)
    """

    n: int
    bounds: tuple[Bounds, ...]
    response: Bounds

    def __post_init__(self) -> None:
        self._checked()
        object.__setattr__(self, "response", _bounds("response", self.response))

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficients, the deviation of errors, and the laws of predictors."""
        return (*self._slopes, "std", *self._predictors)

    @property
    def moves(self) -> tuple[int, ...]:
        """Twice the largest size; squares are at least 0."""
        return (*self._crossed(), 2, *[2] * self._many, 1)

    def fresh(self, uniform: Floats) -> Floats:
        """Return standard normal numbers."""
        return np.asarray(special.ndtri(uniform))

    def records(self, theta: Floats, innovations: Floats) -> Floats:
        """Return predictors, and the line with normal errors."""
        x = self._x(theta, innovations[:, :, :-1])
        std = theta[:, None, self._many + 1]
        y = self._line(theta, x) + std * innovations[:, :, -1]
        return np.concatenate([x, y[:, :, None]], axis=2)

    def innovations(self, theta: Floats, records: Floats, uniform: Floats) -> Floats:
        """Return standardized predictors and errors."""
        std = theta[:, None, self._many + 1]
        e = (records[:, :, -1] - self._line(theta, records[:, :, :-1])) / std
        return np.concatenate([self._z(theta, records), e[:, :, None]], axis=2)

    def moments(self, records: Floats) -> Floats:
        """Return u, u·u, w, u·w and w²."""
        w = _scaled(records[:, :, -1], self.response)
        first = self._products(records, w)
        return np.concatenate([first, (w * w)[:, :, None]], axis=2)

    def summary(self, records: Floats) -> Floats:
        """Return means and variances of predictors, and the Gram matrix of [1, x, y].

        All is taken around the middles of the bounds, where little cancels.
        """
        z = records - self._centers()
        one = np.concatenate([np.ones((*z.shape[:2], 1)), z], axis=2)
        square = np.einsum("cni,cnj->cij", one, one).reshape(z.shape[0], -1)
        return np.concatenate([self._x_summary(records), square], axis=1)

    def _centers(self) -> Floats:
        ends = (*self.bounds, self.response)
        return np.array([low + (high - low) / 2 for low, high in ends])

    def log_likelihood(self, theta: Floats, summary: Floats) -> Floats:
        """Return the normal log density of predictors and errors."""
        many, size = self._many, self._many + 2
        gram = summary[:, 2 * many :].reshape(-1, size, size)
        centers = self._centers()
        slopes = theta[:, 1 : many + 1]
        # y - line = (y - b) - slope·(x - a) - (intercept + slope·a - b).
        shift = theta[:, 0] + slopes @ centers[:-1] - centers[-1]
        ones = np.ones((theta.shape[0], 1))
        way = np.concatenate([-shift[:, None], -slopes, ones], axis=1)
        squares = np.einsum("ci,cij,cj->c", way, gram, way)
        mean = np.stack([np.zeros(squares.size), squares / self.n], axis=1)
        errors = _normal_logs(self.n, np.zeros(squares.size), theta[:, many + 1], mean)
        return errors + self._x_logs(theta, summary)

    def query(self) -> Query:
        """Return the query for these sums; the response is the last column."""

        def read(data: Any) -> Floats:
            return _columns(data, (*self.bounds, self.response))

        return _query(self, "linear moments", read, _BITS)

    def conditions(self) -> tuple[str, ...]:
        """Say what records are like."""
        return (
            f"{self.n} independent records, one of each person; predictors normal and "
            "independent of one another, errors normal",
            f"predictors clamped to {self.bounds} and the response to {self.response} "
            "in release and model alike",
        )


@final
@dataclass(frozen=True)
class LogisticMoments(_Regression):
    """A logistic regression, from noisy moments of `n` people.

    `bounds` has a pair for each predictor; the response is 0 or 1. Predictors are
    clamped and scaled to u in [-1, 1]; released are, in this order, Σu, Σ of products
    of two u (upper triangle, row by row), Σy and Σuy. Parameters are those before
    clamping: `intercept`, `slope 1`, ..., and the law of each predictor, `x1 mean`,
    `x1 std`, ...

    Example:
        >>> model = LogisticMoments(n=200, bounds=[(-3, 3)])
        >>> model.names
        ('intercept', 'slope 1', 'x1 mean', 'x1 std')
        >>> model.query().sensitivity(norm=1)
        Fraction(6, 1)
    """

    n: int
    bounds: tuple[Bounds, ...]

    def __post_init__(self) -> None:
        self._checked()

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficients, and the laws of predictors."""
        return (*self._slopes, *self._predictors)

    @property
    def moves(self) -> tuple[int, ...]:
        """Of y by 1; of u·y, from -1 to 1, by 2."""
        return (*self._crossed(), 1, *[2] * self._many)

    def fresh(self, uniform: Floats) -> Floats:
        """Return standard normal numbers, and uniform ones for the response."""
        normal = special.ndtri(uniform[:, :, :-1])
        return np.concatenate([normal, uniform[:, :, -1:]], axis=2)

    def records(self, theta: Floats, innovations: Floats) -> Floats:
        """Return predictors, and 1 where the uniform number is below its chance."""
        x = self._x(theta, innovations[:, :, :-1])
        y = innovations[:, :, -1] < special.expit(self._line(theta, x))
        return np.concatenate([x, y[:, :, None].astype(float)], axis=2)

    def innovations(self, theta: Floats, records: Floats, uniform: Floats) -> Floats:
        """Return standardized predictors, and a uniform number on the side of y."""
        chance = special.expit(self._line(theta, records[:, :, :-1]))
        u = uniform[:, :, -1]
        side = np.where(records[:, :, -1] > 0, u * chance, chance + u * (1 - chance))
        return np.concatenate([self._z(theta, records), side[:, :, None]], axis=2)

    def moments(self, records: Floats) -> Floats:
        """Return u, u·u, y and u·y."""
        return self._products(records, records[:, :, -1])

    def summary(self, records: Floats) -> Floats:
        """Return means and variances of predictors, and all records."""
        flat = records.reshape(records.shape[0], -1)
        return np.concatenate([self._x_summary(records), flat], axis=1)

    def log_likelihood(self, theta: Floats, summary: Floats) -> Floats:
        """Return Σ log P(y | x), and the log density of the predictors."""
        rows = summary[:, 2 * self._many :].reshape(-1, self.n, self.width)
        line = self._line(theta, rows[:, :, :-1])
        # log P(1) = -log(1 + e^-line), log P(0) = -log(1 + e^line).
        fit = -np.logaddexp(0.0, np.where(rows[:, :, -1] > 0, -line, line)).sum(axis=1)
        return np.asarray(fit + self._x_logs(theta, summary))

    def query(self) -> Query:
        """Return the query for these sums; the response is the last column.

        A response of 0.5 or more counts as 1.
        """

        def read(data: Any) -> Floats:
            found = _columns(data, (*self.bounds, (0.0, 1.0)))
            found[:, -1] = found[:, -1] >= 0.5
            return found

        return _query(self, "logistic moments", read, _BITS)

    def conditions(self) -> tuple[str, ...]:
        """Say what records are like."""
        return (
            f"{self.n} independent records, one of each person; predictors normal and "
            "independent of one another, the response logistic",
            f"predictors clamped to {self.bounds} in release and model alike",
        )
