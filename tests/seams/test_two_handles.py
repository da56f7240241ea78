"""Two Ibis handles on one connection: threads take turns on what they share."""

import sys

import duckdb
import ibis
import psycopg
import pyarrow
import pytest

from seams import stock
from seams.bookkeeper import Question, closed, price
from seams.injector import together


@pytest.fixture
def hasty():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def all_answered(tables):
    opened = [stock.opened(each) for each in tables]
    pool = [stock.filtered(each, 3) for each in opened]

    def work(i):
        ledger, (made, right) = opened[i].ledger, pool[i]
        keys = [f"{i} {j}" for j in range(3)]
        asked = [Question(ledger, key, stock.asked(made), right) for key in keys]
        assert [each.tried() for each in asked] == ["answered"] * 3
        return dict.fromkeys(keys, asked[0].price)

    for data, prices in zip(opened, together(work, len(opened)), strict=True):
        assert closed(data.ledger, prices) == 3


@pytest.mark.usefixtures("hasty")
def test_handles_on_one_duckdb_connection_take_turns():
    connection = duckdb.connect()
    given = pyarrow.table(stock.ROWS)
    connection.register("given", given)
    connection.execute("CREATE TABLE stock AS SELECT * FROM given")
    handles = [ibis.duckdb.from_connection(connection) for _ in range(4)]
    all_answered([each.table("stock") for each in handles])


@pytest.mark.usefixtures("hasty")
@pytest.mark.xdist_group("postgres")
def test_handles_on_one_postgres_connection_take_turns(postgres_engine):
    name = postgres_engine.table(stock.ROWS).get_name()
    with psycopg.connect(postgres_engine.address, autocommit=True) as connection:
        handles = [ibis.postgres.from_connection(connection) for _ in range(4)]
        all_answered([each.table(name) for each in handles])


def test_a_price_is_what_the_receipt_says():
    made, _ = stock.filtered(stock.opened(stock.ROWS), 3)
    assert 0 < price(stock.asked(made)("k")) <= stock.EPSILON
