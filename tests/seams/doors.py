"""A door: one call, its numbers, and what they cost; the oracle tries odd ones in each.

What a call answers is compared as a whole: its price, and what a seeded source draws.
"""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from hush.errors import DrawFailed, HushError
from hush.mechanisms import Mechanism
from hush.privacy import Curve

POINTS = (0.0, 0.25, 1.0)


@dataclasses.dataclass(frozen=True)
class Door:
    """One entry point: `call(**numbers)`, and the plain numbers to call it with.

    `declared` are numbers whose type, whole or not, is part of what is asked. `lists`
    may be given as lists or arrays as well. `optional` may be None. `texts` accept a
    text. Of `pairs`, tuples of numbers, each number is tried by itself.
    """

    name: str
    call: Callable[..., Any]
    numbers: dict[str, Any]
    declared: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    anything: frozenset[str] = frozenset()

    def places(self):
        """Yield (argument, place in it or None, its plain number)."""
        for name, value in self.numbers.items():
            if isinstance(value, tuple):
                for place, each in enumerate(value):
                    if isinstance(each, int | float) and not isinstance(each, bool):
                        yield name, place, each
            elif value is not None and not isinstance(value, bool | str):
                yield name, None, value

    def knock(self, argument=None, place=None, value=None):
        """Call with one number replaced, and return what it answers or raises."""
        given = dict(self.numbers)
        if argument is not None:
            if place is None:
                given[argument] = value
            else:
                pair = list(given[argument])
                pair[place] = value
                given[argument] = tuple(pair)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an answer may be far, and still right
            try:
                return Answered(shape(self.call(**given)))
            except Spent as after:
                return Raised(after.problem, paid=after.paid)
            except Exception as problem:
                return Raised(problem)


class Spent(Exception):
    """An error of a release, and whether it was paid for."""

    def __init__(self, problem, *, paid):
        super().__init__()
        self.problem, self.paid = problem, paid


@dataclasses.dataclass(frozen=True)
class Answered:
    """What a call answered."""

    value: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Raised:
    """What a call raised, and whether anything had been paid."""

    problem: BaseException
    paid: bool = False

    @property
    def refused(self):
        """Whether the call was refused as it should be: by name, before payment."""
        return (
            isinstance(self.problem, HushError)
            and not isinstance(self.problem, DrawFailed)
            and bool(str(self.problem).strip())
            and not self.paid
        )

    def __repr__(self):
        paid = ", and paid" if self.paid else ""
        return f"{type(self.problem).__name__}: {str(self.problem)[:120]}{paid}"


def shape(found):
    """Return an answer as plain values that compare, with the types of its numbers."""
    if isinstance(found, Mechanism):
        found = found.curve(1)
    if isinstance(found, Curve):
        return tuple(float(found.delta_at(e)) for e in POINTS)
    if isinstance(found, np.ndarray):
        return (str(found.dtype), found.shape, repr(found.tolist()))
    if isinstance(found, np.generic | int | float | str | bytes | bool | type(None)):
        return (type(found).__name__, repr(found))
    if isinstance(found, tuple | list):
        return tuple(shape(each) for each in found)
    if isinstance(found, dict):
        return tuple((key, shape(each)) for key, each in found.items())
    return repr(found)


def fault(door, argument, place, odd, *, plain=None):
    """Return what is wrong with the answer to an odd value, or None.

    `plain` is the answer to the plain number; without it the value must be refused.
    """
    found = door.knock(argument, place, odd)
    if isinstance(found, Raised):
        return None if found.refused else repr(found)
    if plain is None:
        return f"accepted: {str(found.value)[:120]}"
    if found != plain:
        return f"answered {str(found)[:160]} for {str(plain)[:160]}"
    return None
