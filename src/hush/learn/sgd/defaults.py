"""Choices made from public numbers alone: rows, model size and the target."""

import math
from typing import Any

import optax

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.sgd.training import Training
from hush.privacy.approx import Approx
from hush.privacy.calibrate import calibrate

_FULL = 4096  # up to so many rows every step sees all of them
_STEPS = 120
_PASSES = 5
_WALK = 0.3  # how far the noise alone may carry each parameter
_FASTEST = 1.0  # the largest single step, in clips
_FARTHEST = 10.0  # how far one gradient may carry in the end, in clips


def batch(records: int) -> int:
    """Return all rows of small data, a growing share of large data."""
    return records if records <= _FULL else max(_FULL, math.ceil(records / 64))


def steps(records: int, batch: int) -> int:
    """Return 120 steps, or as many as make five passes over the data."""
    return max(_STEPS, math.ceil(_PASSES * records / batch))


def optimizer(plan: Training) -> optax.GradientTransformation:
    """Return gradient descent under which noise alone carries a parameter 0.3 far.

    A gradient moves a parameter by rate/(1-momentum) of itself in the end, so noise of
    std·clip/batch per step adds up to √steps times that. What one step of size 1 can do
    is done without momentum, which would only delay it; momentum, 0.9 at most, carries
    further where noise leaves room, since longer single steps overshoot.
    """
    walk = plan.std * math.sqrt(max(plan.steps, 1)) / plan.batch
    reach = min(_WALK / walk, _FARTHEST)
    rate = min(reach, _FASTEST)
    return optax.sgd(rate / plan.clip, momentum=1 - rate / reach)


def delta(records: int) -> float:
    """Return the default δ: one over ten times the number of rows, at most 1e-5."""
    return min(1e-5, 0.1 / records)


def noise(public: dict[str, Any], epsilon: float | None, delta_: float | None) -> float:
    """Return the least noise, in clips, with which a run is (ε, δ)-private."""
    epsilon = checks.real("epsilon", epsilon, above=0)
    given = delta(public["records"]) if delta_ is None else delta_
    checks.real("delta", given, above=0, below=1)

    def curve(std: float) -> Any:
        return Training(std=std, **public).curve()

    found = calibrate(
        curve,
        target=Approx(epsilon, given),
        low=2.0**-8,
        high=2.0**16,
        relative=1e-6,
    )
    if curve(found).delta_at(epsilon) > given:
        raise InvalidArgument(f"epsilon={epsilon:g} is too small for this run.")
    return found
