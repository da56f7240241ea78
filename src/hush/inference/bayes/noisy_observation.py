"""A noisy observation: a released number, and the law of the noise that is in it.

A release is z = round(truth/step)·step + step·K, K an integer of a known law. So the
likelihood of a truth is the probability of one integer, exactly: no continuous law
stands for the noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.inference import inputs
from hush.inference.additive_noise import number
from hush.law import Law
from hush.ledger import Release
from hush.mechanisms.error import Error
from hush.mechanisms.mechanism import Mechanism

Floats = NDArray[np.float64]
_MOST = 2.0**62  # steps, which 64 bits hold; no noise goes that far
_FINE = 2.0**-20  # a step below this share of the noise is as good as a line


@final
@dataclass(frozen=True)
class Observation:
    """A released number in steps of its lattice, and the law of the steps of noise.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> seen = Observation.of(7, Geometric(scale=2).error)
        >>> seen.likelihood([7, 8]).round(4).tolist()
        [0.2449, 0.1486]
    """

    steps: int
    law: Law
    step: Fraction

    @classmethod
    def of(cls, released: Any, error: Error) -> "Observation":
        """Return a released number with its noise; whole answers have whole noise."""
        value = number("release", released)
        law, step = error.cases[0]
        if np.asarray(released).dtype.kind in "iu":
            whole = [case for case in error.cases if case[1] == 1]
            law, step = whole[0] if whole else (law, step)
        exact = Fraction(value) / step
        steps = math.floor(exact + Fraction(1, 2))
        if exact != steps and math.sqrt(law.variance) < 1 / _FINE:
            raise InvalidArgument(
                f"release must be a multiple of {float(step):g}, the lattice of its "
                "noise; a number that was rounded, shared out or scaled afterwards has "
                "another law. Give what the mechanism returned."
            )
        return cls(steps, law, step)

    @property
    def value(self) -> float:
        """The released number."""
        return float(self.steps * self.step)

    @property
    def std(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(self.law.variance) * float(self.step)

    def log_likelihood(self, truth: ArrayLike) -> Floats:
        """Return log P(release | the exact number before rounding and noise)."""
        # Steps are powers of two, so that the division is exact.
        near = np.floor(np.asarray(truth, np.float64) / float(self.step) + 0.5)
        return self.log_steps(float(self.steps) - near)

    def log_steps(self, steps: ArrayLike) -> Floats:
        """Return log P(noise is so many steps)."""
        whole = np.clip(np.asarray(steps, np.float64), -_MOST, _MOST).astype(np.int64)
        return np.asarray(self.law.log_pmf(whole))

    def likelihood(self, truth: ArrayLike) -> Floats:
        """Return P(release | the exact number before rounding and noise)."""
        return np.asarray(np.exp(self.log_likelihood(truth)))

    def around(self, truth: Floats, width: float) -> Floats:
        """Return the likelihood, averaged over truths in cells of this width.

        P(a < step·K <= b)·step/width for the ends of z - cell: the mean over the cell
        of the chance of one step, where a cell holds many steps.
        """
        if width < 4 * float(self.step):
            return self.likelihood(truth)
        high = np.floor((self.value - truth + width / 2) / float(self.step))
        low = np.floor((self.value - truth - width / 2) / float(self.step))
        above = self.law.survival(low) - self.law.survival(high)
        below = self.law.cdf(high) - self.law.cdf(low)
        # Differences of the smaller tail keep their digits.
        inside = np.where(low >= 0, above, below)
        return np.asarray(inside / np.maximum(high - low, 1.0))


def _law(mechanism: Any, error: Any) -> Error:
    """Return the error law of fresh noise on every number, or refuse the mechanism."""
    fresh = isinstance(mechanism, Mechanism) and mechanism.independent
    added = fresh and mechanism.metric.reads == "an answer"
    if not added or not isinstance(error, Error) or mechanism.metric.norm not in (1, 2):
        name = "a mechanism of your own" if mechanism is None else repr(mechanism)
        raise NoBound(
            f"the likelihood of what {name} releases is not known: a posterior needs "
            "fresh noise of a known law on every number. Use Laplace, Geometric, "
            "Gaussian, DiscreteGaussian, Staircase or Canonical, or the simulation of "
            "hush.inference.confidence_set."
        )
    return error


@final
@dataclass(frozen=True)
class Observed:
    """All numbers that one or several releases hold, and what is known of them."""

    numbers: tuple[Observation, ...]
    bounds: tuple[float, float] | None
    facts: tuple[str, ...]

    @classmethod
    def of(cls, release: Any, mechanism: Mechanism | None) -> "Observed":
        """Return what was released, from a release or from numbers and a mechanism."""
        if isinstance(release, Release):
            if mechanism is not None:
                raise InvalidArgument(
                    "mechanism must be left out beside a release, which names its own."
                )
            return _of_release(release)
        if isinstance(getattr(release, "release", None), Release):
            raise InvalidArgument(
                f"release must be a hush.Release or numbers with their mechanism; got "
                f"{inputs.kind(release)}. An answer about a table counts in steps of "
                "its own: take one number of it, its mechanism and mechanism=."
            )
        if mechanism is None:
            raise InvalidArgument(
                "mechanism must say what noise is in these numbers, as in "
                "mechanism=Geometric(scale=2); a hush.Release knows it by itself."
            )
        if not isinstance(mechanism, Mechanism):
            raise InvalidArgument(
                f"mechanism must be one of hush.mechanisms; got "
                f"{inputs.kind(mechanism)}."
            )
        error = _law(mechanism, getattr(mechanism, "error", None))
        seen = tuple(Observation.of(each, error) for each in _each(release))
        return cls(seen, None, (_said(mechanism, seen),))


def _of_release(release: Release) -> Observed:
    values, errors = release.values, release.error
    batch = isinstance(values, tuple)
    seen: list[Observation] = []
    facts = []
    parts = values if batch else (values,)
    laws = errors if batch else (errors,)
    for value, law, ran in zip(parts, laws, release.mechanisms, strict=True):
        found = tuple(Observation.of(each, _law(ran, law)) for each in _each(value))
        facts.append(_said(ran, found))
        seen += found
    receipt = release.receipt
    if receipt.unit:
        facts.append(f"one {receipt.unit} is one record, and {receipt.neighbors}")
    if release.seeded:
        facts.append("SEEDED noise: the release is a rehearsal")
    bounds = receipt.bounds
    pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
    known = pair and all(isinstance(each, (int, float)) for each in bounds)
    ends = checks.interval("bounds", bounds) if known else None
    return Observed(tuple(seen), ends, tuple(facts))


def _each(value: Any) -> Sequence[Any]:
    """Return the numbers of an answer, each with its own type."""
    if isinstance(value, dict):
        raise InvalidArgument("release must hold numbers; this one has names.")
    array = np.asarray(value)
    if array.dtype.kind not in "iufO":
        raise InvalidArgument(f"release must hold numbers; got {inputs.kind(value)}.")
    return [value] if array.ndim == 0 else list(array.ravel())


def _said(mechanism: Any, seen: Sequence[Observation]) -> str:
    steps = sorted({float(each.step) for each in seen})
    lattice = ", ".join(f"{step:.3g}" for step in steps)
    return f"noise of {mechanism!r}, exact on its lattice of step {lattice}"
