"""Attempts on the budget: cheap charges, mixed relations, replays, forged answers."""

import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from hush import Budget, Ledger, Release
from hush.errors import BudgetExceeded, HushError, InvalidArgument, KeyConflict
from hush.mechanisms import Gaussian, Histogram, Laplace, count, mean
from hush.privacy import Pure

DATA = [3, 1, 4, 1, 5]


@pytest.fixture
def ledger():
    with Ledger.open("memory://", budget=Budget(epsilon=10, delta=1e-6)) as opened:
        yield opened


def paid(release) -> float:
    return float(release.receipt.cost["dataset:default"][0])


def test_a_query_whose_sensitivity_is_raised_later_pays_for_it(ledger):
    def people(data):
        return float(len(data))

    people.sensitivity = 1
    assert paid(ledger.release(Laplace(scale=10.0), people, DATA)) == 0.1
    people.sensitivity = 50
    assert paid(ledger.release(Laplace(scale=10.0), people, DATA)) == 5.0


def test_a_query_that_calls_itself_equal_to_a_cheaper_one_pays_for_itself(ledger):
    class Sly:
        def __init__(self, sensitivity):
            self.sensitivity = sensitivity

        def __call__(self, data):
            return float(len(data))

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

        def __repr__(self):
            return "Sly()"

    costs = [
        paid(ledger.release(Laplace(scale=10.0), Sly(s), DATA)) for s in (1, 20, 3)
    ]
    assert costs == [0.1, 2.0, 0.3]


def exchange(size: int):
    return mean(bounds=(0, 1), size=size, neighbors="replace-one")


def test_one_account_never_adds_up_two_relations(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    noise = Laplace(scale=10.0)
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        ledger.release(noise, count(), DATA)
        with pytest.raises(
            InvalidArgument, match="relation of its first charge for good"
        ):
            ledger.release(noise, exchange(5), DATA)
        ledger.grant(Budget(epsilon=1), analyst="ana")
        with pytest.raises(InvalidArgument, match="replace-one"):  # another handle
            ledger.on(analyst="ana").release(noise, exchange(5), DATA)
        left = ledger.remaining()["dataset:default"].epsilon
    with Ledger.open(url) as ledger:  # another process, another day
        with pytest.raises(InvalidArgument, match="add-remove"):
            ledger.release(noise, exchange(5), DATA)
        assert ledger.remaining()["dataset:default"].epsilon == left
        ledger.release(noise, count(), DATA)


def test_two_data_sets_of_the_same_people_keep_one_relation():
    with Ledger.open("memory://", budget=Budget(epsilon=1), dataset="a") as ledger:
        ledger.grant(Budget(epsilon=1), dataset="b")
        for name in "ab":
            ledger.link(name, "people", Budget(epsilon=1))
        ledger.release(Laplace(scale=10.0), count(), DATA)
        other = ledger.on(dataset="b")
        with pytest.raises(InvalidArgument, match="one relation"):
            other.release(Laplace(scale=10.0), exchange(5), DATA)


def test_unrelated_data_sets_may_have_their_own_relations():
    with Ledger.open("memory://", budget=Budget(epsilon=1), dataset="a") as ledger:
        ledger.grant(Budget(epsilon=1), dataset="b")
        ledger.release(Laplace(scale=10.0), count(), DATA)
        other = ledger.on(dataset="b")
        other.release(Laplace(scale=10.0), exchange(5), DATA)
        assert ledger.remaining()["dataset:a"].epsilon == pytest.approx(0.9)
        assert other.remaining()["dataset:b"].epsilon == pytest.approx(0.98)


def people(unit: str):
    def counted(data):
        return float(len(data))

    counted.sensitivity, counted.unit = 1, unit
    return counted


@pytest.mark.parametrize("first", ["driver", 'dr_ver","version":"', "d%r"])
def test_one_data_set_never_adds_up_two_units(tmp_path, first):
    url = f"sqlite:///{tmp_path}/budget.db"
    noise = Laplace(scale=10.0)
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        ledger.release(noise, people(first), DATA)
        ledger.release(noise, people(""), DATA)  # says nothing of a unit
        with pytest.raises(InvalidArgument, match="smaller one"):
            ledger.release(noise, people("row"), DATA)
        left = ledger.remaining()
    with Ledger.open(url) as ledger:  # another process, another day
        for other in ("driver2", "dr_ver", "d%"):
            with pytest.raises(InvalidArgument, match="smaller one"):
                ledger.release(noise, people(other), DATA)
        assert ledger.remaining() == left
        ledger.release(noise, people(first), DATA)


def test_data_sets_of_the_same_people_may_name_them_by_their_own_columns():
    with Ledger.open("memory://", budget=Budget(epsilon=1), dataset="a") as ledger:
        ledger.grant(Budget(epsilon=1), dataset="b")
        ledger.grant(Budget(epsilon=1), analyst="ana")
        for name in "ab":
            ledger.link(name, "people", Budget(epsilon=1))
        for name, unit in (("a", "driver"), ("b", "person")):
            paying = ledger.on(dataset=name, analyst="ana")
            paying.release(Laplace(scale=10.0), people(unit), DATA)
        assert ledger.remaining()["unit:people"].epsilon == pytest.approx(0.8)


def test_a_table_of_people_and_one_of_rows_do_not_share_an_account():
    import pyarrow

    import hush

    trips = pyarrow.table({"driver": [1, 1, 2], "fare": [9.0, 5.0, 30.0]})
    ledger = Ledger.open("memory://", budget=Budget(epsilon=10))
    by_person = hush.open(trips, unit="driver", ledger=ledger)
    by_row = hush.open(trips, ledger=ledger)
    by_person.agg(n=hush.count()).release(epsilon=1)
    with pytest.raises(InvalidArgument, match="unit of this charge is 'row'"):
        by_row.agg(n=hush.count()).release(epsilon=1)
    assert ledger.remaining().epsilon == 9


def test_a_key_is_not_answered_again_for_something_else(ledger):
    def small(data):
        return float(len(data))

    def large(data):
        return float(len(data)) * 100

    small.sensitivity = large.sensitivity = 1
    first = ledger.release(Laplace(scale=10.0), small, DATA, key="k")
    again = ledger.release(Laplace(scale=10.0), small, DATA[:-1], key="k")
    assert again.to_json() == first.to_json()  # other data, the same bytes: no new draw
    for mechanism, query in ((Laplace(scale=5.0), small), (Laplace(scale=10.0), large)):
        with pytest.raises(KeyConflict):
            ledger.release(mechanism, query, DATA, key="k")
    ledger.hold(Laplace(scale=10.0), small, key="held")
    with pytest.raises(KeyConflict):
        ledger.release(Laplace(scale=1.0), small, DATA, key="held")


def test_data_is_not_touched_where_the_budget_does_not_reach(ledger):
    class Touched(Exception):
        pass

    class Data:
        def __len__(self):
            raise Touched

        __iter__ = __array__ = __getitem__ = __len__

    with pytest.raises(BudgetExceeded):
        ledger.release(Laplace(scale=0.01), count(), Data())


def test_costs_at_the_edge_of_integers_are_refused_or_rounded_up():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        for epsilon in (1e300, 2.0**63, 2.0**64, math.inf):
            with pytest.raises(HushError):
                ledger.charge(Pure(epsilon))
        before = ledger.remaining().epsilon
        ledger.charge(Pure(5e-324))
        assert ledger.remaining().epsilon < before  # a trace is still a charge
    for epsilon in (math.nan, math.inf, -1, 0, "1", True):
        with pytest.raises(HushError):
            Budget(epsilon=epsilon)


def test_what_is_charged_covers_what_the_curve_says(ledger):
    for noise in (Laplace(scale=7.0), Laplace(scale=0.9)):
        release = ledger.release(noise, count(), DATA)
        cost = release.receipt.cost["dataset:default"][0]
        assert cost >= Fraction(1) / Fraction(noise.scale) * (1 - Fraction(1, 2**48))
    noise = Gaussian(std=20.0)
    release = ledger.release(noise, count(), DATA, delta=1e-7)
    epsilon, delta = release.receipt.cost["dataset:default"]
    assert noise.curve(1).delta_at_lower(float(epsilon) * (1 + 1e-12)) <= delta


def test_released_arrays_cannot_be_changed_in_place(ledger):
    noise = Histogram.for_epsilon(1, edges=(0, 2, 4, 6))
    release = ledger.release(noise, None, DATA, key="h")
    with pytest.raises(ValueError, match="read-only"):
        release.values[0] = 0
    again = ledger.release(noise, None, DATA, key="h")
    assert np.array_equal(again.values, release.values)


def test_a_forged_release_is_not_what_the_ledger_holds(ledger):
    release = ledger.release(Laplace(scale=1.0), count(), DATA, key="k")
    forged = json.loads(release.to_json())
    forged["values"] = 1000
    fake = Release.from_json(json.dumps(forged))
    assert fake != release
    assert ledger.release(Laplace(scale=1.0), count(), DATA, key="k") == release
    assert ledger.verify()


def test_a_failing_query_tells_nothing_at_all(ledger):
    def leaky(data):
        raise ValueError(f"record {data[0]}")

    leaky.sensitivity = 1
    with pytest.raises(HushError) as caught:
        ledger.release(Laplace(scale=1.0), leaky, ["a secret"])
    problem = caught.value
    while problem is not None:
        assert "secret" not in str(problem)
        problem = problem.__context__ or problem.__cause__


def test_a_child_in_another_folder_charges_the_same_ledger(tmp_path, monkeypatch):
    """A name without a folder meant another file there, and its budget was spent."""
    ledgers = []
    for name in ("other", "own"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        ledgers.append(Ledger.open("sqlite:///budget.db", budget=Budget(epsilon=1)))
    other, own = ledgers
    monkeypatch.chdir(tmp_path / "other")
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        own.charge(Pure(epsilon=0.75))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (own.remaining().epsilon, other.remaining().epsilon) == (0.25, 1.0)
    assert own.verify()
    for each in ledgers:
        each.close()
