"""Two-phase release: reserve, draw, seal, release; nothing leaks, nothing is lost.

1. reserve: the charge is durable before data is read; all accounts pay, or none.
2. draw: the answer exists in memory only. A crash here is resumed by its key.
3. seal: the first answer to arrive is stored; a second one is thrown away.
4. release: what is shown is what is stored, every time.

Redrawing after a crash is safe because nothing drawn before the seal has left the
process: one charge still releases one draw. What a function of a user's own lets out
by ending its process is bounded: a draw is begun again `RESUMPTIONS` times at most.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hush.errors import BudgetExceeded, KeyConflict, LedgerError, LockedOut
from hush.ledger.administrator import Authority
from hush.ledger.budget import readable, shortfall
from hush.ledger.charge import Request
from hush.ledger.hash_chain import CLOSING, OPENING, Entry, Kind, resumed_scope
from hush.ledger.transaction import Snapshot, Transaction

# More than the crashes of an unlucky week, and few enough that a function which ends
# its process on some data and not on others tells little by it.
RESUMPTIONS: Final = 8


class Stale(Exception):
    """The accounts of a scope changed since its cost was computed; compute it again."""


@final
@dataclass(frozen=True)
class Event:
    """What the ledger holds under one key: a charge and, once closed, its answer."""

    opening: Entry
    closing: Entry | None
    new: bool = False  # charged now, not found on record
    worn: bool = False  # its draw was begun as often as it may be


def everyone(transaction: Transaction, payers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the payers and every account their data sets are tied to, in order."""
    linked = (name for payer in payers for name in transaction.links(payer))
    return tuple(sorted({*payers, *linked}))


def _first(events: dict[Kind, Entry], kinds: tuple[Kind, ...]) -> Entry | None:
    return next((events[kind] for kind in kinds if kind in events), None)


def reserve(
    transaction: Transaction,
    request: Request,
    key: str,
    kind: Kind,
    lockout: int | None,
) -> Event:
    """Charge every account of the request, or find that it was charged before.

    Guarantee: a key is charged once; a charge that does not fit changes nothing;
    accounts are taken in the order of their names, so no two charges deadlock.
    """
    scope, names = request.scope, request.names
    counted = lockout is not None
    seen = transaction.look(scope, key, request.payers, names, failures=counted)
    before = _first(seen.events, OPENING)
    if before is not None:
        if not request.is_that_of(before):
            raise KeyConflict(
                f"key {key!r} belongs to another request (entry {before.seq}): "
                "query, epsilon or delta, data version (of a file its path, size and "
                "time of change) or accounts differ. Use a new key, or read what this "
                "one released: query.stored(key), ledger.stored(key)."
            )
        closing = _first(seen.events, CLOSING)
        if closing is None and kind is Kind.RESERVE:
            return _begin(transaction, seen, before)
        return Event(before, closing)
    if lockout is not None and seen.failures >= lockout:
        raise LockedOut(
            f"{' and '.join(map(readable, request.payers))}: {lockout} draws failed, "
            "so no more are made. Mend the query, then have it unlocked."
        )
    if sorted({*request.payers, *seen.links}) != names:
        raise Stale
    for name in names:
        units, balance = request.costs[name], seen.balances[name]
        if units[0] > balance.left[0] or units[1] > balance.left[1]:
            raise BudgetExceeded(shortfall(balance, units, request.what))
        transaction.spend(name, units)
    charged = transaction.chain(seen.head, kind, scope, key, request.body)
    return Event(charged, None, new=True)


def _begin(transaction: Transaction, seen: Snapshot, charge: Entry) -> Event:
    """Write that the draw of a charge begins, for the first time or once more."""
    scope, key = charge.scope, charge.key
    if charge.kind is Kind.HOLD and Kind.START not in seen.events:
        transaction.chain(seen.head, Kind.START, scope, key, "{}")
        return Event(charge, None)
    times = 1 + transaction.resumptions(scope, key, RESUMPTIONS)
    if times > RESUMPTIONS:
        return Event(charge, None, worn=True)
    again = resumed_scope(scope, times)
    transaction.chain(seen.head, Kind.START, again, key, "{}")
    return Event(charge, None)


def closing(transaction: Transaction, scope: str, key: str) -> Entry | None:
    """Return the entry that closed a charge, if it is closed."""
    return _first(transaction.look(scope, key).events, CLOSING)


def seal(
    transaction: Transaction, scope: str, key: str, kind: Kind, answer: str
) -> Entry:
    """Store the answer of a reservation; return the one that is on record.

    Guarantee: the first answer stays for ever. Whoever comes second, after a crash that
    was none or a lost connection, is given the first.
    """
    seen = transaction.look(scope, key)
    if not {Kind.RESERVE, Kind.HOLD} & set(seen.events):
        raise LedgerError(
            f"key {key!r} has no reservation in this ledger, so its answer is not "
            "released. Was the file exchanged while the query ran?"
        )
    closing = _first(seen.events, CLOSING)
    if closing is not None:
        return closing
    return transaction.chain(seen.head, kind, scope, key, answer)


def void(
    transaction: Transaction, authority: Authority, scope: str, key: str, reason: str
) -> Entry:
    """Give back a held reservation whose draw never began."""
    seen = transaction.look(scope, key)
    held, closed = seen.events.get(Kind.HOLD), _first(seen.events, CLOSING)
    started = Kind.START in seen.events
    if held is None or started or (closed and closed.kind != Kind.VOID):
        raise LedgerError(
            f"key {key!r} cannot be voided: only a charge made by hold() whose draw "
            "never began can be given back; anything else may have touched the data."
        )
    if closed is not None:
        return closed
    for name, units in sorted(held.content["costs"].items()):
        transaction.spend(name, (-units[0], -units[1]))
    return authority.write(transaction, Kind.VOID, scope, key, {"reason": reason})


# --------------------------------------------------------------------------------------
# The steps of one release, by name, so that a fault can be planted between any two.
#
# reserve → reserved → draw → drawn → seal → sealed → anchored → release. Nothing here
# acts in production: `at` calls a hook that only tests install.

STEPS: Final = (
    "reserve",
    "commit-reserve",
    "reserved",
    "draw",
    "drawn",
    "seal",
    "commit-seal",
    "sealed",
    "anchored",
)

_hook: Callable[[str], None] | None = None


def at(step: str) -> None:
    """Mark that the protocol has reached `step`."""
    if _hook is not None:
        _hook(step)


def plant(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every step; None removes it."""
    global _hook
    _hook = hook
