"""Engines that answer the same questions."""

import ibis
import pyarrow
import pytest

from servers import database, postgres


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


@pytest.fixture(params=["duckdb", "polars", "postgres"])
def engine(request):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_engine")
    return {"duckdb": DuckDB, "polars": Polars}[request.param]()
