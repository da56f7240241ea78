"""Attempts with keys and stored answers: one question's answer read as another's."""

import json
import pathlib

import pyarrow as pa
import pytest

import hush
from hush.errors import HushError, InvalidArgument, KeyConflict, Unsupported
from hush.tables.engines.engine import fetch

ROWS = {
    "who": [i // 4 for i in range(200)],
    "zip": [i % 5 for i in range(200)],
    "x": [1.0] * 200,
}
POOR, RICH = (pa.table({"zip": range(5), "income": [each] * 5}) for each in (1.0, 9.0))


def ledger():
    return hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1000, delta=1e-3))


def opened(paying, **more):
    return hush.open(ROWS, unit="who", rows=2, ledger=paying, name="t", **more)


def joined(paying, public):
    data = opened(paying).join(public, on="zip")
    return data.agg(m=hush.mean("income", bounds=(0, 10)))


def capped(paying, groups):
    data = opened(paying, groups=groups).group_by("zip", keys=range(5))
    return data.agg(n=hush.count())


PAIRS = {
    "another public table": (joined, POOR, RICH),
    "another cap on groups": (capped, 1, 2),
    "no cap on groups": (capped, 1, None),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_an_answer_is_not_read_as_that_of_another_table_or_cap(pair):
    ask, first, second = PAIRS[pair]
    paying = ledger()
    answer = ask(paying, first).release(9, key="k")
    assert repr(ask(paying, first).release(9, key="k")) == repr(answer)
    with pytest.raises(KeyConflict):
        ask(paying, second).release(9, key="k")
    assert repr(ask(paying, first).answer(answer.to_json())) == repr(answer)
    with pytest.raises(InvalidArgument, match="another query"):
        ask(paying, second).answer(answer.to_json())


def test_the_order_of_a_public_table_makes_no_other_question():
    paying = ledger()
    answer = joined(paying, POOR).release(9, key="k")
    turned = POOR.take([4, 2, 0, 1, 3])
    assert repr(joined(paying, turned).release(9, key="k")) == repr(answer)


def test_statements_over_two_public_tables_are_two_questions():
    paying = ledger()
    text = "SELECT AVG(CLAMP(income, 0, 10)) AS m FROM t JOIN z ON t.zip = z.zip"
    opened(paying).sql(text, 9, tables={"z": POOR}, key="k")
    with pytest.raises(KeyConflict):
        opened(paying).sql(text, 9, tables={"z": RICH}, key="k")


def test_a_graph_with_other_ends_is_another_question():
    edges = {"a": range(50), "b": range(1, 51), "c": range(2, 52)}
    paying = ledger()

    def graph(*ends):
        return hush.open_graph(edges, ends=ends, degree=2, ledger=paying, name="g")

    graph("a", "b").edges(epsilon=1, key="k")
    with pytest.raises(KeyConflict):
        graph("a", "c").edges(epsilon=1, key="k")


def test_a_key_with_another_epsilon_or_kind_of_keys_is_refused():
    paying = ledger()
    groups = opened(paying).group_by("zip", keys="private", most=2)
    groups.agg(n=hush.count()).release(1, 1e-6, key="k")
    for other in (
        lambda: groups.agg(n=hush.count()).release(2, 1e-6, key="k"),
        lambda: groups.agg(n=hush.count()).release(1, 1e-7, key="k"),
        lambda: capped(paying, None).release(1, key="k"),
    ):
        with pytest.raises(KeyConflict):
            other()


def test_the_key_of_found_bounds_is_one_question_as_well():
    paying = ledger()
    asked = opened(paying).agg(m=hush.mean("x", bounds="private"))
    spent = [paying.remaining()]
    opened(paying).agg(n=hush.count()).release(1, key="k bounds")
    spent.append(paying.remaining())
    with pytest.raises(KeyConflict):  # not answered by the count, nor for nothing
        asked.release(8, key="k")
    assert paying.remaining() == spent[1] != spent[0]


def test_reading_a_stored_answer_reads_no_data_and_costs_nothing():
    paying = ledger()
    query = opened(paying).agg(n=hush.count(), m=hush.mean("x", bounds=(0, 2)))
    text = query.release(1).to_json()
    before = paying.remaining()
    nobody = {name: values[:0] for name, values in ROWS.items()}
    empty = {name: pa.array(each, pa.float64()) for name, each in nobody.items()}
    other = hush.open(pa.table(empty), unit="who", rows=2, ledger=paying, name="t").agg(
        n=hush.count(), m=hush.mean("x", bounds=(0, 2))
    )
    assert repr(other.answer(text)) == repr(query.answer(text))
    assert paying.remaining() == before


@pytest.mark.parametrize("part", ["mechanisms", "values", "receipt"])
def test_a_stored_answer_with_a_part_missing_is_refused_or_plainly_fails(part):
    query = opened(ledger()).agg(n=hush.count())
    shown = json.loads(query.release(1).to_json())
    shown[part] = [] if part != "receipt" else {**shown["receipt"], "query": ""}
    with pytest.raises((InvalidArgument, ValueError)):
        repr(query.answer(json.dumps(shown)))


def test_the_unit_is_never_replaced_hidden_or_brought_by_a_join():
    data = opened(ledger())
    twins = pa.table({"zip": range(5), "WHO": [7] * 5})
    same = pa.table({"zip": range(5), "who": [7] * 5})
    with pytest.raises(Unsupported, match="unit"):
        data.select(who="zip", replacing=["who"])
    for attempt in (
        lambda: data.select(Who="zip"),
        lambda: data.keep({"WHO": "zip"}),
        lambda: data.join(twins, on="zip"),
        lambda: data.join(same, on="zip"),
        lambda: data.per_person(WHO="COUNT(*)"),
    ):
        with pytest.raises((InvalidArgument, Unsupported)):
            attempt()
    kept = fetch(data.keep({"who": "zip"})._table)
    assert sorted(kept["who"].tolist()) == ROWS["who"]


def test_a_budget_beside_a_ledger_that_has_another_is_not_overlooked():
    paying = ledger()  # of epsilon 1000
    for epsilon in (1, 2000):
        with pytest.raises(InvalidArgument, match="another budget on record"):
            opened(paying, budget=hush.Budget(epsilon=epsilon, delta=1e-3))
    opened(paying, budget=hush.Budget(epsilon=1000, delta=1e-3))
    fresh = hush.Ledger.open("memory://").on(dataset="t")
    left = opened(fresh, budget=hush.Budget(epsilon=3)).budget
    assert left["dataset:t"].epsilon == 3


@pytest.mark.parametrize("address", ["", pathlib.Path("b.db"), 7])
def test_what_is_no_address_of_a_ledger_is_not_a_budget_that_is_soon_forgotten(address):
    given = {"budget": hush.Budget(epsilon=1), "ledger": address}
    with pytest.raises(HushError):
        hush.open(ROWS, **given)
    with pytest.raises(HushError):
        hush.open_graph({"a": [1], "b": [2]}, ends=("a", "b"), **given)


def test_a_key_that_two_have_used_reads_ones_own_answer():
    paying = ledger()
    paying.grant(hush.Budget(epsilon=50, delta=1e-4), analyst="ann")
    hers = opened(paying.on(analyst="ann")).agg(n=hush.count())
    mine = opened(paying).agg(n=hush.count())
    first = hers.release(1, key="k")
    assert repr(mine.stored("k")) == repr(first)  # the account paid for it, too
    second = mine.release(2, key="k")
    assert repr(hers.stored("k")) == repr(first)
    assert repr(mine.stored("k")) == repr(second) != repr(first)
