"""Between the notions: δ as a function of ε, tests, divergences, and back."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from hush.errors import InvalidArgument
from hush.privacy.discrete_pair import Atoms
from hush.privacy.rounding import Floats, crossing_ends, down, up

# Below this δ a tail no longer matters to any guarantee worth stating.
NEGLIGIBLE = 1e-40
_KNOTS = 600  # of a profile between which it is bracketed
_FAR = 700.0  # e to this power is still a float
_SMALLEST = 745.0  # minus the log of the smallest float


def tradeoff(delta_at: Callable[[Any], Any], alpha: float) -> float:
    """Return sup over ε of f_{ε,δ(ε)}(α): any ε is sound, the best one tight.

    Reference: [DRS22] Proposition 2.5 (N13.P8).
    """
    if alpha >= 1.0:
        return 0.0

    def error(x: float) -> float:
        # x >= 0 is the branch 1 - δ - e^ε α, x < 0 the branch e^-ε (1 - δ - α).
        missing = 1.0 - float(delta_at(abs(x)))
        return (
            missing - math.exp(x) * alpha if x >= 0 else math.exp(x) * (missing - alpha)
        )

    right = -math.log(alpha) if alpha > 0 else _SMALLEST
    left = crossing_ends(lambda e: float(delta_at(e)), 1.0 - alpha)[1]
    # Beyond it the error is negative: half as far again, lest the end be the optimum.
    left = min(_FAR, 1.5 * left + 2.0) if math.isfinite(left) else _FAR
    found = maximize(error, -left, min(right, _SMALLEST))
    return max(0.0, float(down(max(found, error(0.0)))))


def maximize(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the largest value met on a search for the top of a unimodal function."""
    golden = (math.sqrt(5) - 1) / 2
    a, b = low, high
    x, y = b - golden * (b - a), a + golden * (b - a)
    fx, fy = function(x), function(y)
    best = max(fx, fy)
    for _ in range(90):
        if fx < fy:
            a, x, fx = x, y, fy
            y = a + golden * (b - a)
            fy = function(y)
        else:
            b, y, fy = y, x, fx
            x = b - golden * (b - a)
            fx = function(x)
        best = max(best, fx, fy)
        if b - a <= 1e-9 * max(1.0, abs(a)):
            break
    return best


def renyi(pair: Atoms, order: float) -> float:
    """Return the Rényi divergence of a finite pair, order >= 1, to 1e-13 relative."""
    # Losses whose powers are beyond the floats give NaN: they bound nothing.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = pair.kl() if order == 1.0 else pair.log_moment(order) / (order - 1)
    return found if math.isnan(found) else max(found, 0.0)


def divergence(
    pair: Atoms,
    F: Callable[[Any], Any],  # noqa: N803
    moment: Callable[[float], float],
) -> tuple[float, float]:
    """Bracket Σ Q F(P/Q) of a finite pair that stands for one with unbounded losses.

    Mass that only P has lies beyond the ratio R of the highest loss. Where F is not
    linear at infinity, F may grow there no faster than a power of t, and `moment` (the
    Rényi divergence of an order) pays: E_Q[F(r); r > R] <= F(R) R^-k E_Q[r^k].
    """

    def value(t: float) -> float:
        with np.errstate(all="ignore"):
            return float(F(t))

    if not abs(value(1.0)) < 1e-12:
        raise InvalidArgument(
            f"F must vanish at 1; F(1) = {value(1.0)!r}. Subtract it."
        )
    zero = value(1e-300)  # F(0), or so large that it counts as infinite
    # A slope that still grows between 1e140 and 1e150 never settles (t log t, t²).
    slope, earlier = value(1e150) / 1e150, value(1e140) / 1e140
    tail = 0.0
    if slope > 1.01 * earlier + 1e-12:
        top = float(np.exp(pair.losses[-1])) if pair.losses.size else 1.0
        power = 2 + math.ceil(max(0.0, math.log10(slope / max(earlier, 1e-300)) / 10))
        slope = (value(2 * top) - value(top)) / top
        if pair.p_only > 0:
            orders = [power + 2.0**j for j in range(12)]
            logs = [(k - 1) * moment(k) - k * math.log(top) for k in orders]
            tail = math.exp(min(logs)) if min(logs) < _FAR else math.inf
            tail *= abs(value(top))
    ratios = np.exp(pair.losses)
    terms = np.array([value(float(t)) for t in ratios])
    total = pair.divergence((zero if zero < 690 else math.inf, slope), terms)
    size = 1e-12 * float(pair.masses @ np.abs(terms / ratios)) + 1e-15
    return max(0.0, total - size), total + size + tail


def mu_of_pure(epsilon: float) -> float:
    """Return the smallest μ for which every ε-DP mechanism is μ-GDP, rounded up."""
    if math.isinf(epsilon):
        return math.inf
    if 0 < epsilon <= 1:
        # μ = 2 Φ⁻¹(e^ε/(1+e^ε)), and that probability is (1 + tanh(ε/2))/2: near one
        # half erf⁻¹ keeps the digits that Φ⁻¹ would lose.
        half = scipy.special.erfinv(math.tanh(epsilon / 2))
        return float(up(2 * math.sqrt(2) * half, 64)) or 2 * math.ulp(0.0)
    # log of 1/(1+e^ε), so that a large ε does not round to a probability of one.
    corner = -np.logaddexp(0.0, epsilon)
    return float(up(-2 * scipy.special.ndtri_exp(corner), 64)) if epsilon > 0 else 0.0


def first_knots(top: float, thin: int) -> Floats:
    """Return ε from 0 to `top`, beyond which δ is negligible; one in `thin` of them."""
    top = top if math.isfinite(top) else _FAR
    # Even steps resolve the bulk, a geometric start profiles that fall at once.
    found = np.union1d(
        np.linspace(0.0, top, 300 // thin), np.geomspace(top * 1e-7, top, 500 // thin)
    )
    apart = np.concatenate([[True], np.diff(found) > 1e-9 * top])
    return np.asarray(found[apart])


def even_knots(found: Floats, delta: Floats, thin: int) -> Floats:
    """Return knots between which chords err equally, from first ones and δ there."""
    # Cells that hold more of the loss get more knots: h ∝ density^(-1/3) spreads the
    # error of the chords evenly.
    top, step = found[-1], np.diff(found)
    drop = -np.diff(delta)
    mass = np.maximum(drop / -np.expm1(-step) - np.append(drop[1:], 0.0), 0.0)
    weight = (np.maximum(mass, 0.0) / step) ** (1 / 3)
    share = np.append(0.0, np.cumsum(weight * step))
    share = share / share[-1] + found / top / 2
    inverse = np.interp(np.linspace(0, share[-1], _KNOTS // thin), share, found)
    return np.unique(np.concatenate([[0.0], inverse, [top]]))
