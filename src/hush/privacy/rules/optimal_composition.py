"""Optimal composition of (ε, δ): every mechanism at its worst, counted exactly."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import Floats

Bracket = tuple[Floats, Floats]


def _with_failures(pure: Bracket, log_kept: float) -> Bracket:
    """Return 1 - kept (1 - pure): a failure of any part gives everything away."""
    failed, kept = -math.expm1(log_kept), math.exp(log_kept)
    low, high = (failed + kept * value for value in pure)
    slack = 1e-14 if log_kept < 0 else 0.0
    return low * (1 - slack), np.minimum(high * (1 + slack), 1.0)


def copies(epsilon_0: float, delta_0: float, times: int, epsilon: Floats) -> Bracket:
    """Bracket δ(ε) of k copies of (ε₀, δ₀), exact up to rounding.

    Σ_i C(k,i) (e^((k-i)ε₀) - e^(ε+iε₀))+ / (1+e^ε₀)^k: a binomial number k-i of
    outcomes points one way, and the loss is (k-2i)ε₀. Beyond 40 standard deviations the
    terms are bounded by a tail probability.

    Reference: [KOV15] Theorem 3.3 (N10.2).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    log_kept = times * math.log1p(-delta_0)
    if math.isinf(epsilon_0):
        one = np.ones(epsilon.shape)
        return one, one
    flat = np.atleast_1d(epsilon).ravel()
    low, high = np.zeros(flat.shape), np.zeros(flat.shape)
    for j, value in enumerate(flat):
        low[j], high[j] = _pure_copies(epsilon_0, times, float(value))
    shape = epsilon.shape
    return _with_failures((low.reshape(shape), high.reshape(shape)), log_kept)


def _pure_copies(epsilon_0: float, times: int, epsilon: float) -> tuple[float, float]:
    if epsilon >= times * epsilon_0:
        return 0.0, 0.0
    p = 1.0 / (1.0 + math.exp(-epsilon_0))
    # Successes m with loss (2m - k) ε₀ > ε.
    first = max(0, math.floor((epsilon / epsilon_0 + times) / 2 * (1 - 1e-15)) - 1)
    # From the threshold (or the mode, if it is higher) 40 deviations reach e^-800, and
    # 2000 more cover binomials so thin that they are Poisson.
    spread = 40 * math.sqrt(times * p * (1 - p)) + 2000
    last = min(times, math.ceil(max(first, times * p) + spread))
    start = max(first, math.floor(times * p - spread))
    total, rest = 0.0, 0.0
    for block in range(start, last + 1, 1_000_000):  # eight megabytes for each array
        m = np.arange(block, min(block + 1_000_000, last + 1), dtype=np.float64)
        loss = (2 * m - times) * epsilon_0
        gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
        log_mass = _log_binomial(times, m, epsilon_0)
        total += float(gain @ np.exp(log_mass))
    if start > first:  # everything skipped below the mode has a tail's probability
        rest += float(scipy.special.betainc(times - start + 1, start, 1 - p))
    # Rounding of log-gamma dominates: k log k units in the exponent.
    slack = 1e-15 * (
        20 + 3 * times**0.5 if times > 10**6 else 40 + 8 * math.log(times + 1)
    )
    slack += 4 * 2.0**-52 * (abs(epsilon) + times * epsilon_0)
    return total * (1 - slack), min(1.0, total * (1 + slack) + rest * 1.01)


def _log_binomial(times: int, m: Floats, epsilon: float) -> Floats:
    """Return log of C(k,m) p^m (1-p)^(k-m), p = 1/(1+e^-ε), by Stirling's remainder."""
    k = float(times)
    log_p, log_q = -np.logaddexp(0.0, -epsilon), -np.logaddexp(0.0, epsilon)
    rest = k - m
    with np.errstate(divide="ignore", invalid="ignore"):
        # As deviances from the means kp and kq the entropies do not cancel.
        p, q = math.exp(log_p), math.exp(log_q)
        deviance = _deviance(m, k * p) + _deviance(rest, k * q)
        edge = _stirling(k) - _stirling(m) - _stirling(rest)
        root = 0.5 * np.log(k / (2 * np.pi * m * rest))
        inner = edge + root - deviance
    ends = np.where(m == 0, k * log_q, k * log_p)
    return np.where((m > 0) & (rest > 0), inner, ends)


def _deviance(x: Floats, mean: float) -> Floats:
    """Return x log(x/mean) - x + mean, accurate near x = mean (Loader's form)."""
    ratio = (x - mean) / mean
    small = np.abs(ratio) < 0.1
    r = np.where(small, ratio, 0.0)
    # mean ((1+r) log(1+r) - r), by the series Σ_n (-r)^n/(n(n-1)) where it would
    # cancel: for |r| < 0.1 the term r^18/306 is below every rounding.
    series = sum((-1) ** n * r**n / (n * (n - 1)) for n in range(2, 18))
    plain = scipy.special.xlogy(x, x / mean) - x + mean
    return np.where(small, mean * series, plain)


def _stirling(x: Floats | float) -> Floats:
    """Return log x! minus Stirling's leading form (x + 1/2) log x - x + log √2π.

    From 16 on by its series 1/12x - 1/360x³ + …, which errs there by 2e-14 at most.
    """
    x = np.asarray(x, dtype=np.float64)
    y = np.maximum(x, 16.0)
    series = 1 / (12 * y) - 1 / (360 * y**3) + 1 / (1260 * y**5) - 1 / (1680 * y**7)
    z = np.where(x > 0, np.minimum(x, 16.0), 1.0)
    direct = (
        scipy.special.gammaln(z + 1)
        - (z + 0.5) * np.log(z)
        + z
        - 0.5 * math.log(2 * math.pi)
    )
    return np.where(x >= 16, series, direct)


def mixed(
    curves: Sequence[Pure | Approx], epsilon: float, *, relative: float = 1e-3
) -> tuple[float, float]:
    """Bracket δ(ε) of different (ε_i, δ_i) to a requested relative width.

    The exact value is #P-complete; rounding every ε_i to a lattice, up and down,
    brackets it, and the lattice is refined until the bracket is narrow enough.

    Example:
        >>> low, high = mixed([Pure(0.1), Pure(0.2), Approx(0.3, 1e-6)], 0.4)
        >>> high - low <= 1e-3 * high
        True

    Reference: [MV16] (N10.2).
    """
    epsilon = checks.real("epsilon", epsilon, at_least=0)
    relative = checks.real("relative", relative, above=0, below=1)
    if not curves or not all(isinstance(each, Pure | Approx) for each in curves):
        raise InvalidArgument("curves must be Pure or Approx; use compose for others.")
    log_kept = math.fsum(math.log1p(-getattr(each, "delta", 0.0)) for each in curves)
    losses = [each.epsilon for each in curves]
    if math.isinf(max(losses)):
        return 0.0, 1.0
    cells = 256  # multiplied by four until ends agree, at most to 2^24
    while True:
        step = max(math.fsum(losses) / cells, 1e-300)
        high = _lattice(losses, step, epsilon, up=True)
        low = _lattice(losses, step, epsilon, up=False)
        bracket = _with_failures((np.asarray(low), np.asarray(high)), log_kept)
        found = float(bracket[0]), float(bracket[1])
        if found[1] - found[0] <= relative * found[1] or cells > 2**22:
            return found
        cells *= 4


def _lattice(
    losses: Sequence[float], step: float, epsilon: float, *, up: bool
) -> float:
    """Return δ(ε) of randomized responses, each ε_i rounded to a multiple of step."""
    law = np.ones(1)  # law of (Σ (loss_i + ε_i))/(2 step): each adds 0 or ε_i/step
    total = 0
    for loss in losses:
        exact = Fraction(loss) / Fraction(step)
        units = math.ceil(exact) if up else math.floor(exact)
        p = 1 / (1 + math.exp(-units * step))
        grown = np.zeros(law.size + units)
        grown[: law.size] += law * (1 - p)
        grown[units:] += law * p
        law, total = grown, total + units
    sums = (2 * np.arange(law.size) - total) * step
    value = float(law @ -np.expm1(np.minimum(epsilon - sums, 0.0)))
    slack = 1e-14 + 4e-16 * len(losses)
    return value * (1 + slack) if up else value * (1 - slack)
