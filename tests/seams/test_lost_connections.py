"""A connection that is lost costs nothing, and a draw that it interrupts is resumed."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ibis
import psycopg
import pytest

import hush
from hush.errors import DrawFailed, DrawInterrupted, InvalidArgument
from hush.tables.engines import engine, provenance
from hush.tables.engines.engine import is_operational

ROWS = {"u": list(range(60)), "k": ["ab"[i % 2] for i in range(60)]}


def opened(given):
    budget = hush.Budget(epsilon=1000, delta=1e-3)
    return hush.open(given, unit="u", rows=1, budget=budget, name="rows")


@pytest.fixture
def address(postgres_engine):
    name = postgres_engine.table(ROWS).get_name()
    return postgres_engine.address.replace("?", f"/public.{name}?")


def sessions(postgres_engine, pid):
    with psycopg.connect(postgres_engine.address) as other:
        asked = "SELECT state FROM pg_stat_activity WHERE pid = %s"
        return other.execute(asked, (pid,)).fetchall()


def terminate(postgres_engine, pid):
    with psycopg.connect(postgres_engine.address) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def process(data):
    return data._table.get_backend().con.info.backend_pid


@pytest.mark.xdist_group("postgres")
def test_a_session_that_was_ended_is_begun_again(postgres_engine, address):
    data = opened(address)
    query = data.agg(n=hush.count())
    for _ in range(2):
        terminate(postgres_engine, process(data))
        assert abs(query.release(epsilon=100).values["n"] - 60) < 10
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        data._table.get_backend().raw_sql("CREATE TABLE written (x int)")
    kinds = [each.kind for each in data.ledger.history()]
    assert kinds.count("reserve") == kinds.count("seal") == 2


@pytest.mark.xdist_group("postgres")
def test_one_thread_connects_again_for_all(postgres_engine, address, monkeypatch):
    data = opened(address)
    backend, made = data._table.get_backend(), []
    connect, ping = backend.reconnect, provenance._ping

    def counted():
        made.append(threading.get_ident())
        connect()

    def slow(backend):
        try:
            ping(backend)
        except psycopg.Error:
            time.sleep(0.2)  # time enough for another thread to find the same
            raise

    monkeypatch.setattr(backend, "reconnect", counted)
    monkeypatch.setattr(provenance, "_ping", slow)
    terminate(postgres_engine, process(data))
    together = threading.Barrier(4)

    def ask(i):
        together.wait()
        data.agg(n=hush.count()).release(epsilon=1, key=str(i))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    assert len(made) == 1
    kinds = [each.kind for each in data.ledger.history()]
    assert kinds.count("reserve") == kinds.count("seal") == 4


@pytest.mark.xdist_group("postgres")
def test_a_copy_of_a_public_table_that_went_with_a_session_is_missed(
    postgres_engine, address
):
    data = opened(address).join({"k": ["a", "b"], "zone": ["n", "s"]}, on="k")
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    left = data.budget.epsilon
    terminate(postgres_engine, process(data))
    with pytest.raises(InvalidArgument, match="gone"):
        query.release(epsilon=1)
    assert data.budget.epsilon == left


@pytest.mark.xdist_group("postgres")
def test_a_connection_of_the_users_that_is_lost_is_refused(postgres_engine):
    name = postgres_engine.table(ROWS).get_name()
    url = postgres_engine.address.replace("postgresql://", "postgres://")
    connection = ibis.connect(url)
    data = opened(connection.table(name))
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    left = data.budget.epsilon
    terminate(postgres_engine, process(data))
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="lost"):
            query.release(epsilon=1)
    assert data.budget.epsilon == left


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.xdist_group("postgres")
def test_no_session_stays_idle_in_a_transaction(postgres_engine, address, ours):
    given = address
    if not ours:
        url = postgres_engine.address.replace("postgresql://", "postgres://")
        connection = ibis.connect(url, autocommit=False)
        given = connection.table(postgres_engine.table(ROWS).get_name())
        connection.con.rollback()  # what the user's own statement began
    data = opened(given)
    idle = [("idle",)]
    assert sessions(postgres_engine, process(data)) == idle
    data.group_by("k", keys=["a"]).agg(n=hush.count()).release(epsilon=1)
    assert sessions(postgres_engine, process(data)) == idle
    joined = data.join({"k": ["a", "b"], "zone": ["n", "s"]}, on="k")
    joined.agg(n=hush.count()).release(epsilon=1)
    assert sessions(postgres_engine, process(data)) == idle
    wrong = data._table.u / (data._table.u - data._table.u)
    with pytest.raises(DrawFailed):
        engine.fetch(data._table.select(x=wrong.cast("int64")))
    assert sessions(postgres_engine, process(data)) == idle
    if not ours:
        connection.disconnect()


@pytest.mark.xdist_group("postgres")
def test_a_session_that_ends_while_it_draws_is_resumed_by_its_key(
    postgres_engine, address, monkeypatch
):
    data = opened(address)
    query = data.agg(n=hush.count())
    read = engine._run

    def meanwhile(relation):
        monkeypatch.setattr(engine, "_run", read)
        terminate(postgres_engine, process(data))
        return read(relation)

    monkeypatch.setattr(engine, "_run", meanwhile)
    with pytest.raises(DrawInterrupted, match="key='k'"):
        query.release(epsilon=100, key="k")
    left = data.budget.epsilon
    assert [each.key for each in data.ledger.pending()] == ["k"]
    assert abs(query.release(epsilon=100, key="k").values["n"] - 60) < 10
    assert data.budget.epsilon == left
    assert not data.ledger.pending()


@pytest.mark.xdist_group("postgres")
def test_a_statement_that_takes_too_long_is_resumed_and_a_wrong_value_is_not(
    postgres_engine,
):
    name = postgres_engine.table(ROWS).get_name()
    url = postgres_engine.address.replace("postgresql://", "postgres://")
    connection = ibis.connect(url)
    slow = (
        f"CREATE VIEW {name}_slow AS SELECT u, k, pg_sleep(0.1) IS NULL x FROM {name}"
    )
    bad = f"CREATE VIEW {name}_bad AS SELECT u, k, 1 / (u - u) AS x FROM {name}"
    for each in (slow, bad):
        connection.raw_sql(each).close()
    data = opened(connection.table(f"{name}_slow"))
    connection.raw_sql("SET statement_timeout = '300ms'").close()
    query = data.where("x").agg(n=hush.count())
    with pytest.raises(DrawInterrupted):
        query.release(epsilon=1, key="k")
    connection.raw_sql("SET statement_timeout = 0").close()
    assert len(data.ledger.pending()) == 1
    broken = opened(connection.table(f"{name}_bad"))
    with pytest.raises(DrawFailed) as caught:
        broken.where("x > 0").agg(n=hush.count()).release(epsilon=1)
    assert not isinstance(caught.value, DrawInterrupted)
    assert not broken.ledger.pending()
    connection.disconnect()


def test_memory_that_runs_out_is_resumed_by_its_key():
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "CREATE TABLE t AS SELECT range AS u, md5(range::VARCHAR) AS k "
        "FROM range(300000)"
    )
    data = opened(connection.table("t"))
    query = data.group_by("k", keys="private", most=1).agg(n=hush.count())
    connection.raw_sql("SET temp_directory = ''")
    connection.raw_sql("SET memory_limit = '24MB'")
    with pytest.raises(DrawInterrupted) as caught:
        query.release(epsilon=1, delta=1e-9)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    left = data.budget.epsilon
    (waiting,) = data.ledger.pending()
    assert f"key={waiting.key!r}" in str(caught.value)
    connection.raw_sql("SET memory_limit = '2GB'")
    query.release(epsilon=1, delta=1e-9, key=waiting.key)
    assert data.budget.epsilon == left


def test_a_connection_that_the_user_closed_is_refused():
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT 1 AS u")
    data = opened(connection.table("t"))
    connection.disconnect()
    with pytest.raises(InvalidArgument, match="lost"):
        data.agg(n=hush.count()).release(epsilon=1)
    assert data.budget.epsilon == 1000


def test_functions_of_others_cannot_say_that_an_engine_was_interrupted():
    # Else a function could look at the data, fail, and be asked again for nothing.
    from hush.mechanisms import Laplace, Query
    from hush.units import Neighbors

    def look(rows):
        raise DrawInterrupted("a bit of the data")

    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1))
    query = Query("mine", look, (1,), Neighbors.ADD_REMOVE)
    with pytest.raises(DrawFailed, match="stands") as caught:
        ledger.release(Laplace(scale=10.0), query, [1, 2])
    assert not isinstance(caught.value, DrawInterrupted)
    assert not ledger.pending()


def test_failures_are_told_apart_by_their_kind():
    import duckdb

    for kind in (duckdb.ConversionException, duckdb.OutOfRangeException, ValueError):
        assert not is_operational(kind("08006 spark.driver.maxResultSize"))
    for problem in (
        duckdb.OutOfMemoryException("x"),
        duckdb.IOException("x"),
        duckdb.PermissionException("x"),
        psycopg.errors.AdminShutdown("x"),
        psycopg.errors.QueryCanceled("x"),
        psycopg.errors.OutOfMemory("x"),
        psycopg.OperationalError("the connection is closed"),
        MemoryError(),
        FileNotFoundError(2, "x"),
    ):
        assert is_operational(problem), problem
    for problem in (
        psycopg.errors.DivisionByZero("57P01"),
        psycopg.errors.InvalidTextRepresentation("08006"),
        OSError(75, "value too large"),
    ):
        assert not is_operational(problem), problem


@pytest.mark.xdist_group("spark")
def test_the_limit_of_sparks_driver_is_resumed_by_its_key(spark_engine):
    session = spark_engine.session
    frame = session.range(2000).selectExpr("id AS u", "sha1(string(id)) AS k")
    data = opened(frame)
    query = data.group_by("k", keys="private", most=1).agg(n=hush.count())
    settings, name = session._jsc.sc().conf(), "spark.driver.maxResultSize"
    settings.set(name, "1k")
    try:
        with pytest.raises(DrawInterrupted):
            query.release(epsilon=1, delta=1e-9, key="k")
    finally:
        settings.set(name, "1g")
    left = data.budget.epsilon
    query.release(epsilon=1, delta=1e-9, key="k")
    assert data.budget.epsilon == left
