"""The description of a request: its public parameters, by which two are the same."""

import dataclasses
import functools
import hashlib
import math
import numbers
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import CodeType
from typing import Any

import numpy as np

from hush.legacy_formats import described_fields, home_of, name_of
from hush.serialization import tag_of, told_fields

_FEW = 16  # values of a tuple that is a parameter, such as bounds


def _code(code: CodeType) -> bytes:
    """Return a function's instructions and constants, the same in every process."""
    inner = [
        _code(each) if isinstance(each, CodeType) else str(describe(each)).encode()
        for each in code.co_consts
    ]
    return b"\0".join([code.co_code, *inner])


_PLAIN = (bool, int, float, complex, str, bytes, Fraction, Decimal, type(None))


def _is_parameter(value: Any) -> bool:
    """Whether a value is small and plain: a parameter rather than data."""
    if isinstance(value, tuple):
        return len(value) <= _FEW and all(map(_is_parameter, value))
    return isinstance(value, (*_PLAIN, np.generic))


def _parameters(function: Any) -> list[str]:
    """Return the plain values that a function closes over or has as defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = (function.__kwdefaults__ or {}).items()
    found = [*cells, *(function.__defaults__ or ()), *(v for _, v in sorted(named))]
    return [repr(each) for each in found if _is_parameter(each)]


def _inside(function: Any, *, before_tags: bool) -> list[Any]:
    """Return what tells two functions of one name apart, without reading data.

    The functions of hush close over public parameters only; those of others may close
    over anything, so of them only the code counts, and plain values they close over:
    another threshold makes another function.
    """
    if not hasattr(function, "__code__"):
        return []
    code = function.__code__
    if not str(function.__module__).startswith("hush."):
        known = b"\0".join([_code(code), *map(str.encode, _parameters(function))])
        return [hashlib.sha256(known).hexdigest()]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    found: list[Any] = describe(cells, before_tags=before_tags)
    return found


def describe(thing: Any, *, before_tags: bool = False) -> Any:
    """Return the public parameters of a mechanism or query as JSON types.

    Two plans with the same description are the same request: numbers are written
    exactly, functions by their name and what tells them apart. `before_tags` is how
    requests of earlier versions were described, so that their keys are known again.

    Example:
        >>> describe(Fraction(1, 3)), describe((1, 2.5))
        ('1/3', [1, 2.5])
    """
    again = functools.partial(describe, before_tags=before_tags)
    if thing is None or isinstance(thing, (bool, str)):
        return thing
    if isinstance(thing, Enum):
        return again(thing.value)
    if isinstance(thing, np.ndarray):
        return {"dtype": str(thing.dtype), "values": again(thing.tolist())}
    if isinstance(thing, numbers.Integral):
        return int(thing)
    if isinstance(thing, Fraction):
        return str(thing)
    if isinstance(thing, numbers.Real):
        number = float(thing)
        return number if math.isfinite(number) else str(number)
    if isinstance(thing, Mapping):
        return {str(key): again(each) for key, each in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [again(each) for each in thing]
    if isinstance(thing, (set, frozenset)):
        return sorted(map(str, map(again, thing)))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        names = [each.name for each in told_fields(thing)]
        if before_tags:
            names = described_fields(thing)
        shown = {name: again(getattr(thing, name)) for name in names}
        kind = tag_of(type(thing)) or type(thing).__name__  # a tag outlives a name
        return {"type": name_of(type(thing)) if before_tags else kind, **shown}
    if isinstance(thing, functools.partial):
        return [again(thing.func), again(thing.args), again(thing.keywords)]
    if hasattr(thing, "__qualname__"):
        name = thing.__qualname__
        # The files of hush move; those of a user are what tells two functions apart.
        module = str(thing.__module__) if hasattr(thing, "__module__") else ""
        home = "" if module.startswith("hush.") else module
        if before_tags:
            home = home_of(thing)
        return [f"{home}.{name}", *_inside(thing, before_tags=before_tags)]
    text = repr(thing)
    return type(thing).__name__ if " at 0x" in text else text
