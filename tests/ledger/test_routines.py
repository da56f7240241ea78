"""The functions of PostgreSQL do what the protocol would have done, or nothing."""

import psycopg
import pytest

from hush.errors import BudgetExceeded, DrawFailed, KeyConflict, LedgerError, LockedOut
from hush.ledger import Budget, Ledger
from hush.ledger.entry import Kind
from hush.ledger.plan import Plan
from hush.ledger.request import ask
from hush.ledger.stores import routines
from ledger.toys import Broken, Die, Total


@pytest.fixture
def ledger(postgres_url):
    with Ledger.open(postgres_url, budget=Budget(epsilon=1)) as ledger:
        ledger.grant(Budget(epsilon=0.3), analyst="ana")
        yield ledger


def _ask(ledger, epsilon=0.1):
    plan = Plan.of(Die(epsilon), Total(), "", None)
    payers = ledger._payers
    return ask(plan, payers.names, payers._known_grids(), None, "0")


def _state(ledger):
    return ledger.history(), ledger.remaining()


def test_a_new_key_is_charged_in_one_step(ledger):
    request = _ask(ledger)
    entry = ledger._store.charge(request, "k", Kind.RESERVE, None)
    stored = ledger._store.read(lambda t: t.entries())[-1]
    assert entry == stored
    answer = ledger._store.answer(Kind.SEAL, request.scope, "k", "{}")
    assert answer == ledger._store.read(lambda t: t.entries())[-1]
    assert answer.prev == entry.hash
    assert ledger.verify()


def test_whatever_is_not_ordinary_changes_nothing(ledger):
    store, ana = ledger._store, ledger.on(analyst="ana")
    request = _ask(ledger)
    assert store.charge(request, "k", Kind.RESERVE, None) is not None
    before = _state(ledger)
    assert store.charge(request, "k", Kind.RESERVE, None) is None, "a known key"
    large = _ask(ledger, 0.95)
    assert store.charge(large, "large", Kind.RESERVE, None) is None, "does not fit"
    both = _ask(ana, 0.4)
    assert both.names[0].startswith("analyst"), "the first account refuses"
    assert store.charge(both, "ana", Kind.RESERVE, None) is None
    assert store.answer(Kind.SEAL, request.scope, "unknown", "{}") is None
    assert _state(ledger) == before


def test_a_second_account_that_refuses_takes_the_first_charge_back(ledger):
    ledger.grant(Budget(epsilon=2), analyst="rich")
    rich = ledger.on(analyst="rich")
    both, before = _ask(rich, 1.5), _state(rich)
    assert rich._store.charge(both, "k", Kind.RESERVE, None) is None
    assert _state(rich) == before
    with pytest.raises(BudgetExceeded, match="dataset"):
        rich.release(Die(1.5), Total(), [1], "k")
    assert _state(rich) == before


def test_an_answer_is_stored_once_and_only_for_a_charge_that_waits(ledger):
    request = _ask(ledger)
    for kind, fits in ((Kind.CHARGE, False), (Kind.RESERVE, True), (Kind.HOLD, True)):
        ledger._store.charge(request, str(kind), kind, None)
        sealed = ledger._store.answer(Kind.SEAL, request.scope, str(kind), "{}")
        assert (sealed is not None) is fits
        again = ledger._store.answer(Kind.SEAL, request.scope, str(kind), "[]")
        assert again is None
    assert ledger.verify()


def test_a_link_made_elsewhere_is_charged(ledger, postgres_url):
    ledger.release(Die(0.1), Total(), [1])
    with Ledger.open(postgres_url) as other:
        other.link("default", "people", Budget(epsilon=0.15))
    ledger.release(Die(0.1), Total(), [1])
    with pytest.raises(BudgetExceeded, match="unit 'people'"):
        ledger.release(Die(0.1), Total(), [1])


def test_failures_count_in_the_function_too(postgres_url):
    with Ledger.open(postgres_url, budget=Budget(epsilon=1), lockout=2) as ledger:
        for key in "ab":
            with pytest.raises(DrawFailed):
                ledger.release(Die(0.1), Broken(), [1], key)
        before = ledger.remaining()
        with pytest.raises(LockedOut):
            ledger.release(Die(0.1), Total(), [1], "c")
        assert ledger.remaining() == before
        ledger.unlock("mended")
        ledger.release(Die(0.1), Total(), [1], "c")
        with pytest.raises(KeyConflict):
            ledger.release(Die(0.2), Total(), [1], "c")


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
        for statement in routines.functions():
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


@pytest.mark.parametrize("harm", ["DROP FUNCTION hush_charge_1", "DEALLOCATE ALL"])
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
