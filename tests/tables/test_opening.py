"""What `hush.open` is told about people, files and ledgers, and what it says back."""

from pathlib import Path

import pytest

import hush
from hush.errors import InvalidArgument

TRIPS = {"who": [1, 1, 2, 3], "fare": [10.0, 12.0, 8.0, 30.0]}
BUDGET = hush.Budget(epsilon=1)


@pytest.mark.parametrize("told", [{"rows": 40}, {"rows": 2}, {"groups": 3}])
def test_several_rows_of_a_person_need_the_column_that_says_whose_they_are(told):
    (name,) = told
    with pytest.raises(InvalidArgument, match=f'^{name}=.* unit="column"') as said:
        hush.open(TRIPS, budget=BUDGET, **told)
    assert f"leave {name}= out" in str(said.value)
    hush.open(TRIPS, unit="who", budget=BUDGET, **told)


def test_rows_are_ten_unless_said_and_one_where_every_row_is_a_person():
    assert hush.open(TRIPS, unit="who", budget=BUDGET).rows == 10
    assert hush.open(TRIPS, unit="who", rows=7, budget=BUDGET).rows == 7
    assert hush.open(TRIPS, rows=1, budget=BUDGET).rows == 1
    assert hush.open(TRIPS, budget=BUDGET).rows == 1
    with pytest.raises(InvalidArgument, match="rows"):
        hush.open(TRIPS, unit="who", rows=0, budget=BUDGET)


def test_a_path_for_a_ledger_says_which_address_to_write():
    with pytest.raises(InvalidArgument, match=r"ledger='sqlite:///budget\.db'"):
        hush.open(TRIPS, unit="who", ledger=Path("budget.db"), budget=BUDGET)
    with pytest.raises(InvalidArgument, match="got a int"):
        hush.open(TRIPS, unit="who", ledger=3, budget=BUDGET)
