"""A case of the law-suite: a mechanism and what is known about it by other means."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(eq=False)
class Case:
    """A mechanism, the distance of its neighbors, and their exact output laws."""

    name: str
    mechanism: Any
    pairs: Callable[
        [float], list
    ]  # noise factor -> pairs (p, q) of the worst neighbors
    values: Callable[[], list]  # two neighboring inputs for `run`
    sensitivity: Any = 1
    tight: bool = False  # the curve is attained by one of the pairs, within 1e-9
    pure: bool = True  # every output has positive chance under both neighbors
    grid: float | None = None  # lattice step of the outputs
    options: dict = field(default_factory=dict)  # for curve()
    errors: Callable[[Any, int], Any] | None = None  # (source, count) -> errors
    strict: bool = True  # 5 % less noise shows up in the pairs

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def curve(self):
        return self.mechanism.curve(self.sensitivity, **self.options)

    def louder(self):
        """The same mechanism with twice the noise."""
        kind = type(self.mechanism)
        named = {f.name: getattr(self.mechanism, f.name) for f in fields(kind)}
        return kind(**{**named, kind.noise: 2 * named[kind.noise]})


def additive(mechanism, zero=0):
    """Errors of an additive mechanism: a long vector of zeros."""

    def draw(source, count):
        return mechanism.run(np.full(count, zero), source=source)

    return draw
