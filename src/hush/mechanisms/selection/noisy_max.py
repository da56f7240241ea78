"""Report noisy max: the index of the largest noisy score, and nothing else."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.selection import choice_probabilities
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.permute_and_flip import PermuteAndFlip
from hush.mechanisms.selection.selection import Gap, Selection, scores
from hush.noise import SECURE, Lattice, Source, discrete_laplace, integers
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged

Kind = Literal["laplace", "gumbel", "exponential"]


def _laplace(x: Any) -> Any:
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, half, 1 - half)


@lru_cache(maxsize=64)
def _rivals(candidates: int) -> tuple[NDArray[np.float64], ...]:
    """Return cells of the best rival's noise, their chances, and three sums of these.

    The sums are of chance·e^x/2 over the cells before each point, of chance over all
    that is after it, and of chance·e^-x/2 over the cells there.
    """
    x = np.linspace(-45, 45 + math.log(candidates), 20_001)
    with np.errstate(divide="ignore"):
        above = -np.expm1((candidates - 1) * np.log1p(-_laplace(-x)))
    chance = -np.diff(above)

    def cells(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(chance * (values[1:] + values[:-1]) / 4)

    before = np.concatenate([[0.0], np.cumsum(cells(np.exp(x)))])
    after = np.concatenate([np.cumsum(cells(np.exp(-x))[::-1])[::-1], [0.0]])
    return x, chance, before, above, after


def _worst(scale: float, candidates: int, t: float) -> float:
    """Return P(r_0 <= max_j r_j - t) for k-1 rivals, by quadrature.

    The best candidate loses to a rival at x when its own noise is below y = x - t: with
    chance e^y/2 below zero and 1 - e^-y/2 above, so that three sums tell all.
    """
    x, chance, before, above, after = _rivals(candidates)
    t = t / scale
    cell = int(np.searchsorted(x, t)) - 1  # where y changes its sign
    lost = before[min(cell, chance.size)] * math.exp(-t)
    if cell >= chance.size:
        return float(lost + above[-1])
    lost += chance[cell] * _laplace(x[cell : cell + 2] - t).mean()
    lost += above[cell + 1] - after[cell + 1] * math.exp(t)
    return float(min(1.0, lost * (1 + 1e-5)))


@final
@tagged("noisy_max/1")
@dataclass(frozen=True, repr=False)
class NoisyMax(Selection):
    """Add noise of `scale` to every score and report the place of the largest.

    `kind` is the noise: "laplace", "gumbel" (the exponential mechanism) or
    "exponential" (permute and flip, the most accurate at equal ε).

    Guarantee: ε = 2·sensitivity/scale (half of it if `monotone`); ties on the lattice
    are broken by a fair choice, which the proof allows.

    Example:
        >>> NoisyMax.for_epsilon(epsilon=1, kind="gumbel").run([1, 2, 10**7])
        2

    Reference: [DR14] Claim 3.9; N5.1; docs/proofs/noisy_max.md for ties.
    """

    scale: float | Fraction
    kind: Kind = "exponential"
    monotone: bool = False

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)
        if self.kind not in ("laplace", "gumbel", "exponential"):
            raise InvalidArgument(
                f"kind must be 'laplace', 'gumbel' or 'exponential'; got {self.kind!r}."
            )
        if self.kind == "laplace":
            _ = self._grid  # what cannot be drawn is refused here

    @cached_property
    def _same_law(self) -> Exponential | PermuteAndFlip | None:
        if self.kind == "gumbel":
            return Exponential(self.scale, self.monotone)
        if self.kind == "exponential":
            return PermuteAndFlip(self.scale, self.monotone)
        return None

    def _cost(self, sensitivity: Any) -> Fraction:
        d = lattice_rounding.steps(self._grid, distance(sensitivity)) * self._grid.step
        return (2 - self.monotone) * d

    @cached_property
    def _grid(self) -> Lattice:
        """The lattice of all scores, whatever their type."""
        return lattice_rounding.lattice(None, self._exact)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no score moves by more than `sensitivity`."""
        if self._same_law is not None:
            return self._same_law.curve(sensitivity)
        return Pure(epsilon=at_least(self._cost(sensitivity) / self._exact))

    @property
    def error(self) -> Gap:
        """Worst-case law of the utility gap; say `error.among(candidates)`."""
        if self._same_law is not None:
            return self._same_law.error
        return Gap(partial(_worst, float(self.scale)), float(self.scale))

    def run(self, value: Any, *, source: Source = SECURE) -> int:
        """Return the place of the largest noisy score."""
        if self._same_law is not None:
            return self._same_law.run(value, source=source)
        given = scores(value)
        noise = discrete_laplace(
            self._exact / self._grid.step, given.shape, source=source
        )
        noisy = lattice_rounding.steps_behind_largest(given, self._grid) + noise
        best = np.flatnonzero(noisy == noisy.max())
        return int(best[integers(best.size, source=source)])

    def law(self, value: Any) -> NDArray[np.float64]:
        """Return the chance of each place: for plans and tests, it is not private.

        Guarantee: each is right to 1e-11 of itself; below 1e-300 it may be 0.

        Example:
            >>> law = NoisyMax(scale=2.0, kind="laplace").law([100] + [90] * 999)
            >>> round(float(law[0]), 4)
            0.1467

        Reference: N5.law: Example 5.2, where the best of 1000 is rarely found;
        docs/proofs/noisy_max.md.
        """
        if self._same_law is not None:
            return self._same_law.law(value)
        steps = -lattice_rounding.steps_behind_largest(scores(value), self._grid)
        gap = steps / float(self._exact / self._grid.step)
        return choice_probabilities.laplace_maximum(
            np.minimum(gap, choice_probabilities.FAR)
        )

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        found = super()._for_pure(epsilon, sensitivity, public)
        while found is not None and found.kind == "laplace":
            need = found._cost(sensitivity) / checks.rational("epsilon", epsilon)
            if found._exact >= need:
                break
            found = cls(at_least(need), **public)
        return found
