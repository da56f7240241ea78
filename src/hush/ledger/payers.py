"""The accounts that one handle on a ledger charges, and how it charges them."""

import secrets
from typing import final

from hush.errors import InvalidArgument, LedgerError
from hush.ledger import accounts, protocol
from hush.ledger.account import Balance, readable
from hush.ledger.entry import Kind
from hush.ledger.plan import Plan, Spend
from hush.ledger.request import Grids, ask, scope_of
from hush.ledger.stores import Store

_TRIES = 8  # how often accounts may be tied anew between pricing and charging


def _library() -> str:
    from hush import __version__

    return __version__


def key_or_new(key: str | None) -> str:
    """Return a key to charge under: the one given, or one that nobody has."""
    if key is None:
        return secrets.token_hex(16)
    if not isinstance(key, str) or not key.isprintable() or not 0 < len(key) <= 200:
        raise InvalidArgument(
            f"key must be 1 to 200 printable characters; got {key!r}."
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
        self._relation = ""  # the neighbors that past charges speak of, once known

    def forget(self) -> None:
        """Read the accounts again before the next charge."""
        self._grids = ()

    def balances(self) -> tuple[Balance, ...]:
        """Return every account that a charge would go to."""
        return self._store.read(lambda t: accounts.payers(t, self.names))

    def _known_grids(self) -> Grids:
        known = self._grids  # replaced, never changed: other threads may be reading
        if not known:
            known = tuple((each.name, each.grid) for each in self.balances())
            self._grids = known
        return known

    def _agree(self, relation: str) -> None:
        """Refuse neighbors other than those the accounts were charged for before.

        A sum over add-remove and replace-one is a guarantee for neither of them. The
        history is read once, before this handle's first charge.
        """
        known = self._relation  # read once: other threads may be writing it
        if not relation or relation == known:
            return
        if not known:
            others = self._store.read(lambda t: t.charged_unlike(relation))
            paying = {name for name, _ in self._known_grids()}
            known = next(
                (
                    each.content["facts"]["neighbors"]
                    for each in others
                    if paying & each.content["costs"].keys()
                ),
                relation,
            )
            self._relation = known
        if relation != known:
            raise InvalidArgument(
                f"neighbors of this charge are {relation!r}, and "
                f"{', '.join(map(readable, self.names))} was charged for {known!r} "
                "before: their sum guarantees neither. Keep to one relation, or open "
                "another ledger."
            )

    def reserve(
        self, plan: Plan | Spend, key: str, delta: float | None, kind: Kind
    ) -> protocol.Event:
        """Charge every account for `plan` under `key`, or find what is on record."""
        self._agree(str(plan.facts.get("neighbors") or ""))
        for _ in range(_TRIES):
            request = ask(plan, self.names, self._known_grids(), delta, _library())
            try:
                opening = self._store.charge(request, key, kind, self.lockout)
                if opening is not None:
                    return protocol.Event(opening, None)
                return self._store.run(
                    lambda t, r=request: protocol.reserve(  # type: ignore[misc]
                        t, r, key, kind, self.lockout
                    ),
                    "commit-reserve",
                )
            except protocol.Stale:
                self.forget()
            except LedgerError as problem:
                raise LedgerError(f"{problem} The key is {key!r}.") from None
        raise LedgerError("the accounts keep changing; nothing was spent. Try again.")
