"""Anything that a ledger gives back, as JSON that holds every bit of it."""

import datetime
import hashlib
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np


def exact(value):
    """Return a value as JSON types: floats in hexadecimal, every type by its name."""
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, Enum) else value
    if isinstance(value, np.generic):
        return [f"numpy {value.dtype.str}", exact(value.item())]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return f"float {value.hex()}"
    if isinstance(value, Fraction):
        return f"fraction {value}"
    if isinstance(value, (Decimal, datetime.date, datetime.time)):
        return f"{type(value).__name__} {value}"
    if isinstance(value, bytes):
        return f"bytes {value.hex()}"
    if isinstance(value, np.ndarray):
        found = [exact(each) for each in value.ravel().tolist()]
        return [f"array {value.dtype.str}", list(value.shape), short(found)]
    if isinstance(value, Mapping):
        return ["dict", *([exact(key), exact(each)] for key, each in value.items())]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(exact, value)]
    return repr(value)


def short(found):
    """Return a list, or its hash where it is long."""
    if len(found) <= 64:
        return found
    return digest(repr(found))


def digest(text):
    """Return the hash of a text."""
    return "sha256 " + hashlib.sha256(text.encode()).hexdigest()


def tried(call):
    """Return what a call gives, or the name of the error it raises."""
    try:
        with np.errstate(all="ignore"):  # a warning is not what was stored
            return exact(call())
    except Exception as problem:
        return f"raises {type(problem).__name__}"
