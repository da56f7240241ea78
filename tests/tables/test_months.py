"""A ledger that outlives its data: the same people, month after month."""

import pytest

import hush
from hush.errors import InvalidArgument, Unsupported

TRIPS = {"who": [1, 2, 3], "fare": [10.0, 12.0, 8.0]}


def test_one_month_does_not_pay_for_another():
    ledger = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=1), dataset="march"
    )
    ledger.grant(hush.Budget(epsilon=1), dataset="april")
    with pytest.raises(InvalidArgument, match=r"ledger\.on\(dataset='april'\)"):
        hush.open(TRIPS, unit="who", ledger=ledger, name="april")
    own = ledger.on(dataset="april")
    hush.open(TRIPS, unit="who", ledger=own, name="april").agg(n=hush.count()).release(
        epsilon=0.25
    )
    assert own.remaining().epsilon == 0.75
    assert ledger.remaining().epsilon == 1
    # A table without an account of its own is paid by whoever the ledger is of.
    assert hush.open(TRIPS, unit="who", ledger=ledger).budget.epsilon == 1


def test_a_median_says_that_the_population_is_asked_for_in_advance():
    data = hush.open(TRIPS, unit="who", budget=hush.Budget(epsilon=9))
    plain = data.agg(m=hush.median("fare", bounds=(0, 80))).release(epsilon=1)
    with pytest.raises(Unsupported, match=r"population=True"):
        plain.interval(0.95, population=True)
    asked = hush.median("fare", bounds=(0, 80), population=True)
    both = data.agg(m=asked).release(epsilon=1)
    assert list(both.interval(0.95, population=True)) == ["m"]
