"""Curves as JSON: numbers as they are, functions as tables that bound them."""

import json
import math
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from hush.errors import InvalidArgument
from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Geometric, Law
from hush.privacy import conversion
from hush.privacy.approx import Approx
from hush.privacy.between import Between, FinitePair, Worst
from hush.privacy.bounded_range import BoundedRange
from hush.privacy.curve import Curve
from hush.privacy.density import ContinuousLaplace, Normal, Shifted
from hush.privacy.fixed_size import Subset
from hush.privacy.gdp import GDP
from hush.privacy.loss import Loss
from hush.privacy.pair import Pair
from hush.privacy.poisson import Sampled
from hush.privacy.pure import Pure
from hush.privacy.rdp import RDP, OrderTable
from hush.privacy.shuffle import Shuffled
from hush.privacy.zcdp import ZCDP

_PLAIN: dict[str, type] = {
    each.__name__: each
    for each in (
        Pure, Approx, ZCDP, GDP, Sampled, Subset, Shuffled, Between, FinitePair, Worst,
        BoundedRange, Loss, Pair, OrderTable, Normal, ContinuousLaplace, Shifted,
        DiscreteLaplace, DiscreteGaussian, Geometric, Finite,
    )
}  # fmt: skip


def dump(curve: Curve) -> str:
    """Return a curve as JSON text."""
    return json.dumps(_write(curve), allow_nan=False, separators=(",", ":"))


def load(text: str) -> Curve:
    """Return the curve that `dump` wrote; refuse anything else."""
    try:
        found = _read(json.loads(text))
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise InvalidArgument(
            f"text is not a curve written by to_json: {error}"
        ) from None
    if not isinstance(found, Curve):
        raise InvalidArgument("text must hold a curve; it holds something else.")
    return found


def _write(value: Any) -> Any:
    if isinstance(value, RDP):
        table = value.function
        if not isinstance(table, OrderTable):
            known = [
                (a, e) for a, e in zip(conversion.ORDERS, value._known, strict=True)
            ]
            kept = [(float(a), float(e)) for a, e in known if math.isfinite(e)]
            table = OrderTable(tuple(a for a, _ in kept), tuple(e for _, e in kept))
        return {"type": "RDP", "function": _write(table)}
    if is_dataclass(value) and type(value) is _PLAIN.get(type(value).__name__):
        named = {each.name: _write(getattr(value, each.name)) for each in fields(value)}
        return {"type": type(value).__name__} | named
    if isinstance(value, Curve):  # a function: two tables that lie around it
        above, below = (
            FinitePair.of(value.atoms_above),
            FinitePair.of(value.atoms_below),
        )
        name = type(value).__name__
        return _write(Between(above, below, name, value.symmetric))
    if isinstance(value, Law):
        raise InvalidArgument(f"{type(value).__name__} cannot be written as JSON.")
    if isinstance(value, Fraction):
        return {"type": "Fraction", "value": str(value)}
    if isinstance(value, tuple):
        return [_write(each) for each in value]
    if isinstance(value, float) and math.isinf(value):
        return {"type": "float", "value": "inf"}
    return value


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(each) for each in value)
    if not isinstance(value, dict):
        return value
    kind = value["type"]
    if kind == "Fraction":
        return Fraction(value["value"])
    if kind == "float":
        return math.inf
    named = {name: _read(each) for name, each in value.items() if name != "type"}
    return RDP(**named) if kind == "RDP" else _PLAIN[kind](**named)
