"""A ledger that outlives its data: the same people, month after month."""

import pytest

import hush
from hush.errors import InvalidArgument

TRIPS = {"who": [1, 2, 3], "fare": [10.0, 12.0, 8.0]}


def test_next_month_is_not_advised_to_begin_a_budget_of_its_own(tmp_path):
    url, budget = f"sqlite:///{tmp_path}/b.db", hush.Budget(epsilon=1)
    hush.open(TRIPS, unit="who", ledger=url, budget=budget, name="may").ledger.close()
    with pytest.raises(InvalidArgument) as refused:
        hush.open(TRIPS, unit="who", ledger=url, name="june")
    text = str(refused.value)
    assert "it has 'may'. If these are the same people" in text
    assert text.index("name='may'") < text.index("budget=")
    both = hush.open(TRIPS, unit="who", ledger=url, name="may")
    assert both.budget.epsilon == 1
    both.ledger.close()
