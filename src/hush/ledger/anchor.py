"""The anchor: a second file, outside the ledger, that remembers how far it had come.

Every release adds one line "sequence hash [seal]". A ledger that ends before its
anchor, or disagrees with it, was rolled back or rewritten. With a secret, each line is
sealed by HMAC-SHA-256, so that who can write both files still cannot forge the past.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import final

from hush.errors import LedgerError

_FIRST = "hush-anchor"

# A flag that not every system has.
_CLOSED_BY_CHILDREN = os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0


@final
class Anchor:
    """Lines appended to `path`; keep it on another disk than the ledger.

    Guarantee: a line is written only for entries that are durable in the ledger, and
    before the release they belong to is shown.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        secret: bytes | None = None,
        ledger: str | None = None,
    ) -> None:
        self.path = Path(path).absolute()  # for good, as that of the ledger
        self._secret = secret
        self._descriptor: int | None = None
        self._owner = os.getpid()
        if not self.path.exists():
            self._create(ledger or secrets.token_hex(16))
        self.ledger = self._header()

    def _create(self, ledger: str) -> None:
        """Write the first line under another name, so that nobody reads half of it."""
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(f"the anchor's folder {str(folder)!r} does not exist.")
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=self.path.name + ".")
        try:
            with os.fdopen(descriptor, "w") as file:
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

    def record(self, seq: int, hash: str) -> None:
        """Append one line."""
        if self._descriptor is None or self._owner != os.getpid():
            flags = os.O_WRONLY | os.O_APPEND | _CLOSED_BY_CHILDREN
            try:
                self._descriptor = os.open(self.path, flags)
            except OSError as problem:
                raise self._lost(problem) from None
            self._owner = os.getpid()
        # One write: lines of several processes never mix. A line cut short by a full
        # disk is closed by the newline that starts the next one.
        line = f"\n{seq} {hash} {self._mac(seq, hash)}\n".encode()
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError("short write")
        except OSError as problem:
            raise self._lost(problem) from None

    def _lost(self, problem: OSError) -> LedgerError:
        return LedgerError(
            f"the anchor {str(self.path)!r} cannot be written "
            f"({type(problem).__name__}); the answer is stored and charged but was not "
            "shown. Mend the anchor and ask again with the same key."
        )

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield every (sequence, hash) on record, oldest first."""
        with self.path.open() as file:
            next(file, None)
            for line in file:
                words = line.split()
                if len(words) != 3 or not words[0].isdecimal() or len(words[1]) != 64:
                    continue  # blank, or cut short
                seq, hash, mac = int(words[0]), words[1], words[2]
                if self._secret is not None and not hmac.compare_digest(
                    mac, self._mac(seq, hash)
                ):
                    raise LedgerError(
                        f"the anchor's line for entry {seq} is not sealed with this "
                        "secret: it was forged, or the secret is another one."
                    )
                yield seq, hash

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None and self._owner == os.getpid():
            os.close(self._descriptor)
        self._descriptor = None
