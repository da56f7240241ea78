"""What people try first and gets them an answer that helps."""

import pytest

import hush
from hush.errors import InvalidArgument, Unsupported

TRIPS = {"who": [1, 2, 3], "fare": [10.0, 12.0, 8.0]}


@pytest.mark.parametrize("budget", [1, 1.0, {"epsilon": 1}, "1"])
def test_a_budget_that_is_none_says_how_to_write_one(budget):
    with pytest.raises(InvalidArgument, match=r"as in hush\.Budget\(epsilon=1\)"):
        hush.open(TRIPS, unit="who", budget=budget)


def test_types_that_are_no_mapping_say_how_to_write_them(tmp_path):
    (tmp_path / "trips.csv").write_text("who,fare\n1,10\n")
    with pytest.raises(InvalidArgument, match=r"types=\{'fare': 'number'\}"):
        hush.open(tmp_path / "trips.csv", budget=hush.Budget(epsilon=1), types="auto")


def test_a_text_where_a_number_is_needed_shows_the_types_to_give(tmp_path):
    (tmp_path / "trips.csv").write_text("who,fare\n1,10\n")
    data = hush.open(tmp_path / "trips.csv", budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported, match=r"types=\{'fare': 'number'\}"):
        data.agg(m=hush.mean("fare", bounds=(0, 80))).plan(epsilon=1)


@pytest.mark.parametrize("asked", ["AVG(fair)", "SUM(fare + fair)", "MEDIAN(fair)"])
def test_sql_names_a_missing_column_before_it_asks_for_bounds(asked):
    data = hush.open(TRIPS, unit="who", rows=1, budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported, match="no column 'fair'; the columns are fare"):
        data.sql(f"SELECT {asked} FROM data", epsilon=0.5)
    assert str(data.budget).startswith("dataset 'data': epsilon 1 left")
