"""Threads share a data set: every release is an answer, and none is paid for twice."""

import threading

import pytest

import hush

THREADS, TIMES = 6, 6
ROWS = {"u": list(range(60)), "k": ["ab"[i % 2] for i in range(60)]}


def together(work, threads=THREADS):
    """Run `work(i)` in threads that start at once; return what it returned."""
    start, found, wrong = threading.Barrier(threads), [], []

    def run(i):
        start.wait()
        try:
            found.append(work(i))
        except Exception as problem:
            wrong.append(problem)

    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert not wrong, wrong
    return found


def opened(table):
    budget = hush.Budget(epsilon=10**6)
    return hush.open(table, unit="u", rows=1, budget=budget, name="rows")


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    import duckdb

    path = tmp_path / f"rows.{request.param}"
    listed = "SELECT range AS u, ['a', 'b'][1 + range % 2] AS k FROM range(60)"
    duckdb.sql(f"COPY ({listed}) TO '{path}'")
    return path


def asked(data):
    def work(i):
        found = []
        for j in range(TIMES):
            keys = ["a", "b"] if (i + j) % 2 else ["b"]
            query = data.group_by("k", keys=keys).agg(n=hush.count())
            found.append((keys, query.release(epsilon=100).values["n"].tolist()))
        return found

    return work


def right(found):
    # Laplace noise of scale 1/100 is off by 10 with probability e^-1000.
    for each in found:
        for keys, values in each:
            assert len(keys) == len(values)
            assert all(abs(value - 30) < 10 for value in values)


def test_every_release_of_a_file_is_an_answer(file):
    data = opened(file)
    right(together(asked(data)))
    kinds = [each.kind for each in data.ledger.history()]
    assert kinds.count("reserve") == kinds.count("seal") == THREADS * TIMES
    assert "fail" not in kinds


@pytest.mark.slow_on("spark")
def test_every_release_of_an_engine_is_an_answer(engine):
    data = opened(engine.table(ROWS))
    threads = 3 if engine.name == "spark" else THREADS
    right(together(asked(data), threads))
    kinds = [each.kind for each in data.ledger.history()]
    assert kinds.count("reserve") == kinds.count("seal") == threads * TIMES


def test_joins_and_releases_run_side_by_side(tmp_path):
    (tmp_path / "a.csv").write_text("u,k\n" + "".join(f"{i},a\n" for i in range(60)))
    (tmp_path / "b.csv").write_text("u,x\n" + "".join(f"{i},1\n" for i in range(60)))
    one = opened(tmp_path / "a.csv")
    two = hush.open(tmp_path / "b.csv", unit="u", rows=1, ledger=one.ledger, name="b")

    def work(i):
        data = one
        if i % 3 == 1:
            data = one.join({"k": ["a"], "zone": ["north"]}, on="k")
        if i % 3 == 2:
            data = one.join(two, on="u")
        return [data.agg(n=hush.count()).release(epsilon=100).values["n"]]

    for (value,) in together(work):
        assert abs(value - 60) < 10


def test_a_data_set_answers_after_it_was_joined(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"u,{name}\n1,2\n")
    one = opened(tmp_path / "a.csv")
    two = hush.open(tmp_path / "b.csv", unit="u", rows=1, ledger=one.ledger, name="b")
    one.join(two, on="u").agg(n=hush.count()).release(epsilon=1)
    one.agg(n=hush.count()).release(epsilon=1)
    two.agg(n=hush.count()).release(epsilon=1)
    assert "fail" not in [each.kind for each in one.ledger.history()]


def test_a_connection_is_held_by_one_thread_at_a_time():
    from hush.tables.engines.engine import exclusive

    backend = opened(ROWS)._table.get_backend()
    inside, most = [], []

    def work(i):
        for _ in range(50):
            with exclusive(backend), exclusive(backend):
                inside.append(i)
                most.append(len(set(inside)))
                inside.clear()

    together(work)
    assert set(most) == {1}
