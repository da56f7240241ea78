"""Reports: what people send, as rows of bytes of one fixed width.

A message is a header of eight bytes and any number of rows:

    bytes 0-1  "hu"
    byte  2    version of the format, 1
    byte  3    kind of the randomizer
    byte  4    1 if the randomness was seeded (a rehearsal), else 0
    bytes 5-7  first bytes of the SHA-256 of the randomizer's public parameters

Reports are already private: they may be stored, sent and printed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.local.coins import Bytes
from hush.noise import SECURE, Source, permutation

if TYPE_CHECKING:
    from hush.local.randomizer import Randomizer

MAGIC, VERSION, HEADER = b"hu", 1, 8
_WORDS = (1, 2, 4, 8)  # widths that are numbers as they stand


@final
@dataclass(frozen=True, eq=False)
class Reports:
    """Rows of one randomizer, and how many others were malformed and dropped.

    Example:
        >>> from hush.local import RandomizedResponse
        >>> oracle = RandomizedResponse(epsilon=1, size=4)
        >>> reports = oracle.encode([0, 1, 1, 3])
        >>> reports, len(reports.to_bytes())
        (Reports(4 of RandomizedResponse(epsilon=1, size=4)), 12)
        >>> oracle.collect([reports.to_bytes(), b"noise"]).rejected
        1
    """

    randomizer: "Randomizer"
    rows: Bytes
    rejected: int = 0
    seeded: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        dropped = f", {self.rejected} rejected" if self.rejected else ""
        return f"Reports({len(self)} of {self.randomizer!r}{dropped})"

    def __add__(self, other: "Reports") -> "Reports":
        if not isinstance(other, Reports):
            return NotImplemented
        return joined(self.randomizer, (self, mine(self.randomizer, other)))

    def header(self) -> bytes:
        """Return the eight bytes that begin every message."""
        kind, mark = self.randomizer.kind, self.randomizer.fingerprint
        return MAGIC + bytes([VERSION, kind, self.seeded]) + mark

    def to_bytes(self) -> bytes:
        """Return all reports as one message."""
        return self.header() + self.rows.tobytes()

    def messages(self) -> Iterator[bytes]:
        """Yield one message for each report, as single devices send them."""
        head = self.header()
        for row in self.rows:
            yield head + row.tobytes()

    def shuffle(self, *, source: Source = SECURE) -> "Reports":
        """Return the reports in a uniformly random order: senders are forgotten.

        Guarantee: `randomizer.shuffled(len(reports))`, if whoever sees the result saw
        neither the order before nor anything else that names the senders.
        """
        order = permutation(len(self), source=source)
        seeded = self.seeded or source.seeded
        return Reports(self.randomizer, self.rows[order], self.rejected, seeded)


def joined(randomizer: "Randomizer", parts: Iterable[Reports]) -> Reports:
    """Return the reports of many messages as one."""
    rows, rejected, seeded = [], 0, False
    for part in parts:
        rows.append(part.rows)
        rejected += part.rejected
        seeded = seeded or part.seeded
    empty = np.empty((0, randomizer.width), dtype=np.uint8)
    return Reports(randomizer, np.concatenate([empty, *rows]), rejected, seeded)


def read(randomizer: "Randomizer", message: Any, most: int | None = None) -> Reports:
    """Return the reports of one message; what does not fit is counted and dropped."""
    empty = np.empty((0, randomizer.width), dtype=np.uint8)
    if not isinstance(message, (bytes, bytearray, memoryview)):
        return Reports(randomizer, empty, rejected=1)
    message = bytes(message)
    head = MAGIC + bytes([VERSION, randomizer.kind])
    known = (
        len(message) >= HEADER
        and message[:4] == head
        and message[4] in (0, 1)
        and message[5:HEADER] == randomizer.fingerprint
    )
    if not known:
        return Reports(randomizer, empty, rejected=1)
    body = np.frombuffer(message, dtype=np.uint8, offset=HEADER)
    count, rest = divmod(body.size, randomizer.width)
    if most is not None and count > most:
        return Reports(randomizer, empty, rejected=1)
    rows = body[: count * randomizer.width].reshape(count, randomizer.width)
    good = randomizer.valid(rows)
    kept = rows if good.all() else rows[good]
    rejected = count - len(kept) + (1 if rest else 0)
    return Reports(randomizer, kept, rejected, seeded=message[4] == 1)


def mine(randomizer: "Randomizer", reports: Any) -> Reports:
    """Return `reports` if they are of this randomizer, or say that they are not."""
    if not isinstance(reports, Reports):
        raise InvalidArgument(
            f"reports must be Reports; got {type(reports).__name__}. Messages in bytes "
            "are read by collect()."
        )
    if reports.randomizer != randomizer:
        raise InvalidArgument(
            f"reports must come from {randomizer!r}; these come from "
            f"{reports.randomizer!r}."
        )
    return reports


def none_valid(rejected: int) -> InvalidArgument:
    """Return the error for reports of which there are none."""
    why = (
        " Messages of other parameters are rejected by their header: write the same "
        "class, epsilon and size on the devices and here."
    )
    return InvalidArgument(
        f"reports must hold at least one valid report; {rejected} were rejected."
        + (why if rejected else "")
    )


def integers_of(rows: Bytes) -> NDArray[np.uint64]:
    """Return rows of up to eight bytes as whole numbers, first byte lowest."""
    width = rows.shape[1]
    if width in _WORDS:
        words = np.ascontiguousarray(rows).view(f"<u{width}").ravel()
        return words.astype(np.uint64)
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, :width] = rows
    return integers_of(wide)


def rows_of(numbers: NDArray[np.int64], width: int) -> Bytes:
    """Return whole numbers as rows of `width` bytes, first byte lowest."""
    if width in _WORDS:
        return numbers.astype(f"<u{width}").view(np.uint8).reshape(-1, width)
    return np.ascontiguousarray(rows_of(numbers, 8)[:, :width])


def width_of(count: int) -> int:
    """Return how many bytes hold the numbers 0..count-1."""
    return max(1, -(-(count - 1).bit_length() // 8))
