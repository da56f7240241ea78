"""Calibrated steps: how a budget is divided, and the least noise that meets it."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hush.errors import InvalidArgument
from hush.mechanisms import DiscreteGaussian, Exponential, Geometric, PermuteAndFlip
from hush.mechanisms.mechanism import Mechanism
from hush.privacy import ZCDP, Approx, Curve, Pure, calibrate, compose
from hush.synth.marginal_queries import Columns, NextPair, Pairs, Person, Question

Steps = tuple[tuple[Mechanism, Question], ...]
# What columns, choices and pairs get: of ρ for Gaussian noise, of ε for pure noise.
_SHARES = (0.15, 0.15, 0.7)
_MOST_CELLS = 1 << 24  # of all pairs together
_SENSE = 100.0  # beyond it an ε is no promise, and not used up
_WIDEST = 2.0**50  # as far as whole noise is drawn


@lru_cache(maxsize=256)  # public numbers: what was found for one serves its repetitions
def calibrated_steps(sizes: tuple[int, ...], person: Person, target: Curve) -> Steps:
    """Return mechanisms and questions with the least noise that meets a target.

    Example:
        >>> found = calibrated_steps((2, 2), Person(), Pure(1.0))
        >>> [type(mechanism).__name__ for mechanism, _ in found]
        ['Geometric', 'PermuteAndFlip', 'Geometric']
    """
    pairs = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if pairs > _MOST_CELLS:
        raise InvalidArgument(
            f"domain must have at most {_MOST_CELLS} cells in all its pairs of columns "
            f"together; got {pairs}. Use coarser bins, or fewer columns."
        )
    if isinstance(target, Pure):
        # Sums of three rounded parts are rounded up by less than this.
        epsilon = float(target.epsilon) * (1 - 2.0**-40)
        return _check_drawable(_pure(sizes, person, epsilon))
    if isinstance(target, Approx) and target.epsilon > _SENSE:
        target = Approx(_SENSE, target.delta)  # less noise would be negligible
    # Near what zCDP says, so that few curves are asked.
    start = math.sqrt(_rho(target))
    _check_drawable(_gaussian(sizes, person, 2 * start))  # half the noise, or less
    least = calibrate(
        lambda noise: _curve(_gaussian(sizes, person, start / noise)),
        target,
        relative=1e-6,
    )
    return _check_drawable(_gaussian(sizes, person, start / least))


def _curve(steps: Steps) -> Curve:
    """Return the composition, as a ledger charges it."""
    found = []
    for mechanism, question in steps:
        several = getattr(question, "dimension", None)
        if several is None:
            found.append(mechanism.curve(question.sensitivity))
        else:
            noise: Any = mechanism
            found.append(noise.curve(question.sensitivity, dimension=several))
    return compose(*found)


def _rho(target: Curve) -> float:
    if isinstance(target, ZCDP):
        return target.rho
    if not isinstance(target, Approx):
        raise InvalidArgument(f"target must be Pure, Approx or ZCDP; got {target!r}.")
    # ε = ρ + 2√(ρ log(1/δ)), solved for ρ: √ρ = √(log + ε) - √log, without loss.
    log = math.log(1 / target.delta)
    epsilon = float(target.epsilon)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2


def _shares(columns: int) -> tuple[float, float, float]:
    """Return the shares of columns, choices and pairs: one column needs no pairs."""
    return _SHARES if columns > 1 else (1.0, 0.0, 0.0)


def _gaussian(sizes: tuple[int, ...], person: Person, root: float) -> Steps:
    """Return steps of Gaussian noise whose parts add up to about root²-zCDP."""
    columns, choices, pairs = (math.sqrt(s) * root for s in _shares(len(sizes)))

    def noise(question: Question, share: float) -> Mechanism:
        # The curve charges sensitivity/√(std² - 4), a trifle more than ρ says.
        far = float(question.sensitivity)
        std = math.sqrt((far / share) ** 2 / 2 + 4)
        return DiscreteGaussian(Fraction(max(std, 4.0)))

    def choice(question: Question) -> Mechanism:
        # A choice of range η is η²/8-zCDP, and η is 2·sensitivity/scale.
        spread = math.sqrt(8 / (len(sizes) - 1)) * choices
        return Exponential(scale=Fraction(2 * question.sensitivity / spread))

    return _steps(sizes, person, 2, noise, choice, (columns, pairs))


def _pure(sizes: tuple[int, ...], person: Person, epsilon: float) -> Steps:
    """Return steps of pure noise whose parts add up to ε."""
    columns, choices, pairs = (s * epsilon for s in _shares(len(sizes)))

    def noise(question: Question, share: float) -> Mechanism:
        return Geometric.for_epsilon(share, question.sensitivity)

    def choice(question: Question) -> Mechanism:
        each = choices / (len(sizes) - 1)
        return PermuteAndFlip.for_epsilon(each, question.sensitivity)

    return _steps(sizes, person, 1, noise, choice, (columns, pairs))


def _steps(
    sizes: tuple[int, ...],
    person: Person,
    norm: int,
    noise: Callable[[Question, float], Mechanism],
    choice: Callable[[Question], Mechanism],
    shares: tuple[float, float],
) -> Steps:
    first = Columns(sizes, person, norm)
    found: list[tuple[Mechanism, Question]] = [(noise(first, shares[0]), first)]
    if len(sizes) > 1:
        last = Pairs(sizes, person, norm)
        end = noise(last, shares[1])
        std = (float(found[0][0].error.std), float(end.error.std))
        between = NextPair(sizes, person, first, std)
        found += [(choice(between), between)] * (len(sizes) - 1)
        found.append((end, last))
    return tuple(found)


def _check_drawable(steps: Steps) -> Steps:
    """Return the steps, or refuse noise that no source draws."""
    if max(steps[0][0].error.std, steps[-1][0].error.std) > _WIDEST:
        raise InvalidArgument(
            "epsilon is too small: the counts would need more noise than 64 bits hold. "
            "Use a larger epsilon, or fewer rows per person."
        )
    return steps
