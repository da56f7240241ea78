"""A privacy loss with finitely many values: randomized response, tables, (ε, δ)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.discrete_pair import Atoms
from hush.privacy.pld.loss_distribution import (
    ROUNDING,
    Bracket,
    Direction,
    Floats,
    LossLaw,
    Rule,
)

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


def _log(value: Fraction) -> float:
    """Return the log of a positive fraction; differences near 1 keep their digits."""
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    return math.log(float(scaled)) + shift * math.log(2)


def _numbers(name: str, values: Iterable[Any], at_most: float = math.inf) -> Floats:
    """Return finite numbers as an array, or name the first that is wrong."""
    values = tuple(values)
    if set(map(type, values)) <= {float, np.float64}:
        array = np.array(values, dtype=np.float64)
        if np.all(np.isfinite(array) & (array <= at_most)):
            return array
    limit = None if math.isinf(at_most) else at_most
    found = [checks.real(name, value, at_most=limit) for value in values]
    return np.array(found, dtype=np.float64)


@final
@dataclass(frozen=True)
class AtomsLoss(LossLaw):
    """Atoms at `losses` with `log_probabilities`, the rest of P at +infinity.

    `infinite_mass` is P's mass where Q has none, `absent_mass` Q's mass where P has
    none; by default what is missing from a total of one.

    Guarantee: the probabilities and losses are taken as exact to four roundings, the
    totals as exactly one.

    Example:
        >>> AtomsLoss.of([0.75, 0.25], [0.25, 0.75]).losses
        (1.0986..., -1.0986...)
    """

    losses: tuple[float, ...]
    log_probabilities: tuple[float, ...]
    infinite_mass: float = -1.0
    absent_mass: float = -1.0

    def __post_init__(self) -> None:
        losses = _numbers("losses", self.losses)
        logs = _numbers("log_probabilities", self.log_probabilities, at_most=1e-9)
        if losses.size != logs.size:
            raise InvalidArgument(
                f"losses and log_probabilities must have one entry per atom; got "
                f"{losses.size} and {logs.size}."
            )
        with np.errstate(over="ignore"):
            there = math.fsum(np.exp(logs).tolist())
            back = math.fsum(np.exp(logs - losses).tolist())
        if there > 1 + 1e-9 or back > 1 + 1e-9:
            raise InvalidArgument(
                "log_probabilities must be those of P, and losses log(P/Q): their "
                f"masses add up to {there!r} under P and {back!r} under Q."
            )
        for name, mass, rest in (
            ("infinite_mass", self.infinite_mass, 1 - there),
            ("absent_mass", self.absent_mass, 1 - back),
        ):
            # Rounding alone must not create a failure event.
            # Sums of a few thousand floats err by less than 1e-13.
            tidy = max(rest, 0.0) if rest > 1e-13 else 0.0
            value = tidy if mass == -1.0 else mass
            if type(value) is not float or not 0 <= value <= 1:
                value = checks.real(name, value, at_least=0, at_most=1)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "losses", tuple(losses.tolist()))
        object.__setattr__(self, "log_probabilities", tuple(logs.tolist()))

    @classmethod
    def of(cls, p: Iterable[Any], q: Iterable[Any]) -> "AtomsLoss":
        """Return the loss of two tables of probabilities, fractions or floats."""
        first: list[Fraction] = [checks.probability("p", v) for v in p]
        second: list[Fraction] = [checks.probability("q", v) for v in q]
        if len(first) != len(second):
            raise InvalidArgument(
                "p and q must list the same outcomes; got "
                f"{len(first)} and {len(second)}."
            )
        for name, table in (("p", first), ("q", second)):
            if abs(sum(table, Fraction(-1))) > Fraction(1, 10**9):
                raise InvalidArgument(
                    f"{name} must add up to 1; it adds up to {float(sum(table))!r}. "
                    "Use fractions, or divide by the sum."
                )
        # Floats rarely add up to one: the law is that of the normalised tables.
        first = [v / sum(first) for v in first]
        second = [v / sum(second) for v in second]
        both = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
        return cls(
            tuple(_log(a / b) for a, b in both),
            tuple(_log(a) for a, _ in both),
            float(
                sum(
                    (a for a, b in zip(first, second, strict=True) if not b), Fraction()
                )
            ),
            float(
                sum(
                    (b for a, b in zip(first, second, strict=True) if not a), Fraction()
                )
            ),
        )

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        return np.array(self.losses, dtype=float), np.array(self.log_probabilities)

    @property
    def largest_loss(self) -> float:
        """The largest atom."""
        return max(self.losses, default=-math.inf)

    @property
    def log_largest_mass(self) -> float:
        """The probability of the largest atom."""
        return self.log_probabilities[self.losses.index(self.largest_loss)] - 1e-14

    @cached_property
    def _back(self) -> "AtomsLoss":
        loss, log_p = self._arrays
        logs = np.minimum(log_p - loss, 0.0)
        back = AtomsLoss(
            tuple((-loss).tolist()),
            tuple(logs.tolist()),
            self.absent_mass,
            self.infinite_mass,
        )
        back.__dict__["_back"] = self
        return back

    def reversed(self) -> "AtomsLoss":
        """Exchange P and Q."""
        return self._back

    @cached_property
    def _tails(self) -> tuple[Floats, Floats, Floats] | None:
        """Sorted losses l, e^l Σ q from l on, and δ at l: sums of positive terms."""
        loss, log_p = self._arrays
        order = np.argsort(loss, kind="stable")
        loss, log_p = loss[order], log_p[order]
        # Their exponentials and the quotients of those must be floats.
        if not loss.size or loss[-1] - loss[0] > 600 or np.abs(loss).max() > 600:
            return None
        q = np.exp(log_p - loss)
        heights = np.exp(loss) * np.cumsum(q[::-1])[::-1]
        falls = -np.expm1(-np.diff(loss)) * heights[1:]
        rest = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
        return loss, heights, rest

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Sum over the atoms above epsilon."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        size, log_p = self._arrays[0].size, self._arrays[1]
        most = np.abs(log_p).max(initial=0.0)
        accuracy = ROUNDING * (4 * size + 64 + 8 * most)
        # A loss l is known to 4ρ|l|, which is at most 4ρ(l - ε) + 4ρ|ε| on its own.
        blur = 8 * ROUNDING * np.abs(epsilon)
        lower = self.infinite_mass + self._above(epsilon + blur)
        upper = self.infinite_mass + self._above(epsilon - blur)
        return lower * (1 - accuracy), np.minimum(upper * (1 + accuracy), 1.0)

    def _above(self, epsilon: Floats) -> Floats:
        """Return Σ p (1 - e^(ε - l))+ over the atoms."""
        if self._tails is None:
            loss, log_p = self._arrays
            gap = np.maximum(loss - epsilon[..., None], 0)
            return np.asarray((np.exp(log_p) * -np.expm1(-gap)).sum(axis=-1))
        loss, heights, rest = self._tails
        # Between two atoms δ is linear in e^ε: the next one's δ and a chord up to it.
        at = np.searchsorted(loss, epsilon, side="right")
        next_ = np.minimum(at, loss.size - 1)
        chord = -np.expm1(np.minimum(epsilon - loss[next_], 0.0)) * heights[next_]
        return np.asarray(np.where(at < loss.size, rest[next_] + chord, 0.0))

    def sampled(self, rate: float, direction: Direction) -> "AtomsLoss":
        """Mix Q into P, atom by atom."""
        rate = checks.real("rate", rate, above=0, at_most=1)
        loss, log_p = self._arrays
        # log(1 - q + q e^L): beyond 30 the one no longer counts beside the exponential.
        near = np.log1p(rate * np.expm1(np.minimum(loss, 30.0)))
        far = (
            math.log(rate) + np.logaddexp(loss, math.log1p(-rate) - math.log(rate))
            if (rate < 1)
            else loss
        )
        mixed = np.where(loss <= 30.0, near, far) if rate < 1 else loss
        losses, other = list(mixed), list(log_p - loss)
        if self.absent_mass > 0 and rate < 1:
            losses.append(math.log1p(-rate))
            other.append(math.log(self.absent_mass))
        log_mixture = [min(b + v, 0.0) for v, b in zip(losses, other, strict=True)]
        law = AtomsLoss(
            tuple(map(float, losses)),
            tuple(map(float, log_mixture)),
            rate * self.infinite_mass,
            self.absent_mass if rate == 1.0 else 0.0,
        )
        return law if direction == "remove" else law.reversed()

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return the atoms."""
        return self._arrays

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return the atoms, which are exact."""
        loss, log_p = self._arrays
        given = math.fsum(np.exp(log_p)) - 1
        # Totals within rounding of one are one; others are what they add up to.
        normal = abs(given + self.infinite_mass) <= 8 * ROUNDING * (8 + loss.size)
        return Rule(
            loss,
            log_p,
            loss_error=4 * ROUNDING * np.abs(loss),
            weight_error=4 * ROUNDING * (1 + np.abs(log_p)),
            top=self.largest_loss + 4 * ROUNDING * abs(self.largest_loss),
            defect=-self.infinite_mass if normal else given,
            mass_error=0.0 if normal else 8 * ROUNDING,
        )


# -- Finite pairs as loss laws, the form in which engines compose them -----------------


def of(pair: Atoms) -> AtomsLoss:
    """Return the loss law of a finite pair."""
    there = pair.masses > 0
    losses, masses = pair.losses[there], pair.masses[there]
    return AtomsLoss(
        tuple(losses.tolist()),
        tuple(np.minimum(np.log(masses), 0.0).tolist()),
        min(pair.p_only, 1.0),
        min(pair.q_only, 1.0),
    )


def both(pair: Atoms) -> "tuple[Components, Components]":
    """Return the remove and the add direction of a finite pair."""
    law = of(pair)
    return ((law, 1),), ((law.reversed(), 1),)
