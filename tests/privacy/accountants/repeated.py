"""A truth for few steps: condition on one step after the other, by quadrature over x.

Written from the densities alone. Not certified: between two steps the curve is a spline
of log delta against the log of the distance from the least (or largest) total loss.
"""

import math
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_FARTHEST = 38.0  # standard deviations


class Steps:
    """Losses of one step as distances t >= 0 from the end that they cannot pass."""

    def __init__(self, std: float, rate: float, direction: str, fine: int) -> None:
        self.std, self.rate, self.remove = std, rate, direction == "remove"
        self.stay, self.odds = math.log1p(-rate), rate / (1 - rate)
        self.panel = min(0.25, std / 4, 0.5 / std) / fine
        count = int(2 * _FARTHEST / self.panel)
        self.ends = np.linspace(-_FARTHEST, _FARTHEST + 1 / std, count + 1)

    def single(self, distance: Any) -> Any:
        """Log of one step's delta: two normal tails, the smaller taken off."""
        y = np.log(np.expm1(distance) / self.odds)
        base, other = self.std * y + 0.5 / self.std, self.std * y - 0.5 / self.std
        if self.remove:
            more = math.log(self.rate) + log_ndtr(-other)
            less = self.stay + np.log(np.expm1(distance)) + log_ndtr(-base)
        else:
            more = np.log(-np.expm1(-distance)) + log_ndtr(base)
            less = -distance + math.log(self.odds) + log_ndtr(other)
        return more + np.log(-np.expm1(np.minimum(less - more, -1e-16)))

    def points(self, distance: float) -> tuple[Any, Any]:
        """What is left of the distance after one step, and log weights.

        Panels shrink towards the x that uses it up: there the curve has a knee as
        narrow as the rate.
        """
        knee = self.std * math.log(math.expm1(distance) / self.odds) + 0.5 / self.std
        near = 4 * self.panel * 2.0 ** -np.arange(50)
        far = self.ends[np.abs(self.ends - knee) > 4.0001 * self.panel]
        ends = np.sort(np.concatenate([far, knee + near, [knee], knee - near]))
        ends = ends[(ends >= self.ends[0]) & (ends <= self.ends[-1])]
        half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
        z = (middle[:, None] + half[:, None] * _NODES).ravel()
        weight = (np.log(half)[:, None] + np.log(_WEIGHTS)).ravel()
        y = math.log(self.odds) + (z - 0.5 / self.std) / self.std
        used = np.where(y < -30, np.exp(y), np.logaddexp(0, y))
        past = (z - knee) / self.std
        close = -np.log1p(-math.expm1(-distance) * np.expm1(np.minimum(past, 1.0)))
        left = np.where(np.abs(past) < 0.7, close, distance - used)
        weight = weight - 0.5 * z * z - 0.5 * math.log(2 * math.pi)
        return left, weight + (self.stay + used if self.remove else 0.0)

    def after(self, curve: Any, steps: int, distance: float) -> float:
        """Log delta of one more step, given the curve of `steps`."""
        left, weight = self.points(distance)
        inside = curve(np.maximum(left, 1e-300))
        beyond = np.full_like(left, -np.inf)
        if self.remove:
            beyond = np.log(-np.expm1(np.minimum(steps * self.stay + left, -1e-300)))
        logs = weight + np.where(left > 0, inside, beyond)
        logs = logs[np.isfinite(logs)]
        top = logs.max()
        return float(top + math.log(np.exp(logs - top).sum()))

    def joined(self, curve: Any, steps: int, most: float, count: int) -> Any:
        """The curve of one more step, as a spline up to a distance."""
        first = math.log(self.rate) - 16 if self.remove else math.log(most) - 45
        grid = np.linspace(first, math.log(most * 1.0001), count)
        value = np.array([self.after(curve, steps, math.exp(u)) for u in grid])
        good = np.isfinite(value) & (value > -690)
        spline, start = CubicSpline(grid[good], value[good]), grid[good][0]
        below = value[good][0] if self.remove else -np.inf

        def joined(left: Any) -> Any:
            at = np.log(left)
            return np.where(at < start, below, spline(np.maximum(at, start)))

        return joined


def log_delta(
    std: float, rate: float, direction: str, times: int, at: list[float], fine: int = 1
) -> list[float]:
    """Log delta of two or more steps at each epsilon."""
    steps = Steps(std, rate, direction, fine)
    sign = 1 if steps.remove else -1
    distances = [sign * (epsilon - sign * times * steps.stay) for epsilon in at]
    with np.errstate(all="ignore"):
        curve = steps.single
        for k in range(1, times - 1):
            curve = steps.joined(curve, k, max(distances), 1400 * fine)
        return [steps.after(curve, times - 1, x) for x in distances]
