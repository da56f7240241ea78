"""Mechanisms as text: name and public fields, nothing else, and back again."""

import json
import math
from dataclasses import fields
from fractions import Fraction
from typing import Any

from hush.errors import InvalidArgument
from hush.privacy.curve import Curve
from hush.units import Neighbors


def _plain(value: Any) -> Any:
    """Return a field as JSON can hold it, exactly."""
    if isinstance(value, Fraction):
        return {"fraction": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, Curve):
        return {"curve": value.to_json()}
    if isinstance(value, tuple):
        return {"tuple": [_plain(each) for each in value]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (str, int, float, bool)):
        return str(value) if isinstance(value, Neighbors) else value
    raise InvalidArgument(
        f"{type(value).__name__} cannot be written as text; a mechanism that is stored "
        "must consist of numbers, names and curves."
    )


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, inner),) = plain.items()
    if kind == "fraction":
        return Fraction(inner)
    if kind == "curve":
        return Curve.from_json(inner)
    if kind == "float":
        return float(inner)
    return tuple(_value(each) for each in inner)


def dump(mechanism: Any) -> str:
    """Return a mechanism as JSON text."""
    found = {f.name: _plain(getattr(mechanism, f.name)) for f in fields(mechanism)}
    return json.dumps({"mechanism": type(mechanism).__name__, **found})


def load(text: str) -> Any:
    """Return the mechanism that `dump` wrote; only public mechanisms are made."""
    from hush import mechanisms

    try:
        given = dict(json.loads(text))
        name = given.pop("mechanism", None)
        named = {key: _value(plain) for key, plain in given.items()}
    except (ValueError, TypeError, ArithmeticError) as problem:
        raise InvalidArgument(
            "text must be JSON as a mechanism's to_json() writes it."
        ) from problem
    kind = getattr(mechanisms, name, None) if name in mechanisms.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, mechanisms.Mechanism)):
        raise InvalidArgument(
            f"mechanism must name one of hush.mechanisms; got {name!r}."
        )
    try:
        return kind(**named)
    except TypeError as problem:
        raise InvalidArgument(
            f"{name} is not made of the fields {sorted(named)}."
        ) from problem
