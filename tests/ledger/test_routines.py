"""The functions of PostgreSQL hash as Python does, and are not believed blindly."""

import psycopg
import pytest

from hush.errors import LedgerError
from hush.ledger import Budget, Ledger
from hush.ledger.stores import postgres
from ledger.toys import Die, Total


@pytest.fixture
def ledger(postgres_url):
    with Ledger.open(postgres_url, budget=Budget(epsilon=1)) as ledger:
        yield ledger


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_the_hash_is_that_of_python_for_any_letter(server, encoding):
    name = f"letters_{encoding.lower()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    url = server.replace("/postgres?", f"/{name}?")
    key = "clé №1 日本 😀" if encoding == "UTF8" else "clé ½"
    with Ledger.open(url, budget=Budget(epsilon=1), dataset="çà") as ledger:
        first = ledger.release(Die(0.1), Total(), [1], key)
        assert ledger.release(Die(0.1), Total(), [1], key) == first
        assert first.receipt.key == key
        assert ledger.verify()


def test_a_function_that_writes_another_hash_is_not_believed(ledger, postgres_url):
    with psycopg.connect(postgres_url) as connection:
        for statement in postgres.functions():
            twin = statement.replace("concat(", "concat('x', ")
            assert twin != statement
            connection.execute(twin)
    with pytest.raises(LedgerError, match="a hash that is not that of its content"):
        ledger.release(Die(0.1), Total(), [1], "k")
    assert not ledger.verify()


def test_a_database_without_an_encoding_is_refused(server):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE raw ENCODING 'SQL_ASCII' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    with pytest.raises(LedgerError, match="SQL_ASCII"):
        Ledger.open(server.replace("/postgres?", "/raw?"), budget=Budget(epsilon=1))


@pytest.mark.parametrize("harm", ["DROP FUNCTION hush_charge_2", "DEALLOCATE ALL"])
def test_the_protocol_takes_over_where_a_function_cannot_be_called(ledger, harm):
    ledger.release(Die(0.1), Total(), [1], "a")
    ledger._store._open().execute(harm, prepare=False)
    ledger.release(Die(0.1), Total(), [1], "b")
    assert [each.key for each in ledger.history() if each.kind == "seal"] == ["a", "b"]
    assert ledger.verify()


def test_other_isolation_levels_of_a_server_do_not_matter(postgres_url):
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        )
    with Ledger.open(postgres_url, budget=Budget(epsilon=1)) as ledger:
        ledger.release(Die(0.1), Total(), [1], "a")
        shown = ledger._store._open().execute("SHOW transaction_isolation").fetchone()
        assert shown == ("read committed",)
