"""Holdouts and the monitor: one record exchanged for another."""

from dataclasses import replace
from typing import Any

import numpy as np
from suite import Subject, looped, pure

from hush.holdout import Holdout, ReusableHoldout, monitor
from hush.noise import Seeded, Source

_RECORDS = 100
_ZEROS = np.zeros(_RECORDS)
_ONE = np.append(np.zeros(_RECORDS - 1), 1.0)
_REUSABLE: dict[str, Any] = {"queries": 3, "hits": 1, "tolerance": 0.3}


def _quieter(mechanism: Any, factor: float, field: str) -> Any:
    return replace(mechanism, **{field: float(getattr(mechanism, field)) * factor})


def _first(factor: float, source: Source, data: Any) -> Any:
    holdout = Holdout(data, queries=3, source=source)
    noise = _quieter(holdout.plan.mechanism, factor, "std")
    holdout.plan = replace(holdout.plan, mechanism=noise)
    return holdout.ask(float).value


def _checked(factor: float, source: Source, data: Any) -> Any:
    holdout = ReusableHoldout(data, training=_ZEROS, source=source, **_REUSABLE)
    plan = holdout.plan
    check = _quieter(plan.check, factor, "scale")
    noise = _quieter(plan.mechanism, factor, "std")
    holdout.plan = replace(plan, check=check, mechanism=noise)
    holdout._talk = check.start(source=source)
    answer = holdout.ask(float)
    return [answer.value, answer.method]


def _worst(factor: float, source: Source, data: Any) -> Any:
    found = monitor(
        lambda _: float, [data, [0, 1]], lambda _: 0.5, epsilon=1 / factor, source=source
    )
    return [found.sample, found.flipped]  # `gap` is not private, and says so


def subjects() -> list[Subject]:
    """Return one subject for every way to ask."""
    return [
        Subject(
            "holdout",
            ("holdout.Holdout",),
            (_ZEROS, _ONE),
            lambda: Holdout(_ZEROS, queries=3, source=Seeded(0)).curve,
            looped(_first),
            factor=0.1,
            samples=3_000,
        ),
        Subject(
            "holdout, reusable",
            ("holdout.ReusableHoldout",),
            (_ZEROS, _ONE),
            lambda: ReusableHoldout(
                _ZEROS, training=_ZEROS, source=Seeded(0), **_REUSABLE
            ).curve,
            looped(_checked),
            factor=0.1,
            samples=3_000,
        ),
        Subject(
            "holdout, monitor",
            ("holdout.monitor",),
            ([0, 1], [1, 1]),
            pure(1.0),
            looped(_worst),
            factor=0.25,
            samples=6_000,
        ),
    ]
