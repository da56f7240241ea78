"""Private choice of columns: the best subset of all, by a noisy minimum."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.estimators.learner import Floats, Model
from hush.learn.features import Box
from hush.learn.mechanisms.second_moments import exact_moments
from hush.learn.targets import Response
from hush.mechanisms import NoisyMax
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.serialization import tagged
from hush.units import Neighbors

_MOST = 15  # columns: 2^15 subsets


@final
@tagged("learn.best_subset/1")
@dataclass(frozen=True, repr=False)
class BestSubset(Mechanism):
    """The subset of columns with the least penalised squares, noise added to each.

    Rows and target lie in [-1, 1]; the constant is always in; coefficients have ℓ1 norm
    at most `radius`; each chosen column costs `price`.

    Guarantee: one row replaced moves every score by at most (1 + radius)² plus the
    certified tolerance of its minimisation, so `chooser` at that sensitivity.

    Reference: N5.4ex; docs/proofs/learn_subsets.md.
    """

    rows: Box
    targets: Response
    size: int
    radius: float
    price: float
    chooser: NoisyMax
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=1 << 24)
        checks.real("radius", self.radius, above=0)
        checks.real("price", self.price, at_least=0)
        columns = len(self.rows.lower)
        if not 1 <= columns <= _MOST or not self.rows.intercept:
            raise InvalidArgument(
                f"X must have 1 to {_MOST} columns, as all subsets are tried; got "
                f"{columns}. Choose among fewer on public grounds first."
            )

    @property
    def tolerance(self) -> float:
        """How far above its minimum a score may stop: public."""
        return _tolerance(self.size, self.radius)

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        rows: Box,
        targets: Response,
        size: int,
        radius: float,
        price: float,
    ) -> Self:
        """Return the mechanism that is ε-private.

        A column that only fits noise must cost more than the noise on the scores: the
        price is at least scale·(log columns + 3), with which all useless columns
        together are chosen with chance 5 % or less.
        """
        move = (1 + radius) ** 2 + _tolerance(size, radius)
        chooser = NoisyMax.for_epsilon(epsilon, move)
        hidden = float(chooser.scale) * (math.log(max(len(rows.lower), 1)) + 3)
        return cls(rows, targets, size, radius, max(price, hidden), chooser)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        move = people * (1 + self.radius) ** 2 + self.tolerance
        return self.chooser.curve(move if people else 0)

    @property
    def error(self) -> Any:
        """Worst-case law of how far the choice is above the best, among all subsets."""
        return self.chooser.error.among(1 << len(self.rows.lower))

    def scores(self, value: Any) -> Floats:
        """Return the penalised squares of every subset: private."""
        gram = exact_moments(self.rows, self.targets, self.size, value)
        subsets = all_subsets(len(self.rows.lower))
        constant = np.ones((len(subsets), 1), dtype=np.bool_)
        every = np.column_stack([subsets, constant])
        # Half of the tolerance is left to rounding, which is 1e3 times smaller.
        squares = smallest_squares(gram, every, self.radius, self.tolerance / 2)
        return np.asarray(squares + self.price * subsets.sum(axis=1))

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.bool_]:
        """Return which columns are in the chosen subset."""
        best = self.chooser.run(-self.scores(value), source=source)
        return np.asarray(all_subsets(len(self.rows.lower))[best])


def _tolerance(size: int, radius: float) -> float:
    return max(1e-3, 1e-9 * size) * (1 + radius) ** 2


class SelectModel(SelectorMixin, Model):  # type: ignore[misc]
    """Choose columns for a linear model by AIC or BIC among all subsets, privately.

    Up to 15 columns. `variance` is that of the residuals in units of half the range of
    y, squared: a public guess, which prices a column at 2 (AIC) or log n (BIC) of it,
    or at what the noise hides if that is more.
    `radius` bounds the coefficients' ℓ1 norm for columns and response in [-1, 1].

    Guarantee: `fit` is ε-private for one row replaced; only the choice is released.

    Example:
        >>> import numpy as np
        >>> x = np.sin(np.outer(np.arange(4000), [1, 2, 3]))
        >>> model = SelectModel(1.0, bounds=(-1, 1), y_bounds=(-1, 1))
        >>> model.fit(x, 0.9 * x[:, 1]).get_support()
        array([False,  True, False])

    Reference: N5.4ex; docs/proofs/learn_subsets.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,
        y_bounds: tuple[float, float] | None = None,
        criterion: str = "bic",
        variance: float = 0.1,
        radius: float = 1.0,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.criterion = criterion
        self.variance = variance
        self.radius = radius

    def _plan(self, size: int, columns: int) -> BestSubset:
        prices = {"aic": 2.0, "bic": math.log(size)}
        if self.criterion not in prices:
            raise InvalidArgument(
                f"criterion must be 'aic' or 'bic'; got {self.criterion!r}."
            )
        if self.y_bounds is None or self.bounds is None:
            raise InvalidArgument(
                "bounds and y_bounds must be (lower, upper): public, never from data."
            )
        checks.real("variance", self.variance, above=0)
        return BestSubset.plan(
            self.epsilon,
            size=size,
            radius=self.radius,
            rows=Box.of(self.bounds, columns, intercept=True),
            targets=Response(self.y_bounds),
            price=prices[self.criterion] * self.variance,
        )

    def _keep(self, released: Any) -> None:
        self.support_ = np.asarray(released, dtype=np.bool_)
        self.noise_ = self.mechanism_.chooser

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.support_


# --------------------------------------------------------------------------------------
# Least squares over an ℓ1 ball, for all subsets of columns at once and certified.


def all_subsets(columns: int) -> NDArray[np.bool_]:
    """Return every subset of columns, one per row.

    Example:
        >>> all_subsets(1).tolist()
        [[False], [True]]
    """
    return (np.arange(1 << columns)[:, None] >> np.arange(columns) & 1).astype(np.bool_)


def project_on_ball(points: Floats, radius: float) -> Floats:
    """Return the nearest points of the ℓ1 ball, row by row.

    Example:
        >>> project_on_ball(np.array([[3.0, 1.0], [0.2, 0.1]]), 2.0)
        array([[2. , 0. ],
               [0.2, 0.1]])
    """
    size = np.abs(points)
    order = -np.sort(-size, axis=1)
    place = np.arange(1, points.shape[1] + 1)
    surplus = (np.cumsum(order, axis=1) - radius) / place
    last = (order > surplus).sum(axis=1) - 1
    cut = np.take_along_axis(surplus, np.maximum(last, 0)[:, None], axis=1)
    inside = size.sum(axis=1, keepdims=True) <= radius
    shrunk = np.where(inside, size, np.maximum(size - cut, 0.0))
    # Rounding may leave the ball by a little; scaling back never does.
    total = np.maximum(shrunk.sum(axis=1, keepdims=True), radius)
    return np.asarray(np.copysign(shrunk * (radius / total), points))


def smallest_squares(
    gram: Floats, subsets: NDArray[np.bool_], radius: float, within: float
) -> Floats:
    """Return min ‖y - xβ‖² over ‖β‖₁ <= radius, for β supported on each subset.

    `gram` holds the moments of (x, y). Guarantee: each value lies between the minimum
    and the minimum + `within`: for a convex f over the ball,
    f(β) - min f <= ∇f·β + radius·‖∇f‖∞ on the subset. The loop goes on until it holds.
    """
    inner, cross, square = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
    step = 1 / max(2 * float(np.linalg.eigvalsh(inner)[-1]), 1e-300)
    found = np.empty(len(subsets))
    left = np.arange(len(subsets))
    beta = project_on_ball(_ridge_solutions(inner, cross, subsets), radius) * subsets
    ahead, speed = beta, 1.0
    while True:
        mask = subsets[left]
        slope = 2 * (beta @ inner - cross) * mask
        gap = (slope * beta).sum(axis=1) + radius * np.abs(slope).max(axis=1)
        done = gap <= within
        value = square + (beta * (beta @ inner - 2 * cross)).sum(axis=1)
        found[left[done]] = value[done]
        if done.all():
            return np.maximum(found, 0.0)
        left, beta, ahead, mask = left[~done], beta[~done], ahead[~done], mask[~done]
        moved = ahead - step * 2 * (ahead @ inner - cross) * mask
        after = project_on_ball(moved * mask, radius) * mask
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        # Restart where momentum points uphill, so that no problem swings for ever.
        uphill = ((ahead - after) * (after - beta)).sum(axis=1, keepdims=True) > 0
        push = np.where(uphill, 0.0, (speed - 1) / faster)
        ahead, beta, speed = after + push * (after - beta), after, faster


def _ridge_solutions(
    inner: Floats, cross: Floats, subsets: NDArray[np.bool_]
) -> Floats:
    """Return a start: ridge solutions of every subset, without the ball."""
    d = len(cross)
    both = subsets[:, :, None] & subsets[:, None, :]
    lift = 1e-9 * float(np.trace(inner)) + 1e-9
    systems = np.where(both, inner, 0.0) + np.eye(d) * (lift + ~subsets[:, :, None])
    right = (cross * subsets)[:, :, None]
    return np.asarray(np.linalg.solve(systems, right)[:, :, 0])
