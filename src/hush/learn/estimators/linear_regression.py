"""Private linear regression: by objective perturbation, moments, or sampling."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.learn.bounded_losses import SquareRisk
from hush.learn.estimators.learner import Floats
from hush.learn.estimators.poisson_regression import ResponseModel
from hush.learn.estimators.prior import SPLITS, Prior, best_guess, best_split
from hush.learn.features import Box
from hush.learn.losses import LogCosh
from hush.learn.mechanisms.k_norm_gradient import ExponentialRisk
from hush.learn.mechanisms.least_squares_gradient import LeastSquaresGradient
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.mechanisms.second_moments import Moments
from hush.learn.targets import Response

# --------------------------------------------------------------------------------------
# Slopes: estimated coefficients, by the names of their columns where they have any.


@final
@dataclass(frozen=True)
class Slopes(Estimate):
    """Coefficients with standard errors; a frame's columns name their lines.

    Example:
        >>> import numpy as np
        >>> print(Slopes(np.array([2.0, -1.0]), np.array([0.1, 0.2]), 25, ("a", "b")))
          estimate       from   to (95%)
                 2      1.804      2.196  a
                -1     -1.392     -0.608  b
    """

    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a line for each coefficient, up to twenty, with its ends at 95 %."""
        head, *lines = super().__str__().split("\n")
        names = (*self.names[: len(lines)], *[""] * len(lines))
        if len(lines) < len(self.names):  # the last line counts those left out
            names = (*self.names[: len(lines) - 1], "")
        pairs = zip(lines, names, strict=False)
        return "\n".join([head, *(f"{line}  {name}".rstrip() for line, name in pairs)])


# -- Private linear regression: by objective perturbation, moments, or sampling --------


class LinearRegression(ResponseModel):
    """Linear regression with public bounds on rows and on the response.

    State `y_bounds`, and either `norm` of a row or `bounds=(lower, upper)` of the
    columns. What lies outside is clipped; NaN rows count as zero rows.

    - `method="objective"`, certified: the log-cosh loss, squares for residuals below
      `width` half-ranges of y, by objective perturbation. Rows of a box that are longer
      than most are shortened where n·ε/d is small.
    - `"statistics"`, exact: least squares from noisy moments, with standard errors in
      `estimate_`, which is not shrunk; infinite ones where noise hides the columns.
    - `"kng"`, exact: the K-norm gradient of penalised least squares in
      ‖θ‖₁ <= `radius`, columns and response moved to [-1, 1].
    - `"exponential"`, exact: the exponential mechanism on the squares in the same set;
      at most four coefficients, and noise of the order 1/√n.

    All but the first need `bounds`; the last two are pure. With `bounds` the first two
    shrink coefficients towards what is usual for such columns, the more the noise hides
    the data; `released_` is what was released before that.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 5000)[:, None]
        >>> model = LinearRegression(1.0, bounds=(0, 10), y_bounds=(0, 30))
        >>> abs(float(model.fit(x, 3 * x[:, 0]).coef_[0]) - 3) < 0.2
        True

    Reference: [RA19]; N3.8, N6.1, N7.10, N7.11; docs/proofs/learn_objective.md,
        learn_moments.md, learn_sampling.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        y_bounds: tuple[float, float] | None = None,
        method: str = "objective",
        width: float = 0.25,
        radius: float = 1.0,
        fit_intercept: bool = True,
        penalty: float = 0.0,
        split: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.method = method
        self.width = width
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def _plan(self, size: int, columns: int) -> Any:
        targets = self._response()
        if self.method == "objective":
            return self._log_cosh(targets, size, columns)
        if self.method not in ("statistics", "kng", "exponential"):
            raise InvalidArgument(
                "method must be 'objective', 'statistics', 'kng' or 'exponential'; got "
                f"{self.method!r}."
            )
        box = self._box(columns)
        if self.method == "statistics":
            return Moments.plan(
                self.epsilon, delta=self.delta, rows=box, targets=targets, size=size
            )
        self._no_delta(self.method)
        public: dict[str, Any] = {
            "rows": box,
            "targets": targets,
            "size": size,
            "radius": self.radius,
            "penalty": self.penalty,
        }
        if self.method == "kng":
            return LeastSquaresGradient.plan(self.epsilon, **public)
        return ExponentialRisk.plan(self.epsilon, risk=SquareRisk(), **public)

    def _log_cosh(self, targets: Response, size: int, columns: int) -> Any:
        loss, rows = LogCosh(self.width), self._rows(columns)
        split, share = self.split, 0.0
        if isinstance(rows, Box):
            reach = usual_length(columns, size, float(self.epsilon))
            rows = Box(rows.lower, rows.upper, rows.intercept, reach)
            if rows.intercept and not self.delta:
                split, share = best_split(
                    Prior(size, columns, loss.width),
                    self.epsilon,
                    length=rows.length(columns),
                    penalty=self.penalty,
                    splits=SPLITS if split is None else (split,),
                )
        return ObjectivePerturbation.plan(
            self.epsilon,
            delta=self.delta,
            split=split,
            penalty=self.penalty,
            share=share,
            loss=loss,
            rows=rows,
            targets=targets,
            size=size,
            columns=columns,
        )

    def _keep(self, released: Any) -> None:
        self.released_, self.estimate_ = np.asarray(released), None
        if isinstance(self.mechanism_, ObjectivePerturbation):
            super()._keep(self.released_ * coefficient_multiples(self.mechanism_))
        elif isinstance(self.mechanism_, Moments):
            self.moments_ = self.released_
            self.estimate_ = self._least_squares()
            super()._keep(best_guess(self.mechanism_, self.moments_))
        else:
            super()._keep(self.released_)

    def _least_squares(self) -> Slopes:
        """Return plain coefficients and their standard errors, in the user's units."""
        theta, spread = least_squares(self.mechanism_, self.moments_)
        unit = np.abs(self.mechanism_.rows.unmap(np.ones_like(theta))[0])
        half = self.mechanism_.targets.half
        slopes, _ = self.mechanism_.rows.unmap(theta)
        std = half * unit * np.sqrt(np.diag(spread)[:-1])
        names = tuple(map(str, getattr(self, "feature_names_in_", ())))
        return Slopes(half * slopes, std, effective=math.nan, names=names)


def coefficient_multiples(mechanism: ObjectivePerturbation) -> Floats:
    """Return what released coefficients are multiplied by: public, ones for a ball.

    Without a constant the slopes' multiple is that of a model with one.
    """
    rows, loss = mechanism.rows, mechanism.loss
    if not isinstance(rows, Box) or not isinstance(loss, LogCosh):
        return np.ones(mechanism.dimension)
    prior = Prior(mechanism.size, mechanism.columns, loss.width)
    found = prior.factors(mechanism.penalty, mechanism.perturbation)
    return found[: mechanism.dimension]


def usual_length(columns: int, size: int, epsilon: float) -> float:
    """Return an ℓ2 norm that few rows of a box exceed, or none do for large data.

    Rows uniform in [-1, 1]^d have squared length d/3 with deviation √(4d/45): two of
    them, and more as n outweighs the least penalty, of about d/(0.15·ε).

    Example:
        >>> usual_length(10, 300, 1.0) ** 2 < 6, usual_length(10, 10**5, 1.0) ** 2 > 9.9
        (True, True)
    """
    many = 2 + 0.15 * size * epsilon / (20 * (columns + 1))
    return math.sqrt(min(columns, columns / 3 + many * math.sqrt(4 * columns / 45)))


_CLEAR = 4.0  # times the noise, the least eigenvalue from which errors are normal


def least_squares(mechanism: Moments, gram: Floats) -> tuple[Floats, Floats]:
    """Return least-squares coefficients from noisy moments, and their covariance.

    Nothing is shrunk: an interval around shrunken coefficients misses on one side. The
    covariance counts noise and residuals to first order. Where the least eigenvalue of
    XᵀX is not clearly above its noise any slope may be true: the covariance is
    infinite, and the coefficients are those of the ridge 2√p·std, the spectral norm of
    a large symmetric matrix of such noise, which always exist.

    Reference: docs/proofs/learn_moments.md.
    """
    inner, cross, square = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
    values, vectors = np.linalg.eigh(inner)
    spectral = math.sqrt(len(cross)) * mechanism.std
    if values[0] <= _CLEAR * spectral:
        inverse = (vectors / (np.maximum(values, 0.0) + 2 * spectral)) @ vectors.T
        return inverse @ cross, np.full(inner.shape, math.inf)
    inverse = (vectors / values) @ vectors.T
    theta = inverse @ cross
    freedom = max(mechanism.size - len(cross), 1)
    residual = min(max(float(square - theta @ cross) / freedom, 0.0), 4.0)
    middle = residual * inner + noise_of_scores(mechanism, theta)
    return theta, inverse @ middle @ inverse


def noise_of_scores(mechanism: Moments, theta: Floats) -> Floats:
    """Return the covariance of e - Eθ, the noise of Xᵀy less that of XᵀX times θ.

    E is symmetric: E_ij adds θ_j to score i and θ_i to score j. The squares on its
    diagonal have their weight, and the number of rows has no noise.
    """
    p = len(theta)
    vary = np.full((p, p), mechanism.std**2)
    vary[np.diag_indices(p)] /= mechanism.squares**2
    vary[-1, -1] = 0.0
    found = np.outer(theta, theta) * vary
    found[np.diag_indices(p)] = vary @ theta**2 + mechanism.std**2
    return np.asarray(found)
