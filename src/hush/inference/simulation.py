"""Inference by simulation: for any mechanism that can be run on simulated data."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.inference.results import Interval
from hush.noise import SECURE, Source

Floats = NDArray[np.float64]
# (parameter, source) -> one simulated release; data may take its seed from the source.
Simulate = Callable[[Any, Source], Any]
Progress = Callable[[int, int], None]  # (done, all)


def _quiet(done: int, every: int) -> None:
    """Report to nobody."""


@final
@dataclass(frozen=True)
class Bootstrap(Interval):
    """A bias-corrected estimate; `draws` are the estimates of simulated releases.

    `raw` is the estimate before the correction. How many people it is worth is not
    known for a model given as a function: `effective` is NaN.
    """

    raw: float
    draws: tuple[float, ...]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the basic interval: quantiles of the error, turned around."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        low, high = np.quantile(np.array(self.draws), [miss, 1 - miss])
        return 2 * self.raw - float(high), 2 * self.raw - float(low)


def bootstrap(
    released: Any,
    *,
    estimate: Callable[[Any], float],
    simulate: Simulate,
    draws: int = 999,
    level: float = 0.95,
    source: Source = SECURE,
    progress: Progress = _quiet,
) -> Bootstrap:
    """Return a parametric bootstrap of any release, with its bias taken off.

    `estimate` turns a release into a number; `simulate(number, source)`
    draws data from the model at that number and releases it with the same mechanism.

    Guarantee: right for large samples, where the law of the error hardly depends on the
    parameter. `confidence_set` is valid at every sample size.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import integers
        >>> noise = Laplace(scale=2.0)
        >>> def survey(share, source):
        ...     asked = integers(1000, size=100, source=source) < 1000 * share
        ...     return noise.run(float(asked.sum()), source=source)
        ...
        >>> found = bootstrap(
        ...     60.0, estimate=lambda z: z / 100, simulate=survey
        ... )
        >>> 0.4 < found.low < 0.55 and 0.65 < found.high < 0.8
        True

    Reference: [ET93]; docs/inference.md.
    """
    times = checks.whole("draws", draws, at_least=19)
    checks.real("level", level, above=0, below=1)
    inputs.function("estimate", estimate)
    inputs.function("simulate", simulate)
    raw = float(estimate(released))
    found = []
    for done in range(times):
        found.append(float(estimate(simulate(raw, source))))
        progress(done + 1, times)
    bias = math.fsum(found) / times - raw
    std = float(np.std(found, ddof=1))
    return Bootstrap(raw - bias, std, math.nan, level, raw, tuple(found))


@final
@dataclass(frozen=True)
class ConfidenceSet:
    """Candidates with their p-values; those above 1 - level are in the set."""

    candidates: tuple[Any, ...]
    p_values: tuple[float, ...]
    level: float

    def __str__(self) -> str:
        share = f"{len(self.accepted)} of {len(self.candidates)} candidates accepted"
        told = f"{share} ({100 * self.level:g}%)"
        single = all(isinstance(each, Real) for each in self.candidates)
        if not self.accepted or not single:
            return told
        low, high = self.interval()
        return f"from {low:.4g} to {high:.4g}, {told}"

    @property
    def accepted(self) -> tuple[Any, ...]:
        """The candidates that the release does not contradict."""
        pairs = zip(self.candidates, self.p_values, strict=True)
        return tuple(each for each, p in pairs if p > 1 - self.level)

    def interval(self) -> tuple[float, float]:
        """Return the accepted range of single numbers, one candidate wider each way."""
        order = sorted(range(len(self.candidates)), key=lambda i: self.candidates[i])
        inside = [i for i, j in enumerate(order) if self.p_values[j] > 1 - self.level]
        if not inside:
            return math.nan, math.nan
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(order) - 1)
        return float(self.candidates[order[first]]), float(self.candidates[order[last]])


def confidence_set(
    released: Any,
    *,
    candidates: Sequence[Any],
    simulate: Simulate,
    draws: int = 199,
    level: float = 0.95,
    source: Source = SECURE,
    progress: Progress = _quiet,
) -> ConfidenceSet:
    """Return the candidate parameters that a release does not contradict.

    For each candidate, `draws` releases are simulated; the observed one is ranked among
    them by its distance from the middle of all, itself included.

    Guarantee: under its own parameter the release is exchangeable with the simulated
    ones, so a true candidate is accepted with probability at least `level`, at every
    sample size, for every mechanism, and for any number of draws.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import integers
        >>> noise = Laplace(scale=2.0)
        >>> def survey(share, source):
        ...     asked = integers(1000, size=100, source=source) < 1000 * share
        ...     return noise.run(float(asked.sum()), source=source)
        ...
        >>> found = confidence_set(
        ...     60.0, candidates=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8], simulate=survey
        ... )
        >>> 0.6 in found.accepted, 0.3 in found.accepted
        (True, False)

    Reference: [AW25]; docs/proofs/inference.md.
    """
    times = checks.whole("draws", draws, at_least=19)
    checks.real("level", level, above=0, below=1)
    inputs.function("simulate", simulate)
    tried = inputs.listed("candidates", candidates)
    if not tried:
        raise InvalidArgument("candidates must hold at least one parameter.")
    observed = np.atleast_1d(inputs.numbers("released", released)).ravel()
    p_values = []
    for done, theta in enumerate(tried, 1):
        rows = [observed]
        for _ in range(times):
            row = np.asarray(simulate(theta, source), dtype=np.float64)
            rows.append(np.atleast_1d(row).ravel())
        _same_shape(rows)
        p_values.append(_depth(np.array(rows)))
        progress(done, len(tried))
    return ConfidenceSet(tuple(tried), tuple(p_values), level)


def _same_shape(rows: list[Floats]) -> None:
    observed, *simulated = (row.size for row in rows)
    if any(size != observed for size in simulated):
        raise InvalidArgument(
            f"simulate must return as many numbers as were released, {observed}."
        )


def _depth(rows: Floats) -> float:
    """Return the share of rows at least as far out as the first, by Mahalanobis."""
    away = rows - rows.mean(axis=0)
    covariance = np.atleast_2d(np.cov(rows, rowvar=False))
    scale = float(np.trace(covariance)) or 1.0
    covariance += 1e-9 * scale * np.eye(covariance.shape[0])
    far = np.einsum("ij,ij->i", away @ np.linalg.inv(covariance), away)
    # Ties count as far out; the slack keeps equal rows equal after rounding.
    return float(np.mean(far >= far[0] * (1 - 1e-9)))
