"""Opening, raising and tying accounts, inside one transaction."""

import secrets
import time
from typing import Any, final

from hush import checks
from hush.errors import BudgetExceeded, InvalidArgument, LedgerError
from hush.ledger import charge_consistency, two_phase
from hush.ledger.account import Balance, account, readable, spent_before
from hush.ledger.administrator import Authority
from hush.ledger.batch import Plan, Spend
from hush.ledger.budget import MOST, Budget, Units, grains_down, strict
from hush.ledger.charge import Grids, Request, ask, scope_of
from hush.ledger.charge_consistency import Terms, compare, terms
from hush.ledger.hash_chain import Entry, Kind
from hush.ledger.privacy_filter import Grid
from hush.ledger.stores import Store
from hush.ledger.transaction import Transaction
from hush.ledger.two_phase import everyone
from hush.mechanisms.measurement import LOCKOUT

_SHOWN = 5  # accounts that an error names


def one(**named: str | None) -> str:
    """Return the one account that was named."""
    found = [account(kind, name) for kind, name in named.items() if name is not None]
    if len(found) != 1:
        raise InvalidArgument(
            f"name one account: dataset=, unit= or analyst=; got {len(found)}."
        )
    return found[0]


def _limit(grid: Grid, budget: Budget) -> Units:
    first, second = budget.limits
    limit = (grains_down(first, grid.powers[0]), strict(second, grid.powers[1])[0])
    if max(limit) > MOST:
        raise InvalidArgument(
            f"{budget!r} is more than a million times the account's first budget; open "
            "a new account for it."
        )
    return limit


def _write(
    transaction: Transaction,
    authority: Authority,
    name: str,
    grid: Grid,
    limit: Units,
    reason: str = "",
) -> Entry:
    content = {
        "notion": grid.notion,
        "powers": grid.powers,
        "delta": str(grid.delta),
        "limit": limit,
    }
    if reason:
        content["reason"] = reason
    seq = str(transaction.head()[0] + 1)
    return authority.write(transaction, Kind.GRANT, name, seq, content)


def grant(
    transaction: Transaction, authority: Authority, name: str, budget: Budget
) -> None:
    """Open an account, or find that it has this budget already."""
    if not isinstance(budget, Budget):
        raise InvalidArgument(
            "budget must be a Budget, as in hush.Budget(epsilon=1); got "
            f"{type(budget).__name__}."
        )
    balance = transaction.balance(name)
    if balance is None:
        grid = Grid.of(budget)
        limit = _limit(grid, budget)
        transaction.open_account(name, grid, limit)
        _write(transaction, authority, name, grid, limit)
    elif balance.grid.notion != budget.notion or balance.limit != _limit(
        balance.grid, budget
    ):
        raise InvalidArgument(
            f"{readable(name)} has another budget on record; got {budget!r}. Leave "
            "budget out to go on with it, or use raise_budget to enlarge it.",
            code="budget-differs",
        )


def increase(
    transaction: Transaction,
    authority: Authority,
    name: str,
    budget: Budget,
    reason: str,
) -> Entry:
    """Replace a limit by a larger one."""
    balance = _known(transaction, name)
    limit = _limit(balance.grid, budget)
    old = balance.limit
    smaller = limit[0] < old[0] or limit[1] < old[1]
    if balance.grid.notion != budget.notion or smaller:
        raise InvalidArgument(
            f"the budget of {readable(name)} can only be raised, in its own notion "
            f"{balance.grid.notion}; got {budget!r}."
        )
    transaction.raise_limit(name, limit)
    return _write(transaction, authority, name, balance.grid, limit, reason)


def link(
    transaction: Transaction,
    authority: Authority,
    dataset: str,
    unit: str,
    budget: Budget | None,
) -> None:
    """Tie a data set to the account of its people, opening that if it is new.

    Guarantee: what the data set was charged before is charged to its people now, or the
    link is refused and nothing is changed.
    """
    data, people = account("dataset", dataset), account("unit", unit)
    if transaction.balance(people) is None:
        if budget is None:
            raise InvalidArgument(
                f"{readable(people)} has no account yet. Pass a budget for it."
            )
        grant(transaction, authority, people, budget)
    if people not in transaction.links(data):
        units = _carried(transaction, data, people)
        content = {"carried": list(units)} if any(units) else {}
        authority.write(transaction, Kind.LINK, data, people, content)
        transaction.spend(people, units)
        for stated in transaction.stated(data):
            compare(transaction, terms(stated), [people])


def _carried(transaction: Transaction, data: str, people: str) -> Units:
    """Return what a data set has spent, in grains of its people's account."""
    before, shared = transaction.balance(data), _known(transaction, people)
    if before is None or not any(before.spent):
        return 0, 0
    if before.grid.notion != shared.grid.notion:
        raise InvalidArgument(
            f"{readable(data)} has spent {before.grid.notion} already, and "
            f"{readable(people)} counts {shared.grid.notion}: one cannot be added to "
            "the other. Link a data set before its first charge, or give its people a "
            f"budget of {before.grid.notion}."
        )
    amounts = zip(before.grid.amounts(before.spent), shared.grid.powers, strict=True)
    first, second = (strict(amount, power)[1] for amount, power in amounts)
    if first > shared.left[0] or second > shared.left[1]:
        raise BudgetExceeded(spent_before(shared, (first, second), data))
    return first, second


def others(transaction: Transaction, kind: str) -> str:
    """Return the accounts of a kind, as people say them; nothing where there are none.

    Example:
        >>> from hush.ledger import Budget, Ledger
        >>> ledger = Ledger.open("memory://", budget=Budget(epsilon=1), dataset="may")
        >>> ledger._store.read(lambda t: others(t, "dataset"))
        "dataset 'may'"
    """
    found = [each.name for each in transaction.balances()]
    named = [readable(each) for each in found if each.startswith(f"{kind}:")]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"{', '.join(named[:_SHOWN])}{more}"


def only(transaction: Transaction) -> str | None:
    """Return the name of the data set, where the ledger has an account of one alone."""
    found = [each.name.partition(":") for each in transaction.balances()]
    named = [name for kind, _, name in found if kind == "dataset"]
    return named[0] if len(named) == 1 else None


def _advice(kind: str, name: str, *, known: bool) -> str:
    """Say how an account is meant or opened; a new one is a budget of its own."""
    if kind == "dataset" and known:
        return (
            "Name one of these with dataset=. An account that is opened, with budget= "
            "or ledger.grant(...), begins a budget of its own, for the same people too."
        )
    if kind == "dataset":
        return "Open it with Ledger.open(..., budget=...) or ledger.grant(...)."
    return f"Open it with ledger.grant(hush.Budget(epsilon=...), {kind}={name!r})."


def _known(transaction: Transaction, name: str) -> Balance:
    balance = transaction.balance(name)
    if balance is None:
        kind, _, short = name.partition(":")
        there = others(transaction, kind)
        has = f", which has {there}" if there else ""
        raise LedgerError(
            f"{readable(name)} has no account in this ledger{has}. "
            f"{_advice(kind, short, known=bool(there))}"
        )
    return balance


def payers(transaction: Transaction, names: tuple[str, ...]) -> tuple[Balance, ...]:
    """Return the accounts of a charge, the people of its data sets included."""
    return tuple(_known(transaction, each) for each in everyone(transaction, names))


# -- The accounts that one handle on a ledger charges, and how it charges them ---------

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
            f"key must be 1 to 200 printable characters; got {checks.value_text(key)}."
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
            return one(**named)
        return next(name for name in self.names if name.startswith("dataset:"))

    def forget(self) -> None:
        """Read the accounts again before the next charge."""
        self._grids = ()
        self._agreed = {}
        self._silent = -1

    def balances(self) -> tuple[Balance, ...]:
        """Return every account that a charge would go to."""
        return self._store.read(lambda t: payers(t, self.names))

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
    ) -> two_phase.Event:
        """Charge and, if this handle has not yet, compare with what was charged before.

        Read in the transaction that charges, so that two first charges cannot cross.
        """
        event = two_phase.reserve(t, request, key, kind, lockout)
        if event.new:
            charge_consistency.refuse_silence(t, stated, request.names, self._silent)
        if not charge_consistency.settled(stated, self._agreed, self.names):
            charge_consistency.compare(t, stated, request.names)
        return event

    def reserve(
        self, plan: Plan | Spend, key: str, delta: float | None, kind: Kind
    ) -> two_phase.Event:
        """Charge every account for `plan` under `key`, or find what is on record."""
        if delta is not None:
            delta = checks.plain_number(delta)
            checks.real("delta", delta, at_least=0, below=1)
        stated = charge_consistency.terms(plan.facts)
        lockout = self.lockout
        if lockout is None and plan.own:
            lockout = LOCKOUT
        for _ in range(_TRIES):
            request = ask(plan, self.names, self._known_grids(), delta, _library())
            try:
                known = charge_consistency.settled(stated, self._agreed, self.names)
                if known and charge_consistency.complete(stated) and request.storable:
                    opening = self._store.charge(request, key, kind, lockout)
                    if opening is not None:
                        return two_phase.Event(opening, None)
                event = self._store.run(
                    lambda t, r=request: self._reserve(  # type: ignore[misc]
                        t, r, key, kind, stated, lockout
                    ),
                    "commit-reserve",
                )
                self._agreed = self._agreed | stated
                if event.new and not charge_consistency.complete(stated):
                    self._silent = event.opening.seq
                return event
            except two_phase.Stale:
                self.forget()
            except LedgerError as problem:
                raise LedgerError(f"{problem} The key is {key!r}.") from None
        raise LedgerError("the accounts keep changing; nothing was spent. Try again.")


# -- Payers: what may be given as a ledger and a key, checked before anything else -----


def check_payer(ledger: Any, key: Any) -> None:
    """Refuse what cannot pay, and a key that no ledger would keep, before all else."""
    if ledger is not None and not hasattr(ledger, "release"):
        raise InvalidArgument(
            "ledger must be one that is open, as ledger=hush.Ledger.open("
            "'sqlite:///budget.db', budget=hush.Budget(epsilon=1)); got "
            f"a {type(ledger).__name__}."
        )
    if key is not None and not isinstance(key, str):
        raise InvalidArgument(
            "key must be a text that names this charge in the ledger, such as 'may'; "
            f"got a {type(key).__name__}. It is no seed: noise is secret, and to "
            "rehearse write source=hush.noise.Seeded(7)."
        )
    if key is not None and ledger is None:
        raise InvalidArgument(
            "key names a charge, and there is no ledger: nothing would be kept, and "
            "the same call would draw again. Pass ledger= too, or leave key out."
        )
