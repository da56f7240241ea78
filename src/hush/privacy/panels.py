"""Gauss-Legendre panels with an a-priori error bound from analyticity."""

from collections.abc import Callable

import numpy as np

from hush.privacy.loss_law import Floats

# Roots of the Legendre polynomial of degree 24 and their weights, correctly rounded:
# library routines lose three digits in the outermost weights.
_HALF_NODES = (
    (0.06405689286260563, 0.12793819534675216),
    (0.1911188674736163, 0.1258374563468283),
    (0.3150426796961634, 0.12167047292780339),
    (0.4337935076260451, 0.1155056680537256),
    (0.5454214713888396, 0.10744427011596563),
    (0.6480936519369755, 0.09761865210411388),
    (0.7401241915785544, 0.08619016153195327),
    (0.820001985973903, 0.0733464814110803),
    (0.8864155270044011, 0.05929858491543678),
    (0.9382745520027328, 0.04427743881741981),
    (0.9747285559713095, 0.028531388628933663),
    (0.9951872199970213, 0.0123412297999872),
)
_POSITIVE, _POSITIVE_WEIGHTS = np.array(_HALF_NODES).T
NODES = np.concatenate([-_POSITIVE[::-1], _POSITIVE])
WEIGHTS = np.concatenate([_POSITIVE_WEIGHTS[::-1], _POSITIVE_WEIGHTS])
LOG_WEIGHTS = np.log(WEIGHTS)
_POINTS = NODES.size
# On a panel of half-width r, a function bounded by B on the Bernstein ellipse of
# parameter ρ is integrated within r (64/15) B ρ^(-2(n-1)) / (1 - ρ^-2)
# ([Tre13] Theorem 19.3). Several ρ are tried; the best one counts.
_ELLIPSES = (2.5, 4.0, 8.0, 16.0)
_SLICES = np.linspace(-1.0, 1.0, 13)

# (left ends, right ends, height) -> bound on log|f| over those boxes of the plane.
LogBound = Callable[[Floats, Floats, Floats], Floats]


def split(left: float, right: float, width: float) -> Floats:
    """Return the ends of equal panels no wider than `width`."""
    return np.linspace(left, right, max(1, int(np.ceil((right - left) / width))) + 1)


def log_errors(ends: Floats, log_bound: LogBound) -> Floats:
    """Return the log of the quadrature error of each panel."""
    middle = (ends[1:] + ends[:-1])[:, None] / 2
    half = (ends[1:] - ends[:-1])[:, None] / 2
    best = np.full(half.shape[0], np.inf)
    for rho in _ELLIPSES:
        along, across = (rho + 1 / rho) / 2, (rho - 1 / rho) / 2
        # The ellipse lies in a box, cut into slices so that each bound is local; the
        # height of the ellipse over a slice is what the slice needs.
        left = middle + along * half * _SLICES[:-1]
        right = middle + along * half * _SLICES[1:]
        inner = np.minimum(np.abs(_SLICES[:-1]), np.abs(_SLICES[1:]))
        inner[len(inner) // 2 - 1 : len(inner) // 2 + 1] = 0.0
        height = across * half * np.sqrt(1 - inner**2)
        top = log_bound(left, right, height).max(axis=1)
        constant = np.log(64 / 15 / (1 - rho**-2)) - 2 * (_POINTS - 1) * np.log(rho)
        best = np.minimum(best, top + constant + np.log(half[:, 0]))
    return best


def refine(ends: Floats, log_bound: LogBound, log_tolerance: float) -> Floats:
    """Halve panels until each errs by at most e^log_tolerance, or give up quietly."""
    for _ in range(14):
        wide = log_errors(ends, log_bound) > log_tolerance
        if not wide.any() or ends.size > 300:
            break
        middles = (ends[1:] + ends[:-1])[wide] / 2
        ends = np.sort(np.concatenate([ends, middles]))
    return ends


def nodes(ends: Floats) -> tuple[Floats, Floats]:
    """Return the points and log weights of all panels, in increasing order."""
    half = (ends[1:] - ends[:-1])[:, None] / 2
    points = (ends[1:] + ends[:-1])[:, None] / 2 + half * NODES
    return points.ravel(), (np.log(half) + LOG_WEIGHTS).ravel()
