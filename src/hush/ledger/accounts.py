"""Accounts: opened, raised, tied and charged, and signed for by an administrator.

A ledger that is begun with an administrator keeps the public key in its first entry.
From then on an account is opened, raised, tied, unlocked or voided only by an entry
signed with the private key. There is one key, for ever: no list to manage.
"""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from hush import checks
from hush.errors import BudgetExceeded, InvalidArgument, LedgerError
from hush.ledger import two_phase
from hush.ledger.budget import (
    MOST,
    Balance,
    Budget,
    Grid,
    Units,
    account,
    grains_down,
    readable,
    refused_link,
    strict,
)
from hush.ledger.charge import Grids, Plan, Request, Spend, scope_of
from hush.ledger.hash_chain import Entry, Kind, canonical, digest
from hush.ledger.stores import Store
from hush.ledger.two_phase import Transaction
from hush.mechanisms.measurement import LOCKOUT
from hush.units import SMALL_UNITS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# -- The administrator: whose signature enlarges a budget or gives a charge back -------

SIGNED = (Kind.GRANT, Kind.LINK, Kind.VOID, Kind.UNLOCK)
_SIGNATURE = "signature"


@final
@dataclass(frozen=True)
class Admin:
    """Somebody who may change accounts: a name to read, and an Ed25519 key.

    Guarantee: neither the key nor anything that reveals it is printed or stored in a
    ledger; only its public half is.

    Example:
        >>> Admin.generate("data office")
        Admin(name='data office')
    """

    name: str
    key: "Ed25519PrivateKey" = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise InvalidArgument(
                f"an administrator's name must be printable text; got {self.name!r}."
            )

    @classmethod
    def generate(cls, name: str) -> "Admin":
        """Return an administrator with a new key; keep `to_pem` in a safe place."""
        from cryptography.hazmat.primitives.asymmetric import ed25519

        return cls(name, ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, name: str, pem: bytes, password: bytes | None = None) -> "Admin":
        """Return the administrator whose key `to_pem` wrote."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        try:
            key = serialization.load_pem_private_key(pem, password)
        except (ValueError, TypeError):
            raise InvalidArgument(
                "pem must be a private key in PEM, and password the one it was "
                "written with (None where there was none)."
            ) from None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise InvalidArgument("pem must hold an Ed25519 key; make one by generate.")
        return cls(name, key)

    def to_pem(self, password: bytes | None = None) -> bytes:
        """Return the private key as text, encrypted if there is a password."""
        from cryptography.hazmat.primitives import serialization as s

        how: Any = s.NoEncryption()
        if password is not None:
            if not isinstance(password, bytes) or not password:
                raise InvalidArgument(
                    "password must be bytes, such as b'...', or None."
                )
            how = s.BestAvailableEncryption(password)
        return self.key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, how)

    @property
    def public(self) -> str:
        """The public key, in hexadecimal: what a ledger keeps and others may pin."""
        return self.key.public_key().public_bytes_raw().hex()


@final
@dataclass(frozen=True)
class Authority:
    """What an open ledger asks of administrative entries, and who can give it."""

    pinned: str | None = None  # the public key in the first entry
    admin: Admin | None = None

    @classmethod
    def of(cls, pinned: str | None, admin: Admin | str | None) -> "Authority":
        """Return the authority of a ledger; refuse one that is not as expected."""
        expected = admin.public if isinstance(admin, Admin) else admin
        if expected is not None and expected != pinned:
            has = "has none" if pinned is None else "has another"
            raise LedgerError(
                f"this ledger {has} administrator than the one given with admin=: a "
                "key is pinned when a ledger begins, and stays. Was it replaced?"
            )
        return cls(pinned, admin if isinstance(admin, Admin) else None)

    def write(
        self,
        transaction: Transaction,
        kind: Kind,
        scope: str,
        key: str,
        content: dict[str, Any],
    ) -> Entry:
        """Append an administrative entry, signed where the ledger asks for it."""
        head = transaction.head()
        if self.pinned is not None:
            if self.admin is None:
                raise LedgerError(
                    f"a {kind} in this ledger must be signed by its administrator. "
                    "Open it with admin=Admin.from_pem(...)."
                )
            content = {**content, "by": self.admin.name}
            text = _message(head[0] + 1, kind, scope, key, content, head[1])
            content[_SIGNATURE] = self.admin.key.sign(text).hex()
        return transaction.chain(head, kind, scope, key, canonical(content))


def _message(
    seq: int, kind: str, scope: str, key: str, content: dict[str, Any], prev: str
) -> bytes:
    """Return what is signed: the entry in its place, so that it fits no other."""
    whole = digest(seq, kind, scope, key, "", canonical(content), prev)
    return f"hush administrative entry {whole}".encode()


def signed(
    pinned: str, seq: int, kind: str, scope: str, key: str, body: str, prev: str
) -> bool:
    """Whether an entry carries a signature by the pinned key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        content = json.loads(body)
        signature = bytes.fromhex(content.pop(_SIGNATURE))
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(pinned))
        public.verify(signature, _message(seq, kind, scope, key, content, prev))
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


# -- What the charges of one account must agree on -------------------------------------
#
# A sum over add-remove and replace-one protects under neither relation. A sum over
# people and rows of one data set, or of data sets of the same people, protects rows
# alone: the ε of the account would be said of people, and be too small. So for edges of
# a graph, of which a person has many. A charge that does not say what it is about is
# refused where others have said it.


@final
@dataclass(frozen=True)
class AgreedFact:
    """A fact of every charge, and the accounts that keep to one value of it."""

    fact: str
    accounts: str  # how their names begin
    why: str
    by_size: bool = False  # whether columns of people may have several names

    def unlike(self, value: str, other: str) -> bool:
        """Whether two charges of one account must not have these values."""
        if self.by_size and not {value, other} & SMALL_UNITS:
            return False
        return value != other

    def refusal(self, value: str, known: str, names: Any) -> InvalidArgument:
        """Return what is said of a charge that disagrees."""
        return InvalidArgument(
            f"{self.fact} of this charge is {value!r}, and "
            f"{', '.join(map(readable, names))} was charged for {known!r} before: "
            f"{self.why}"
        )


_ONE_UNIT = (
    "their sum protects the smaller one alone. Keep to one unit: where each row "
    "or record of a charge is another person, say so by unit= in fit and train, or "
    "by notes={'unit': ...} in a release of your own."
)

# An analyst works with many data sets. Data sets of the same people may name them by
# different columns, but rows and edges are not people: somebody may have many.
AGREED_FACTS: Final = (
    AgreedFact(
        "neighbors",
        "",
        "their sum guarantees neither, so an account keeps the relation of its first "
        "charge for good. Keep to one relation: tables take "
        "neighbors='replace-one' in hush.open, DP-SGD takes sampling='fixed-size', "
        "queries take neighbors=; models of hush.learn are for replace-one.",
    ),
    AgreedFact("unit", "dataset:", _ONE_UNIT),
    AgreedFact("unit", "unit:", _ONE_UNIT, by_size=True),
)

Terms = dict[str, str]


def terms_of(facts: Mapping[str, Any]) -> Terms:
    """Return what a charge says of the facts to agree on; what it leaves open is not.

    Example:
        >>> terms_of({"neighbors": "add-remove", "unit": "", "query": "count"})
        {'neighbors': 'add-remove'}
    """
    found = {each.fact: str(facts.get(each.fact) or "") for each in AGREED_FACTS}
    return {fact: value for fact, value in found.items() if value}


def all_agreed(stated: Terms, known: Terms, names: Any) -> bool:
    """Whether all that is stated is known already; refuse what contradicts it."""
    for each in AGREED_FACTS:
        value = stated.get(each.fact)
        before = known.get(each.fact, value)
        if value is not None and before is not None and value != before:
            raise each.refusal(value, before, names)
    return stated.items() <= known.items()


def states_everything(stated: Terms) -> bool:
    """Whether a charge states every fact that accounts agree on."""
    return all(each.fact in stated for each in AGREED_FACTS)


def refuse_silence(t: Transaction, stated: Terms, paying: Any, since: int) -> None:
    """Refuse a charge that leaves open what an earlier one of its accounts states.

    `since` is the last entry up to which this was found not to be so.
    """
    known: Terms = {}
    names: set[str] = set()
    for each in AGREED_FACTS:
        mine = {name for name in paying if name.startswith(each.accounts)}
        if each.fact in stated or each.fact in known or not mine:
            continue
        for entry in t.charged_unlike(each.fact, "", since):
            content = entry.content
            both = mine & _counted(t, content["costs"])
            if both:
                known[each.fact] = content["facts"][each.fact]
                names |= both
                break
    if known:
        raise InvalidArgument(
            f"this charge does not state its {' and '.join(known)}, and "
            f"{', '.join(map(readable, sorted(names)))} was charged for "
            f"{' and '.join(map(repr, known.values()))} before: a sum over both would "
            f"guarantee nothing. State it, as in notes={known!r}, if that is what it "
            "is about."
        )


def _counted(t: Transaction, costs: Mapping[str, Any]) -> set[str]:
    """Return the accounts that a charge counts in, by links made after it as well."""
    return {*costs, *(people for paid in costs for people in t.links(paid))}


def refuse_disagreement(t: Transaction, stated: Terms, paying: Any) -> None:
    """Refuse a charge that disagrees with an earlier one of an account that pays."""
    for each in AGREED_FACTS:
        value = stated.get(each.fact)
        if value is None:
            continue
        mine = {name for name in paying if name.startswith(each.accounts)}
        for entry in t.charged_unlike(each.fact, value) if mine else ():
            content = entry.content
            both = sorted(mine & _counted(t, content["costs"]))
            other = content["facts"][each.fact]
            if both and each.unlike(value, other):
                raise each.refusal(value, other, both)


# -- Opening, raising and tying accounts, inside one transaction -----------------------

_SHOWN = 5  # accounts that an error names


def one_account(**named: str | None) -> str:
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


def _content(grid: Grid, limit: Units, reason: str = "") -> dict[str, Any]:
    """Return what the entry of a grant says."""
    content = {
        "notion": grid.notion,
        "powers": grid.powers,
        "delta": str(grid.delta),
        "limit": limit,
    }
    if reason:
        content["reason"] = reason
    return content


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
        seq = str(transaction.head()[0] + 1)
        content = {**_content(grid, limit), "after": {name: (0, 0, *limit)}}
        entry = authority.write(transaction, Kind.GRANT, name, seq, content)
        transaction.open_account(name, grid, limit, entry.seq)
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
    seq = str(transaction.head()[0] + 1)
    transaction.agree_with_chain([balance])
    content = _content(balance.grid, limit, reason)
    content["after"] = {name: (*balance.spent, *limit)}
    entry = authority.write(transaction, Kind.GRANT, name, seq, content)
    transaction.raise_limit(name, limit, entry.seq)
    return entry


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
        content: dict[str, Any] = {}
        shared = _known(transaction, people)
        after = {people: two_phase.sums_after(shared, units)}
        if any(units):
            transaction.agree_with_chain([shared, _known(transaction, data)])
            content = {"carried": list(units), "after": after}
        entry = authority.write(transaction, Kind.LINK, data, people, content)
        if any(units):
            transaction.spend({people: units}, entry.seq)
        for stated in transaction.stated(data):
            refuse_disagreement(transaction, terms_of(stated), [people])


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
        raise BudgetExceeded(refused_link(shared, (first, second), data))
    return first, second


def void(
    transaction: Transaction, authority: Authority, scope: str, key: str, reason: str
) -> Entry:
    """Give back a held reservation whose draw never began."""
    seen = transaction.look(scope, key)
    held, closed = seen.events.get(Kind.HOLD), seen.closing
    started = Kind.START in seen.events
    if held is None or started or (closed and closed.kind != Kind.VOID):
        raise LedgerError(
            f"key {key!r} cannot be voided: only a charge made by hold() whose draw "
            "never began can be given back; anything else may have touched the data."
        )
    if closed is not None:
        return closed
    costs = {
        name: (-units[0], -units[1]) for name, units in held.content["costs"].items()
    }
    balances = [_known(transaction, name) for name in sorted(costs)]
    transaction.agree_with_chain(balances)
    after = {e.name: two_phase.sums_after(e, costs[e.name]) for e in balances}
    content = {"reason": reason, "after": after}
    entry = authority.write(transaction, Kind.VOID, scope, key, content)
    transaction.spend(costs, entry.seq)
    return entry


def accounts_of_kind(transaction: Transaction, kind: str) -> str:
    """Return the accounts of a kind, as people say them; nothing where there are none.

    Example:
        >>> from hush.ledger import Budget, Ledger
        >>> ledger = Ledger.open("memory://", budget=Budget(epsilon=1), dataset="may")
        >>> ledger._store.read(lambda t: accounts_of_kind(t, "dataset"))
        "dataset 'may'"
    """
    found = [each.name for each in transaction.balances()]
    named = [readable(each) for each in found if each.startswith(f"{kind}:")]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"{', '.join(named[:_SHOWN])}{more}"


def only_dataset(transaction: Transaction) -> str | None:
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
        there = accounts_of_kind(transaction, kind)
        has = f", which has {there}" if there else ""
        raise LedgerError(
            f"{readable(name)} has no account in this ledger{has}. "
            f"{_advice(kind, short, known=bool(there))}"
        )
    return balance


def paying_balances(
    transaction: Transaction, names: tuple[str, ...]
) -> tuple[Balance, ...]:
    """Return the accounts of a charge, the people of its data sets included."""
    linked = (people for name in names for people in transaction.links(name))
    everyone = sorted({*names, *linked})
    return tuple(_known(transaction, each) for each in everyone)


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
            return one_account(**named)
        return next(name for name in self.names if name.startswith("dataset:"))

    def forget(self) -> None:
        """Read the accounts again before the next charge."""
        self._grids = ()
        self._agreed = {}
        self._silent = -1

    def balances(self) -> tuple[Balance, ...]:
        """Return every account that a charge would go to."""
        return self._store.read(lambda t: paying_balances(t, self.names))

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
            refuse_silence(t, stated, request.names, self._silent)
        if not all_agreed(stated, self._agreed, self.names):
            refuse_disagreement(t, stated, request.names)
        return event

    def reserve(
        self, plan: Plan | Spend, key: str, delta: float | None, kind: Kind
    ) -> two_phase.Event:
        """Charge every account for `plan` under `key`, or find what is on record."""
        if delta is not None:
            delta = checks.plain_number(delta)
            checks.real("delta", delta, at_least=0, below=1)
        stated = terms_of(plan.facts)
        lockout = self.lockout
        if lockout is None and plan.own:
            lockout = LOCKOUT
        for _ in range(_TRIES):
            grids = self._known_grids()
            priced_for = (self.names, grids, delta, _library())
            request = plan.requests.get(priced_for)
            if request is None:
                curve = plan.curve
                costs = {name: grid.charge(curve, delta) for name, grid in grids}
                request = Request.of(plan, priced_for, costs)
            try:
                known = all_agreed(stated, self._agreed, self.names)
                if known and states_everything(stated) and request.storable:
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
                if event.new and not states_everything(stated):
                    self._silent = event.opening.seq
                return event
            except two_phase.Stale:
                self.forget()
            except LedgerError as problem:
                text = f"{problem} The key is {key!r}."
                raise LedgerError(text, code=problem.code) from None
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
