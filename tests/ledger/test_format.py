"""L12: a ledger of another format is refused, and nothing in it is changed."""

import contextlib
import sqlite3

import pytest

from hush.errors import LedgerError
from hush.ledger import Budget, Ledger
from hush.ledger.hash_chain import canonical, digest
from hush.ledger.stores import FORMAT
from hush.privacy import Pure
from ledger.test_tampering import unguarded


def _rewrite_genesis(url, text):
    """Make the first entry that of another version, chained and without the rest."""
    with unguarded(url) as connection:
        connection.execute("DELETE FROM hush_entry WHERE seq > 0")
        rows = connection.execute("SELECT seq, kind, scope, key, at FROM hush_entry")
        line = rows.fetchall()[0]
        hash = digest(*line, text, "0" * 64)
        mark = "?" if url.startswith("sqlite") else "%s"
        connection.execute(
            f"UPDATE hush_entry SET body = {mark}, hash = {mark}", (text, hash)
        )
        # Something that a newer version might have dropped: it must not come back.
        connection.execute("DROP INDEX hush_rare")


def _everything(url, tmp_path):
    """Return what is stored: bytes of every file, or rows and names on a server."""
    if url.startswith("sqlite"):
        return {each.name: each.read_bytes() for each in sorted(tmp_path.iterdir())}
    import psycopg

    with psycopg.connect(url) as connection:
        return [
            connection.execute(sql).fetchall()
            for sql in (
                "SELECT * FROM hush_entry ORDER BY seq",
                "SELECT * FROM hush_account ORDER BY name",
                "SELECT relname, relfilenode FROM pg_class ORDER BY oid",
                "SELECT proname FROM pg_proc ORDER BY oid",
                "SELECT tgname FROM pg_trigger ORDER BY oid",
            )
        ]


@pytest.mark.parametrize(
    "text",
    [
        canonical(
            {"format": FORMAT + 1, "ledger": "x", "keys": ["of", "the", "future"]}
        ),
        canonical({"format": FORMAT - 1, "ledger": "x"}),
        canonical({"format": "2b"}),
        canonical({"ledger": "x"}),
        canonical([]),
        "not JSON",
    ],
)
def test_l12_another_format_is_refused_and_left_alone(text, durable_url, tmp_path):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ledger.charge(Pure(epsilon=0.1))
    _rewrite_genesis(durable_url, text)
    before = _everything(durable_url, tmp_path)
    for given in ({}, {"check": False}, {"budget": Budget(epsilon=1)}):
        with pytest.raises(LedgerError, match="this version of hush knows format 1"):
            Ledger.open(durable_url, **given)
    assert _everything(durable_url, tmp_path) == before


def test_l12_tables_of_another_layout_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "budget.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE hush_entry (number INTEGER, line TEXT)")
        connection.commit()
    before = _everything("sqlite", tmp_path)
    with pytest.raises(LedgerError, match="could not be written or read"):
        Ledger.open(f"sqlite:///{path}")
    assert _everything("sqlite", tmp_path) == before


def test_l12_parts_that_are_missing_in_this_format_are_made_again(durable_url):
    """The same format without its guards is mended; its sums and chain are kept."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ledger.charge(Pure(epsilon=0.25))
        before = ledger.history()
    with unguarded(durable_url) as connection:
        connection.execute("DROP INDEX hush_rare")
    with Ledger.open(durable_url) as ledger:
        assert ledger.history() == before
        assert ledger.remaining().epsilon == 0.75
        assert ledger.verify()
