"""The list of charges says who asked, where analysts have accounts."""

import hush
from hush.cli import ledgers
from hush.mechanisms import Laplace


def test_charges_name_the_analyst_only_where_there_is_one():
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1), dataset="v")
    ledger.charge(Laplace(scale=10.0), 1)
    before = ledgers.charges(ledger.history(), "dataset:v")
    assert [each.name for each in ledgers.columns(before)].count("analyst") == 0
    ledger.grant(hush.Budget(epsilon=0.5), analyst="ana")
    ledger.on(analyst="ana").charge(Laplace(scale=10.0), 1)
    rows = ledgers.charges(ledger.history(), "dataset:v")
    assert [each["analyst"] for each in rows] == [None, "ana"]
    (column,) = (each for each in ledgers.columns(rows) if each.name == "analyst")
    assert list(column.cells) == ["", "ana"]
