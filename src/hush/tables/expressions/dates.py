"""Functions of one date that no row can make fail.

Engines agree on the year, the month and the day of a date between 0001-01-01 and
9999-12-31, and on little else, so everything else is worked out from these three.
"""

import datetime
from typing import Any

import ibis

from hush.errors import Unsupported
from hush.tables.expressions.date_range import tame_moment
from hush.tables.expressions.numbers import small_floor
from hush.tables.expressions.types import Kind, Typed, backend_of, number_within

UNITS = {"YEAR": "Y", "QUARTER": "Q", "MONTH": "M", "WEEK": "W", "DAY": "D"}


def tame_date(value: Any) -> Any:
    """Return the day of a date or timestamp; outside of the years 1 to 9999 NULL.

    Some engines have infinite dates, of which no other has a year.
    """
    known = tame_moment(value, backend_of(value))
    return known.date() if value.type().is_timestamp() else known


def part(x: Typed, name: str) -> Typed:
    """Return the YEAR, QUARTER, MONTH, DAY or ISODOW (Monday is 1) as a number."""
    day = tame_date(x.value)
    if name == "YEAR":
        return number_within(day.year().cast("float64"), 1.0, 1e4)
    if name == "MONTH":
        return number_within(day.month().cast("float64"), 1.0, 12.0)
    if name == "DAY":
        return number_within(day.day().cast("float64"), 1.0, 31.0)
    if name == "QUARTER":
        month = day.month().cast("float64")
        return number_within(small_floor((month + 2.0) / 3.0), 1.0, 4.0)
    if name == "ISODOW":
        since = days(x).value + 3.0
        return number_within(since - 7.0 * small_floor(since / 7.0) + 1.0, 1.0, 7.0)
    raise Unsupported(
        f"{name} of a date is not known; YEAR, QUARTER, MONTH, DAY and ISODOW are."
    )


def days(x: Typed) -> Typed:
    """Return the number of days since 1970-01-01.

    Years are counted from March, so that the leap day is a year's last.
    """
    day = tame_date(x.value)
    month, year = day.month().cast("float64"), day.year().cast("float64")
    early = month <= 2.0
    year = year - ibis.ifelse(early, 1.0, 0.0)
    since_march = month + ibis.ifelse(early, 9.0, -3.0)
    leaps = (
        small_floor(year / 4.0) - small_floor(year / 100.0) + small_floor(year / 400.0)
    )
    within = small_floor((153.0 * since_march + 2.0) / 5.0) + day.day().cast("float64")
    return number_within(365.0 * year + leaps + within - 719469.0, 1.0, 1e7)


def date_trunc(x: Typed, unit: str) -> Typed:
    """Return the first day of the YEAR, QUARTER, MONTH or WEEK (from Monday)."""
    if unit not in UNITS:
        raise Unsupported(
            f"DATE_TRUNC takes one of {', '.join(UNITS).lower()}; got {unit.lower()!r}."
        )
    day = tame_date(x.value)
    if unit == "DAY":
        return Typed(Kind.DATE, day)
    return Typed(Kind.DATE, day.truncate(UNITS[unit]).cast("date"))


def literal(text: Any) -> Typed:
    """Return a date literal, read here so that no engine has to."""
    try:
        return Typed(Kind.DATE, ibis.literal(datetime.date.fromisoformat(text)))
    except (TypeError, ValueError):
        raise Unsupported(
            f"{text!r} is not a date; write it as '2026-01-31'."
        ) from None
