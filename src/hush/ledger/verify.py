"""Whether a history is whole: every line, every sum, every anchor."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from hush.ledger.accounts import SIGNED, signed
from hush.ledger.budget import Balance, Units, readable
from hush.ledger.hash_chain import CLOSING, GENESIS, OPENING, Kind, digest
from hush.ledger.two_phase import Transaction


@final
@dataclass(frozen=True, repr=False)
class Verdict:
    """The finding of a verification; true when nothing is wrong.

    `bad` is the sequence number of the first entry that is wrong or missing.
    """

    entries: int
    bad: int | None = None
    reason: str = ""
    anchored: int | None = None  # the last entry that an outside anchor vouches for
    voided: int = 0  # charges that an administrator gave back

    def __bool__(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        if self:
            back = f", {self.voided} given back" if self.voided else ""
            return f"{self.entries} entries, whole{self._known}{back}"
        where = "" if self.bad is None else f"entry {self.bad}: "
        return f"{where}{self.reason}"

    @property
    def _known(self) -> str:
        if self.anchored is None:
            return ""
        last = self.entries - 1  # the first entry is number 0
        if self.anchored == last:
            return ", all anchored"
        return f", anchored up to entry {self.anchored} (the last is {last})"

    def __repr__(self) -> str:
        return f"Verdict({self})" if self else f"Verdict(NOT WHOLE: {self})"


class _Wrong(Exception):
    pass


class _Replay:
    """The sums and keys that the entries so far add up to."""

    def __init__(self) -> None:
        self.limit: dict[str, Units] = {}
        self.spent: dict[str, Units] = {}
        self.opened: dict[tuple[str, str], tuple[Kind, dict[str, Units]]] = {}
        self.started: set[tuple[str, str]] = set()
        self.closed: set[tuple[str, str]] = set()
        self.voided = 0
        self.admin: str | None = None  # the public key that signs what changes accounts

    def take(self, kind: Kind, scope: str, key: str, body: Any) -> None:
        """Follow one entry, or raise `_Wrong`."""
        event = (scope, key)
        if kind is Kind.GENESIS:
            self.admin = body.get("admin")
        elif kind is Kind.GRANT:
            self.limit[scope] = (body["limit"][0], body["limit"][1])
            self.spent.setdefault(scope, (0, 0))
        elif kind is Kind.LINK:
            if "carried" in body:  # what the data set had spent before
                self._add({key: (body["carried"][0], body["carried"][1])}, 1)
        elif kind in OPENING:
            if event in self.opened:
                raise _Wrong("a key is charged twice")
            costs = {name: (u[0], u[1]) for name, u in body["costs"].items()}
            self.opened[event] = (kind, costs)
            self._add(costs, 1)
        elif kind is Kind.START:
            self.started.add(event)
        elif kind in CLOSING:
            self._close(kind, event)

    def _close(self, kind: Kind, event: tuple[str, str]) -> None:
        if event not in self.opened or event in self.closed:
            raise _Wrong("an answer without a charge, or a second one for a key")
        opening, costs = self.opened[event]
        if opening is Kind.CHARGE:
            raise _Wrong("an answer for a charge that has none")
        self.closed.add(event)
        if kind is Kind.VOID:
            if opening is not Kind.HOLD or event in self.started:
                raise _Wrong("a charge was given back after its draw could have begun")
            self._add(costs, -1)
            self.voided += 1

    def _add(self, costs: dict[str, Units], sign: int) -> None:
        for name, (first, second) in costs.items():
            if name not in self.limit or min(first, second) < 0:
                raise _Wrong("a charge to an unknown account, or a negative one")
            old, limit = self.spent[name], self.limit[name]
            new = (old[0] + sign * first, old[1] + sign * second)
            if new[0] > limit[0] or new[1] > limit[1]:
                raise _Wrong(f"{readable(name)} is overspent")
            self.spent[name] = new


def _follow(row: Sequence[Any], seq: int, prev: str, replay: _Replay) -> str:
    """Check one stored row against its place in the chain; return its hash."""
    found, kind, scope, key, at, body, before, hash = row
    if found != seq:
        raise _Wrong("missing")
    if before != prev:
        raise _Wrong("does not follow from the entry before it")
    if digest(found, kind, scope, key, at, body, before) != hash:
        raise _Wrong("altered: its hash is not that of its content")
    admin = replay.admin if kind in SIGNED else None
    if admin and not signed(admin, found, kind, scope, key, body, before):
        raise _Wrong("not signed by the ledger's administrator")
    try:
        replay.take(Kind(kind), scope, key, json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise _Wrong("not a ledger entry") from None
    return str(hash)


def _same(balance: Balance | None, limit: Units, spent: Units) -> bool:
    return balance is not None and balance.limit == limit and balance.spent == spent


def verify(transaction: Transaction, anchored: list[tuple[int, str]] | None) -> Verdict:
    """Read the whole history and say where it first goes wrong, if it does.

    Guarantee: an edited, removed, inserted or exchanged entry, a sum that is not that
    of its charges, an overspent account and, with an anchor, a restored older copy are
    all found. The anchor's lines must have been read before the transaction began: what
    is anchored later may not be in its snapshot.
    """
    hashes: list[str] = []
    replay, prev = _Replay(), GENESIS
    for row in transaction.raw():
        try:
            prev = _follow(row, len(hashes), prev, replay)
        except _Wrong as wrong:
            return Verdict(len(hashes), len(hashes), str(wrong))
        hashes.append(prev)
    last = None
    if anchored is not None:
        bad, last = _against(anchored, hashes)
        if bad is not None:
            older = bad == len(hashes)
            reason = (
                "missing: the ledger ends before its anchor, as after restoring an "
                "older copy"
                if older
                else "not the one its anchor remembers"
            )
            return Verdict(len(hashes), bad, reason, last)
    stored = {balance.name: balance for balance in transaction.balances()}
    for name in sorted(set(stored) | set(replay.limit)):
        if name not in replay.limit or not _same(
            stored.get(name), replay.limit[name], replay.spent[name]
        ):
            reason = f"the sums of {readable(name)} are not those of its charges"
            return Verdict(len(hashes), None, reason, last)
    return Verdict(len(hashes), anchored=last, voided=replay.voided)


def _against(
    anchored: list[tuple[int, str]], hashes: list[str]
) -> tuple[int | None, int | None]:
    """Return the first entry an anchor contradicts, and the last it speaks of."""
    bad: int | None = None
    last: int | None = None
    for seq, hash in anchored:
        last = seq if last is None else max(last, seq)
        if seq >= len(hashes):
            bad = len(hashes) if bad is None else min(bad, len(hashes))
        elif hashes[seq] != hash:
            bad = seq if bad is None else min(bad, seq)
    return bad, last
