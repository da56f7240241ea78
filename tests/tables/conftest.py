"""Engines that answer the same questions."""

from typing import ClassVar

import ibis
import pyarrow
import pytest

from hush.tables.engines import duckdb
from servers import database, postgres, spark
from tables.desk import Desk, written_once

SPARK_CASES = 1  # per test in the fast lane: each costs Spark seconds, others a moment


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    seen = {}
    for item in items:
        if "spark_engine" in item.fixturenames or "spark" in item.name:
            seen[item.function] = seen.get(item.function, 0) + 1
            if seen[item.function] > SPARK_CASES:
                item.add_marker(pytest.mark.slow)


class DuckDB:
    name = "duckdb"

    def table(self, columns):
        return ibis.duckdb.connect().create_table("t", pyarrow.table(columns))


class Polars:
    name = "polars"

    def table(self, columns):
        return ibis.polars.connect().create_table("t", pyarrow.table(columns))


class Postgres:
    name = "postgres"

    def __init__(self, address):
        self.address = address
        self.connection = ibis.connect(address.replace("postgresql://", "postgres://"))
        self.made = 0

    def table(self, columns):
        self.made += 1
        return self.connection.create_table(f"rows{self.made}", pyarrow.table(columns))


@pytest.fixture(scope="session")
def postgres_engine():
    with postgres() as address:
        assert address is not None, "no PostgreSQL could be started"
        engine = Postgres(database(address, "tables"))
        yield engine
        engine.connection.disconnect()


class Spark:
    name = "spark"
    living: ClassVar[list] = []  # one, once it was started

    def __init__(self, session):
        self.living.append(self)
        self.session = session
        self.connection = ibis.pyspark.connect(session)
        self.made = 0

    def table(self, columns):
        self.made += 1
        name = f"rows{self.made}"
        frame = self.session.createDataFrame(pyarrow.table(columns))
        frame.createOrReplaceTempView(name)
        return self.connection.table(name)

    def forget(self):
        """Drop what Spark's parser keeps of every statement, until memory is full.

        See SPARK-47404.
        """
        virtual = self.session._jvm
        parsing = virtual.org.apache.spark.sql.catalyst.parser
        tokens = virtual.org.antlr.v4.runtime.CommonTokenStream(
            parsing.SqlBaseLexer(None)
        )
        parsing.SqlBaseParser(tokens).getInterpreter().clearDFA()


@pytest.fixture(scope="session")
def spark_engine():
    with spark() as session:
        yield Spark(session)


ENGINES = [
    "duckdb",
    "polars",
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=pytest.mark.xdist_group("spark")),
]


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param in ("postgres", "spark"):
        return request.getfixturevalue(f"{request.param}_engine")
    return {"duckdb": DuckDB, "polars": Polars}[request.param]()


@pytest.fixture(scope="module")
def one_text():
    """Make SQL once where the same is asked of many tables, which takes most of it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(duckdb, "sql_of", written_once)
        yield


@pytest.fixture
def desk(monkeypatch):
    made = Desk(monkeypatch)
    yield made
    made.connection.disconnect()
