"""The sampling error of a mean whose variance was itself released with noise.

A noisy variance v may be far from the true one, s: below its own noise it says next to
nothing. The interval then uses a value ŝ(v) in place of s, chosen so that coverage,
averaged over the noise of v, is at least nominal at every s and hardly above it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from scipy import special

from hush.inference import closed_form
from hush.inference.error_convolution import Part, normal

_STEP = 0.05  # of the grid for v, in standard deviations of its noise
_FAR = 8.0
_FINEST, _COARSEST = 2.0**-8, 2.0**6  # ratios between which the rule is worked out


@final
@dataclass(frozen=True)
class Sampled:
    """The error of a mean whose sampling variance s/n was released as `variance`.

    `doubt` is the standard deviation of the noise of that variance, `mean` that of the
    noise of the mean, each normal or Laplace (`bell`). `freedom` is that of the sample
    variance, and `most` is the largest that s/n can be.

    Guarantee: for normal values coverage is at least nominal (to 2e-4) at every true
    variance. Where sampling matters less than the noise of the mean it is hardly above;
    the interval is never narrower than that of the noise alone, so a true variance far
    below its noise is covered more often.

    Reference: docs/proofs/inference.md.
    """

    variance: float
    freedom: float
    most: float
    doubt: float
    mean: float
    bell: tuple[bool, bool] = (False, False)

    def at(self, level: float) -> Part:
        """Return the normal error to use in an interval of this level."""
        return normal(math.sqrt(self.used(level)))

    def used(self, level: float) -> float:
        """Return ŝ/n: the variance that makes an interval of this level cover."""
        p = (1 + level) / 2
        z = float(special.ndtri(p))
        student = (float(special.stdtrit(max(self.freedom, 1.0), p)) / z) ** 2
        found = min(self.variance, self.most)
        if self.doubt == 0:
            return max(found, self.most * 1e-12) * student
        if found < self.doubt * self._threshold(level):
            return 0.0
        spread = float(_corrected(np.array(found / self.doubt), z)) * self.doubt
        return spread + max(found, 0.0) * (student - 1)

    def _threshold(self, level: float) -> float:
        """Return below how many standard deviations of noise v counts as zero."""
        if self.mean == 0:
            return -math.inf
        # Rounded up to a power of 2^(1/4): a larger ratio has a lower threshold.
        ratio = max(self.doubt / self.mean**2, _FINEST)
        ratio = 2.0 ** (math.ceil(4 * math.log2(ratio)) / 4)
        if ratio > _COARSEST:
            return -math.inf
        # Two digits of the risk: p-values ask for levels of any kind.
        return _threshold(ratio, 1 - float(f"{1 - level:.2g}"), *self.bell)

    def __add__(self, other: "Sampled") -> "Sampled":
        """Return the error of the sum of two means, of independent samples."""
        a, b = self.variance, other.variance
        squares = a * a / self.freedom + b * b / other.freedom
        # Satterthwaite's degrees of freedom, never fewer than those of either sample.
        freedom = (a + b) ** 2 / squares if squares > 0 else self.freedom
        return Sampled(
            a + b,
            max(freedom, min(self.freedom, other.freedom)),
            self.most + other.most,
            math.hypot(self.doubt, other.doubt),
            math.hypot(self.mean, other.mean),
            (self.bell[0] and other.bell[0], self.bell[1] and other.bell[1]),
        )


def _corrected(v: closed_form.Floats, z: float) -> closed_form.Floats:
    """Return ŝ for a variance v with noise of variance 1, where v is believed.

    With ŝ = v the coverage Φ(z√(v/s)) is concave in v and falls short by its second
    derivative; k/v more, k = (z² + 1)/4, makes up for it. Below √k that would rise
    again as v falls: it stays at 2√k.
    """
    k = (z * z + 1) / 4
    inside = np.maximum(v, math.sqrt(k))
    return np.asarray(inside + k / inside)


@lru_cache(maxsize=512)
def _threshold(
    ratio: float,
    level: float,
    bell: bool,  # noqa: FBT001 - a cache key
    plain: bool,  # noqa: FBT001 - a cache key
) -> float:
    """Return the largest threshold at which coverage is nominal for every s.

    In units of the noise of v, with the noise of the mean at variance 1, sampling has
    variance ratio·s. Coverage is ∫ P(|error| <= q(ŝ(v))) dP(v) on a grid of v.
    """
    scale = 1 / math.sqrt(2)
    p = (1 + level) / 2
    z = float(special.ndtri(p))
    s = np.concatenate([[1e-6], np.geomspace(0.1, 10, 14)])[:, None]
    edges = np.arange(-_FAR, _FAR + _STEP, _STEP)
    half = np.exp(-np.abs(edges) / scale) / 2
    below = special.ndtr(edges) if bell else np.where(edges < 0, half, 1 - half)
    weight = np.diff(below)
    noise = () if plain else (scale,)
    extra = 1.0 if plain else 0.0
    v = s + (edges[1:] + edges[:-1]) / 2
    grid = np.linspace(0, _FAR + 11, 200)
    reach = closed_form.quantile(p, np.sqrt(ratio * grid + extra), noise)

    def covered(used: closed_form.Floats) -> closed_form.Floats:
        c = np.interp(used, grid, reach)
        return 1 - 2 * closed_form.tail(c, np.sqrt(ratio * s + extra), noise)[0]

    believed, not_believed = covered(_corrected(v, z)), covered(np.zeros_like(s))
    gain = (believed - not_believed) * weight
    # For each threshold t, Σ over v >= t of the gain.
    tails = np.cumsum(gain[:, ::-1], axis=1)[:, ::-1]
    tails = np.concatenate([tails, np.zeros((s.size, 1))], axis=1)
    thresholds = np.arange(-3.0, 2.0, 0.02)
    total = [
        np.interp(thresholds, s[i] + edges, tails[i]) + not_believed[i]
        for i in range(s.size)
    ]
    enough = np.flatnonzero(np.min(total, axis=0) >= level - 2e-4)
    return float(thresholds[enough[-1]]) if enough.size else -math.inf
