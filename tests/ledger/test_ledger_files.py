"""The files of a ledger: who may read them, damage, links, disks only to be read."""

import contextlib
import os
import sqlite3

import pytest

from hush.errors import LedgerError
from hush.ledger import Budget, Ledger
from ledger.test_writers import COST, MOST, anchored, ask, until_refused, unwritable
from ledger.toys import Die, Total

__all__ = ["anchored"]  # a fixture


# -- who may read and write the files --------------------------------------------------


@pytest.mark.parametrize(("given", "mode"), [({}, 0o600), ({"shared": True}, 0o660)])
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_files_are_for_their_owner_or_on_request_for_a_group(
    given, mode, mask, anchored
):
    url, options = anchored
    before = os.umask(mask)
    try:
        with Ledger.open(url, budget=Budget(epsilon=1), **options, **given) as ledger:
            ask(ledger)
    finally:
        os.umask(before)
    files = [options["anchor"]]
    if url.startswith("sqlite"):
        files.append(options["anchor"].with_name("budget.db"))
    assert {each.stat().st_mode & 0o777 for each in files} == {mode}


def test_a_renewed_anchor_is_for_whom_the_ledger_is(sqlite_url, tmp_path):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    Ledger.open(sqlite_url, shared=True).close()
    assert anchor.stat().st_mode & 0o777 == 0o660
    anchor.unlink()
    Ledger.open(sqlite_url, renew_anchor=True).close()
    assert anchor.stat().st_mode & 0o777 == 0o660
    path.chmod(0o600)
    anchor.unlink()
    Ledger.open(sqlite_url, renew_anchor=True, shared=True).close()
    assert anchor.stat().st_mode & 0o777 == 0o600


# -- a file whose pages are damaged ----------------------------------------------------


def damaged(path, size):
    """Write over bytes of every page but the first, as a bad disk does."""
    content = bytearray(path.read_bytes())
    noise = bytes(range(1, 1 + size))
    for page in range(4096, len(content), 4096):
        content[page + 3000 : page + 3000 + size] = noise
    path.write_bytes(content)


def filled(url, times=60):
    with Ledger.open(url, budget=Budget(epsilon=100)) as ledger:
        ask(ledger, times)


def test_damaged_pages_are_found_when_the_ledger_is_opened(sqlite_url, tmp_path):
    filled(sqlite_url)
    damaged(tmp_path / "budget.db", 64)
    with pytest.raises(LedgerError):
        Ledger.open(sqlite_url)


def index_pages(path):
    """Return the pages of the index by which keys are found."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            sql = "SELECT pageno FROM dbstat WHERE name = 'hush_key' AND ncell > 0"
            return [number for (number,) in connection.execute(sql)]
        except sqlite3.OperationalError:  # a SQLite without that table
            root = "SELECT rootpage FROM sqlite_master WHERE name = 'hush_key'"
            return [connection.execute(root).fetchone()[0]]


def test_a_damaged_index_is_found_though_every_entry_is_whole(sqlite_url, tmp_path):
    filled(sqlite_url)
    path = tmp_path / "budget.db"
    content = bytearray(path.read_bytes())
    for page in index_pages(path):  # where its cells begin
        start = (page - 1) * 4096
        content[start + 12 : start + 40] = bytes(range(200, 228))
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"damaged|SQLITE_CORRUPT"):
        Ledger.open(sqlite_url)


def test_verify_compares_an_index_with_its_table(sqlite_url, tmp_path):
    """A key that the index spells otherwise would be charged a second time."""
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger, key="a-key-of-this-index")
    path = tmp_path / "budget.db"
    content = bytearray(path.read_bytes())
    changed = 0
    for page in index_pages(path):
        end = page * 4096
        part = bytes(content[end - 4096 : end])
        content[end - 4096 : end] = part.replace(b"a-key-of-this", b"a-key-of-thiz")
        changed += content[end - 4096 : end] != part
    assert changed
    path.write_bytes(content)
    with Ledger.open(sqlite_url) as ledger:
        found = ledger.verify()
    assert not found
    assert "damaged" in found.reason
    assert "hush_key" in found.reason


# -- links, and disks that cannot be written -------------------------------------------


@pytest.mark.parametrize("of", ["file", "folder"])
def test_a_symbolic_link_leads_to_the_ledger_and_its_anchor(of, sqlite_url, tmp_path):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
    link = tmp_path / "link"
    if of == "file":
        link.symlink_to(tmp_path / "budget.db")
        url = f"sqlite:///{link}"
    else:
        link.symlink_to(tmp_path)
        url = f"sqlite:///{link}/budget.db"
    with Ledger.open(url) as ledger:
        assert until_refused(ledger)[0] == MOST - 1
        assert ledger.verify()
    assert not link.with_name("link.anchor").exists()


def test_a_hard_link_leads_to_the_name_that_has_the_anchor(sqlite_url, tmp_path):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
    os.link(tmp_path / "budget.db", tmp_path / "also.db")
    with Ledger.open(f"sqlite:///{tmp_path}/also.db") as ledger:
        assert until_refused(ledger)[0] == MOST - 1
    far = tmp_path / "far"
    far.mkdir()
    os.link(tmp_path / "budget.db", far / "also.db")
    with pytest.raises(LedgerError, match="several names"):
        Ledger.open(f"sqlite:///{far}/also.db")


def test_a_stored_key_is_answered_where_nothing_can_be_written(
    durable_url, monkeypatch
):
    given = {"budget": Budget(epsilon=1)}
    with Ledger.open(durable_url, **given) as ledger:
        known = ledger.release(Die(COST), Total(), [1], "may")
        ledger.hold(Die(COST), Total(), key="held")
    unwritable(durable_url, monkeypatch)
    with Ledger.open(durable_url, **given) as ledger:
        assert ledger.release(Die(COST), Total(), [1], "may") == known
        assert ledger.stored("may") == known
        for key in ("june", "held"):
            with pytest.raises(LedgerError) as caught:
                ask(ledger, key=key)
            assert caught.value.code == "ledger-unreachable"
        assert len(ledger.history()) == 5
