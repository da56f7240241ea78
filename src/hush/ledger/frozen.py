"""Mechanisms and laws as JSON: a class of hush and its public fields, and back."""

import dataclasses
import importlib
from enum import Enum
from typing import Any

from hush.errors import InvalidArgument
from hush.ledger.values import decode, encode

_CLASS = "class"


def freeze(thing: Any) -> Any:
    """Return a frozen dataclass of hush as JSON types; None where that is impossible.

    Example:
        >>> from hush.law import DiscreteLaplace
        >>> thaw(freeze(DiscreteLaplace(scale=2)))
        DiscreteLaplace(scale=Fraction(2, 1))
    """
    if thing is None:
        return None
    try:
        return _freeze(thing)
    except InvalidArgument:
        return None


def _freeze(thing: Any) -> Any:
    if isinstance(thing, Enum):
        return {_CLASS: _name(type(thing)), "value": encode(thing.value)}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = [each for each in dataclasses.fields(thing) if each.init]
        shown = {each.name: _freeze(getattr(thing, each.name)) for each in fields}
        return {_CLASS: _name(type(thing)), "fields": shown}
    if isinstance(thing, tuple):
        return {_CLASS: "tuple", "items": [_freeze(each) for each in thing]}
    return {_CLASS: "value", "value": encode(thing)}


def _name(kind: type) -> str:
    if not kind.__module__.startswith("hush.") or "." in kind.__qualname__:
        raise InvalidArgument(f"{kind.__name__} is not a class of hush.")
    return f"{kind.__module__}:{kind.__qualname__}"


def thaw(text: Any) -> Any:
    """Return the object that `freeze` wrote; only dataclasses of hush are made."""
    name = text[_CLASS]
    if name == "value":
        return decode(text["value"])
    if name == "tuple":
        return tuple(thaw(each) for each in text["items"])
    module, _, kind = name.partition(":")
    found = None
    if module.startswith("hush."):
        found = getattr(importlib.import_module(module), kind, None)
    if isinstance(found, type) and issubclass(found, Enum):
        return found(decode(text["value"]))
    if isinstance(found, type) and dataclasses.is_dataclass(found):
        return found(**{name: thaw(each) for name, each in text["fields"].items()})
    raise InvalidArgument(f"{name!r} is not a class of hush that a release may hold.")
