"""Row by row: what hush answers without noise is what an evaluator of our own answers.

Statements are made at random from a tree that shares nothing with hush; the tree gives
both the SQL and the expected answer. Each must be answered exactly, up to the
documented steps of a row, or be refused before anything is paid for. The evaluator
itself is held against DuckDB's own SQL, where that means the same.
"""

import collections
from dataclasses import replace

import duckdb
import pyarrow
import pytest

from seams import rowwise, statements
from seams.asking import Asker, Refused, differences, judged
from seams.cases import ROW, ROW_KEYS, by_row, grouped, over_truth
from seams.generator import Generator
from seams.rows import COLUMNS, columns, rows
from seams.rowwise import TRUTH, Infix, Is, Prefix
from seams.spelling import Speller
from seams.statements import Aggregate, Statement, answers
from tables.conftest import DuckDB

CHUNKS = {"duckdb": 13, "polars": 13, "postgres": 13, "spark": 1}
SIZES = 22, 16  # statements of a chunk: of 8 aggregates by row, of 5 or 6 by group
SPARK = 3, 4  # each costs Spark half a minute
REFUSED = 0.25  # at most this share may be refused, or the generator tests little


@pytest.fixture(scope="module")
def opened():
    """What was opened in this module, by engine: one table serves all tests."""
    return {}


@pytest.fixture
def asker(engine, opened):
    if engine.name not in opened:
        opened[engine.name] = Asker(engine.table(columns()))
    return opened[engine.name]


def cases(seed, by_rows, over_groups):
    """Return random statements and their keys, always the same by a seed."""
    for place in range(by_rows):
        yield by_row(Generator(f"{seed}, row {place}")), ROW_KEYS
    for place in range(over_groups):
        yield grouped(Generator(f"{seed}, group {place}"))


def complaints(asker, found):
    """Return what went wrong, after a look at how much was refused."""
    table = rows()
    verdicts = [
        (verdict, keys)
        for statement, keys in found
        for verdict in judged(asker, statement, table, keys)
    ]
    count = collections.Counter(verdict.outcome for verdict, _ in verdicts)
    assert count["refused"] <= max(4, REFUSED * len(verdicts)), count
    return [
        f"{verdict.text}\n    keys {'of rows' if keys is ROW_KEYS else keys}"
        f"\n    {verdict.outcome}: {verdict.words}"
        for verdict, keys in verdicts
        if verdict.outcome in ("wrong", "broken")
    ]


@pytest.mark.slow_on("spark")
def test_answers_are_those_of_the_rows(asker):
    assert not complaints(asker, cases("fast", 3, 3))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(max(CHUNKS.values())))
def test_thousands_of_answers_are_those_of_the_rows(engine, asker, chunk):
    if chunk >= CHUNKS[engine.name]:
        pytest.skip("each statement costs this engine seconds")
    seed = f"slow {engine.name} {chunk}"
    sizes = SPARK if engine.name == "spark" else SIZES
    assert not complaints(asker, cases(seed, *sizes))


@pytest.fixture(scope="module")
def own():
    """DuckDB by itself, with the rows that count."""
    with duckdb.connect() as connection:
        # Optimized, DuckDB 2.0 takes a false c for a match in
        # `WHERE CASE WHEN c THEN 'a' END IN ('a', 'x')`.
        connection.execute("PRAGMA disable_optimizer")
        connection.register("held", pyarrow.table(columns()))
        connection.execute("CREATE TABLE t AS SELECT * FROM held WHERE u IS NOT NULL")
        yield connection


def unlike_the_engine(connection, statement):
    """Return where the evaluator and an engine's own SQL differ."""
    asked = connection.execute(statement.text("t"))
    names = [each[0] for each in asked.description]
    found = list(zip(*asked.fetchall(), strict=True)) or [()] * len(names)
    got = dict(zip(names, found, strict=True))
    for name in names:
        if name.startswith("a"):  # COUNT_IF of nothing is NULL there
            got[name] = [value or 0 for value in got[name]]
    found = differences(statement, got, rows(), None)
    parts = statement.aggregates
    return [
        f"{replace(statement, aggregates=(parts[each.place],)).text('t')}: {each.words}"
        for each in found
    ]


def plain_statement(seed):
    """Return a statement that means the same in every database."""
    make = Generator(seed, plain=True)
    found = [over_truth(make, make.pick.randint(1, 4)) for _ in range(6)]
    counted = [
        replace(each, name="COUNT_IF" if each.argument else "COUNT") for each in found
    ]
    counted += [Aggregate("COUNT", make.number(3)), Aggregate("COUNT", make.text(3))]
    counted += [
        Aggregate("COUNT DISTINCT", make.any(kind, 2)) for kind in ("text", "date")
    ]
    by = make.pick.choice([ROW, make.truth(3)])
    return Statement(tuple(counted), (by,), make.truth(2), make.pick.random() < 0.5)


@pytest.mark.thin(4)
@pytest.mark.parametrize("chunk", range(40))
def test_the_evaluator_agrees_with_the_engine_itself(own, chunk):
    for place in range(100):
        found = unlike_the_engine(own, plain_statement(f"own {chunk} {place}"))
        assert not found, found[:3]


# What a parser may read otherwise than databases do: answered alike, or refused.
ODD = [
    "SELECT COUNT_IF(b = c IS NULL) AS a0 FROM t",
    "SELECT COUNT_IF(b <> c IS NOT NULL) AS a0 FROM t",
    "SELECT COUNT_IF(f = CAST(0.3 AS REAL)) AS a0 FROM t",
]


@pytest.mark.parametrize("text", ODD)
def test_a_text_is_read_as_databases_do_or_refused(own, text):
    asker = Asker(DuckDB().table(columns()))
    got = asker.quietly(lambda: asker.data.sql(text, epsilon=1e4)["a0"].tolist())
    expected = own.execute(text).fetchone()
    assert isinstance(got, Refused) or got == list(expected)


# What follows shows that the comparison is able to fail.


def b_and_c(*, full=True):
    """A statement about truth values that NULL and precedence matter to."""
    b, c = COLUMNS["b"], COLUMNS["c"]
    neither = Prefix(TRUTH, "NOT", Infix(TRUTH, "OR", b, c))
    unknown = Is(TRUTH, Prefix(TRUTH, "NOT", Infix(TRUTH, "AND", b, c)), "NULL")
    found = Aggregate("COUNT", None, neither), Aggregate("COUNT", None, unknown)
    return Statement(found, (), None, full)


def test_a_fault_in_not_is_caught(own, monkeypatch):
    assert not unlike_the_engine(own, b_and_c())
    monkeypatch.setattr(rowwise, "negation", lambda value: not value)
    assert unlike_the_engine(own, b_and_c())


def test_text_that_loses_its_parentheses_is_caught(own, monkeypatch):
    assert not unlike_the_engine(own, b_and_c(full=False))
    monkeypatch.setattr(Speller, "inside", lambda self, node, _: self.write(node))
    assert unlike_the_engine(own, b_and_c(full=False))


class Forgetful:
    """Hush with one fault: it leaves the group of NULL out."""

    def __init__(self, asker):
        self.asker, self.name = asker, asker.name

    def ask(self, statement, keys):
        got = self.asker.ask(statement, keys)
        kept = [i for i, key in enumerate(got["g0"]) if key is not None]
        return {name: [values[i] for i in kept] for name, values in got.items()}


@pytest.mark.slow_on("spark")
def test_a_group_of_null_that_is_lost_is_caught(asker):
    found = Statement((Aggregate("COUNT"),), (COLUMNS["m"],))
    outcome = [each.outcome for each in judged(asker, found, rows(), "private")]
    assert outcome == ["right"]
    (caught,) = judged(Forgetful(asker), found, rows(), "private")
    assert (caught.outcome, caught.words) == ("wrong", "group (None,) is missing")


def test_a_wrong_sum_and_a_wrong_median_are_caught():
    y = COLUMNS["y"]
    found = [
        Aggregate(name, y, None, (-8.0, 8.0)) for name in ("SUM", "MEDIAN", "VARIANCE")
    ]
    for aggregate in found:
        expected = statements.one_answer(aggregate, rows())
        middle = (expected.low + expected.high) / 2
        assert expected.admits(middle)
        assert not expected.admits(middle + 0.02)


def test_an_answer_by_row_tells_which_row():
    statement = Statement((Aggregate("COUNT", COLUMNS["x"]),), (ROW,))
    wanted = answers(statement, rows())
    got = {
        "g0": [key[0] for key in wanted.groups],
        "a0": [each[0].low for each in wanted.groups.values()],
    }
    assert not differences(statement, got, rows(), ROW_KEYS)
    got["a0"][3] += 1
    (caught,) = differences(statement, got, rows(), ROW_KEYS)
    assert caught.words.startswith("(3.0,): got ")


def test_an_extreme_that_is_always_wrong_is_caught():
    class Off:
        """Hush with one fault: every minimum is 3 too large."""

        name = "t"

        def ask(self, statement, keys):
            found = answers(statement, rows()).groups
            each = {k: v[0] for k, v in found.items()}
            return {
                "g0": [key[0] for key in each],
                "a0": [(v.low + v.high) / 2 + 3 for v in each.values()],
            }

    statement = Statement(
        (Aggregate("MIN", COLUMNS["y"], None, (-8.0, 8.0)),), (COLUMNS["b"],)
    )
    assert [v.outcome for v in judged(Off(), statement, rows(), None)] == ["wrong"]
