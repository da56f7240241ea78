"""A table that cannot be opened is refused in words that hold no value of it."""

import datetime
import decimal

import numpy as np
import pytest

import hush
from hush.errors import HushError
from seams import canary
from seams.escaping import told_by

BUDGET = hush.Budget(epsilon=9)


class Loud:
    """A value that tells itself wherever it can."""

    def __repr__(self):
        return canary.TEXT

    def __float__(self):
        raise ValueError(canary.TEXT)

    def __array__(self, *more, **options):
        raise ValueError(canary.TEXT)

    def __hash__(self):
        raise ValueError(canary.TEXT)

    def __eq__(self, other):
        raise ValueError(canary.TEXT)


ODD = {
    "a text among numbers": [1, 2, canary.TEXT],
    "a number among texts": ["a", "b", canary.WHOLE],
    "beyond 64 bits": [1, 2, canary.WHOLE * 10**15 + canary.WHOLE],
    "an object": [1, 2, Loud()],
    "a list": [1, 2, [canary.TEXT]],
    "a mapping": ["a", "b", {canary.TEXT: 1}],
    "bytes": ["a", "b", canary.TEXT.encode()],
    "a decimal": [1, 2, decimal.Decimal(str(canary.REAL))],
    "a text among days": [datetime.date(2020, 1, 1), None, canary.TEXT],
    "half a character": ["a", "b", canary.TEXT + "\ud800"],
    "no real number": [1, 2, canary.REAL * 1j],
    "a span of time": [1, 2, np.timedelta64(canary.WHOLE, "ns")],
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("unit", ["u", "x"])
@pytest.mark.parametrize("kind", ["dict", "pandas"])
@pytest.mark.parametrize("name", ODD)
def test_no_refusal_quotes_a_value(name, kind, unit):
    given = {"u": [1, 2, 3], "x": ODD[name]}
    if kind == "pandas":
        import pandas

        given["x"] = pandas.Series(ODD[name], dtype=object)
        given = pandas.DataFrame(given)
    try:
        data = hush.open(given, unit=unit, budget=BUDGET)
        shown = repr(data.agg(n=hush.count()).release(epsilon=1))
    except HushError as problem:
        shown, held = told_by(problem, (given,))
        assert not canary.hits(held)
    assert not canary.hits(shown)


def test_the_search_would_find_a_quotation():
    with pytest.raises(ValueError, match="canary") as caught:
        float(Loud())
    assert canary.hits(told_by(caught.value)[0])
