"""The sum of a normal error and up to three Laplace errors, in closed form."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]
MOST = 3  # Laplace errors that a sum may have
_ROOT = math.sqrt(2)
_APART = 0.002  # scales nearer than this are moved apart, which errs by its square


def _halves(x: Floats, std: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return e^(r²/2 ∓ x/b)·Φ(±x/s - r), r = s/b: the two sides of one Laplace."""
    u, r = x / std, std / scale
    bell = np.exp(-u * u / 2) / 2
    right = bell * special.erfcx((u + r) / _ROOT)
    # erfcx overflows at the left end, where the product of its factors does not.
    near = bell * special.erfcx(np.maximum(r - u, 0) / _ROOT)
    far = np.exp(np.minimum(r * r / 2 - x / scale, 0.0)) * special.ndtr(u - r)
    return np.where(u < r, near, far), right


def tail(
    x: ArrayLike, std: ArrayLike, scales: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Return P(error > x) and the density at x, for x >= 0.

    A sum of Laplace errors of different scales b_j is a signed mixture of them with
    weights Π_i b_j²/(b_j² - b_i²), since 1/Π(1 + b_i²t²) has simple poles.

    Example:
        >>> above, _ = tail(3.0, 1e-9, (1.0,))
        >>> round(float(above), 4), round(math.exp(-3) / 2, 4)
        (0.0249, 0.0249)
    """
    c = np.asarray(x, dtype=np.float64)
    s = np.maximum(np.asarray(std, dtype=np.float64), 1e-9 * max(scales, default=0.0))
    s = np.maximum(s, 1e-300)
    if not scales:
        u = c / s
        density = np.exp(-u * u / 2) / (s * math.sqrt(2 * math.pi))
        return np.asarray(special.ndtr(-u)), np.asarray(density)
    above: Floats = np.asarray(special.ndtr(-c / s))
    density = np.zeros(np.broadcast(c, s).shape)
    for weight, b in _mixture(scales):
        left, right = _halves(c, s, b)
        above = above + weight * (left - right) / 2
        density = density + weight * (left + right) / (2 * b)
    return above, np.asarray(density)


def _mixture(scales: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return weights and scales of the equivalent mixture."""
    apart = sorted(scales)
    for i in range(1, len(apart)):
        if apart[i] < apart[i - 1] * (1 + _APART):
            # Symmetrically, so that the error is of second order.
            apart[i - 1] /= 1 + _APART / 2
            apart[i] = apart[i - 1] * (1 + _APART)
    return [
        (math.prod(b * b / (b * b - a * a) for a in apart if a != b), b) for b in apart
    ]


def quantile(p: float, std: ArrayLike, scales: tuple[float, ...]) -> Floats:
    """Return the p-quantile, p > 1/2, for one or many standard deviations.

    Newton's method on the log of the tail, which is concave: from a bound above it
    comes down and never passes the root.

    Example:
        >>> round(float(quantile(0.975, 2.0, ())), 3)
        3.92
        >>> round(float(quantile(0.975, 0.0, (1.0,))), 3)
        2.996
    """
    miss = 1 - p
    s = np.asarray(std, dtype=np.float64)
    # One of the errors is beyond its own quantile at miss/count, or none of it is.
    each = miss / (len(scales) + 1)
    x = -special.ndtri(each) * s - math.log(2 * each) * math.fsum(scales)
    for _ in range(60):
        above, density = tail(x, s, scales)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.log(above / miss) * above / density
        step = np.where(np.isfinite(step), step, 0.0)
        x = x + step
        if np.all(np.abs(step) <= 1e-10 * x):
            break
    return np.asarray(np.maximum(x, 0.0))
