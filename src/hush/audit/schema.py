"""Where two results differ: in their form, or only in their values.

A result may show the form of the data as clearly as a number does: a key that is there
or not, the length of a list, the type of a cell. Both are compared to the last bit.
"""

import dataclasses
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_DEEP = 8
_PLAIN = (str, bytes, bool, type(None), numbers.Number, np.generic)
Difference = tuple[str, str]  # ("form" or "value", where)


def differences(first: Any, second: Any, where: str = "result") -> list[Difference]:
    """Return every place where two results differ.

    Example:
        >>> differences({"n": 3, "mean": 0.5}, {"n": 4, "mean": 0.5})
        [('value', "result['n']")]
        >>> differences([1, 2], [1, 2, 3])
        [('form', 'result')]
    """
    return list(_walk(first, second, where, _DEEP))


def _walk(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    if type(a) is not type(b):
        yield "form", where
    elif isinstance(a, _PLAIN):
        if not _equal(a, b):
            yield "value", where
    elif isinstance(a, np.ndarray):
        yield from _arrays(a, b, where, deep)
    elif isinstance(a, (set, frozenset)):
        if a != b:
            yield "form", where
    elif a is not b and deep:
        yield from _parts(a, b, where, deep - 1)


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) or bool(a != a and b != b)  # NaN is NaN


def _arrays(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    if a.shape != b.shape or a.dtype != b.dtype:
        yield "form", where
    elif a.dtype.kind == "O":
        yield from _walk(a.tolist(), b.tolist(), where, deep)
    elif not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        yield "value", where


def _parts(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    left, right = _named(a, where), _named(b, where)
    if list(left) != list(right):
        yield "form", where
        return
    for name, part in left.items():
        yield from _walk(part, right[name], name, deep)


def _named(value: Any, where: str) -> dict[str, Any]:
    """Return the parts of a result by the words that lead to them."""
    if isinstance(value, Mapping):
        return {f"{where}[{key!r}]": part for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return {f"{where}[{i}]": part for i, part in enumerate(value)}
    if hasattr(value, "to_pydict"):  # an Arrow table
        return _named(value.to_pydict(), where)
    if hasattr(value, "columns") and hasattr(value, "__getitem__"):  # a data frame
        return _named({c: np.asarray(value[c]) for c in value.columns}, where)
    if hasattr(value, "values") and not callable(value.values):  # a release
        return {f"{where}.values": value.values}
    if dataclasses.is_dataclass(value):
        named = (each.name for each in dataclasses.fields(value))
        return {f"{where}.{name}": getattr(value, name) for name in named}
    if callable(value):
        return {}
    public = getattr(value, "__dict__", {})
    return {f"{where}.{name}": part for name, part in public.items()}
