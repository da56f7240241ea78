"""Released values as JSON and back, bit for bit."""

import base64
import datetime
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

from hush.errors import InvalidArgument

_READABLE = 1000  # longer arrays are written as base64
_FEW = 16  # values of a tuple that is a parameter, such as bounds
_TAG = "hush"
_MOMENTS: dict[str, Any] = {
    each.__name__: each for each in (datetime.date, datetime.datetime, datetime.time)
}


def encode(value: Any) -> Any:
    """Return `value` as JSON types; what JSON lacks becomes a tagged object.

    Guarantee: `decode(encode(v))` has the type, the shape and every bit of `v`.

    Example:
        >>> decode(encode({"n": 41, "mean": [0.1, float("inf")]}))
        {'n': 41, 'mean': [0.1, inf]}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return {_TAG: "scalar", "dtype": value.dtype.str, "value": encode(value.item())}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {_TAG: "float", "value": str(float(value))}
    if isinstance(value, Fraction):
        return {_TAG: "fraction", "value": str(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        kind = type(value).__name__
        return {_TAG: "moment", "kind": kind, "value": value.isoformat()}
    if isinstance(value, Decimal):
        return {_TAG: "decimal", "value": str(value)}
    if isinstance(value, tuple):
        return {_TAG: "tuple", "items": [encode(each) for each in value]}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return _mapping(value)
    raise InvalidArgument(
        f"a released value must be made of numbers, text, lists, dicts and arrays; "
        f"got a {type(value).__name__}."
    )


def _mapping(value: Mapping[Any, Any]) -> Any:
    if all(isinstance(key, str) for key in value) and _TAG not in value:
        return {key: encode(each) for key, each in value.items()}
    pairs = [[encode(key), encode(each)] for key, each in value.items()]
    return {_TAG: "dict", "items": pairs}


def _array(value: Any) -> Any:
    array = np.ascontiguousarray(value)
    head = {_TAG: "array", "shape": list(value.shape)}
    if array.dtype == object or array.dtype.kind in "US":
        return {
            **head,
            "dtype": array.dtype.str,
            "items": encode(array.ravel().tolist()),
        }
    if array.dtype.kind not in "biuf":
        raise InvalidArgument(
            f"a released array must hold numbers or text; got dtype {array.dtype}."
        )
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    head["dtype"] = array.dtype.str
    if array.size <= _READABLE:
        return {**head, "items": encode(array.ravel().tolist())}
    return {**head, "base64": base64.b64encode(array.tobytes()).decode()}


def decode(value: Any) -> Any:
    """Return what `encode` was given."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    if tag is None:
        return {key: decode(each) for key, each in value.items()}
    if tag == "float":
        return float(value["value"])
    if tag == "fraction":
        return Fraction(value["value"])
    if tag == "moment":
        return _MOMENTS[value["kind"]].fromisoformat(value["value"])
    if tag == "decimal":
        return Decimal(value["value"])
    if tag == "tuple":
        return tuple(decode(each) for each in value["items"])
    if tag == "dict":
        return {decode(key): decode(each) for key, each in value["items"]}
    if tag == "scalar":
        return np.dtype(value["dtype"]).type(decode(value["value"]))
    if tag == "array":
        return _decode_array(value)
    raise InvalidArgument(f"a released value has an unknown tag {tag!r}.")


def _decode_array(value: dict[str, Any]) -> Any:
    dtype = np.dtype(value["dtype"])
    if "base64" in value:
        flat = np.frombuffer(base64.b64decode(value["base64"]), dtype=dtype).copy()
    else:
        items = decode(value["items"])
        flat = np.empty(len(items), dtype=dtype)
        flat[:] = items
    array = flat.reshape(value["shape"])
    array.setflags(write=False)  # a release does not change
    return array


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


def _inside(function: Any) -> list[Any]:
    """Return what tells two functions of one name apart, without reading data.

    The functions of hush close over public parameters only; those of others may close
    over anything, so of them only the code counts, and plain values they close over:
    another threshold makes another function.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    if not str(function.__module__).startswith("hush."):
        known = b"\0".join([_code(code), *map(str.encode, _parameters(function))])
        return [hashlib.sha256(known).hexdigest()]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return describe(cells)  # type: ignore[no-any-return]


def describe(thing: Any) -> Any:
    """Return the public parameters of a mechanism or query as JSON types.

    Two plans with the same description are the same request: numbers are written
    exactly, functions by their name and what tells them apart.

    Example:
        >>> describe(Fraction(1, 3)), describe((1, 2.5))
        ('1/3', [1, 2.5])
    """
    if thing is None or isinstance(thing, (bool, str)):
        return thing
    if isinstance(thing, Enum):
        return describe(thing.value)
    if isinstance(thing, np.ndarray):
        return {"dtype": str(thing.dtype), "values": describe(thing.tolist())}
    if isinstance(thing, numbers.Integral):
        return int(thing)
    if isinstance(thing, Fraction):
        return str(thing)
    if isinstance(thing, numbers.Real):
        number = float(thing)
        return number if math.isfinite(number) else str(number)
    if isinstance(thing, Mapping):
        return {str(key): describe(each) for key, each in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [describe(each) for each in thing]
    if isinstance(thing, (set, frozenset)):
        return sorted(map(str, map(describe, thing)))
    fields = getattr(thing, "__dataclass_fields__", None)
    if fields is not None and not isinstance(thing, type):
        shown = {name: describe(getattr(thing, name)) for name in fields}
        return {"type": type(thing).__name__, **shown}
    if isinstance(thing, functools.partial):
        return [describe(thing.func), describe(thing.args), describe(thing.keywords)]
    name = getattr(thing, "__qualname__", None)
    if name is not None:
        return [f"{getattr(thing, '__module__', '')}.{name}", *_inside(thing)]
    text = repr(thing)
    return type(thing).__name__ if " at 0x" in text else text
