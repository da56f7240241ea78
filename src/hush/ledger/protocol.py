"""Reserve, draw, seal, release: the order in which nothing leaks and nothing is lost.

1. reserve: the charge is durable before data is read; all accounts pay, or none.
2. draw: the answer exists in memory only. A crash here is resumed by its key.
3. seal: the first answer to arrive is stored; a second one is thrown away.
4. release: what is shown is what is stored, every time.

Redrawing after a crash is safe because nothing drawn before the seal has left the
process: one charge still releases one draw.
"""

from dataclasses import dataclass
from typing import Any, final

from hush.errors import BudgetExceeded, KeyConflict, LedgerError, LockedOut
from hush.ledger.account import readable, shortfall
from hush.ledger.budget import Units
from hush.ledger.entry import CLOSING, OPENING, Entry, Kind, canonical
from hush.ledger.stores.base import Transaction


class Stale(Exception):
    """The accounts of a scope changed since its cost was computed; compute it again."""


@final
@dataclass(frozen=True)
class Request:
    """A charge as it will be written: who pays what, under which key, for what."""

    payers: tuple[str, ...]  # as asked: data set and analyst, sorted
    key: str
    digest: str  # of the plan, the data version and the payers
    costs: dict[str, Units]  # payers and the people their data sets are tied to
    grids: dict[str, tuple[str, int, int]]  # the notion and grains of each cost
    facts: dict[str, Any]
    what: str

    @property
    def scope(self) -> str:
        """The name space of the key."""
        return scope_of(self.payers)


def scope_of(payers: tuple[str, ...]) -> str:
    """Return the text that stands for the accounts of a charge."""
    return canonical(list(payers))


@final
@dataclass(frozen=True)
class Event:
    """What the ledger holds under one key: a charge and, once closed, its answer."""

    opening: Entry
    closing: Entry | None


def everyone(transaction: Transaction, payers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the payers and every account their data sets are tied to, in order."""
    linked = (
        name
        for payer in payers
        if payer.startswith("dataset:")
        for name in transaction.links(payer)
    )
    return tuple(sorted({*payers, *linked}))


def find(transaction: Transaction, scope: str, key: str) -> Event | None:
    """Return what is on record under a key."""
    events = transaction.events(scope, key)
    opening = next((events[kind] for kind in OPENING if kind in events), None)
    if opening is None:
        return None
    closing = next((events[kind] for kind in CLOSING if kind in events), None)
    return Event(opening, closing)


def reserve(
    transaction: Transaction, request: Request, kind: Kind, lockout: int | None
) -> Event:
    """Charge every account of the request, or find that it was charged before.

    Guarantee: a key is charged once; a charge that does not fit changes nothing;
    accounts are taken in the order of their names, so no two charges deadlock.
    """
    events = transaction.events(request.scope, request.key)
    before = next((events[each] for each in OPENING if each in events), None)
    if before is not None:
        if before.content["request"] != request.digest:
            raise KeyConflict(
                f"key {request.key!r} belongs to another request (entry {before.seq}): "
                "query, mechanism, data version or accounts differ. Use a new key."
            )
        closing = next((events[each] for each in CLOSING if each in events), None)
        draws = kind is Kind.RESERVE and before.kind is Kind.HOLD
        if closing is None and draws and Kind.START not in events:
            transaction.append(Kind.START, request.scope, request.key, "{}")
        return Event(before, closing)
    if lockout is not None and transaction.failures(request.scope) >= lockout:
        raise LockedOut(
            f"{' and '.join(map(readable, request.payers))}: {lockout} draws failed, "
            "so no more are made. Mend the query, then have it unlocked."
        )
    if everyone(transaction, request.payers) != tuple(sorted(request.costs)):
        raise Stale
    for name, units in sorted(request.costs.items()):
        if not transaction.spend(name, units):
            balance = transaction.balance(name)
            if balance is None:
                raise LedgerError(
                    f"{readable(name)} has no account. Grant it a budget."
                )
            raise BudgetExceeded(shortfall(balance, units, request.what))
    body = canonical(
        {
            "request": request.digest,
            "costs": request.costs,
            "grids": request.grids,
            "facts": request.facts,
        }
    )
    return Event(transaction.append(kind, request.scope, request.key, body), None)


def seal(
    transaction: Transaction, scope: str, key: str, kind: Kind, answer: str
) -> Entry:
    """Store the answer of a reservation; return the one that is on record.

    Guarantee: the first answer stays for ever. Whoever comes second, after a crash that
    was none or a lost connection, is given the first.
    """
    event = find(transaction, scope, key)
    if event is None or event.opening.kind is Kind.CHARGE:
        raise LedgerError(
            f"key {key!r} has no reservation in this ledger, so its answer is not "
            "released. Was the file exchanged while the query ran?"
        )
    if event.closing is not None:
        return event.closing
    return transaction.append(kind, scope, key, answer)


def void(transaction: Transaction, scope: str, key: str, reason: str) -> Entry:
    """Give back a held reservation whose draw never began."""
    events = transaction.events(scope, key)
    held = events.get(Kind.HOLD)
    closed = next((events[each] for each in CLOSING if each in events), None)
    if held is None or Kind.START in events or (closed and closed.kind != Kind.VOID):
        raise LedgerError(
            f"key {key!r} cannot be voided: only a charge made by hold() whose draw "
            "never began can be given back; anything else may have touched the data."
        )
    if closed is not None:
        return closed
    for name, units in sorted(held.content["costs"].items()):
        transaction.give_back(name, (units[0], units[1]))
    return transaction.append(Kind.VOID, scope, key, canonical({"reason": reason}))
