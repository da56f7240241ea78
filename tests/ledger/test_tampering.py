"""L9: whatever is done to the stored history, verify names the first bad entry."""

import contextlib
import shutil
import sqlite3

import pytest

from hush.errors import LedgerError
from hush.ledger import Budget, Ledger
from hush.privacy import Pure
from ledger.toys import Die, Total

ABOUT = {"unit": "person", "neighbors": "add-remove"}  # as what was released


def fill(url, releases=25):
    with Ledger.open(url, budget=Budget(epsilon=10)) as ledger:
        for number in range(releases):
            ledger.release(Die(0.1), Total(), [1], f"k{number}")
        return len(ledger.history())


@contextlib.contextmanager
def unguarded(url):
    """Write to the tables as somebody would who has dropped the triggers."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type='trigger'"
        )
        for (name,) in names.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
    else:
        import psycopg

        connection = psycopg.connect(url)
        for table in ("hush_entry", "hush_account"):
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    with contextlib.closing(connection):
        yield connection
        connection.commit()


def verdict(url):
    with pytest.raises(LedgerError, match="not whole"):
        Ledger.open(url)
    with Ledger.open(url, check=False) as ledger:
        return ledger.verify()


COLUMNS = ("kind", "scope", "key", "at", "body", "prev", "hash")


def test_l9_any_flipped_byte_is_found(sqlite_url):
    """Every byte of 50 entries, one after the other, through the checking code."""
    from hush.ledger.ledger import open_store
    from hush.ledger.verify import verify

    fill(sqlite_url)
    store = open_store(sqlite_url)
    rows = store.read(lambda t: list(t.raw()))
    balances = store.read(lambda t: t.balances())
    store.close()
    assert len(rows) >= 50

    class Copy:
        def __init__(self, rows):
            self.rows = rows

        def raw(self):
            return iter(self.rows)

        def balances(self):
            return balances

    assert verify(Copy(rows), None)
    flips = 0
    for place in range(50):
        prefix = rows[:place]
        for column, name in enumerate(COLUMNS, start=1):
            text = rows[place][column]
            # The whole chain is read again each time: every 7th byte is enough.
            for index in range(place % 7, len(text), 7):
                changed = list(rows[place])
                changed[column] = (
                    text[:index] + chr(ord(text[index]) ^ 1) + text[index + 1 :]
                )
                found = verify(Copy([*prefix, changed, *rows[place + 1 :]]), None)
                assert found.bad == place, (place, name, index)
                flips += 1
    assert flips > 3000


def test_l9_edited(durable_url):
    fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute(
            "UPDATE hush_entry SET body = replace(body, '100000000000', '1') "
            "WHERE seq = 2"
        )
        connection.execute(
            "UPDATE hush_entry SET body = replace(body, '10000000000', '1') "
            "WHERE seq = 4"
        )
    assert verdict(durable_url).bad in (2, 4)


def test_l9_deleted(durable_url):
    fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute("DELETE FROM hush_entry WHERE seq = 4")
    assert verdict(durable_url).bad == 4


def test_l9_tail_cut_off(durable_url):
    count = fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute(f"DELETE FROM hush_entry WHERE seq >= {count - 2}")
    found = verdict(durable_url)
    assert not found
    if durable_url.startswith("sqlite"):  # which has an anchor by default
        assert found.bad == count - 2
        assert "ends before its anchor" in found.reason


def test_l9_swapped(durable_url):
    fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        for old, new in ((3, 1000), (5, 3), (1000, 5)):
            connection.execute(f"UPDATE hush_entry SET seq = {new} WHERE seq = {old}")
    assert verdict(durable_url).bad == 3


def test_l9_inserted(durable_url):
    count = fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute(
            "INSERT INTO hush_entry SELECT max(seq) + 1, 'seal', 's', 'k', 'now', "
            "'{}', '0', 'abc' FROM hush_entry"
        )
    assert verdict(durable_url).bad == count


def test_l9_sums_cut_down(durable_url):
    fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute("UPDATE hush_account SET spent1 = 0")
    found = verdict(durable_url)
    assert found.bad is None
    assert "dataset 'default'" in found.reason


def test_l9_budget_enlarged_by_hand(durable_url):
    fill(durable_url, 5)
    with unguarded(durable_url) as connection:
        connection.execute("UPDATE hush_account SET limit1 = limit1 * 2")
    assert "dataset 'default'" in verdict(durable_url).reason


def test_l9_an_older_copy_is_recognised(sqlite_url, tmp_path):
    fill(sqlite_url, 5)
    path = tmp_path / "budget.db"
    shutil.copy(path, tmp_path / "old.db")
    with Ledger.open(sqlite_url) as ledger:
        count = len(ledger.history())
        ledger.charge(Pure(epsilon=1.0), notes=ABOUT)
    shutil.copy(tmp_path / "old.db", path)
    found = verdict(sqlite_url)
    assert found.bad == count
    assert "older copy" in found.reason


def test_l9_a_rewritten_chain_contradicts_its_anchor(sqlite_url, tmp_path):
    """Somebody who recomputes every hash is still found by the anchor."""
    anchor = tmp_path / "budget.db.anchor"
    fill(sqlite_url, 3)
    real = anchor.read_text()
    (tmp_path / "budget.db").unlink()
    anchor.write_text(real.splitlines()[0] + "\n")
    fill(sqlite_url, 5)
    anchor.write_text(real)
    found = verdict(sqlite_url)
    assert found.reason == "not the one its anchor remembers"


def test_a_deleted_ledger_does_not_begin_again(sqlite_url, tmp_path):
    fill(sqlite_url, 2)
    (tmp_path / "budget.db").unlink()
    with pytest.raises(LedgerError, match="remembers entries"):
        Ledger.open(sqlite_url)


def test_a_lost_anchor_is_missed_and_renewed_only_on_request(sqlite_url, tmp_path):
    fill(sqlite_url, 2)
    (tmp_path / "budget.db.anchor").unlink()
    with pytest.raises(LedgerError, match="is gone"):
        Ledger.open(sqlite_url)
    with pytest.raises(LedgerError, match="opened without it"):
        Ledger.open(sqlite_url, anchor=None)
    with Ledger.open(sqlite_url, renew_anchor=True) as ledger:
        ledger.charge(Pure(epsilon=0.1), notes=ABOUT)
        assert ledger.verify().anchored == len(ledger.history()) - 1


def test_an_anchor_of_another_ledger_is_refused(tmp_path):
    for name in "ab":
        fill(f"sqlite:///{tmp_path}/{name}.db", 1)
    with pytest.raises(LedgerError, match="another ledger"):
        Ledger.open(f"sqlite:///{tmp_path}/a.db", anchor=tmp_path / "b.db.anchor")


def test_a_sealed_anchor_cannot_be_forged(postgres_url, tmp_path):
    anchor = tmp_path / "elsewhere"
    given = {"anchor": anchor, "secret": b"known to the auditor"}
    with Ledger.open(postgres_url, budget=Budget(epsilon=1), **given) as ledger:
        ledger.charge(Pure(epsilon=0.1), notes=ABOUT)
    with Ledger.open(postgres_url, **given) as ledger:
        assert ledger.verify().anchored == 2
    lines = anchor.read_text().splitlines()
    lines[-1] = lines[-1].replace(lines[-1].split()[1], "f" * 64)
    anchor.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerError, match="not sealed with this secret"):
        Ledger.open(postgres_url, **given)


def test_a_torn_line_of_the_anchor_is_passed_over(sqlite_url, tmp_path):
    fill(sqlite_url, 2)
    with (tmp_path / "budget.db.anchor").open("a") as file:
        file.write("7 abc")
    with Ledger.open(sqlite_url) as ledger:
        ledger.charge(Pure(epsilon=0.1), notes=ABOUT)
        assert ledger.verify().anchored == len(ledger.history()) - 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM hush_entry",
        "UPDATE hush_entry SET body = '{}' WHERE seq = 3",
        "DELETE FROM hush_account",
        "UPDATE hush_account SET limit1 = limit1 - 1",
        "UPDATE hush_account SET notion = 'rho'",
        "UPDATE hush_account SET spent1 = limit1 + 1",
        "UPDATE hush_account SET spent1 = -1",
    ],
)
def test_the_tables_themselves_refuse(statement, durable_url):
    fill(durable_url, 2)
    if durable_url.startswith("sqlite"):
        connection = sqlite3.connect(durable_url.removeprefix("sqlite:///"))
        error = sqlite3.IntegrityError
    else:
        import psycopg

        connection, error = psycopg.connect(durable_url), psycopg.Error
    with contextlib.closing(connection), pytest.raises(error):
        connection.execute(statement)
    with Ledger.open(durable_url):
        pass
