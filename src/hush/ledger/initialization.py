"""How a ledger begins, and how an existing one is recognised when it is opened."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import final

from hush import checks
from hush.errors import InvalidArgument, LedgerError
from hush.ledger.accounts import Admin, Authority
from hush.ledger.anchor import Anchor
from hush.ledger.hash_chain import Entry, Kind, canonical
from hush.ledger.stores import FORMAT, Store, open_store
from hush.ledger.two_phase import Transaction
from hush.ledger.verify import Verdict, verify

AUTO = "auto"
_FILE = "sqlite:///"


@final
@dataclass(frozen=True)
class Opened:
    """A store whose identity is known and whose history was read."""

    store: Store
    anchor: Anchor | None
    identity: str
    rehearsal: bool
    authority: Authority
    lockout: int | None  # failed draws after which a scope is locked


def _anchor_path(url: str, anchor: str | os.PathLike[str] | None) -> Path | None:
    if anchor is None:
        return None
    if anchor != AUTO:
        return Path(anchor)
    if url.startswith(_FILE):
        return Path(url.removeprefix(_FILE) + ".anchor")
    return None


def _anchor(
    path: Path | None, genesis: Entry | None, secret: bytes | None, *, renew: bool
) -> Anchor | None:
    known = genesis.content if genesis is not None else None
    if path is None:
        if known is not None and known["anchored"] and not renew:
            raise LedgerError(
                "this ledger has an anchor, and was opened without it. Name the file "
                "with anchor=..., or give the anchor up with renew_anchor=True."
            )
        if secret is not None:
            raise InvalidArgument("secret seals an anchor; name one with anchor=...")
        return None
    if known is not None and known["anchored"] and not path.exists() and not renew:
        raise LedgerError(
            f"the anchor {str(path)!r} of this ledger is gone, so an older copy could "
            "not be told from the real one. Put it back, or start a new one with "
            "renew_anchor=True."
        )
    return Anchor(path, secret, None if known is None else known["ledger"])


def _not_remembered(anchor: Anchor) -> None:
    if next(anchor.lines(), None) is not None:
        raise LedgerError(
            f"the ledger is empty, but its anchor {str(anchor.path)!r} remembers "
            "entries: the ledger was deleted or replaced. Restore it; a budget does "
            "not start again. For new data, name a new ledger and a new anchor.",
            code="ledger-altered",
        )


def _not_deleted(url: str, anchor: Path | None, secret: bytes | None) -> None:
    """Refuse a ledger that was deleted before an empty file is made in its place.

    A file is made before its anchor, so an anchor alone was left behind. The file is
    looked for after it: another process may have made both just now.
    """
    if anchor is None or not url.startswith(_FILE) or not anchor.exists():
        return
    if not Path(url.removeprefix(_FILE)).exists():
        _not_remembered(Anchor(anchor, secret))


def _begin(
    transaction: Transaction,
    anchor: Anchor | None,
    admin: Admin | str | None,
    *,
    rehearsal: bool,
    lockout: int | None,
) -> Entry:
    found = transaction.first()
    if found is not None:  # another process was first
        return found
    if anchor is not None:
        _not_remembered(anchor)
    body = {
        "format": FORMAT,
        "ledger": secrets.token_hex(16) if anchor is None else anchor.ledger,
        "rehearsal": rehearsal,
        "anchored": anchor is not None,
        "admin": admin.public if isinstance(admin, Admin) else admin,
    }
    if lockout is not None:
        body["lockout"] = lockout
    return transaction.append(Kind.GENESIS, "", "", canonical(body))


def _lockout(recorded: int | None, given: int | None) -> int | None:
    """Return the stricter of what the ledger keeps and what its opener asks for."""
    known = [each for each in (recorded, given) if each is not None]
    return min(known, default=None)


def check(store: Store, anchor: Anchor | None) -> Verdict:
    """Verify a store against its anchor."""
    lines = None if anchor is None else list(anchor.lines())
    return store.read(lambda transaction: verify(transaction, lines))


def found(
    url: str,
    *,
    rehearsal: bool,
    anchor: str | os.PathLike[str] | None,
    secret: bytes | None,
    renew_anchor: bool,
    admin: Admin | str | None,
    lockout: int | None,
    checked: bool,
) -> Opened:
    """Open or begin the ledger at `url`; refuse one that is not whole."""
    if lockout is not None:
        lockout = checks.whole("lockout", lockout, at_least=1)
    path = _anchor_path(url, anchor)
    _not_deleted(url, path, secret)
    store = open_store(url)
    try:
        genesis = store.read(lambda transaction: transaction.first())
        held = _anchor(path, genesis, secret, renew=renew_anchor)
        if genesis is None:
            genesis = store.run(
                lambda t: _begin(t, held, admin, rehearsal=rehearsal, lockout=lockout)
            )
        facts = json.loads(genesis.body)
        if held is not None and held.ledger != facts["ledger"]:
            raise LedgerError(
                f"the anchor {str(held.path)!r} belongs to another ledger. Name the "
                "one that was written with this ledger."
            )
        authority = Authority.of(facts.get("admin"), admin)
        if facts["rehearsal"] != rehearsal:
            kind = "a rehearsal" if facts["rehearsal"] else "for real data"
            raise LedgerError(
                f"this ledger is {kind} and stays so; it was opened with "
                f"rehearsal={rehearsal}. Open it with rehearsal={not rehearsal}."
            )
        if checked and not (verdict := check(store, held)):
            raise LedgerError(
                f"the ledger is not whole: {verdict}. Nothing is released from it; "
                "restore the newest copy, and look at who could write to it.",
                code="ledger-altered",
            )
        strict = _lockout(facts.get("lockout"), lockout)
        return Opened(store, held, facts["ledger"], rehearsal, authority, strict)
    except BaseException:
        store.close()
        raise
