"""The accounts that one handle on a ledger charges, and how it charges them."""

import secrets
import time
from typing import final

from hush import checks
from hush.errors import InvalidArgument, LedgerError
from hush.ledger import accounts, agreement, protocol
from hush.ledger.account import Balance
from hush.ledger.agreement import Terms
from hush.ledger.entry import Kind
from hush.ledger.own import LOCKOUT
from hush.ledger.plan import Plan, Spend
from hush.ledger.request import Grids, Request, ask, scope_of
from hush.ledger.stores import Store
from hush.ledger.stores.base import Transaction

_TRIES = 8  # how often accounts may be tied anew between pricing and charging


def _library() -> str:
    from hush import __version__

    return __version__


def key_or_new(key: str | None) -> str:
    """Return a key to charge under: the one given, or one that nobody has.

    New keys begin with the time, which a receipt tells anyway: neighbors in time are
    neighbors in the index, and a long history stays as fast as a short one.
    """
    if key is None:
        return f"{time.time_ns() // 10**6:012x}{secrets.token_hex(10)}"
    if not isinstance(key, str) or not key.isprintable() or not 0 < len(key) <= 200:
        raise InvalidArgument(
            f"key must be 1 to 200 printable characters; got {checks.shown(key)}."
        )
    return key


@final
class Payers:
    """A data set and perhaps an analyst, by their account names."""

    def __init__(
        self, store: Store, names: tuple[str, ...], lockout: int | None
    ) -> None:
        self.names = tuple(sorted(names))
        self.scope = scope_of(self.names)
        self.lockout = lockout
        self._store = store
        self._grids: Grids = ()
        self._agreed: Terms = {}  # replaced, never changed, like the grids
        self._silent = -1  # the last entry up to which the accounts agreed on nothing

    def one(self, **named: str | None) -> str:
        """Return the one account that was named; the data set's where none was."""
        if any(name is not None for name in named.values()):
            return accounts.one(**named)
        return next(name for name in self.names if name.startswith("dataset:"))

    def forget(self) -> None:
        """Read the accounts again before the next charge."""
        self._grids = ()
        self._agreed = {}
        self._silent = -1

    def balances(self) -> tuple[Balance, ...]:
        """Return every account that a charge would go to."""
        return self._store.read(lambda t: accounts.payers(t, self.names))

    def _known_grids(self) -> Grids:
        known = self._grids  # replaced, never changed: other threads may be reading
        if not known:
            known = tuple((each.name, each.grid) for each in self.balances())
            self._grids = known
        return known

    def _reserve(
        self,
        t: Transaction,
        request: Request,
        key: str,
        kind: Kind,
        stated: Terms,
        lockout: int | None,
    ) -> protocol.Event:
        """Charge and, if this handle has not yet, compare with what was charged before.

        Read in the transaction that charges, so that two first charges cannot cross.
        """
        event = protocol.reserve(t, request, key, kind, lockout)
        if event.new:
            agreement.refuse_silence(t, stated, request.names, self._silent)
        if not agreement.settled(stated, self._agreed, self.names):
            agreement.compare(t, stated, request.names)
        return event

    def reserve(
        self, plan: Plan | Spend, key: str, delta: float | None, kind: Kind
    ) -> protocol.Event:
        """Charge every account for `plan` under `key`, or find what is on record."""
        if delta is not None:
            delta = checks.plain(delta)
            checks.real("delta", delta, at_least=0, below=1)
        stated = agreement.terms(plan.facts)
        lockout = self.lockout
        if lockout is None and plan.own:
            lockout = LOCKOUT
        for _ in range(_TRIES):
            request = ask(plan, self.names, self._known_grids(), delta, _library())
            try:
                known = agreement.settled(stated, self._agreed, self.names)
                if known and agreement.complete(stated) and request.storable:
                    opening = self._store.charge(request, key, kind, lockout)
                    if opening is not None:
                        return protocol.Event(opening, None)
                event = self._store.run(
                    lambda t, r=request: self._reserve(  # type: ignore[misc]
                        t, r, key, kind, stated, lockout
                    ),
                    "commit-reserve",
                )
                self._agreed = self._agreed | stated
                if event.new and not agreement.complete(stated):
                    self._silent = event.opening.seq
                return event
            except protocol.Stale:
                self.forget()
            except LedgerError as problem:
                raise LedgerError(f"{problem} The key is {key!r}.") from None
        raise LedgerError("the accounts keep changing; nothing was spent. Try again.")
