"""What sampling adds to an interval: from the people who were asked to all people."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_HALVINGS = 60


def mean_ends(
    low: Floats,
    high: Floats,
    people: Floats,
    bounds: tuple[float, float],
    risk: float,
) -> tuple[Floats, Floats]:
    """Return ends for a population mean from ends for the mean of a sample.

    Guarantee: if the sample's mean is in low..high except with probability risk/2, the
    population's is in the result except with `risk`, whatever the distribution inside
    the bounds. `people` is the total weight over the largest weight of one person: for
    weights w_p <= w the moment function φ(t) = log(1 - m + m·e^t) is convex with φ(0) =
    0, so Σ φ(t·w_p) <= φ(t·w)·Σ w_p/w, and Chernoff's bound holds with that many coins.

    Example:
        >>> ends = mean_ends(*map(np.array, ([50.0], [50.0], [1000.0])), (0, 100), 0.05)
        >>> [round(float(each[0]), 1) for each in ends]
        [45.3, 54.7]

    Reference: [H63] equation (2.1).
    """
    lower, upper = bounds
    width = (upper - lower) or 1.0
    # Each end has a quarter of the risk: half of it is the noise's.
    enough = np.log(4 / risk) / np.maximum(people, 1e-300)
    first = _farthest((low - lower) / width, enough)
    last = 1 - _farthest(1 - (high - lower) / width, enough)
    return lower + width * first, lower + width * last


def _farthest(share: Floats, enough: Floats) -> Floats:
    """Return the smallest m in 0..share with KL(share ‖ m) <= enough, rounded down."""
    share = np.clip(share, 0.0, 1.0)
    inside, outside = share.copy(), np.zeros_like(share)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        near = _divergence(share, middle) <= enough
        inside = np.where(near, middle, inside)
        outside = np.where(near, outside, middle)
    return outside


def _divergence(p: Floats, q: Floats) -> Floats:
    """Return KL(p ‖ q) of two coins, with 0·log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return heads + tails
