"""The values people have: numbers in other clothes, things that only look like numbers.

`twins` are the same number in another type. `STRANGE` is no number at all. `FAR` are
numbers that no law, scale or price can hold. `RECORDS` may lie in a list of records.
"""

import math
import numbers
from decimal import Decimal
from fractions import Fraction

import numpy as np


class Whole(int):
    """A whole number of a class of its own, as enums and units have."""


class Real(float):
    """A float of a class of its own."""


class Ratio(Fraction):
    """A fraction of a class of its own."""


class Word(str):
    """A text of a class of its own."""


class Raises:
    """Something that fails whoever looks at it, in no way a library expects."""

    def __array__(self, *args, **options):
        raise RuntimeError("looked at")

    def __float__(self):
        raise ZeroDivisionError("looked at")

    def __int__(self):
        raise MemoryError("looked at")

    @property
    def shape(self):
        raise KeyError("looked at")


class RaisingFloat(float):
    """A float until somebody asks for its value."""

    def __float__(self):
        raise RuntimeError("looked at")


class RaisingWhole(int):
    """A whole number until somebody asks for its value."""

    def __int__(self):
        raise RuntimeError("looked at")

    def __index__(self):
        raise RuntimeError("looked at")

    def __float__(self):
        raise RuntimeError("looked at")


_WHOLE = (
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
)
_FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
_MACHINE = 2**63


def _holds(kind, value):
    """Whether a NumPy type holds a number exactly."""
    if kind in _FLOATS:
        with np.errstate(over="ignore", under="ignore"):
            cast = kind(float(value))
        return float(cast) == value and Fraction(float(cast)) == Fraction(value)
    ends = np.iinfo(kind)
    return Fraction(value).denominator == 1 and ends.min <= value <= ends.max


def twins(value, *, kind=None):
    """Yield (name, twin): the number `value` in every type that holds it exactly.

    `kind` keeps to whole types ("whole") or to the others ("real"), where what is whole
    is declared by the type.
    """
    exact = Fraction(value)
    for each in _twins(value, exact):
        whole = isinstance(each[1], numbers.Integral) or (
            isinstance(each[1], np.ndarray) and each[1].dtype.kind in "iub"
        )
        if kind is None or (kind == "whole") == whole:
            yield each


def _twins(value, exact):
    for kind in _WHOLE:
        if _holds(kind, value):
            yield f"np.{kind.__name__}", kind(int(value))
    for kind in _FLOATS:
        if _holds(kind, value):
            yield f"np.{kind.__name__}", kind(float(value))
            yield f"array of {kind.__name__}", np.array(kind(float(value)))
    if exact.denominator == 1:
        yield "int", int(value)
        yield "subclass of int", Whole(int(value))
        if abs(exact) < _MACHINE:
            yield "array of int64", np.array(np.int64(int(value)))
    if float(value) == value:
        yield "float", float(value)
        yield "subclass of float", Real(value)
        yield "masked array", np.ma.array(float(value))
        yield "Decimal", Decimal(float(value))
    if exact in (0, 1):
        yield "bool", bool(value)
        yield "np.bool_", np.bool_(value)
    yield "Fraction", exact
    yield "subclass of Fraction", Ratio(exact)
    for kind in (np.int32, np.int64, np.uint64):
        ends = np.iinfo(kind)
        most = max(abs(exact.numerator), exact.denominator)
        if ends.min <= exact.numerator and most <= ends.max:
            parts = kind(exact.numerator), kind(exact.denominator)
            yield f"Fraction of {kind.__name__}", Fraction(*parts)


class Named:
    """A value and what to call it in a report."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __repr__(self):
        return self.name


STRANGE = tuple(
    Named(name, value)
    for name, value in {
        "None": None,
        "text": "1",
        "subclass of str": Word("1"),
        "bytes": b"1",
        "np.str_": np.str_("1"),
        "complex": 1 + 0j,
        "np.complex64": np.complex64(1),
        "list": [1.0],
        "nested list": [[1.0], [2.0]],
        "ragged list": [1, [2]],
        "tuple": (1, 2, 3),
        "array": np.array([1.0, 2.0, 3.0]),
        "array of objects": np.array([None, "x"], dtype=object),
        "dict": {"a": 1},
        "set": {1},
        "function": math.sqrt,
        "class": float,
        "timedelta64": np.timedelta64(1, "s"),
        "timedelta64 without unit": np.timedelta64(1),
        "datetime64": np.datetime64("2020-01-01"),
        "NaT": np.datetime64("NaT"),
        "object": object(),
        "raises": Raises(),
        "float that raises": RaisingFloat(1.0),
        "whole number that raises": RaisingWhole(1),
        "masked": np.ma.masked,
        "masked number": np.ma.array(1.0, mask=True),
        "NaN": math.nan,
        "np.float32 NaN": np.float32("nan"),
        "array of NaN": np.array(math.nan),
        "Decimal NaN": Decimal("NaN"),
        "Decimal sNaN": Decimal("sNaN"),
    }.items()
)

FAR = tuple(
    Named(name, value)
    for name, value in {
        "inf": math.inf,
        "-inf": -math.inf,
        "np.float16 inf": np.float16("inf"),
        "Decimal inf": Decimal("Infinity"),
        "minus one": -1,
        "np.int8 minus one": np.int8(-1),
        "zero": 0,
        "minus zero": -0.0,
        "huge int": 10**400,
        "huge Fraction": Fraction(10**400),
        "tiny Fraction": Fraction(1, 10**400),
        "least float": 5e-324,
        "largest float": 1.7976931348623157e308,
        "wide longdouble": np.longdouble("1e4000"),
        "narrow longdouble": np.longdouble("1e-4000"),
        "Decimal wide": Decimal("1e999"),
        "uint64 max": np.uint64(2**64 - 1),
    }.items()
)

RECORDS = tuple(each for each in STRANGE if each.name not in {"class"}) + tuple(
    Named(name, value)
    for name, value in {
        "inf": math.inf,
        "-inf": -math.inf,
        "huge int": 10**400,
        "huge Fraction": Fraction(10**400),
        "wide longdouble": np.longdouble("1e4000"),
        "Decimal inf": Decimal("Infinity"),
        "bool": True,
        "np.bool_": np.bool_(True),
        "np.int8": np.int8(-128),
        "np.uint64": np.uint64(2**64 - 1),
        "np.float16": np.float16(0.5),
        "Decimal": Decimal("0.5"),
        "Fraction": Fraction(1, 2),
        "Fraction of int64": Fraction(np.int64(1), np.int64(2)),
        "0-d array": np.array(0.5),
        "empty list": [],
        "empty text": "",
        "lone surrogate": "\ud800",
        "2-d array": np.zeros((2, 2)),
    }.items()
)
