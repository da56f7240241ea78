"""Public keys as values of their columns: a text column has text keys, and so on.

An engine that compares a text with a number converts the text, and fails on some rows
and not on others. So keys of another kind are refused before anything is read.
"""

import datetime
import itertools
import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from numbers import Integral, Real
from typing import Any

import ibis.expr.types as ir
import numpy as np

from hush.errors import InvalidArgument
from hush.tables.engines.database_types import is_filled
from hush.tables.expressions.types import LARGE, SMALL, Kind, column


def fitting(table: ir.Table, columns: tuple[str, ...], keys: Any) -> Any:
    """Return the keys with dates read from texts, or refuse one that cannot match."""
    listed = _crossed(columns, keys) if isinstance(keys, Mapping) else list(keys)
    if len(columns) == 1:
        return [_fitting(table, columns[0], key) for key in listed]
    if not all(isinstance(key, tuple) for key in listed):
        raise InvalidArgument(_several(columns))
    return [
        tuple(_fitting(table, n, v) for n, v in zip(columns, key, strict=True))
        if len(key) == len(columns)
        else key
        for key in listed
    ]


def _crossed(columns: tuple[str, ...], keys: Mapping[str, Any]) -> list[Any]:
    """Return every value of one column with every value of the others."""
    if set(keys) != set(columns) or any(isinstance(keys[n], str) for n in columns):
        raise InvalidArgument(
            f"keys must list the values of {', '.join(columns)}, each in a list of its "
            f"own; got lists of {', '.join(map(str, keys))}."
        )
    if len(columns) == 1:
        return list(keys[columns[0]])
    return list(itertools.product(*(keys[name] for name in columns)))


def _several(columns: tuple[str, ...]) -> str:
    """Say how keys of several columns are written."""
    one = ", ".join(f"a {name}" for name in columns)
    lists = ", ".join(f"{name!r}: [...]" for name in columns)
    return (
        f"keys of several columns must be tuples, keys=[({one}), ...], or a list for "
        f"each column, keys={{{lists}}}: every value of one with every value of the "
        "others."
    )


def _fitting(table: ir.Table, name: str, key: Any) -> Any:
    kind = column(table, name).kind
    if key is None:
        return None
    if kind is Kind.TEXT and isinstance(key, str):
        return str(key)
    if kind is Kind.TRUTH and isinstance(key, bool):
        return key
    number = isinstance(key, Real) and not isinstance(key, bool)
    if isinstance(key, Decimal):
        number = True
    if kind is Kind.NUMBER and number and _within(key):
        return key
    if kind is Kind.DATE:
        found = _date(key, exact=table[name].type().is_timestamp())
        if found is not None:
            return found
    hint = ""
    if number and key != key:  # NaN, as pandas writes what is missing
        hint = " Rows without a value are the key None."
    elif kind is Kind.TEXT and number:
        hint = f" Write it as {str(key)!r}, or open the file with types=."
    raise InvalidArgument(
        f"the key {key!r} cannot be a value of {name!r}, which is a {kind}.{hint}"
    )


def _within(key: Any) -> bool:
    """Return whether engines can hold a number, as a 64-bit integer or a double."""
    if isinstance(key, int):
        return -(1 << 63) <= key < 1 << 63
    return math.isfinite(key)


def matched(
    table: ir.Table, columns: tuple[str, ...], keys: Sequence[Any]
) -> tuple[tuple[Any, ...], ...]:
    """Return keys as values of their columns' types; refuse those that these change.

    A key of 0.1 is 0.10 of a DECIMAL(10, 2), and of a single-precision column the
    number nearest to it; 0.125 is no value of either decimal, and could never be met.
    """
    kinds = [table[name].type() for name in columns]
    filled = {name for name in columns if is_filled(table[name])}
    whole = [key if len(columns) > 1 else (key,) for key in keys]
    seen: dict[Any, dict[Any, Any]] = {name: {} for name in columns}
    found = []
    for key in whole:
        if len(key) != len(columns):
            return tuple(map(tuple, whole))  # refused as groups
        parts = []
        for name, kind, value in zip(columns, kinds, key, strict=True):
            known = seen[name]
            if (type(value), value) not in known:
                blank = name in filled and isinstance(value, str)
                plain = value.rstrip(" ") if blank else value
                known[type(value), value] = _of_type(name, kind, plain)
            parts.append(known[type(value), value])
        found.append(tuple(parts))
    if len(set(found)) < len(found) and len(set(whole)) == len(whole):
        raise InvalidArgument(
            f"two of the keys are one value of {', '.join(columns)}: its type cannot "
            "tell them apart. Name each once."
        )
    return tuple(found)


def _of_type(name: str, kind: Any, key: Any) -> Any:
    """Return the value of a type that a key stands for, or refuse the key."""
    if key is None or kind.is_boolean() or kind.is_string() or kind.is_date():
        return key
    if kind.is_timestamp():
        digits = 6 if kind.scale is None else min(kind.scale, 6)
        held = key if key.microsecond % 10 ** (6 - digits) == 0 else None
    elif kind.is_integer():
        low, high = kind.bounds
        held = int(key) if key == int(key) and low <= key <= high else None
    elif kind.is_decimal():
        held = _decimal(key, kind)
    elif 0 < abs(float(key)) < SMALL or abs(float(key)) > LARGE:
        raise InvalidArgument(
            f"the key {key!r} cannot be a value of {name!r}: numbers are held inside "
            "10^±70, below that they are 0.0. Write 1e70, -1e70 or 0.0."
        )
    elif kind.is_float32() and abs(float(key)) != LARGE:  # to which infinities are held
        held = single(key)
    else:
        held = _double(key)
    if held is None:
        raise InvalidArgument(
            f"the key {key!r} cannot be a value of {name!r}, which has type {kind}: it "
            "would change. Write it as the column has it."
        )
    return held


def _exact(key: Any) -> Decimal:
    """Return the number as it is written: 0.1 is a tenth."""
    if isinstance(key, (Decimal, Integral)):
        return Decimal(int(key)) if isinstance(key, Integral) else key
    return Decimal(repr(float(key)))


def _decimal(key: Any, kind: Any) -> Decimal | None:
    """Return a number of so many digits, None where it has more."""
    wide = Context(prec=200)
    held = _exact(key)
    if held.adjusted() > 100 or held.adjusted() < -100:
        return Decimal(0) if held == 0 else None
    cut = wide.quantize(held, Decimal(1).scaleb(-(kind.scale or 0)))
    room = cut.copy_abs() < Decimal(10) ** ((kind.precision or 38) - (kind.scale or 0))
    # Not cut + 0, which rounds to the 28 digits of Python's own context.
    return wide.plus(cut) if room and cut == held else None


def _double(key: Any) -> float | None:
    """Return the double that a number is, or is nearest to in as many digits."""
    held = float(key)
    same = held == key or _exact(key) == Decimal(repr(held))
    return held + 0.0 if same else None


def single(key: Any) -> float | None:
    """Return the single-precision number that a key is written as, as a double."""
    with np.errstate(over="ignore", under="ignore"):
        held = np.float32(key)
    if not np.isfinite(held):
        return None
    same = float(held) == float(key) or _exact(key) == Decimal(str(held))
    return float(held) + 0.0 if same else None


def _date(key: Any, *, exact: bool) -> Any:
    """Return the date that a key means; a column of timestamps needs timestamps."""
    wanted = datetime.datetime if exact else datetime.date
    if isinstance(key, str):
        try:
            return wanted.fromisoformat(key)
        except ValueError:
            return None
    if isinstance(key, datetime.datetime) is exact and isinstance(key, wanted):
        return key
    return None
