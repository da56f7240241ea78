"""Whatever leaves before and beside an answer is the same with and without one person.

Noise is replaced by what was said about D, so all else must be the same to the byte.
"""

import gc

import pytest

import hush
from seams import canary, escape_questions
from seams.desk import Desk, compared, databases, engine_state
from seams.escaping import reachable
from seams.neighbors import NEIGHBORS, SOURCES, arrow

ALL = (*SOURCES, *databases)


@pytest.fixture
def desk(tmp_path, monkeypatch, request):
    def made(source, questions=escape_questions.FEW):
        held, engine = SOURCES.get(source), None
        if source in databases:
            address = None
            if "postgres" in source:
                address = request.getfixturevalue("postgres_engine").address
            held, engine = databases[source](address), engine_state
        found = Desk(tmp_path, held, questions=questions, engine=engine)
        found.settle(monkeypatch)
        return found

    return made


def named(source):
    marks = [pytest.mark.xdist_group("postgres")] if "postgres" in source else []
    return pytest.param(source, marks=marks)


@pytest.mark.parametrize("source", ["dict", "parquet"])
def test_nothing_but_noise_tells_one_person(desk, source):
    found, cases = compared(desk(source), ["canary"])
    assert found == {}
    assert cases > 30


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(escape_questions.LISTS)))
@pytest.mark.parametrize("source", [named(each) for each in ALL])
def test_nothing_but_noise_tells_one_person_by_any_question(desk, source, number):
    # A fifth of the neighbors for each list and source, the canary for all: in all
    # tests together more than 13,000 pairs of channels.
    turn = ALL.index(source) + number
    names = [n for i, n in enumerate(NEIGHBORS) if i and (i + turn) % 5 == 0]
    made = desk(source, questions=escape_questions.LISTS[number])
    found, cases = compared(made, ["canary", *names])
    assert found == {}
    assert cases > 150


def test_no_cache_of_a_module_keeps_a_record(desk):
    made = desk("pandas")
    made.leaving(NEIGHBORS["canary"])
    gc.collect()
    found = [each for each in reachable() if isinstance(each, (str, bytes, bytearray))]
    texts = [e.encode("utf-8", "replace") if isinstance(e, str) else e for e in found]
    assert len(texts) > 1000
    assert canary.hits(b"\n".join(map(bytes, texts))) == set()


def test_no_statement_in_the_log_of_a_users_engine_names_a_unit():
    import ibis

    connection = ibis.duckdb.connect()
    table = connection.create_table("data", arrow(NEIGHBORS["canary"]))
    connection.con.execute("CALL enable_logging('QueryLog')")
    data = hush.open(table, unit="u", rows=3, budget=hush.Budget(epsilon=9))
    data.agg(q=hush.median("x", bounds=(0, 10))).release(epsilon=1)
    sent = connection.con.execute("SELECT message FROM duckdb_logs").fetchall()
    connection.disconnect()
    assert canary.hits(repr(sent)) == set()
