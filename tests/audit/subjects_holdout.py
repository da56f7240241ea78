"""Holdouts and the monitor: one record exchanged for another."""

from dataclasses import replace
from typing import Any

import numpy as np
from suite import Subject, looped, pure

from hush.holdout import Holdout, ReusableHoldout, monitor
from hush.holdout.adaptive_queries import Counter
from hush.noise import Seeded, Source

_RECORDS = 500
_SMALL = 20
_ZEROS = np.zeros(_RECORDS)
_ONE = np.append(np.zeros(_RECORDS - 1), 1.0)
# At the tolerance one record decides most.
_AT = (np.arange(_RECORDS) < 150) * 1.0
_OVER = (np.arange(_RECORDS) < 151) * 1.0
_REUSABLE: dict[str, Any] = {"queries": 1, "hits": 1, "tolerance": 0.3}


def _quieter(mechanism: Any, factor: float, field: str) -> Any:
    return replace(mechanism, **{field: float(getattr(mechanism, field)) * factor})


def _first(factor: float, source: Source) -> Any:
    """One question to a fresh holdout; plans take long, so one plan serves all runs."""
    opened: dict[int, Any] = {}

    def run(data: Any) -> Any:
        if id(data) not in opened:
            opened[id(data)] = Holdout(data, queries=1, source=source)
        holdout = opened[id(data)]
        noise = _quieter(holdout.plan.mechanism, factor, "std")
        plan, holdout._counter = holdout.plan, Counter(1)
        holdout.plan = replace(plan, mechanism=noise)
        answer = holdout.ask(float).value
        holdout.plan = plan
        return answer

    return lambda data, count: [run(data) for _ in range(count)]


def _checked(factor: float, source: Source) -> Any:
    opened: dict[int, Any] = {}

    def run(data: Any) -> Any:
        if id(data) not in opened:
            opened[id(data)] = ReusableHoldout(
                data, training=_ZEROS, source=source, **_REUSABLE
            )
        holdout = opened[id(data)]
        plan = holdout.plan
        check = _quieter(plan.check, factor, "scale")
        noise = _quieter(plan.mechanism, factor, "std")
        holdout.plan = replace(plan, check=check, mechanism=noise)
        holdout._counter, holdout._hits = Counter(1), Counter(1)
        holdout._talk = check.start(source=source)
        answer = holdout.ask(float)
        holdout.plan = plan
        return [answer.value, answer.method]

    return lambda data, count: [run(data) for _ in range(count)]


def _worst(factor: float, source: Source, data: Any) -> Any:
    found = monitor(
        lambda _: float,
        [data, [0, 1]],
        lambda _: 0.5,
        epsilon=1 / factor,
        source=source,
    )
    return [found.sample, found.flipped]  # `gap` is not private, and says so


def subjects() -> list[Subject]:
    """Return one subject for every way to ask."""
    return [
        Subject(
            "holdout",
            ("holdout.Holdout",),
            (_ZEROS[:_SMALL], _ONE[-_SMALL:]),
            lambda: Holdout(_ZEROS[:_SMALL], queries=1, source=Seeded(0)).curve,
            _first,
            factor=0.1,
            samples=2_000,
        ),
        Subject(
            "holdout, reusable",
            ("holdout.ReusableHoldout",),
            (_AT, _OVER),
            lambda: (
                ReusableHoldout(
                    _ZEROS, training=_ZEROS, source=Seeded(0), **_REUSABLE
                ).curve
            ),
            _checked,
            factor=0.05,
            samples=2_000,
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
