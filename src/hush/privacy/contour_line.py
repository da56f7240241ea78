"""One contour of the inversion integral, and what rounding and cutting cost it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hush.privacy.loss_law import ROUNDING, Floats
from hush.privacy.saddle import log_chernoff
from hush.privacy.tilt import Complexes

TINY = 5e-324  # the smallest upper bound that is not a claim of perfect privacy


@final
@dataclass(frozen=True)
class Contour:
    """One contour with the transform on its nodes; it answers any epsilon nearby.

    Guarantee: `delta(epsilon)` brackets the truth for every epsilon.
    """

    c: float
    step: float
    log_scale: float  # K(c)
    log_scale_error: float
    mean: float  # K'(c)
    mean_error: float
    logs: Complexes  # log of the transform on the nodes, over e^(K(c) + it K'(c))
    errors: Floats  # absolute error of each exponential of those, from the transform
    log_tail: float  # of Σ |transform| beyond the last node, on that scale
    aliases: tuple[tuple[float, float], ...]  # tilts left and right, upper bounds of K
    top: float  # upper bound of the sum without its Gaussian part
    gaussian: float  # variance of the Gaussian part
    smoothing: float  # variance of the Gaussian composed to make the tail converge
    missing: float  # P-mass of finite losses left out
    infinite: tuple[float, float]  # bracket of the mass at +infinity

    def _alias(self, epsilon: float) -> float:
        """Return log of a bound on what the trapezoid rule adds to the integral."""
        width = 2 * math.pi / self.step
        total = -math.inf
        room = width - (self.top - epsilon)
        for s, log_mass in self.aliases:
            part = _alias(self.c, width, epsilon, s, log_mass)
            if s > self.c and room > 0:
                # Few can exceed the top: K(s) <= s top + v s (s+1)/2 at any tilt.
                rise = 60 + self.c * max(self.top - epsilon, 0.0)
                s = self.c + (rise + abs(self.log_scale - self.c * epsilon)) / room
                bound = s * self.top + 0.5 * self.gaussian * s * (s + 1)
                part = min(part, _alias(self.c, width, epsilon, s, bound))
            total = float(np.logaddexp(total, part))
        return total

    def _phases(self, epsilon: float) -> tuple[Floats, Complexes, Floats]:
        """Return the nodes, e^(logs + turn) there, and a bound on the error of each."""
        t = self.step * np.arange(self.logs.size, dtype=np.float64)
        turn = (self.mean - epsilon) * t
        terms: Complexes = np.exp(self.logs + 1j * turn)
        # The turn is off by t times the error of its factor; exponentials by theirs.
        blur = self.mean_error + ROUNDING * (abs(self.mean) + abs(epsilon))
        shift = np.minimum(t * blur, 2.0) + ROUNDING * (16 + np.abs(turn))
        error = self.errors + np.abs(terms) * shift
        terms[0] *= 0.5
        return t, terms, error

    @cached_property
    def _kernel(self) -> tuple[Complexes, Floats]:
        """1/(z(z+1)) on the nodes, and its modulus."""
        z = self.c + 1j * self.step * np.arange(self.logs.size, dtype=np.float64)
        kernel: Complexes = np.asarray(1 / (z * (z + 1)), dtype=np.complex128)
        return kernel, np.abs(kernel)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """Return value, error and the share of smoothing, over e^(K(c) - cε)."""
        t, terms, error = self._phases(epsilon)
        kernel, size = self._kernel
        weight = self.step / math.pi
        total = float((terms * kernel).real.sum()) * weight
        blur = float(error @ size) * weight * (1 + 1e-9)
        beyond = math.exp(min(self.log_tail, 700.0))
        if not self.smoothing:
            return total, blur + beyond, 0.0
        # δ_v - v e^(v/8) p_v(ε) <= δ <= δ_v, p_v the density of the smoothed loss,
        # whose trapezoid sum errs upwards as well. Beyond the last node the Gaussian
        # factor makes |terms| fall faster than 1/t², so `beyond` times t² covers it.
        density = (float(terms.real.sum()) + float(error.sum())) * weight
        density += beyond * float(t[-1]) ** 2
        v = self.smoothing
        return total, blur + beyond, max(density, 0.0) * v * _exp(v / 8)

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of log delta."""
        lower, upper = self.delta(epsilon)
        return (
            math.log(lower) if lower > 0 else -math.inf,
            math.log(upper) if upper > 0 else -math.inf,
        )

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of delta."""
        total, error, smooth = self._sums(epsilon)
        factor = self.log_scale - self.c * epsilon
        slack = self.log_scale_error + ROUNDING * (
            8 + 4 * abs(self.log_scale) + 4 * abs(self.c * epsilon)
        )
        up, down = _exp(factor + slack), _exp(factor - slack)
        alias = _exp(self._alias(epsilon))
        low_mass, high_mass = self.infinite
        # Chernoff at this very tilt is always there to fall back on.
        chernoff = up * _exp(log_chernoff(self.c)) * (1 + float(self.errors[0]))
        sign = 1.0 if self.c > 0 else -1.0
        most = min(up * (sign * total + error), chernoff)
        least = down * max(sign * total - error, 0.0) - alias
        if not math.isfinite(most + least):
            most, least = chernoff, 0.0
        if self.c < 0:
            # This contour measures 1 - δ; smoothing raised δ, so it lowered that.
            lower = 1 - (most + up * smooth) - self.missing - 4 * ROUNDING
            return max(lower, low_mass), min(1 - max(least, 0.0) + 4 * ROUNDING, 1.0)
        lower = (max(least - up * smooth, 0.0) + low_mass) * (1 - 2 * ROUNDING)
        upper = (most + self.missing + high_mass) * (1 + 4 * ROUNDING)
        return lower, min(max(upper, TINY), 1.0)


def _alias(c: float, width: float, epsilon: float, s: float, log_mass: float) -> float:
    """Return log Σ_m of δ(ε ± m width) e^(±cm width) by Chernoff at tilt s."""
    fall = abs(s - c) * width
    if not fall > 1e-3:
        return math.inf
    part = log_chernoff(s) + log_mass - s * epsilon - fall
    return part - math.log(-math.expm1(-fall))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
