"""Minimise a strongly convex objective, and certify how close the answer is.

The certificate bounds the norm of the true gradient at the returned point, rounding
included. Where floats cannot reach the wanted tolerance, decimals go on: the solver
never gives up, because giving up would depend on the data.
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from hush.learn.losses import Loss

Floats = NDArray[np.float64]
_UNIT = 2.0**-53
_BLOCK = 256  # rows that one float sum may hold; the blocks are summed exactly
_DIGITS = 60
_MANY = 8192  # rows from which a part of them is a good place to start


@final
@dataclass(frozen=True)
class Objective:
    """F(θ) = Σ loss(x·θ, y) + penalty/2·‖θ‖² + linear·θ.

    `length` bounds the rows in ℓ2. F is `penalty`-strongly convex, so a point with
    gradient norm g lies within g/penalty of the minimum.
    """

    loss: Loss
    rows: Floats
    targets: Floats
    penalty: float
    linear: Floats
    length: float

    def value(self, theta: Floats) -> float:
        """Return F, in floats."""
        fit = float(self.loss.value(self.rows @ theta, self.targets).sum())
        return fit + float(theta @ (self.penalty / 2 * theta + self.linear))

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient, in floats."""
        slope = self.loss.slope(self.rows @ theta, self.targets)
        found: Floats = slope @ self.rows + self.penalty * theta + self.linear
        return found

    def hessian(self, theta: Floats) -> Floats:
        """Return the second derivatives, in floats."""
        weight = self.loss.curvature(self.rows @ theta, self.targets)
        found: Floats = (self.rows * weight[:, None]).T @ self.rows
        found[np.diag_indices_from(found)] += self.penalty
        return found

    def steepness(self, theta: Floats) -> float:
        """Return an upper bound on the norm of the true gradient at `theta`.

        Guarantee: rounding is counted. A predictor is off by d·u·length·‖θ‖, which the
        Lipschitz slope passes on; a slope by 16 u; a block's sum by 256 u of its
        absolute terms (docs/proofs/learn_objective.md). All are doubled.
        """
        n, d = self.rows.shape
        slope = self.loss.slope(self.rows @ theta, self.targets)
        fit = _exact_columns(slope, self.rows)
        total = fit + self.penalty * theta + self.linear
        size, bound = float(np.linalg.norm(theta)), self.loss.slope_bound
        each = self.loss.curvature_bound * d * self.length * size + 16 * bound
        rounding = n * self.length * (each + (_BLOCK + 8) * bound)
        parts = float(np.linalg.norm(fit) + np.linalg.norm(self.linear))
        rounding += 8 * (parts + self.penalty * size) + d * float(np.linalg.norm(total))
        found: float = float(np.linalg.norm(total)) + 2 * _UNIT * rounding
        return found


def _exact_columns(weight: Floats, rows: Floats) -> Floats:
    """Return weight @ rows, blocks in floats and their sum correctly rounded."""
    n, d = rows.shape
    whole = n // _BLOCK * _BLOCK
    parts = np.matmul(
        weight[:whole].reshape(-1, 1, _BLOCK), rows[:whole].reshape(-1, _BLOCK, d)
    ).reshape(-1, d)
    rest = weight[whole:] @ rows[whole:]
    return np.array([math.fsum([*parts[:, j].tolist(), rest[j]]) for j in range(d)])


def minimize(objective: Objective, tolerance: float) -> Any:
    """Return θ, floats or decimals, whose true gradient norm is at most `tolerance`.

    Guarantee: within tolerance/penalty of the exact minimum, for every data set.
    """
    with np.errstate(all="ignore"):  # a warning would depend on the data
        theta = _newton(objective, tolerance)
        if objective.steepness(theta) <= tolerance:
            return theta
    return _precise(objective, theta, tolerance)


def _newton(objective: Objective, tolerance: float) -> Floats:
    """Return Newton's answer in floats; no promise, the certificate decides.

    A Hessian is kept as long as each step with it shrinks the gradient tenfold.
    """
    theta = _start(objective, tolerance)
    gradient = objective.gradient(theta)
    factor: Any = None
    for _ in range(200):
        size = float(np.linalg.norm(gradient))
        if size <= tolerance / 8:
            break
        fresh = factor is None
        factor = _factor(objective.hessian(theta)) if fresh else factor
        step, share = linalg.cho_solve(factor, gradient), 1.0
        after = objective.gradient(theta - step)
        shrunk = float(np.linalg.norm(after)) / size
        if shrunk > 0.5:  # far away, or at the floor of floats
            factor = None
            if not fresh:
                continue
            share = _share(objective, theta, step, float(gradient @ step))
            if share == 0:
                break
            after = objective.gradient(theta - share * step)
        elif shrunk > 0.1:
            factor = None
        theta, gradient = theta - share * step, after
    return theta


def _start(objective: Objective, tolerance: float) -> Floats:
    """Return the minimum for every 16th row of many, or zero for few."""
    n, d = objective.rows.shape
    if n < _MANY:
        return np.zeros(d)
    part = n / len(objective.rows[::16])
    fewer = replace(
        objective,
        rows=np.ascontiguousarray(objective.rows[::16]),
        targets=objective.targets[::16],
        penalty=objective.penalty / part,
        linear=objective.linear / part,
    )
    return _newton(fewer, 1e-3 * fewer.loss.slope_bound * fewer.length + tolerance)


def _factor(hessian: Floats) -> Any:
    """Return a Cholesky factor; a matrix that rounding made singular is lifted."""
    lift = 0.0
    while True:
        try:
            return linalg.cho_factor(hessian + lift * np.eye(len(hessian)))
        except linalg.LinAlgError:
            lift = max(10 * lift, 1e-14 * float(np.trace(hessian)))


def _share(objective: Objective, theta: Floats, step: Floats, gain: float) -> float:
    """Return the first of 1, 1/2, 1/4, ... that decreases the objective, or 0."""
    now, share = objective.value(theta), 1.0
    while share > 1e-6:
        if objective.value(theta - share * step) <= now - 1e-4 * share * gain:
            return share
        share /= 2
    return 0.0


def _precise(objective: Objective, start: Floats, tolerance: float) -> Any:
    """Return the minimum in decimals: Newton where it helps, else plain descent.

    A plain step of 1/(n·curvature·length² + penalty) shrinks the gradient's norm by
    a fixed factor, so the loop ends for every data set.
    """
    factor = _factor(objective.hessian(start))
    n = len(objective.rows)
    steepest = n * objective.loss.curvature_bound * objective.length**2
    with localcontext() as context:
        context.prec = _DIGITS
        plain = 1 / (Decimal(steepest) + Decimal(objective.penalty))
        rows = [[Decimal(x) for x in row] for row in objective.rows.tolist()]
        targets = [Decimal(y) for y in objective.targets.tolist()]
        linear = [Decimal(v) for v in objective.linear.tolist()]
        penalty = Decimal(objective.penalty)

        def gradient(theta: list[Decimal]) -> tuple[list[Decimal], Decimal]:
            total = [penalty * t + v for t, v in zip(theta, linear, strict=True)]
            for row, y in zip(rows, targets, strict=True):
                z = sum((x * t for x, t in zip(row, theta, strict=True)), Decimal(0))
                slope = objective.loss.precise_slope(z, y)
                total = [g + slope * x for g, x in zip(total, row, strict=True)]
            return total, sum((g * g for g in total), Decimal(0)).sqrt()

        theta = [Decimal(t) for t in start.tolist()]
        slopes, size = gradient(theta)
        while size > Decimal(tolerance) / 2:
            move = linalg.cho_solve(factor, np.array([float(g) for g in slopes]))
            tried = [t - Decimal(m) for t, m in zip(theta, move.tolist(), strict=True)]
            again, then = gradient(tried)
            if then > size / 2:
                tried = [t - plain * g for t, g in zip(theta, slopes, strict=True)]
                again, then = gradient(tried)
            theta, slopes, size = tried, again, then
        return theta
