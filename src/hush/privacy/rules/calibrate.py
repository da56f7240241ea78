"""Calibration: the smallest parameter whose curve meets a target."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.privacy.curve import Curve, checked_curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.rounding import Floats, crossing_ends

# 1.25, its square, and so on; together they span all floats.
_FACTORS = tuple(1.25 ** min(2**k, 512) for k in range(30))


def excess(curve: Curve, target: Curve) -> float:
    """Return by what factor a curve exceeds a target; at most 1 when it meets it.

    Example:
        >>> excess(GDP(mu=1.0), GDP(mu=2.0))
        0.5
    """
    if isinstance(target, Approx) and target.delta > 0:
        return float(curve.delta_at(target.epsilon)) / target.delta
    if isinstance(target, Pure | Approx):
        return _ratio(float(curve.epsilon_at(0.0)), target.epsilon)
    if isinstance(target, GDP):
        return _ratio(curve.mu, target.mu)
    if isinstance(target, ZCDP):
        return _ratio(curve.rho, target.rho)
    return _over_profile(curve, *_limits(target))


def _limits(target: Curve) -> tuple[Floats, Floats]:
    """Return the ε where a general target is checked, and the δ it allows there."""
    losses = target.atoms_below.losses
    epsilon = np.append(0.0, losses[losses > 0])
    return epsilon, np.asarray(target.delta_at_lower(epsilon))


def _over_profile(curve: Curve, epsilon: Floats, allowed: Floats) -> float:
    """Return the largest δ relative to what a general target allows."""
    asked = np.asarray(curve.delta_at(epsilon))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(asked > 0, asked / allowed, 0.0)))


def _ratio(value: float, limit: float) -> float:
    if value == 0:
        return 0.0
    return value / limit if limit > 0 else math.inf


def calibrate(
    curve: Callable[[float], Curve],
    target: Curve,
    *,
    low: float = 1e-12,
    high: float = 1e12,
    relative: float = 1e-12,
) -> float:
    """Return the smallest parameter whose curve meets the target, rounded up.

    The loss must fall as the parameter grows (a noise scale). The answer always is a
    parameter whose curve was computed and meets the target.

    Example:
        >>> std = calibrate(lambda std: GDP(mu=1 / std), target=Approx(1, 1e-6))
        >>> f"{std:.6f}"
        '4.224679'
    """
    low = checks.real("low", low, above=0)
    high = checks.real("high", high, above=low)
    relative = checks.real("relative", relative, at_least=0, below=1)
    checked_curve("target", target)

    general = not isinstance(target, Pure | Approx | GDP | ZCDP)
    limits = _limits(target) if general else None

    @cache
    def over(parameter: float) -> float:
        found = curve(parameter)
        return _over_profile(found, *limits) if limits else excess(found, target)

    start = left = right = min(max(1.0, low), high)
    # Look nearby first: far from its target a curve may be costly to answer.
    if over(right) <= 1:
        for factor in _FACTORS:
            left = max(left / factor, low)
            if over(left) > 1:
                return crossing_ends(over, 1.0, left, right, relative=relative)[1]
            right = left
        _refuse_rising(over, left, min(1e3 * start, high))
        return left
    for factor in _FACTORS:
        left, right = right, min(right * factor, high)
        if over(right) <= 1:
            return crossing_ends(over, 1.0, left, right, relative=relative)[1]
    _refuse_rising(over, start, right)
    raise NoBound(
        f"no parameter up to {high:g} meets {target!r}; allow a larger one, or weaken "
        "the target."
    )


def _refuse_rising(over: Callable[[float], float], low: float, high: float) -> None:
    """Refuse a parameter that is no noise: its curve loses more as it grows."""
    if over(low) < over(high) * (1 - 1e-9):
        raise InvalidArgument(
            f"curve must lose less as its parameter grows; it loses more at {high:g} "
            f"than at {low:g}. Give a curve of the noise."
        )
