"""What people try first and gets them an answer that helps."""

import copy
import datetime

import pytest

import hush
from hush import suggestions
from hush.errors import BudgetExceeded, InvalidArgument, Unsupported

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
    with pytest.raises(Unsupported, match="no column 'fair'; did you mean 'fare'"):
        data.sql(f"SELECT {asked} FROM data", epsilon=0.5)
    assert str(data.budget).startswith("dataset 'data': epsilon 1 left")


def opened() -> hush.tables.Dataset:
    return hush.open(TRIPS, unit="who", rows=1, budget=hush.Budget(epsilon=1))


@pytest.mark.parametrize(
    "make", [hush.mean, hush.sum, hush.median, hush.std, hush.variance, hush.max]
)
def test_an_aggregate_without_bounds_says_why_and_how(make):
    with pytest.raises(InvalidArgument, match="public") as refused:
        opened().agg(x=make("fare"))
    assert "bounds=(0, 80)" in str(refused.value)
    assert 'bounds="private"' in str(refused.value)


def test_two_expressions_without_bounds_are_shown_two_pairs():
    with pytest.raises(InvalidArgument, match=r"bounds=\(\(0, 80\), \(0, 80\)\)"):
        opened().agg(x=hush.correlation("fare", "who"))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("groupby", ".group_by("),
        ("filter", ".where("),
        ("count", ".agg(n=hush.count())"),
        ("mean", 'hush.mean("fare", bounds='),
        ("head", "Rows are not shown"),
        ("fare", "Columns are named in aggregates"),
    ],
)
def test_a_data_set_names_the_way_out_of_a_near_miss(name, way):
    with pytest.raises(AttributeError, match=f"no attribute {name!r}") as refused:
        getattr(opened(), name)
    assert way in str(refused.value)


def test_near_misses_on_queries_and_answers_name_the_way_out():
    data = opened()
    query = data.agg(n=hush.count())
    for each, name, way in (
        (data.group_by("who", keys=[1]), "count", ".agg(n=hush.count())"),
        (query, "execute", ".release(epsilon="),
        (query.release(epsilon=0.5), "df", ".to_pandas()"),
        (data, "nothing", "no attribute 'nothing'"),
    ):
        with pytest.raises(AttributeError) as refused:
            getattr(each, name)
        assert way in str(refused.value)


def test_a_data_set_is_not_taken_apart():
    with pytest.raises(Unsupported, match=r"hush\.mean"):
        opened()["fare"]
    with pytest.raises(Unsupported):
        list(opened())


def test_a_near_miss_hides_no_name_that_is_there():
    data = opened()
    query = data.agg(n=hush.count())
    grouped = data.group_by("who", keys=[1])
    answer = query.release(epsilon=0.5)
    there = {
        (type(each).__name__, name)
        for each, words in (
            (data, suggestions.DATASET),
            (grouped, suggestions.GROUPED),
            (query, suggestions.QUERY),
            (answer, suggestions.ANSWER),
        )
        for name in words
        if hasattr(each, name)
    }
    assert there == set()


def test_data_sets_and_answers_are_still_copied_and_pickled_as_before():
    data = opened()
    assert copy.copy(data).name == data.name
    answer = data.agg(n=hush.count()).release(epsilon=0.5)
    assert copy.copy(answer)["n"] is not None


def test_an_answer_is_read_by_the_names_of_its_columns():
    data = opened()
    answer = data.group_by("who", keys=[1, 2]).agg(n=hush.count()).release(epsilon=0.5)
    assert list(answer) == ["who", "n"]
    assert answer["who"] == [1, 2]
    assert (answer["n"] == answer.values["n"]).all()
    assert "n" in answer
    assert "m" not in answer
    with pytest.raises(KeyError, match="the columns are who, n"):
        answer["m"]


def test_a_presented_answer_is_read_in_its_own_order():
    data = hush.open(TRIPS, unit="who", rows=1, budget=hush.Budget(epsilon=100))
    shown = data.sql(
        "SELECT who, COUNT(*) AS n FROM data GROUP BY who ORDER BY who DESC",
        epsilon=50,
        keys={"who": [1, 2]},
    )
    assert shown["who"] == [2, 1]
    assert list(shown["n"]) == shown.to_dict()["n"]


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ("MAX(fare)", "MAX(CLAMP(fare, 0, 100))"),
        ("MAX(fare)", "QUANTILE(CLAMP(fare, 0, 100), 0.99) is steadier"),
        ("MIN(fare + 1)", "QUANTILE(CLAMP(fare + 1, 0, 100), 0.01)"),
        ("AVG(fare)", "write AVG(CLAMP(fare, 0, 100))"),
        ("MAX(DISTINCT fare)", "COUNT(DISTINCT x) only"),
        ("MAX(day)", "DATE_DIFF('day', DATE '2020-01-01', day)"),
        ("MAX(name)", "is a text; a number is needed"),
    ],
)
def test_a_refused_aggregate_says_what_to_write_and_that_is_accepted(asked, way):
    day = datetime.date(2024, 5, 1)
    rows = TRIPS | {"day": [day] * 3, "name": ["a", "b", "c"]}
    data = hush.open(rows, unit="who", rows=1, budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported) as refused:
        data.sql(f"SELECT {asked} FROM data", epsilon=0.5)
    assert way in str(refused.value)
    if way.endswith("))"):
        data.prepare(f"SELECT {way.removeprefix('write ')} AS m FROM data")


def test_a_spent_budget_says_how_it_is_enlarged_and_that_works():
    data = opened()
    query = data.agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
    with pytest.raises(BudgetExceeded) as refused:
        query.release(epsilon=2)
    said = str(refused.value)
    assert said.startswith("this release (3 charges, made as one) needs epsilon 2")
    assert "`hush budget --raise`" in said
    call = said.partition("ledger.")[2].partition(" or,")[0]
    assert call == "raise_budget(hush.Budget(epsilon=...), dataset='data')"
    data.ledger.raise_budget(hush.Budget(epsilon=3), dataset="data")
    query.release(epsilon=2)


def test_an_aggregate_without_a_name_says_how_to_name_it():
    data = hush.open(TRIPS, unit="who", rows=1, budget=hush.Budget(epsilon=1))
    for asked in (data, data.group_by("fare", keys=[8.0])):
        with pytest.raises(InvalidArgument, match=r"as in \.agg\(n=hush\.count\(\)\)"):
            asked.agg(hush.count())


WARDS = {
    "who": [1, 2, 3, 4],
    "ward": ["North", "South", "North", "South"],
    "smoker": ["yes", "no", "no", "no"],
    "day": [datetime.date(2024, 1, 1)] * 4,
}


def wards():
    return hush.open(WARDS, unit="who", rows=1, budget=hush.Budget(epsilon=1e6))


def test_keys_of_several_columns_are_crossed_or_tuples_never_lists():
    # Lists were taken for keys: (North, South) of ward and smoker, charged and empty.
    lists = {"ward": ["North", "South"], "smoker": ["yes", "no"]}
    asked = wards().group_by(["ward", "smoker"], keys=lists).agg(n=hush.count())
    answer = asked.release(epsilon=1e5)
    assert answer["ward"] == ["North", "North", "South", "South"]
    assert answer["smoker"] == ["yes", "no", "yes", "no"]
    assert abs(answer["n"] - [1, 1, 0, 2]).max() < 0.1
    with pytest.raises(InvalidArgument, match=r"keys=\{'ward': \[...\], 'smoker'"):
        wards().group_by("ward", "smoker", keys=list(lists.values()))
    for wrong in ({"ward": ["North"]}, {**lists, "age": [1]}, {**lists, "ward": "x"}):
        with pytest.raises(InvalidArgument, match="values of ward, smoker"):
            wards().group_by("ward", "smoker", keys=wrong)


@pytest.mark.parametrize(
    ("ask", "way"),
    [
        (lambda d: d.group_by("month(day)", keys=[1]), r"\.select\(part='month"),
        (lambda d: d.where('ward = "North"'), "single ones: 'North'"),
        (lambda d: d.where("wards = 'North'"), "did you mean 'ward'"),
        (lambda d: d.where("ward = Surgery"), "in single quotes: 'Surgery'"),
        (
            lambda d: d.per_person(s="MAX(smoker)"),
            r"MAX\(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END\)",
        ),
        (
            lambda d: d.prepare(
                "SELECT BIN(who, 0, 9, 3) AS ward, COUNT(*) AS n FROM data GROUP BY 1",
                keys={"ward": [0, 3, 6]},
            ),
            "another name, as in AS ward_group",
        ),
        (lambda d: d.where("ward > 60"), r"types=\{'ward': 'number'\}"),
        (lambda d: d.agg(n=hush.count("ward")), "count takes no column; got 'ward'"),
    ],
)
def test_what_was_nearly_right_shows_the_way(ask, way):
    with pytest.raises((InvalidArgument, Unsupported), match=way):
        ask(wards())


def test_columns_are_public():
    assert wards().columns == ("who", "ward", "smoker", "day")


def test_what_is_printed_says_what_intervals_leave_out():
    asked = wards().group_by("ward", keys=["North"]).agg(n=hush.count())
    shown = str(asked.release(epsilon=1))
    assert shown.splitlines()[-2:] == [
        "(95% intervals, each by itself, of the noise; "
        "not of what bounds and rows= cut)",
        "(a count has decimals: so has its noise, and of people with more than 1 row "
        "each weighs less)",
    ]
    budget = hush.Budget(epsilon=1, delta=1e-6)
    data = hush.open(WARDS, unit="who", rows=1, budget=budget)
    named = data.group_by("ward", keys="private").agg(n=hush.count())
    assert "A private key needs enough people" in str(named.release(0.1, 1e-9))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            {"unit": "who", "rows": 10},
            "(one who with at most 10 rows is protected, add-remove)",
        ),
        (
            {"unit": "who", "rows": 1, "neighbors": "replace-one"},
            "(one who with at most 1 row is protected, replace-one)",
        ),
        (
            {},
            "(one row is protected, add-remove: every row is taken for another person)",
        ),
    ],
)
def test_what_is_printed_says_who_is_protected(how, told):
    data = hush.open(TRIPS, budget=hush.Budget(epsilon=1), **how)
    answer = data.agg(n=hush.count()).release(epsilon=0.5)
    assert told in str(answer).splitlines()
    assert told in answer._repr_html_()
    view = data.sql("SELECT COUNT(*) AS n FROM data LIMIT 1", epsilon=0.5)
    assert told in str(view)


def test_several_quantiles_are_printed_by_level_and_say_that_they_have_no_ends():
    asked = opened().agg(fare=hush.quantiles("fare", [0.25, 0.5], bounds=(0, 40)))
    answer = asked.release(epsilon=0.5)
    lines = str(answer).splitlines()
    assert lines[0].split() == ["quantile", "fare"]
    assert lines[1].split()[0] == "0.25"
    assert "(several quantiles have no interval; hush.quantile has)" in lines
    assert "<th>quantile</th>" in answer._repr_html_()
    assert "fare_cell" in answer.cells("fare")  # the columns keep their names


def test_a_million_is_written_out():
    from hush.display import Digits

    assert Digits.of_column({"n": [1_000_000.4]}, "n").text(1_000_000.4) == "1,000,000"
    assert Digits.of_column({"n": [1234.5]}, "n").text(1234.5) == "1,234.50"


def test_several_numbers_of_a_group_are_named():
    asked = wards().group_by("ward", keys=["North", "South"])
    answer = asked.agg(
        cells=hush.histogram("who", edges=[0, 2.5, 5]),
        smokers=hush.histogram("smoker", values=["yes", "no"]),
        levels=hush.quantiles("who", [0.25, 0.5], bounds=(0, 5)),
        n=hush.count(),
    ).release(epsilon=1)
    assert answer.labels == {
        "cells": ("0 to 2.5", "2.5 to 5"),
        "smokers": ("yes", "no"),
        "levels": ("0.25", "0.5"),
    }
    assert "0 to 2.5: " in str(answer)
    assert "2.5 to 5: " in answer._repr_html_()


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("SELCT COUNT(*) FROM data", "Did you mean SELECT by 'SELCT'?"),
        ("SELECT COUNT(*) FORM data", "Did you mean FROM by 'FORM'?"),
        ("SELECT COUNT(*) FROM data WHER fare > 1", "Did you mean WHERE by 'WHER'?"),
        ("SELECT COUNT(* FROM data", "at line 1, column 19, near 'FROM'"),
        ("SELECT 'a FROM data", "Is every quote closed?"),
        ("", "as in SELECT COUNT(*) AS n FROM data"),
        ("SELECT 2 * COUNT(*) AS n FROM data", "compute with what was released"),
    ],
)
def test_sql_that_cannot_be_read_says_where_and_what_was_likely_meant(text, way):
    with pytest.raises(Unsupported) as refused:
        opened().sql(text, epsilon=0.5)
    assert way in str(refused.value)


def test_a_join_with_itself_names_the_statement_to_write_and_that_is_accepted():
    data = opened()
    with pytest.raises(Unsupported) as refused:
        data.sql("SELECT COUNT(*) FROM data a JOIN data b USING (who)", epsilon=0.5)
    way = str(refused.value).partition("first: ")[2].rstrip(".")
    data.prepare(way.replace("...", "SUM(CLAMP(n, 0, 3)) AS n"))
    rows = hush.open(TRIPS, budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported, match="people do not join"):
        rows.sql("SELECT COUNT(*) FROM data JOIN data b USING (who)", epsilon=0.5)


def test_a_ledger_that_is_not_there_is_not_begun_without_a_budget(tmp_path):
    url, budget = f"sqlite:///{tmp_path}/b.db", hush.Budget(epsilon=1)
    with pytest.raises(InvalidArgument, match="does not exist yet: begin it with bud"):
        hush.open(TRIPS, unit="who", ledger=url)
    assert list(tmp_path.iterdir()) == []
    hush.open(TRIPS, unit="who", ledger=url, budget=budget).ledger.close()
    hush.open(TRIPS, unit="who", ledger=url).ledger.close()
    with pytest.raises(InvalidArgument, match="no account of data set 'other'; it has"):
        hush.open(TRIPS, unit="who", ledger=url, name="other")


def test_the_ledger_of_a_data_set_knows_whose_budget_is_raised():
    data = opened()
    data.ledger.raise_budget(hush.Budget(epsilon=3))
    assert data.budget.epsilon == 3
    with pytest.raises(InvalidArgument, match="name one account"):
        data.ledger.raise_budget(hush.Budget(epsilon=4), dataset="a", unit="b")


@pytest.mark.parametrize(
    "values", ["private", b"ab", {"a": 1}, {"a", "b"}, frozenset("ab"), 3, None]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda values: hush.top_k("ward", 1, values=values),
        lambda values: hush.mode("ward", values=values),
        lambda values: hush.histogram("ward", values=values),
    ],
    ids=["top_k", "mode", "histogram"],
)
def test_values_are_a_list_and_no_text_of_letters(make, values):
    # "private" was answered with a; t; i, and paid for.
    with pytest.raises(InvalidArgument, match="values="):
        make(values)


def test_edges_are_a_list_and_no_number_of_bins():
    for wrong in ("123", 10):
        with pytest.raises(InvalidArgument, match=r"edges=\[0, 10, 20\]"):
            hush.histogram("fare", edges=wrong)
