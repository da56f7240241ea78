"""Choice probabilities: how likely each candidate is chosen, to eleven digits.

Everything is computed from gaps, how far each score lies below the best in units of the
noise. What is left out of a sum is below e^-43 of it, and each integral is a Gauss rule
whose error is bounded on an ellipse around its interval: docs/proofs/noisy_max.md.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.noise.categorical import gaps

Floats = NDArray[np.float64]

FAR = 800.0  # e^-800 is no float any more
_REACH = 45.0  # e^-45: less than a float's last digit
_ENTRIES = 1 << 20  # of a matrix at once


@lru_cache(maxsize=4)
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    """Return places and weights of Gauss's rule on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


def below_best(scores: NDArray[Any], scale: Any) -> Floats:
    """Return the gaps of scores, none of them beyond what floats can tell."""
    return np.minimum(gaps(scores, scores.max(), scale), FAR)


def exponential(gap: Floats, log_weights: Floats | None = None) -> Floats:
    """Return the law ∝ weight·e^-gap, the exponential mechanism's.

    Example:
        >>> exponential(np.array([0.0, 1.0])).round(4)
        array([0.7311, 0.2689])
    """
    log = -gap if log_weights is None else log_weights - gap
    chance = np.exp(log - log.max())
    return np.asarray(chance / math.fsum(chance))


def permute_and_flip(gap: Floats) -> Floats:
    """Return the law of permute and flip: keep each with e^-gap, choose a kept one.

    With q = e^-gap, the number of others that are kept has E 1/(1 + kept) =
    ∫ Π_(j≠i) (1 - q_j t) dt over [0, 1], since ∫ x^kept dx = 1/(1 + kept), x = 1 - t.

    Example:
        >>> permute_and_flip(np.array([0.0, 0.0, 800.0]))
        array([0.5, 0.5, 0. ])
    """
    values, back, counts = _distinct(gap)
    return np.asarray(np.minimum(_kept(np.exp(-values), counts), 1.0)[back])


def _distinct(gap: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return increasing gaps, the place of each candidate's, and how many share it."""
    values, back, counts = np.unique(gap, return_inverse=True, return_counts=True)
    return values, back, counts.astype(np.float64)


def _kept(q: Floats, counts: Floats) -> Floats:
    """Return q_i·∫_0^1 Π_(j≠i) (1 - q_j t) dt for numbers q with multiplicities.

    The product is below e^-(Σq - 1)t: beyond t = 45/Σq nothing is left.
    """
    end = min(1.0, _REACH / float(counts @ q))
    places, weights = _gauss(64)
    found = np.zeros(q.size)
    for place, weight in zip(end * places, end * weights, strict=True):
        log = np.log1p(-q * place)
        found += q * (weight * math.exp(float(counts @ log))) / np.exp(log)
    return found


def laplace_maximum(gap: Floats) -> Floats:
    """Return the law of the largest score with Laplace noise of scale one.

    P(i) = ∫ g(x + gap_i) Π_(j≠i) F(x + gap_j) dx, x from the best score. Above it, with
    y = e^-x, F = 1 - y·e^-gap_j/2: the integral of permute and flip with q = e^-gap/2.
    Below the last score all F are e^(x + gap)/2. Between, Gauss's rule on short pieces.

    Example:
        >>> laplace_maximum(np.array([0.0, 2.0])).round(6)  # (2 + t)e^-t/4 at t = 2
        array([0.864665, 0.135335])
    """
    values, back, counts = _distinct(gap)
    total = float(counts.sum())
    lowest = float(counts @ (values[-1] - values)) + total * math.log(2)
    found = _kept(np.exp(-values) / 2, counts) + math.exp(-lowest) / total
    places, weights = _gauss(16)
    pieces = np.array(_pieces(values, counts)).reshape(-1, 2)
    step = max(1, _ENTRIES // (values.size * places.size))
    for start in range(0, len(pieces), step):
        low, wide = pieces[start : start + step].T[..., None]
        above = (low + wide * places).reshape(-1, 1) + values  # x above each score
        # F is e^above/2 below zero and 1 - e^-above/2 over it; g/F is 1 below zero.
        half = np.exp(-np.abs(above)) / 2
        under = above < 0
        log = np.where(under, above - math.log(2), np.log1p(-half))
        ratio = np.where(under, 1.0, half / (1 - half))
        found += (np.exp(log @ counts) * (wide * weights).ravel()) @ ratio
    return np.asarray(np.minimum(found, 1.0)[back])


def _pieces(gap: Floats, counts: Floats) -> list[tuple[float, float]]:
    """Return (start, width) of pieces between the best score and the last one.

    Between two scores `over` candidates lie above x, and the others weigh
    b = Σ e^-(x - score)/2 together. The logarithm of the integrand changes by less than
    over + 3·b for each unit of x: half a piece is at most min(1/8, 1/over, 1/b). Where
    `most` lie above x, that they all lose has no chance beside e^-gap/total.
    """
    found = []
    most = 80 + math.log2(float(counts.sum()))
    for place in range(gap.size - 1):
        top, x = float(-gap[place]), float(-gap[place + 1])
        over = float(counts[: place + 1].sum())
        if over > most:
            break
        if over > 1:  # the integrand grows as e^(over - 1)x at least
            x = max(x, top - _REACH / (over - 1))
        below, shared = gap[place + 1 :], counts[place + 1 :]
        while x < top:
            weight = float(shared @ np.exp(-(x + below))) / 2
            wide = min(2 / max(8.0, over, weight), top - x)
            found.append((x, wide))
            if x + wide == x:
                break
            x += wide
    return found
