"""What a refusal advises is what helps: tried here, as it is written."""

import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported

SURVEY = {
    "id": list(range(40)),
    "Region (NUTS2)": ["AT11", "AT12"] * 20,
    "Income, €": [20.0, 30.0] * 20,
    "employed": [True, False] * 20,
    "_weight": [1.0] * 40,
    "day": np.array(["2026-01-05", "2026-02-05"] * 20, dtype="datetime64[s]"),
}


def survey():
    return hush.open(SURVEY, unit="id", rows=1, budget=hush.Budget(epsilon=100))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bounds": (0, 100)}, "bounds must name each column, as in bounds={'age'"),
        ({"keys": ["f", "m"]}, "keys must name each column, as in keys={'sex'"),
        ({"keys": "privat"}, "keys must name each column"),
        ({"keys": np.array(["f", "m"])}, "keys must name each column"),
        ({"tables": "zones.csv"}, "tables must name each column"),
    ],
)
def test_what_a_statement_is_given_names_its_columns(given, said):
    with pytest.raises(InvalidArgument) as refused:
        survey().sql("SELECT COUNT(*) AS n FROM data", epsilon=0.5, **given)
    assert said in str(refused.value)


def test_a_column_that_reads_as_a_function_is_put_in_quotes():
    data = survey()
    with pytest.raises(Unsupported, match="'Region \\(NUTS2\\)' is written in double"):
        data.prepare("SELECT COUNT(*) AS n FROM data WHERE Region (NUTS2) = 'AT11'")
    data.prepare("SELECT COUNT(*) AS n FROM data WHERE \"Region (NUTS2)\" = 'AT11'")
    with pytest.raises(Unsupported, match="BIN takes"):
        data.prepare("SELECT COUNT(*) AS n FROM data WHERE Regions (NUTS2) = 'AT11'")


def test_a_column_with_an_underscore_is_not_merely_missing():
    with pytest.raises(Unsupported, match="start with an underscore are left out"):
        survey().where("_weight > 0")
    with pytest.raises(Unsupported) as refused:
        survey().where("weight > 0")
    assert "underscore" not in str(refused.value)


def test_a_name_with_a_comma_is_one_name_in_a_list():
    with pytest.raises(Unsupported) as refused:
        survey().where("height > 0")
    assert 'are "Income, €", Region (NUTS2), day, employed, id.' in str(refused.value)


@pytest.mark.parametrize("name", ["Region (NUTS2)", "Income, €"])
def test_nan_among_keys_is_the_key_of_rows_without_a_value(name):
    with pytest.raises(InvalidArgument, match="without a value are the key None"):
        survey().group_by(name, keys=[float("nan")])
    survey().group_by(name, keys=[None])


def test_a_truth_value_is_not_compared_with_a_number():
    with pytest.raises(Unsupported, match="write employed, or NOT employed"):
        survey().where("employed = 1")
    survey().where("NOT employed")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("employed", [False, True, None]),
        ("employed IS NULL", [False, True]),
        ('"Income, €" > 25', [False, True, None]),
        ("EXTRACT(MONTH FROM day)", [*range(1, 13), None]),
        ("EXTRACT(QUARTER FROM day)", [1, 2, 3, 4, None]),
        ("IF(employed, 'yes', 'no')", ["yes", "no"]),
    ],
)
def test_groups_that_tell_their_values(text, keys):
    asked = f"SELECT {text} AS g, COUNT(*) AS n FROM data GROUP BY g"
    answer = survey().sql(asked, epsilon=50)
    assert answer["g"] == keys
    if keys == [False, True, None]:
        # Further away with chance e^-250.
        assert np.abs(answer["n"] - [20, 20, 0]).max() < 5


@pytest.mark.parametrize(
    "text", ["EXTRACT(YEAR FROM day)", "IF(employed, 'yes', \"Region (NUTS2)\")"]
)
def test_groups_that_only_data_tells(text):
    with pytest.raises(Unsupported, match="needs its public values"):
        survey().prepare(f"SELECT {text} AS g, COUNT(*) AS n FROM data GROUP BY g")


def test_an_output_without_a_name_keeps_the_name_of_its_column():
    asked = 'SELECT AVG(CLAMP("Income, €", 0, 50)), COUNT(*) FROM data'
    answer = survey().sql(asked + ' ORDER BY AVG(CLAMP("Income, €", 0, 50))', epsilon=9)
    assert list(answer.values) == ['avg(clamp("Income, €", 0, 50))', "count(*)"]


def test_a_frame_with_a_column_of_several_types_says_which_it_may_be():
    import pandas

    mixed = pandas.DataFrame({"id": [1, 2], "odd": [1, "a"], "age": [3.0, 4.0]})
    with pytest.raises(InvalidArgument) as refused:
        hush.open(mixed, unit="id", rows=1, budget=hush.Budget(epsilon=1))
    assert "those of type object are odd, and" in str(refused.value)
    mixed["odd"] = mixed["odd"].astype("string")
    hush.open(mixed, unit="id", rows=1, budget=hush.Budget(epsilon=1))


def test_next_month_is_not_advised_to_begin_a_budget_of_its_own(tmp_path):
    url, budget = f"sqlite:///{tmp_path}/b.db", hush.Budget(epsilon=1)
    hush.open(SURVEY, unit="id", ledger=url, budget=budget, name="may").ledger.close()
    with pytest.raises(InvalidArgument) as refused:
        hush.open(SURVEY, unit="id", ledger=url, name="june")
    text = str(refused.value)
    assert "it has 'may'. If these are the same people" in text
    assert text.index("name='may'") < text.index("budget=")
    both = hush.open(SURVEY, unit="id", ledger=url, name="may")
    assert both.budget.epsilon == 1
    both.ledger.close()
