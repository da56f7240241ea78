"""Losses of a mixture against one of its parts: what Poisson sampling makes.

A base pair has densities Q = b(x) and P = b(x) e^y(x), y(x) affine and increasing
(plus atoms). With ℓ = 1 - q + q e^y the sampled pair has density ℓ b against b, so
E e^(zL) = ∫ b ℓ^w with w = z + 1 ("remove": mixture against Q) or w = -z ("add").
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from hush.privacy import panels
from hush.privacy.loss_law import (
    NO_DECAY,
    ROUNDING,
    Decay,
    Direction,
    Floats,
    LossLaw,
    Rule,
)

_CELLS = 256


def log_likelihood(y: Floats, rate: float) -> Floats:
    """Return log(1 - rate + rate e^y) to full relative accuracy."""
    if rate == 1.0:
        return y
    small = np.minimum(y, 30.0)
    large = np.maximum(y, 30.0)
    near = np.log1p(rate * np.expm1(small))
    far = math.log(rate) + large + np.log1p((1 - rate) / rate * np.exp(-large))
    return np.where(y <= 30.0, near, far)


class MixtureLoss(LossLaw):
    """Shared analysis of mixture losses; subclasses supply the base pair."""

    rate: float
    direction: Direction

    @property
    @abstractmethod
    def slope(self) -> float:
        """dy/dx."""

    @property
    @abstractmethod
    def offset(self) -> float:
        """The value of y at x = 0."""

    @property
    @abstractmethod
    def panel_width(self) -> float:
        """A first guess for the width of panels."""

    @abstractmethod
    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return left, right and a bound on the P- and Q-mass outside."""

    @abstractmethod
    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """Bound log|b| above on boxes [left, right] x [-height, height]."""

    @abstractmethod
    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """Bound log b below on real intervals."""

    @abstractmethod
    def log_base(self, x: Floats) -> Floats:
        """Return log b on the reals."""

    @property
    def base_atoms(self) -> tuple[Floats, Floats]:
        """Values of y and log Q-masses of atoms of the base pair."""
        return np.empty(0), np.empty(0)

    @property
    def largest_y(self) -> float:
        """Upper bound on y."""
        return math.inf

    @property
    def largest_loss(self) -> float:
        """The log of ℓ is at most y, and at least log(1 - rate)."""
        if self.direction == "remove":
            return self.largest_y
        return min(
            self.largest_y, -math.log1p(-self.rate) if self.rate < 1 else math.inf
        )

    def exponent(self, tilt: float) -> float:
        """Return Re w for Re z = tilt."""
        return tilt + 1 if self.direction == "remove" else -tilt

    @cached_property
    def _sign(self) -> float:
        return 1.0 if self.direction == "remove" else -1.0

    def _top(self, left: float, right: float) -> float:
        """Bound the losses of atoms and of the window."""
        y = self.slope * np.array([left, right]) + self.offset
        loss = self._sign * log_likelihood(np.append(y, self.base_atoms[0]), self.rate)
        return float(loss.max() + 1e-12 * np.abs(loss).max())

    def _log_integrand_above(
        self,
        power: float,
        imaginary: float,
        left: Floats,
        right: Floats,
        height: Floats,
    ) -> Floats:
        """Bound log|b ℓ^w| on boxes, Re w = power, |Im w| <= imaginary."""
        base = self.log_base_above(left, right, height)
        low, high = self.slope * left + self.offset, self.slope * right + self.offset
        angle = self.slope * height
        if self.rate == 1.0:
            return base + np.maximum(power * low, power * high) + imaginary * angle
        # |1-q + q e^(y+iθ)| lies between 1-q + q e^y cos θ and 1-q + q e^y, and its
        # argument grows with y and with θ, as long as θ <= π/2.
        stay, move = math.log1p(-self.rate), math.log(self.rate)
        low, high = np.minimum(low, 600.0), np.minimum(high, 600.0)
        most = log_likelihood(high, self.rate)
        cosine, sine = np.cos(angle), np.sin(angle)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            tame = angle <= 0.5 * np.pi
            least = np.where(
                tame,
                np.log1p(self.rate * (np.exp(low) * np.maximum(cosine, 0.0) - 1)),
                -np.inf,
            )
            ratio = np.exp(move - stay + high)
            turn = np.where(tame, np.arctan2(ratio * sine, 1 + ratio * cosine), np.inf)
            # Far from the zero of ℓ one part dominates the other twice over, and any
            # height is fine: ℓ = (1-q)(1 + s) or q e^y (1 + s) with |s| <= 1/2.
            left_side = ~tame & (ratio <= 0.5)
            least = np.where(left_side, stay + np.log1p(-ratio), least)
            turn = np.where(left_side, np.arcsin(np.minimum(ratio, 1.0)), turn)
            inverse = np.exp(stay - move - low)
            right_side = ~tame & (inverse <= 0.5)
            least = np.where(right_side, move + low + np.log1p(-inverse), least)
            turn = np.where(right_side, angle + np.arcsin(np.minimum(inverse, 1)), turn)
            swing = imaginary * turn if imaginary > 0 else np.where(tame, 0.0, turn * 0)
            result = base + power * (most if power >= 0 else least) + swing
        return np.where(np.isnan(result) | (high >= 600.0), np.inf, result)

    def _log_bound(self, power: float, imaginary: float) -> panels.LogBound:
        return lambda left, right, height: self._log_integrand_above(
            power, imaginary, left, right, height
        )

    def _points(self, ends: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return y, log-likelihoods, log P-weights and sizes of exponents."""
        x, log_width = panels.nodes(ends)
        atom_y, atom_mass = self.base_atoms
        y = np.concatenate([self.slope * x + self.offset, atom_y])
        log_base = np.concatenate([self.log_base(x) + log_width, atom_mass])
        loss = log_likelihood(y, self.rate)
        sizes = np.abs(log_base) + np.abs(y) + np.abs(loss)
        return y, loss, log_base + loss * (self.exponent(0.0)), sizes

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return points of unrefined panels."""
        left, right, _ = self.window(log_drop)
        ends = panels.split(left, right, self.panel_width)
        _, loss, log_weight, _ = self._points(ends)
        return self._sign * loss, log_weight

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return points of panels refined for tilt + i reach."""
        left, right, outside = self.window(log_drop)
        ends = panels.split(left, right, self.panel_width)
        bound = self._log_bound(self.exponent(tilt), reach)
        ends = panels.refine(ends, bound, log_tolerance - math.log(ends.size))
        y, loss, log_weight, sizes = self._points(ends)

        def quadrature(real: float, imaginary: float) -> float:
            power = self.exponent(real)
            logs = panels.log_errors(ends, self._log_bound(power, imaginary))
            with np.errstate(over="ignore"):
                return float(np.exp(logs).sum())

        total, other = quadrature(0.0, 0.0), quadrature(-1.0, 0.0)
        share = np.exp(np.minimum(math.log(self.rate) + y - loss, 0.0))
        drift = 4 * np.abs(y) + 4 * abs(self.offset) + self.slope * self.panel_width
        return Rule(
            loss=self._sign * loss,
            log_weight=log_weight,
            # x carries the rounding of its panel, y that of its two terms, and a
            # change of y moves the loss by the posterior share of the mixture.
            loss_error=ROUNDING * (share * drift + 4 * np.abs(loss)),
            weight_error=ROUNDING * (32 + 4 * sizes),
            missing=outside,
            top=self._top(left, right),
            mass_error=total + outside,
            balance_error=total + other + 2 * outside,
            quadrature=quadrature,
        )

    def decay(self, tilt: float, log_mass: float, log_drop: float) -> Decay:
        """Layer the density of the tilted loss, cell by cell."""
        left, right, _ = self.window(log_drop)
        power = self.exponent(tilt)

        def log_density(x: Floats) -> Floats:
            y = self.slope * x + self.offset
            return self.log_base(x) + power * log_likelihood(y, self.rate)

        x = np.linspace(left, right, 1024)
        heights = log_density(x)
        bulk = np.flatnonzero(heights > heights.max() - 12)
        if not bulk.size:  # out of range: claim nothing
            return NO_DECAY
        left, right = x[max(bulk[0] - 1, 0)], x[min(bulk[-1] + 1, x.size - 1)]
        ends = np.linspace(left, right, _CELLS + 1)
        y = self.slope * ends + self.offset
        likelihood = log_likelihood(y, self.rate)
        # The loss has density b ℓ^w / (slope posterior); all parts are monotone.
        share = math.log(self.rate) + y - likelihood + math.log(self.slope)
        low, high = likelihood[:-1] * power, likelihood[1:] * power
        base = self.log_base_below(ends[:-1], ends[1:])
        below = base + np.minimum(low, high) - share[1:] - log_mass
        floor = np.exp(below) * (1 - 1e-9)
        peak_at = int(floor.argmax())
        rising = np.minimum.accumulate(floor[: peak_at + 1][::-1])[::-1]
        falling = np.minimum.accumulate(floor[peak_at:])
        lengths, masses = _layers(rising, falling, likelihood)
        # At most two local maxima, so the total variation is at most 4 max. The same
        # monotone parts, taken the other way on coarse cells, bound the maximum.
        wide = panels.split(*self.window(log_drop)[:2], (right - left) / _CELLS)
        if wide.size > 20000:
            return Decay(lengths, masses, np.inf, 1.0)
        y = self.slope * wide + self.offset
        likelihood = log_likelihood(y, self.rate)
        share = math.log(self.rate) + y - likelihood + math.log(self.slope)
        low, high = likelihood[:-1] * power, likelihood[1:] * power
        base = self.log_base_above(wide[:-1], wide[1:], np.zeros(wide.size - 1))
        peak = float((base + np.maximum(low, high) - share[:-1]).max()) - log_mass
        atom_y, atom_mass = self.base_atoms
        tilted = atom_mass + power * log_likelihood(atom_y, self.rate) - log_mass
        atoms = float(np.exp(tilted).sum()) * (1 + 1e-9)
        variation = 4 * math.exp(min(peak, 700.0)) * (1 + 1e-9)
        shifted = self._shifted(power, log_mass, log_drop)
        return Decay(lengths, masses, variation, atoms, shifted)

    def _shifted(
        self, power: float, log_mass: float, log_drop: float
    ) -> Callable[[float], float] | None:
        """Return the bound that moving the path of integration upwards gives."""
        del power, log_mass, log_drop
        return None


def _layers(
    rising: Floats, falling: Floats, likelihood: Floats
) -> tuple[Floats, Floats]:
    """Cut a unimodal step function into nested intervals: lengths and masses."""
    levels = np.unique(np.concatenate([rising, falling]))
    heights = np.diff(levels, prepend=0.0)
    first = np.searchsorted(rising, levels, side="left")
    last = (
        rising.size
        - 1
        + falling.size
        - np.searchsorted(falling[::-1], levels, side="left")
    )
    lengths = likelihood[last] - likelihood[first]
    keep = lengths > 0
    return lengths[keep], (heights * lengths)[keep]
