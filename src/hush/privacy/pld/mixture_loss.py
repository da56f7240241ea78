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

from hush.privacy.pld.loss_distribution import (
    NO_DECAY,
    ROUNDING,
    Decay,
    Direction,
    Floats,
    LossLaw,
    Rule,
)

# -- Gauss-Legendre panels with an a-priori error bound from analyticity ---------------

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
_SLICES = np.linspace(-1.0, 1.0, 13)  # twelve slices of each ellipse
_MOST_PANELS = 300  # beyond, what a quadrature lacks is only stated

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
    for _ in range(14):  # a panel of 2^-14 of the first is as narrow as any needs
        wide = log_errors(ends, log_bound) > log_tolerance
        if not wide.any() or ends.size > _MOST_PANELS:
            break
        middles = (ends[1:] + ends[:-1])[wide] / 2
        ends = np.sort(np.concatenate([ends, middles]))
    return ends


def nodes(ends: Floats) -> tuple[Floats, Floats]:
    """Return the points and log weights of all panels, in increasing order."""
    half = (ends[1:] - ends[:-1])[:, None] / 2
    points = (ends[1:] + ends[:-1])[:, None] / 2 + half * NODES
    return points.ravel(), (np.log(half) + LOG_WEIGHTS).ravel()


# -- Losses of a mixture against one of its parts: what Poisson sampling makes ---------

_CELLS = 256  # of the bulk of a density, to layer it


def log_likelihood(y: Floats, rate: float) -> Floats:
    """Return log(1 - rate + rate e^y) to full relative accuracy.

    Near y = 0 as log1p(rate expm1 y); for large y, where e^y is beyond the floats, as
    log rate + y + log1p((1/rate - 1) e^-y).
    """
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
    def largest_loss(self) -> float:
        """At y = -infinity ℓ is 1 - rate; upwards nothing bounds it."""
        if self.direction == "remove" or self.rate == 1.0:
            return math.inf
        return -math.log1p(-self.rate)

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

    def _log_bound(self, power: float, imaginary: float) -> LogBound:
        return lambda left, right, height: self._log_integrand_above(
            power, imaginary, left, right, height
        )

    def _points(self, ends: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return y, log-likelihoods, log P-weights and sizes of exponents."""
        x, log_width = nodes(ends)
        atom_y, atom_mass = self.base_atoms
        y = np.concatenate([self.slope * x + self.offset, atom_y])
        log_base = np.concatenate([self.log_base(x) + log_width, atom_mass])
        loss = log_likelihood(y, self.rate)
        sizes = np.abs(log_base) + np.abs(y) + np.abs(loss)
        return y, loss, log_base + loss * (self.exponent(0.0)), sizes

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return points of unrefined panels."""
        left, right, _ = self.window(log_drop)
        ends = split(left, right, self.panel_width)
        _, loss, log_weight, _ = self._points(ends)
        return self._sign * loss, log_weight

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return points of panels refined for tilt + i reach."""
        left, right, outside = self.window(log_drop)
        ends = split(left, right, self.panel_width)
        bound = self._log_bound(self.exponent(tilt), reach)
        ends = refine(ends, bound, log_tolerance - math.log(ends.size))
        y, loss, log_weight, sizes = self._points(ends)

        def quadrature(real: float, imaginary: float) -> float:
            power = self.exponent(real)
            logs = log_errors(ends, self._log_bound(power, imaginary))
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
        # Below e^-12 = 6e-6 of its peak the density adds nothing to the layers.
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
        whole = self.window(log_drop)[:2]
        # As many cells as are still worth their cost: else variation is not bounded.
        if whole[1] - whole[0] > 80 * (right - left):
            return Decay(lengths, masses, np.inf, 1.0)
        wide = split(*whole, (right - left) / _CELLS)
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
        shifted = self._bound_on_shifted_path(power, log_mass, log_drop)
        return Decay(lengths, masses, variation, atoms, shifted)

    def _bound_on_shifted_path(
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
