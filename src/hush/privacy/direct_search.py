"""Asking the direct engine: which window of losses, and how fine a grid."""

import math

import numpy as np
import scipy

from hush.privacy.direct import polygon
from hush.privacy.loss_law import LossLaw
from hush.privacy.saddle import Components
from hush.privacy.subsampled_gaussian import SubsampledGaussianLoss

_MOST_COPIES = 4096
_LARGEST_RISE = 600.0
_SMALLEST = 1e-290
_SHARP = 8e-7
_AIM = 3e-7
_TURNS = 60  # never reached: windows shrink to fit, then grids get finer
# Sizes of grids: up to the middle one they cost less than other engines.
COARSE, FINE, FINEST = 768, 6144, 1 << 14


def applies(components: Components) -> bool:
    """Tell whether the composition is one that this engine can convolve."""
    if len(components) != 1:
        return False
    law, times = components[0]
    return (
        isinstance(law, SubsampledGaussianLoss)
        and law.rate < 1
        and 1 < times <= _MOST_COPIES
    )


def epsilon_bracket(
    step: tuple[LossLaw, int],
    delta: float,
    lower: float,
    upper: float,
    grids: tuple[int, int] = (COARSE, FINEST),
) -> tuple[float, float]:
    """Improve a bracket of epsilon, on grids from the first size to the last.

    Guarantee: as that of the given bracket.

    Example:
        >>> step = SubsampledGaussianLoss(std=0.3, rate=1e-7, direction="remove")
        >>> with np.errstate(all="ignore"):
        ...     low, high = epsilon_bracket((step, 30), 1e-6, 0.0, math.inf)
        ...
        >>> round(low, 9), round(high, 9)
        (4.2201e-05, 4.2201e-05)

    Reference: docs/proofs/direct.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    search = _add if law.direction == "add" else _remove
    return search(law, times, delta, (lower, upper), grids)


def delta_bracket(
    step: tuple[LossLaw, int],
    epsilon: float,
    lower: float,
    upper: float,
    grids: tuple[int, int] = (COARSE, FINEST),
) -> tuple[float, float]:
    """Improve a bracket of delta, on grids from the first size to the last.

    Guarantee: as that of the given bracket.

    Reference: docs/proofs/direct.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    base = times * math.log1p(-law.rate)
    rise = 1.001 * (epsilon - base if law.direction == "remove" else -base - epsilon)
    count = grids[0]
    while count and 0 < rise <= _LARGEST_RISE:
        most = polygon(law, times, rise, count, 1).delta(epsilon)
        least = polygon(law, times, rise, count, 0).delta(epsilon)
        upper = min(upper, most) if most >= 0 else upper
        lower = max(lower, least) if least >= 0 else lower
        # A grid's own rounding is far above what is still smaller.
        if upper - lower <= _SHARP * upper or upper < _SMALLEST:
            break
        count = _finer(count, (most - least) / upper, grids)
    return min(lower, upper), upper


def _remove(
    law: SubsampledGaussianLoss,
    times: int,
    delta: float,
    bracket: tuple[float, float],
    grids: tuple[int, int],
) -> tuple[float, float]:
    lower, upper = bracket
    base = times * math.log1p(-law.rate)
    known = lower > 0.9 * upper
    end = 1.005 * upper if known else 1.2 * single_jump(law, times, delta)
    rise, count = end - base, grids[0]
    for _ in range(_TURNS):
        if not count or not 0 < rise <= _LARGEST_RISE:
            break
        above = polygon(law, times, rise, count, 1)
        if above.value[-1] > delta:  # the window ends too early
            rise *= 1.5
            continue
        most = above.epsilon(delta)
        if not most > 0:  # δ(0) is below delta
            return 0.0, 0.0
        upper = min(upper, most)
        if most - base < 0.8 * rise:
            rise = 1.05 * (most - base)
            continue
        least = polygon(law, times, rise, count, 0).epsilon(delta)
        lower = max(lower, least) if least > 0 else lower
        if upper - lower <= _SHARP * upper:
            break
        count = _finer(count, (most - least) / upper, grids)
        rise = 1.005 * (most - base)
    return min(lower, upper), upper


def _add(
    law: SubsampledGaussianLoss,
    times: int,
    delta: float,
    bracket: tuple[float, float],
    grids: tuple[int, int],
) -> tuple[float, float]:
    lower, upper = bracket
    top = -times * math.log1p(-law.rate)
    rise = 1.01 * min(_depth(law, times, delta), top - lower)
    count = grids[0]
    for _ in range(_TURNS):
        if not count or not 0 < rise <= _LARGEST_RISE:
            break
        least = polygon(law, times, rise, count, 0).epsilon(delta)
        if math.isfinite(least):
            lower = max(lower, least)
            if top - least < 0.8 * rise:
                rise = 1.05 * (top - least)
                continue
        above = polygon(law, times, rise, count, 1)
        if above.delta(0.0) <= delta:
            return 0.0, 0.0
        most = above.epsilon(delta)
        upper = min(upper, most) if math.isfinite(most) else upper
        if upper - lower <= _SHARP * upper:
            break
        count = _finer(count, (most - least) / upper, grids)
        rise = 1.005 * (top - lower)
    return min(lower, upper), upper


def _finer(count: int, width: float, grids: tuple[int, int]) -> int:
    """Return a grid that should be fine enough; zero where it is, or none is."""
    last = grids[1]
    if not width >= 0:  # the window missed: try again, closer
        return min(2 * count, last) if count < last else 0
    need = count * math.sqrt(width / _AIM)  # both sides are second order
    # A coarse grid promises little, so hope is lost on a later one only.
    if count >= last or (count > COARSE and need > 2 * last):
        return 0
    return min(max(math.ceil(min(need, last)), 2 * count), 5 * count, last)


def single_jump(law: SubsampledGaussianLoss, times: int, delta: float) -> float:
    """Guess epsilon as if one step made it all."""
    low, high = 0.0, 1e-9
    while times * float(law.delta(high)[1]) > delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if times * float(law.delta(middle)[1]) > delta:
            low = middle
        else:
            high = middle
    return high


def _depth(law: SubsampledGaussianLoss, times: int, delta: float) -> float:
    """Guess how far below the largest loss epsilon is: all steps lose nearly all."""
    # δ >= P(all rises <= r) (1 - e^(T r - depth)), for the best r.
    z = np.linspace(-38.0, 12.0, 501)
    y = (z - 0.5 / law.std) / law.std
    rise = np.log1p(law.rate / (1 - law.rate) * np.exp(np.minimum(y, 700.0)))
    share = np.exp(math.log(delta) - times * scipy.special.log_ndtr(z))
    depth = np.where(share < 1, times * rise - np.log1p(-share), np.inf)
    return float(depth.min())
