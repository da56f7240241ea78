"""Attempts on counts of people and on units: how far one person moves them."""

import itertools

import numpy as np
import pytest

import hush
from hush import learn, mechanisms
from hush.errors import InvalidArgument
from hush.learn import GaussianNB
from hush.privacy import Pure

KEYS = ["a", "b", "c", "d"]
BUDGET = hush.Budget(epsilon=100, delta=1e-3)


def exact(people, neighbors, rows, groups):
    """What the mechanism is told, and the part that says how far it may move."""
    table = {
        "who": [who for who, held in people.items() for _ in held],
        "key": [key for held in people.values() for key in held],
    }
    data = hush.open(
        table, unit="who", rows=rows, groups=groups, neighbors=neighbors, budget=BUDGET
    )
    query = data.group_by("key", keys=KEYS).agg(n=hush.count_distinct("who"))
    found = query.compiled.result()
    return query.compiled.parts[0].exact(
        found, query.groups.keys
    ), query.compiled.parts[0]


CAPS = [(1, None), (3, None), (9, 2)]


@pytest.mark.thin(5)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("rows", "groups"), CAPS)
def test_one_person_moves_the_number_of_people_by_what_is_charged(
    neighbors, rows, groups
):
    rng = np.random.default_rng(rows)
    largest = 0.0
    others = {i: list(rng.choice(KEYS, 3)) for i in range(5)}
    choices = [["a"], ["z", "a", "b"], ["c", "d"], KEYS * 3]
    told = [exact({**others, 99: held}, neighbors, rows, groups)[0] for held in choices]
    without, part = exact(others, neighbors, rows, groups)
    if neighbors == "add-remove":
        pairs = [(each, without) for each in told]
    else:
        pairs = list(itertools.combinations(told, 2))
    for one, other in pairs:
        away = (one - other).astype(float)
        assert np.abs(away).sum() <= part.sensitivity(1)
        assert np.sqrt((away**2).sum()) <= part.sensitivity(2)
        largest = max(largest, np.abs(away).sum())
    assert largest >= part.sensitivity(1) / 2  # the bound is one that somebody nears


def paid_for(unit):
    ledger = hush.Ledger.open("memory://", budget=BUDGET, dataset="t")
    table = {"row": [1, 1, 1, 2], "x": [1.0, 2, 3, 4]}
    more = {"unit": unit, "rows": 3} if unit else {}
    data = hush.open(table, ledger=ledger, name="t", neighbors="replace-one", **more)
    return ledger, data.agg(n=hush.count()).release(epsilon=1)


def test_people_named_by_a_column_called_row_are_not_rows():
    x, y = np.zeros((8, 1)), np.zeros(8)
    model = GaussianNB(epsilon=1, bounds=(0, 1), classes=(0, 1))
    ledger, answer = paid_for(None)
    assert "every row is taken for another person" in repr(answer)
    model.fit(x, y, ledger=ledger)  # rows with rows
    ledger, answer = paid_for("row")
    assert "every row" not in repr(answer)
    assert 'one "row" with at most 3 rows is protected' in repr(answer)
    with pytest.raises(InvalidArgument, match="unit of this charge is 'row'"):
        model.fit(x, y, ledger=ledger)  # three rows of X may be of one person


NOISE = mechanisms.Laplace(scale=5.0)
COUNT = mechanisms.count()
QUANTILE = mechanisms.Quantile(0.5, bounds=(0, 9), scale=9.0)
SWAPPED = mechanisms.count(neighbors="replace-one")
WINSORIZED = mechanisms.WinsorizedMean(bounds=(0, 9), scale=1.0)
OTHER_UNITS = {
    "a query and noise": lambda to: to.release(NOISE, COUNT, [1]),
    "a query and noise in one": lambda to: to.release(COUNT >> NOISE, None, [1]),
    "both, run elsewhere": lambda to: to.charge(COUNT >> NOISE),
    "a mechanism, run elsewhere": lambda to: to.charge(QUANTILE),
    "a mechanism, drawn later": lambda to: to.hold(QUANTILE, None),
    "a curve that is said to be for rows": lambda to: to.charge(
        Pure(epsilon=0.1), notes={"unit": "row"}
    ),
}
WHO = {"unit": "who"}
OTHER_RELATIONS = {
    "a query and noise": lambda to: to.release(NOISE, SWAPPED, [1], notes=WHO),
    "a query and noise in one": lambda to: to.release(
        SWAPPED >> NOISE, None, [1], notes=WHO
    ),
    "both, run elsewhere": lambda to: to.charge(SWAPPED >> NOISE, notes=WHO),
    "of exchanges alone": lambda to: to.release(WINSORIZED, None, [1.0], notes=WHO),
    "called otherwise": lambda to: to.release(
        SWAPPED >> NOISE, None, [1], notes={**WHO, "neighbors": "add-remove"}
    ),
    "a curve that is said to be of exchanges": lambda to: to.charge(
        Pure(epsilon=0.1), notes={"neighbors": "replace-one"}
    ),
}


def people():
    rows = {"who": [1, 1, 2], "x": [1.0, 2, 3]}
    data = hush.open(rows, unit="who", rows=2, budget=BUDGET)
    data.agg(n=hush.count()).release(epsilon=1)
    return data.ledger


@pytest.mark.parametrize("way", OTHER_UNITS)
def test_no_way_adds_records_to_an_account_of_people(way):
    ledger = people()
    before = ledger.remaining()
    with pytest.raises(InvalidArgument, match="'row'"):
        OTHER_UNITS[way](ledger)
    assert ledger.remaining() == before


@pytest.mark.parametrize("way", OTHER_RELATIONS)
def test_no_way_adds_exchanges_to_an_account_of_additions(way):
    ledger = people()
    before = ledger.remaining()
    with pytest.raises(InvalidArgument, match="replace-one"):
        OTHER_RELATIONS[way](ledger)
    assert ledger.remaining() == before


def test_a_promise_about_the_unit_is_still_taken():
    ledger = people()
    ledger.charge(COUNT >> NOISE, notes=WHO)
    assert ledger.release(COUNT >> NOISE, None, [1], notes=WHO).receipt.unit == "who"
    with pytest.raises(InvalidArgument, match="does not state its neighbors and unit"):
        ledger.charge(Pure(epsilon=0.1))
    ledger.charge(Pure(epsilon=0.1), notes={**WHO, "neighbors": "add-remove"})


def linked():
    """A ledger of two data sets about the same people."""
    ledger = hush.Ledger.open("memory://", budget=BUDGET, dataset="a", unit="people")
    ledger.grant(BUDGET, dataset="b")
    ledger.link("b", "people")
    return ledger, ledger.on(dataset="b")


def test_rows_of_one_data_set_are_not_added_to_people_of_another():
    about = {"neighbors": "add-remove"}
    first, second = linked()
    first.charge(Pure(epsilon=1), notes={**about, "unit": "patient"})
    second.charge(Pure(epsilon=1), notes={**about, "unit": "pid"})  # another name
    first, second = linked()
    first.charge(Pure(epsilon=1), notes={**about, "unit": "patient"})
    for way in (
        lambda: second.charge(Pure(epsilon=1), notes={**about, "unit": "row"}),
        lambda: second.release(NOISE, mechanisms.count(), [1, 2, 3]),
    ):
        with pytest.raises(InvalidArgument, match="unit 'people' was charged for 'pat"):
            way()
    # Nor the other way round, nor after a link that was made later.
    first, second = linked()
    second.release(NOISE, mechanisms.count(), [1, 2, 3])
    with pytest.raises(InvalidArgument, match="unit 'people' was charged for 'row'"):
        first.charge(Pure(epsilon=1), notes={**about, "unit": "patient"})
    ledger = hush.Ledger.open("memory://", budget=BUDGET, dataset="a", unit="people")
    ledger.charge(Pure(epsilon=1), notes={**about, "unit": "patient"})
    ledger.grant(BUDGET, dataset="c")
    rows = ledger.on(dataset="c")
    rows.release(NOISE, mechanisms.count(), [1, 2, 3])
    with pytest.raises(InvalidArgument, match="unit 'people'"):
        ledger.link("c", "people")


@pytest.mark.parametrize("fact", ["unit", "neighbors"])
def test_notes_that_quote_another_charge_hide_nothing(fact):
    """An entry that holds the wanted text anywhere was taken for one that agrees."""
    ledger = hush.Ledger.open("memory://", budget=BUDGET)
    said = {"unit": ("row", "patient"), "neighbors": ("add-remove", "replace-one")}
    mine, other = said[fact]
    elsewhere = hush.Ledger.open("memory://", budget=BUDGET)
    elsewhere.charge(Pure(epsilon=1), notes={fact: other})
    quoted = elsewhere.history()[-1].content["facts"]
    ledger.charge(Pure(epsilon=1), notes={fact: mine, "after": quoted})
    for fresh in (ledger, ledger.on(dataset="default")):
        with pytest.raises(InvalidArgument, match=f"was charged for '{mine}'"):
            fresh.charge(Pure(epsilon=1), notes={fact: other})


BOX = {"bounds": (0, 1)}
PLANS = {
    "aggregate": learn.SubsampleAggregate(len, **BOX),
    "bayes": learn.GaussianNB(classes=(0, 1), **BOX),
    "classes": learn.HuberSVM(classes=(0, 1, 2), **BOX),
    "components": learn.PCA(**BOX),
    "forest": learn.RandomForestClassifier(classes=(0, 1), **BOX),
    "kmeans": learn.KMeans(2, **BOX),
    "linear": learn.LinearRegression(y_bounds=(0, 1), **BOX),
    "logistic": learn.LogisticRegression(norm=1.0),
    "quantile": learn.QuantileRegression(y_bounds=(0, 1), **BOX),
    "subset": learn.SelectModel(y_bounds=(0, 1), **BOX),
}


@pytest.mark.parametrize("model", PLANS)
def test_the_plan_of_a_model_is_not_added_to_people_either(model):
    """`fit` said that it protects rows; what it plans, charged by hand, did not."""
    plan = PLANS[model].plan(100, 1)
    ledger, _ = paid_for("row")  # the name of a column
    for way in (
        lambda: ledger.charge(plan),
        lambda: ledger.hold(plan, None),
        lambda: ledger.release(plan, None, (np.zeros((100, 1)), np.zeros(100))),
    ):
        with pytest.raises(InvalidArgument, match="unit of this charge is 'row'"):
            way()
    ledger.charge(plan, notes={"unit": '"row"'})  # a promise of its owner
