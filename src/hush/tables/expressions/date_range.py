"""Dates and timestamps of the years 1 to 9999, to the microsecond: the rest is NULL.

Engines hold other moments, each its own: infinite ones, the year 300000, nanoseconds.
Some fail on such a value as soon as they write it, compare it with one of another
resolution or hand it to Python. One row would then turn the answer into an error.
"""

import datetime
from typing import Any

import ibis

FIRST, LAST = datetime.date.min, datetime.date.max
_START, _END = datetime.datetime.min, datetime.datetime.max
_MICRO, _NANO = 6, 9  # digits of a second


def tame_moment(value: Any, engine: str) -> Any:
    """Return a date or timestamp that every engine, and Python, can write.

    Guarantee: NULL outside of the years 1 to 9999; no value makes an engine fail.
    """
    if value.type().is_date():
        return _value_within(value, value, FIRST, LAST)
    if engine == "duckdb":
        # A comparison with microseconds multiplies, and fails far from 1970.
        coarse = value.type().scale not in (None, _MICRO)
        micro = value.try_cast("timestamp(6)") if coarse else value
        return _value_within(micro, micro, _START, _END)
    if engine != "polars":
        return _value_within(value, value.date(), FIRST, LAST)
    if value.type().scale == _NANO:  # 64 bits hold three centuries of them
        return value.cast("timestamp(6)")
    known = _value_within(value, value, _START, _END)
    return known if value.type().scale == _MICRO else known.cast("timestamp(6)")


def _value_within(value: Any, place: Any, first: Any, last: Any) -> Any:
    """Return a value whose place lies between two ends of its own type, or NULL."""
    low, high = (ibis.literal(each, place.type()) for each in (first, last))
    return ibis.ifelse((place >= low) & (place <= high), value, ibis.null(value.type()))
