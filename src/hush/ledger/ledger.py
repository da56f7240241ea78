"""The ledger: a budget that cannot be overspent, lost or forged."""

import functools
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, final

from hush import checks
from hush.errors import (
    DrawFailed,
    DrawInterrupted,
    Forgotten,
    InsecureSource,
    InvalidArgument,
    LedgerError,
    Withheld,
    methods,
)
from hush.ledger import accounts, two_phase
from hush.ledger.accounts import Admin, Authority, Payers, key_or_new
from hush.ledger.budget import Budget, Left, Remaining, account
from hush.ledger.charge import Plan, Spend
from hush.ledger.hash_chain import Entry, Kind, canonical
from hush.ledger.release import (
    Receipt,
    Record,
    Release,
    receipt_of,
    receipt_text,
    records,
    stored_release,
)
from hush.ledger.stores import FORMAT, Store
from hush.ledger.two_phase import Transaction, at
from hush.ledger.verify import Anchor, Recount, Verdict, refuse_ungranted, verify_store
from hush.mechanisms.measurement import is_ours
from hush.mechanisms.mechanism import has_listener
from hush.noise.source import SECURE, Source, checked_source

_INTERRUPTED = (
    "the engine was out of reach, memory or time while key {0!r} was drawn. Nothing "
    "was released; its charge (entry {1}) waits. Ask the same again with key={0!r}: it "
    "is drawn without a new charge."
)
_FAILURE = canonical({"error": "query_failed"})  # the same for every cause

# How often, and after how many seconds, to look for an answer that somebody else draws.
_LOOKS, _PAUSE = 200, 0.05


def _void_error(key: str, closing: Entry) -> LedgerError:
    return LedgerError(
        f"key {key!r} was voided (entry {closing.seq}): its charge was given back. "
        "Use a new key."
    )


# -- How a ledger begins, and how an existing one is recognised ------------------------


def open_store(url: str, *, shared: bool = False) -> Store:
    """Return the store behind an address; `shared`: a new file is for its group, too.

    Example:
        >>> open_store("memory://")
        SQLite(':memory:')
    """
    scheme, mark, rest = str(url).partition("://")
    if mark and scheme == "memory" and not rest:
        from hush.ledger.stores.sqlite import SQLite

        return SQLite(None)
    if mark and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from hush.ledger.stores.sqlite import SQLite

        return SQLite(rest[1:], shared=shared)
    if mark and scheme in ("postgresql", "postgres"):
        from hush.ledger.stores.postgres import Postgres

        return Postgres(url)
    # The address may hold a password: name the part before it only.
    raise InvalidArgument(
        f"a ledger's address must start with sqlite:///, postgresql:// or be "
        f"memory://; got one that starts with {scheme[:16]!r}. A file budget.db is "
        "'sqlite:///budget.db', with four slashes when its path is absolute."
    )


AUTO = "auto"
_FOR_OWNER, _FOR_GROUP = 0o600, 0o660
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
        from hush.ledger.stores.sqlite import anchor_beside, real_path

        return anchor_beside(real_path(url.removeprefix(_FILE)))
    return None


def _refuse_unsealed(facts: Any, anchor: Anchor | None, secret: bytes | None) -> None:
    """Refuse to go on without a secret where the anchor was sealed with one.

    One line without a seal would lock out everybody who has the secret. A ledger of
    before does not say in its first entry whether it is sealed; its anchor does.
    """
    if secret is None and (
        facts.get("sealed") or (anchor is not None and anchor.sealed())
    ):
        raise LedgerError(
            "the anchor of this ledger is sealed, and it was opened without the "
            "secret: a line without a seal would spoil it. Nothing was written; pass "
            "the secret with secret=..."
        )


def _anchor(
    store: Store,
    path: Path | None,
    genesis: Entry | None,
    secret: bytes | None,
    *,
    renew: bool,
    shared: bool,
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
            f"renew_anchor=True.{store.other_names()}"
        )
    if known is not None:
        _refuse_unsealed(known, None, secret)
    mode = store.mode or (_FOR_GROUP if shared else _FOR_OWNER)
    name = None if known is None else known["ledger"]
    found = Anchor(path, secret, name, mode=mode)
    _refuse_unsealed({}, found, secret)
    return found


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
    sealed: bool,
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
    if anchor is not None:
        body["sealed"] = sealed
    if lockout is not None:
        body["lockout"] = lockout
    return transaction.append(Kind.GENESIS, "", "", canonical(body))


def _lockout(recorded: int | None, given: int | None) -> int | None:
    """Return the stricter of what the ledger keeps and what its opener asks for."""
    known = [each for each in (recorded, given) if each is not None]
    return min(known, default=None)


def open_or_begin(
    url: str,
    *,
    rehearsal: bool,
    anchor: str | os.PathLike[str] | None,
    secret: bytes | None,
    renew_anchor: bool,
    admin: Admin | str | None,
    lockout: int | None,
    checked: bool,
    shared: bool,
) -> Opened:
    """Open or begin the ledger at `url`; refuse one that is not whole."""
    if lockout is not None:
        lockout = checks.whole("lockout", lockout, at_least=1)
    path = _anchor_path(url, anchor)
    _not_deleted(url, path, secret)
    store = open_store(url, shared=shared)
    try:
        genesis = store.read(lambda transaction: transaction.first())
        held = _anchor(store, path, genesis, secret, renew=renew_anchor, shared=shared)
        if genesis is None:
            given: dict[str, Any] = {"rehearsal": rehearsal, "lockout": lockout}
            given["sealed"] = secret is not None
            genesis = store.run(lambda t: _begin(t, held, admin, **given))
        facts = json.loads(genesis.body)
        if held is not None:  # another process may have begun it just now
            _refuse_unsealed(facts, held, secret)
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
        if checked and not (verdict := verify_store(store, held, quick=True)):
            raise LedgerError(
                f"the ledger is not whole: {verdict}. Nothing is released from it; "
                "restore the newest copy, and look at who could write to it.",
                code="ledger-altered",
            )
        store.recount = Recount()
        if held is not None:
            store.anchored = held.last
            if held.new:  # one that says nothing would know of no older copy
                held.record(*store.read(lambda transaction: transaction.head()))
        if not checked:
            store.unchecked = functools.partial(
                refuse_ungranted, pinned=authority.pinned
            )
        strict = _lockout(facts.get("lockout"), lockout)
        return Opened(store, held, facts["ledger"], rehearsal, authority, strict)
    except BaseException:
        store.close()
        raise


# -- The ledger ------------------------------------------------------------------------


@methods
@final
class Ledger:
    """Accounts, charges and answers in one durable, append-only history.

    Guarantee: (1) no answer leaves without a durable charge before it; (2) no account
    is ever overspent, by any number of processes; (3) one charge releases one draw;
    (4) a crash loses no budget: the same key resumes; (5) history cannot be changed
    unnoticed; (6) a cost is exact and depends on the plan alone.

    Example:
        >>> from hush.privacy import Pure
        >>> ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
        >>> receipt = ledger.charge(Pure(epsilon=0.25))
        >>> ledger.remaining().epsilon
        0.75

    Reference: [RRUV16]; [HSTVVXZ23]; [FZ21].
    """

    def __init__(self, opened: Opened, payers: Payers) -> None:
        self._opened = opened
        self._store = opened.store
        self._payers = payers

    @classmethod
    def open(
        cls,
        url: str,
        *,
        budget: Budget | None = None,
        dataset: str | None = None,
        unit: str | None = None,
        analyst: str | None = None,
        rehearsal: bool = False,
        lockout: int | None = None,
        anchor: str | os.PathLike[str] | None = AUTO,
        secret: bytes | None = None,
        renew_anchor: bool = False,
        admin: Admin | str | None = None,
        check: bool = True,
        shared: bool = False,
    ) -> "Ledger":
        """Open "sqlite:///budget.db", "postgresql://..." or "memory://".

        `budget` opens the account of `dataset` (and of `unit`, the people in it) where
        it does not exist; it must agree with what is on record. Without a `dataset` it
        is the one that the ledger knows, or else "default". `rehearsal` admits
        seeded noise, for ever and only in this ledger. After `lockout` failed draws a
        data set and analyst must be unlocked; a new ledger keeps the number for all who
        open it. Without one, five failures of functions of your own lock, since each
        tells a bit without noise. `anchor` is a second file that detects
        an old copy (beside an SQLite file by default), sealed with `secret`. A ledger
        begun with an `admin` has its accounts changed by signed entries only; a public
        key in its place opens that ledger and no other. `check=False` opens a long
        ledger without reading it whole; before anything is written, its head is still
        compared with the anchor and its limits with their grants. The files are made
        for their owner alone; `shared` makes them for their group, too.
        """
        opened = open_or_begin(
            url,
            rehearsal=rehearsal,
            anchor=anchor,
            secret=secret,
            renew_anchor=renew_anchor,
            admin=admin,
            lockout=lockout,
            checked=check,
            shared=shared,
        )
        if dataset is None:
            known = None if budget else opened.store.read(accounts.only_dataset)
            dataset = known or "default"
        names = [account("dataset", dataset)]
        if analyst is not None:
            names.append(account("analyst", analyst))
        ledger = cls(opened, Payers(opened.store, tuple(names), opened.lockout))
        try:
            if unit is not None:
                ledger.link(dataset, unit, budget)
            if budget is not None:
                ledger.grant(budget, dataset=dataset)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def on(self, *, dataset: str | None = None, analyst: str | None = None) -> "Ledger":
        """Return this ledger, charging another data set or another analyst."""
        names = {name.partition(":")[0]: name for name in self._payers.names}
        if dataset is not None:
            names["dataset"] = account("dataset", dataset)
        if analyst is not None:
            names["analyst"] = account("analyst", analyst)
        payers = Payers(self._store, tuple(names.values()), self._payers.lockout)
        return Ledger(self._opened, payers)

    @property
    def admin(self) -> str | None:
        """The public key of the administrator, if the ledger was begun with one."""
        return self._authority.pinned

    @property
    def _authority(self) -> Authority:
        return self._opened.authority

    # -- accounts ------------------------------------------------------------------

    def grant(
        self,
        budget: Budget,
        *,
        dataset: str | None = None,
        unit: str | None = None,
        analyst: str | None = None,
    ) -> None:
        """Open an account with a budget; harmless when it has that budget already.

        Without a name it is the one of the data set that this ledger charges.
        """
        name = self._payers.one(dataset=dataset, unit=unit, analyst=analyst)
        self._store.run(lambda t: accounts.grant(t, self._authority, name, budget))
        self._anchor_head()

    def raise_budget(
        self,
        budget: Budget,
        *,
        dataset: str | None = None,
        unit: str | None = None,
        analyst: str | None = None,
        reason: str = "",
    ) -> None:
        """Replace an account's budget by a larger one of its notion (for admins).

        Without a name it is the one of the data set that this ledger charges.
        """
        name = self._payers.one(dataset=dataset, unit=unit, analyst=analyst)
        who = self._authority
        self._anchored(
            self._store.run(lambda t: accounts.increase(t, who, name, budget, reason))
        )

    def link(self, dataset: str, unit: str, budget: Budget | None = None) -> None:
        """Tie a data set to the people it speaks of: every charge goes to both.

        Data sets of one `unit` share its account, whatever they are called. What a data
        set was charged before is charged to its people now; where their budget does not
        hold it, the link is refused.
        """
        who = self._authority
        self._store.run(lambda t: accounts.link(t, who, dataset, unit, budget))
        self._payers.forget()
        self._anchor_head()

    def remaining(self) -> Remaining:
        """Return what is left in every account that a charge would go to."""
        return Remaining(tuple(map(Left.of, self._payers.balances())))

    def accounts(self) -> Remaining:
        """Return what is left in every account: of all data sets, people, analysts."""
        return Remaining(tuple(map(Left.of, self._store.read(lambda t: t.balances()))))

    # -- charges and releases ---------------------------------------------------------

    def charge(
        self,
        what: Any,
        sensitivity: Any = None,
        *,
        key: str | None = None,
        delta: float | None = None,
        version: str = "",
        notes: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Charge a curve, a plan, or a mechanism at a sensitivity, run elsewhere.

        `delta` says at which δ an account of ε reads the curve. Without it: 0 where
        the curve is pure, its own δ where it has one, else a hundredth of the budget's.
        What a curve is about only you know: notes={"unit": ..., "neighbors": ...}.
        """
        spend = Spend.of(what, sensitivity, version, notes)
        key = key_or_new(key)
        event = self._payers.reserve(spend, key, delta, Kind.CHARGE)
        self._anchored(event.opening)
        return self._receipt(event.opening)

    def hold(
        self,
        mechanism: Any,
        query: Any,
        *,
        key: str | None = None,
        delta: float | None = None,
        version: str = "",
        notes: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Charge now for a release to be drawn later under the same key, or voided."""
        plan = Plan.of(mechanism, query, version, notes)
        key = key_or_new(key)
        event = self._payers.reserve(plan, key, delta, Kind.HOLD)
        if event.closing is not None and event.closing.kind is Kind.VOID:
            raise _void_error(key, event.closing)
        self._anchored(event.opening)
        return self._receipt(event.opening)

    def release(
        self,
        mechanism: Any,
        query: Any,
        data: Any,
        key: str | None = None,
        source: Source = SECURE,
        *,
        delta: float | None = None,
        version: str = "",
        notes: Mapping[str, Any] | None = None,
    ) -> Release:
        """Charge, then draw, then store, then show.

        Two lists make a batch: declared together, composed tightly, charged as one
        event. The same `key` again returns the same bytes for free; after a crash it
        resumes. `version` names the data, so that a key does not outlive it.

        Guarantee: data is read after the charge is durable, never if it does not fit.
        A draw that raises says nothing but `DrawFailed`, and its charge stands.
        """
        if checked_source(source).seeded and not self._opened.rehearsal:
            raise InsecureSource(
                f"source={source!r} repeats its noise, and this ledger is for real "
                "data. Leave source out, or rehearse in a ledger opened with "
                "rehearsal=True."
            )
        self._refuse_listeners()
        plan = Plan.of(mechanism, query, version, notes)
        _ = plan.curve  # once for a plan, however often it is released
        outline = plan.outline
        key = key_or_new(key)
        at("reserve")
        event = self._payers.reserve(plan, key, delta, Kind.RESERVE)
        at("reserved")
        closing = event.closing
        if event.worn:
            closing = self._awaited(event.opening)
        if closing is None:
            with Forgotten():  # what was drawn and not sealed is in no traceback
                closing = self._draw(plan, outline, event.opening, data, source)
        self._anchored(closing)
        if closing.kind is Kind.SEAL:
            return Release(closing.body, plan.finish)
        if closing.kind is Kind.VOID:
            raise _void_error(key, closing)
        raise DrawFailed(
            f"the draw under key {key!r} failed; its charge (entry "
            f"{event.opening.seq}) stands, because why it failed may depend on the "
            "data. Check the query on public data before trying again."
        )

    def _draw(
        self, plan: Plan, outline: Any, opening: Entry, data: Any, source: Source
    ) -> Entry:
        kind, answer = Kind.FAIL, _FAILURE
        opened = self._opened
        receipt = receipt_text(
            opening,
            opened.identity,
            seeded=source.seeded or has_listener(),
            rehearsal=opened.rehearsal,
        )
        at("draw")
        with Withheld() as tried:
            values: tuple[Any, ...] = ()
            for step in plan.steps:  # a later one may ask what the earlier answered
                values = (*values, step.draw(data, source, values))
            drawn = values if plan.batch else values[0]
            answer = Release.make(drawn, receipt, outline).text
            kind = Kind.SEAL
        at("drawn")
        scope, key = opening.scope, opening.key
        if tried.interrupted and is_ours(data):  # functions of others cannot say so
            raise DrawInterrupted(_INTERRUPTED.format(key, opening.seq))
        at("seal")
        sealed = self._store.answer(kind, scope, key, answer) or self._store.run(
            lambda t: two_phase.seal(t, scope, key, kind, answer), "commit-seal"
        )
        at("sealed")
        return sealed

    def _awaited(self, opening: Entry) -> Entry:
        """Return the answer that another draw of this charge seals, if it comes soon.

        The draw was begun as often as it may be: by crashes, or by callers that share
        a key and are at it now.
        """
        for _ in range(_LOOKS):
            found = self._store.read(
                lambda t: two_phase.closing(t, opening.scope, opening.key)
            )
            if found is not None:
                return found
            time.sleep(_PAUSE)
        raise LedgerError(
            f"the draw under key {opening.key!r} was begun "
            f"{1 + two_phase.RESUMPTIONS} times and has no answer. Another program may "
            "still be drawing it: ask again later. If none is, use a new key; this "
            f"charge (entry {opening.seq}) stands."
        )

    def _refuse_listeners(self) -> None:
        """Refuse a release whose noise a test replaces, where it would be kept."""
        if self._store.durable and not self._opened.rehearsal and has_listener():
            raise InsecureSource(
                "this ledger is for real data, and a replay or another listener stands "
                "in for its noise. Replay in a ledger in memory, or in one opened with "
                "rehearsal=True."
            )

    def _receipt(self, opening: Entry) -> Receipt:
        opened = self._opened
        return receipt_of(
            opening, opened.identity, seeded=False, rehearsal=opened.rehearsal
        )

    def _anchored(self, entry: Entry) -> None:
        if self._opened.anchor is not None:
            self._opened.anchor.record(entry.seq, entry.hash)
        at("anchored")

    def _anchor_head(self) -> None:
        if self._opened.anchor is not None:
            self._opened.anchor.record(*self._store.read(lambda t: t.head()))

    # -- reading and administration ------------------------------------------------

    def history(self) -> tuple[Record, ...]:
        """Return every entry, oldest first."""
        return records(self._store.read(lambda t: t.entries()))

    def stored(self, key: str) -> Release:
        """Return what was released under a key, whatever became of the data.

        Guarantee: a function of the ledger; no data is read and nothing is charged.
        """
        return stored_release(self.history(), self._payers.names, key)

    def pending(self) -> tuple[Record, ...]:
        """Return the charges without an answer: resume them with their keys."""
        kinds = (Kind.RESERVE, Kind.HOLD)
        waiting = ("reserved", "held")
        return tuple(
            each
            for each in self.history()
            if each.kind in kinds and each.state in waiting
        )

    def void(self, key: str, reason: str) -> None:
        """Give back a charge made by `hold` whose draw never began (for admins)."""
        if not reason:
            raise InvalidArgument("reason must say why the charge is given back.")
        who, scope = self._authority, self._payers.scope
        self._anchored(
            self._store.run(lambda t: accounts.void(t, who, scope, key, reason))
        )

    def unlock(self, reason: str) -> None:
        """Forget the failures of this data set and analyst (for admins)."""
        who, scope = self._authority, self._payers.scope
        name, content = secrets.token_hex(8), {"reason": reason}
        self._anchored(
            self._store.run(lambda t: who.write(t, Kind.UNLOCK, scope, name, content))
        )

    def verify(self) -> Verdict:
        """Check every entry, sum and anchor; name the first entry that is wrong.

        Example:
            >>> print(Ledger.open("memory://").verify())
            1 entries, whole
        """
        return verify_store(self._store, self._opened.anchor)

    def close(self) -> None:
        """Let go of the store; the ledger itself stays where it is."""
        self._store.close()
        if self._opened.anchor is not None:
            self._opened.anchor.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(self._payers.names)
        rehearsal = ", rehearsal=True" if self._opened.rehearsal else ""
        return f"Ledger({self._store!r}, {names}{rehearsal})"


__all__ = ["Ledger"]
