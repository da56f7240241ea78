"""Whether a history is whole: every line, every sum, and the anchor.

The anchor is a second file, outside the ledger, that remembers how far it had come.
"""

import errno
import hashlib
import hmac
import json
import os
import secrets
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

from hush.errors import LedgerError
from hush.ledger.accounts import SIGNED, signed
from hush.ledger.budget import Balance, Grid, Units, readable
from hush.ledger.hash_chain import CLOSING, GENESIS, OPENING, Entry, Kind, digest
from hush.ledger.two_phase import Store, Transaction, replaced

# -- The anchor ------------------------------------------------------------------------
#
# Every release adds one line "sequence hash [seal]". A ledger that ends before its
# anchor, or disagrees with it, was rolled back or rewritten. With a secret, each line
# is sealed by HMAC-SHA-256, so that who can write both files still cannot forge the
# past.

_FIRST = "hush-anchor"
_TAIL = 1024  # bytes at the end in which a whole line is looked for

_UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)

# A flag that not every system has.
_CLOSED_BY_CHILDREN = os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0


@final
class Anchor:
    """Lines appended to `path`; keep it on another disk than the ledger.

    Guarantee: a line is written only for entries that are durable in the ledger, and
    before the release they belong to is shown. While it is open, a file that was
    removed, exchanged or cut is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        secret: bytes | None = None,
        ledger: str | None = None,
        *,
        mode: int = 0o600,
    ) -> None:
        self.path = Path(os.path.realpath(path))  # for good, as that of the ledger
        self._name = str(self.path)
        self._lock, self._forked_from = threading.Lock(), os.getpid()
        self._secret = secret
        self._descriptor: int | None = None
        self._owner = os.getpid()
        self.new = not self.path.exists()
        if self.new:
            self._create(ledger or secrets.token_hex(16), mode)
        self.ledger = self._header()
        self._least = 0  # bytes that this handle read or wrote: no fewer may be there
        # Size and time of change when this handle last looked, and the line it found.
        self._looked = (0, 0)
        self._last: tuple[int, str] | None = None

    def _create(self, ledger: str, mode: int) -> None:
        """Write the first line under another name, so that nobody reads half of it."""
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(f"the anchor's folder {str(folder)!r} does not exist.")
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=self.path.name + ".")
        try:
            with os.fdopen(descriptor, "w") as file:
                os.fchmod(file.fileno(), mode)
                file.write(f"{_FIRST} {ledger}\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was first
                os.link(name, self.path)
        finally:
            os.unlink(name)

    def _header(self) -> str:
        with self.path.open() as file:
            words = file.readline().split()
        if len(words) != 2 or words[0] != _FIRST:
            raise LedgerError(
                f"{str(self.path)!r} is not an anchor: its first line is another "
                "format. Name the file that was written with this ledger."
            )
        return words[1]

    def _mac(self, seq: int, hash: str) -> str:
        if self._secret is None:
            return "-"
        text = f"{self.ledger} {seq} {hash}".encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()

    def sealed(self) -> bool | None:
        """Whether the lines on record are sealed; None where there is none."""
        words = next(self._words(), None)
        return None if words is None else words[2] != "-"

    def _file(self) -> int:
        """Return the descriptor of the file, kept for the life of this process."""
        if self._descriptor is None or self._owner != os.getpid():
            flags = os.O_APPEND | _CLOSED_BY_CHILDREN
            try:
                self._descriptor = os.open(self.path, os.O_RDWR | flags)
            except OSError as problem:
                if problem.errno not in _UNWRITABLE:
                    raise
                self._descriptor = os.open(self.path, os.O_RDONLY | flags)
            self._owner = os.getpid()
        return self._descriptor

    def record(self, seq: int, hash: str) -> None:
        """Append one line; where nothing can be written, find that it is there."""
        # One write: lines of several processes never mix. A line cut short by a full
        # disk is closed by the newline that starts the next one.
        line = f"\n{seq} {hash} {self._mac(seq, hash)}\n".encode()
        try:
            with self._alone():
                if os.write(self._file(), line) != len(line):
                    raise OSError("short write")
                self._note(len(line), seq, hash)
        except OSError as problem:
            if problem.errno != errno.EBADF or (seq, hash) not in self.lines():
                raise self._lost(problem) from None

    def _note(self, length: int, seq: int, hash: str) -> None:
        """Remember a line of ours as the last one, if nobody else wrote one."""
        kept = os.fstat(self._file())
        if kept.st_size == self._least + length:
            self._looked, self._last = (kept.st_size, kept.st_mtime_ns), (seq, hash)
        self._least = kept.st_size

    def _alone(self) -> threading.Lock:
        """Return what keeps threads apart; a forked child has its own."""
        if self._forked_from != os.getpid():
            self._lock, self._forked_from = threading.Lock(), os.getpid()
        return self._lock

    def _lost(self, problem: OSError) -> LedgerError:
        return LedgerError(
            f"the anchor {str(self.path)!r} cannot be written "
            f"({type(problem).__name__}); the answer is stored and charged but was not "
            "shown. Mend the anchor and ask again with the same key."
        )

    def last(self) -> tuple[int, str] | None:
        """Return the last (sequence, hash) on record; None where there is none.

        Guarantee: of the file that this handle has written to all along: one that was
        removed, exchanged or cut since is refused.
        """
        try:
            with self._alone():
                return self._look()
        except OSError as problem:
            what = f"cannot be reached ({type(problem).__name__})"
            raise _altered(self.path, what) from None

    def _look(self) -> tuple[int, str] | None:
        descriptor = self._file()
        here, kept = os.stat(self._name), os.fstat(descriptor)
        same = (here.st_dev, here.st_ino) == (kept.st_dev, kept.st_ino)
        if not same or kept.st_size < self._least:
            raise _altered(self.path, "was exchanged or cut")
        looked = kept.st_size, kept.st_mtime_ns
        if looked == self._looked:
            return self._last
        tail = os.pread(descriptor, _TAIL, max(0, kept.st_size - _TAIL))
        # A line cut short by a crash is passed over, as `lines` does.
        for line in reversed(tail.decode("ascii", "replace").split("\n")):
            words = _words_of(line)
            if words is not None:
                self._last = self._checked(words)
                break
        self._looked, self._least = looked, kept.st_size
        return self._last

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield every (sequence, hash) on record, oldest first."""
        return map(self._checked, self._words())

    def _words(self) -> Iterator[tuple[int, str, str]]:
        with self.path.open() as file:
            next(file, None)
            yield from (words for line in file if (words := _words_of(line)))

    def _checked(self, words: tuple[int, str, str]) -> tuple[int, str]:
        seq, hash, mac = words
        if self._secret is not None and not hmac.compare_digest(
            mac, self._mac(seq, hash)
        ):
            raise LedgerError(
                f"the anchor's line for entry {seq} is not sealed with this "
                f"secret: it was forged, or {_OTHER[mac == '-']}"
            )
        return seq, hash

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None and self._owner == os.getpid():
            os.close(self._descriptor)
        self._descriptor = None


# What else may have happened to a line with another seal, and to one without.
_OTHER = (
    "the secret is another one.",
    "written without secret= by a version of hush that let it. If you know who it "
    "was, put the anchor aside and begin another with renew_anchor=True.",
)


def _words_of(line: str) -> tuple[int, str, str] | None:
    """Return the sequence, hash and seal of a line; None of one that was cut short."""
    words = line.split()
    if len(words) != 3 or not words[0].isdecimal() or len(words[1]) != 64:
        return None  # blank, or cut short
    return int(words[0]), words[1], words[2]


def _altered(path: Path, what: str) -> LedgerError:
    return LedgerError(
        f"the anchor {str(path)!r} of the open ledger {what}. Nothing is released; put "
        "it back, and look at who could write to it.",
        code="ledger-altered",
    )


# -- The verdict -----------------------------------------------------------------------


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


_SUMMED = (*OPENING, Kind.GRANT, Kind.LINK, Kind.VOID)  # entries that change accounts


class _Replay:
    """The sums and keys that the entries so far add up to."""

    def __init__(self) -> None:
        self.limit: dict[str, Units] = {}
        self.grid: dict[str, Grid] = {}
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
            self.grid[scope] = _grid(body)
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
        for name, said in body.get("after", {}).items() if kind in _SUMMED else ():
            if said != [*self.spent[name], *self.limit[name]]:
                raise _Wrong(f"the sums of {readable(name)} are not those after it")

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


def _grid(grant: Any) -> Grid:
    """Return the notion and the grains that a grant gives an account."""
    first, second = grant["powers"]
    return Grid(grant["notion"], (first, second), Fraction(grant["delta"]))


def refuse_ungranted(transaction: Transaction, pinned: str | None) -> None:
    """Refuse accounts whose limit is not that of their last grant, signed if it must.

    Guarantee: reads a few entries of each account, however long the history is.
    """
    for balance in transaction.balances():
        entry = transaction.last_grant(balance.name)
        if entry is None or not _grants(entry, balance, pinned):
            raise LedgerError(
                f"the limit of {readable(balance.name)} is not the one that was "
                "granted. Nothing is released from this ledger; restore the newest "
                "copy, and look at who could write to it.",
                code="ledger-altered",
            )


def _grants(entry: Entry, balance: Balance, pinned: str | None) -> bool:
    place = entry.seq, entry.kind, entry.scope, entry.key, entry.body, entry.prev
    if not entry.sound() or (pinned and not signed(pinned, *place)):
        return False
    try:
        content = entry.content
        limit = (content["limit"][0], content["limit"][1])
        return (_grid(content), limit) == (balance.grid, balance.limit)
    except (ValueError, KeyError, TypeError, IndexError):
        return False


@final
class Recount:
    """The sums of the whole chain, for accounts whose last entry does not say them.

    So it is with accounts that were last charged by a version of hush which did not
    write the sums. Each entry is read once while a ledger is open.
    """

    def __init__(self) -> None:
        self._next, self._prev, self._replay = 0, GENESIS, _Replay()

    def __call__(self, transaction: Transaction, balances: list[Balance]) -> None:
        """Refuse accounts that are not the sums of the chain."""
        try:
            for row in transaction.raw(self._next):
                self._prev = _follow(row, self._next, self._prev, self._replay)
                self._next += 1
        except _Wrong:
            raise replaced() from None
        for balance in balances:
            known = balance.name in self._replay.limit
            if not known or not _same(balance, self._replay, balance.name):
                raise LedgerError(
                    f"the sums of {readable(balance.name)} are not those of its "
                    "charges: somebody changed them. Nothing is released from this "
                    "ledger; restore the newest copy, and look at who could write to "
                    "it.",
                    code="ledger-altered",
                )


def _same(balance: Balance | None, replay: _Replay, name: str) -> bool:
    return (
        balance is not None
        and balance.grid == replay.grid[name]
        and balance.limit == replay.limit[name]
        and balance.spent == replay.spent[name]
    )


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
        if name not in replay.limit or not _same(stored.get(name), replay, name):
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


def verify_store(
    store: Store, anchor: Anchor | None, *, quick: bool = False
) -> Verdict:
    """Verify a store against its anchor, and the file it lies in.

    `quick` leaves out what takes long in a file: whether its indexes say the same as
    its tables.
    """
    lines = None if anchor is None else list(anchor.lines())
    found = store.read(lambda transaction: verify(transaction, lines))
    damage = store.damage(quick=quick) if found else ""
    if damage:
        reason = f"the file is damaged: {damage}"
        return Verdict(found.entries, None, reason, found.anchored)
    return found
