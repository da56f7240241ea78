"""Who may change accounts: entries signed by the key that a ledger began with."""

import contextlib
import json

import pytest

from hush.errors import InvalidArgument, LedgerError
from hush.ledger import Admin, Budget, Ledger
from hush.ledger.hash_chain import canonical, digest
from hush.privacy import Pure
from ledger.test_tampering import unguarded
from ledger.toys import Die, Total

OFFICE = Admin.generate("office")


@pytest.fixture
def founded(durable_url):
    """A ledger with an administrator, one account and one held charge."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1), admin=OFFICE) as ledger:
        ledger.hold(Die(0.1), Total(), key="held")
    return durable_url


def test_administrative_entries_are_signed_and_say_by_whom(founded):
    with Ledger.open(founded, admin=OFFICE) as ledger:
        ledger.raise_budget(Budget(epsilon=2), dataset="default", reason="agreed")
        ledger.grant(Budget(epsilon=1), analyst="ana")
        ledger.link("default", "people", Budget(epsilon=3))
        ledger.void("held", "asked twice")
        ledger.unlock("mended")
        kinds = ("grant", "link", "void", "unlock")
        found = [each for each in ledger.history() if each.kind in kinds]
        assert len(found) == 7
        assert {each.content["by"] for each in found} == {"office"}
        assert all(len(each.content["signature"]) == 128 for each in found)
        assert found[1].content["reason"] == "agreed"
        assert ledger.verify().voided == 1
        assert "1 given back" in str(ledger.verify())


def test_who_has_no_key_releases_but_changes_no_account(founded):
    with Ledger.open(founded, budget=Budget(epsilon=1)) as ledger:  # as on record
        ledger.release(Die(0.1), Total(), [1], "k")
        before = ledger.history()
        for attempt in (
            lambda: ledger.raise_budget(Budget(epsilon=2), dataset="default"),
            lambda: ledger.grant(Budget(epsilon=2), analyst="ana"),
            lambda: ledger.link("default", "people", Budget(epsilon=2)),
            lambda: ledger.void("held", "please"),
            lambda: ledger.unlock("please"),
        ):
            with pytest.raises(LedgerError, match="signed by its administrator"):
                attempt()
        assert ledger.history() == before
        assert ledger.verify()


def test_a_key_is_pinned_and_stays(founded, tmp_path):
    with Ledger.open(founded, admin=OFFICE.public) as ledger:  # an auditor
        assert ledger.admin == OFFICE.public
    for other in (Admin.generate("office"), Admin.generate("office").public):
        with pytest.raises(LedgerError, match="another administrator"):
            Ledger.open(founded, admin=other)
    plain = f"sqlite:///{tmp_path}/plain.db"
    with Ledger.open(plain, budget=Budget(epsilon=1)) as ledger:
        assert ledger.admin is None
    with pytest.raises(LedgerError, match="has none"):
        Ledger.open(plain, admin=OFFICE)


def _append(url, kind, scope, key, content):
    """Add a well-chained entry by hand, as somebody would who writes the tables."""
    with unguarded(url) as connection:
        rows = connection.execute("SELECT seq, hash FROM hush_entry ORDER BY seq")
        seq, prev = rows.fetchall()[-1]
        line = (seq + 1, kind, scope, key, "now", canonical(content))
        hash = digest(*line, prev)
        mark = "?" if url.startswith("sqlite") else "%s"
        connection.execute(
            "INSERT INTO hush_entry (seq, kind, scope, key, at, body, prev, hash) "
            f"VALUES ({', '.join([mark] * 8)})",
            (*line, prev, hash),
        )
        if kind == "grant":
            limit = content["limit"][0]
            connection.execute(
                f"UPDATE hush_account SET limit1 = {limit} WHERE name = '{scope}'"
            )
    return seq + 1


@pytest.mark.parametrize("forgery", ["none", "garbage", "replayed", "other key"])
def test_a_forged_grant_is_found(founded, forgery):
    """The chain and the sums agree; only the signature does not."""
    with Ledger.open(founded) as ledger:
        old = next(each for each in ledger.history() if each.kind == "grant")
    content = {**old.content, "limit": [2 * old.content["limit"][0], 0]}
    if forgery == "none":
        del content["signature"]
    elif forgery == "garbage":
        content["signature"] = "no hexadecimal"
    elif forgery == "other key":
        content["signature"] = Admin.generate("office").key.sign(b"x").hex()
    else:
        content = old.content  # itself signed, but for another place
    seq = _append(founded, "grant", "dataset:default", "9", content)
    with pytest.raises(LedgerError, match=f"entry {seq}: not signed"):
        Ledger.open(founded)


def test_without_an_administrator_the_same_forgery_is_not_seen(sqlite_url, tmp_path):
    """What the signature adds: the chain alone binds nobody who can write it."""
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        old = next(each for each in ledger.history() if each.kind == "grant")
    content = {**old.content, "limit": [2 * old.content["limit"][0], 0]}
    _append(sqlite_url, "grant", "dataset:default", "9", content)
    with Ledger.open(sqlite_url) as ledger:
        assert ledger.remaining().epsilon == 2


def test_a_void_without_a_signature_gives_nothing_back(founded):
    with Ledger.open(founded) as ledger:
        scope = next(e for e in ledger.history() if e.kind == "hold").accounts
    seq = _append(founded, "void", scope, "held", {"reason": "mine"})
    with unguarded(founded) as connection:
        connection.execute("UPDATE hush_account SET spent1 = 0")
    with pytest.raises(LedgerError, match=f"entry {seq}: not signed"):
        Ledger.open(founded)


def test_keys_are_kept_as_pem_and_never_printed():
    for password in (None, b"a password"):
        pem = OFFICE.to_pem(password)
        assert Admin.from_pem("office", pem, password).public == OFFICE.public
    assert OFFICE.public not in repr(OFFICE)
    secret = OFFICE.key.private_bytes_raw().hex()
    with contextlib.closing(
        Ledger.open("memory://", budget=Budget(epsilon=1), admin=OFFICE)
    ) as ledger:
        ledger.charge(Pure(epsilon=0.5))
        everything = json.dumps([each.content for each in ledger.history()])
        assert secret not in everything
        assert OFFICE.public in everything
    with pytest.raises(InvalidArgument, match="PEM"):
        Admin.from_pem("office", b"nonsense")
    with pytest.raises(InvalidArgument, match="PEM"):
        Admin.from_pem("office", OFFICE.to_pem(b"a password"), b"another")
    with pytest.raises(InvalidArgument, match="printable"):
        Admin("a\nb", OFFICE.key)


@pytest.mark.parametrize("password", ["text", b"", 7])
def test_a_password_is_bytes(password):
    with pytest.raises(InvalidArgument, match="must be bytes"):
        Admin.generate("office").to_pem(password)
