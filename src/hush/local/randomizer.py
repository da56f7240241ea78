"""A local randomizer: what one person's device does before anything leaves it."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, Withheld
from hush.local.coins import Bytes
from hush.noise import SECURE, Source, permutation
from hush.noise.inversion import exp_bracket
from hush.noise.source import checked_source

if TYPE_CHECKING:
    from hush.privacy.curve import Curve


# -- Reports: what people send, as rows of bytes of one fixed width --------------------
#
# A message is a header of eight bytes and any number of rows:
#
#     bytes 0-1  "hu"
#     byte  2    version of the format, 1
#     byte  3    kind of the randomizer
#     byte  4    1 if the randomness was seeded (a rehearsal), else 0
#     bytes 5-7  first bytes of the SHA-256 of the randomizer's public parameters
#
# Reports are already private: they may be stored, sent and printed.

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
        return joined_reports(
            self.randomizer, (self, own_reports(self.randomizer, other))
        )

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


def joined_reports(randomizer: "Randomizer", parts: Iterable[Reports]) -> Reports:
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


def own_reports(randomizer: "Randomizer", reports: Any) -> Reports:
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


# -- A local randomizer: what one person's device does before anything leaves it -------

_MEMORY = 1 << 21  # bytes of reports that are worked on at once


class Randomizer(ABC):
    """Public parameters, the exact law of a report, and its format.

    Guarantee: for any two values of one person, no report is more than e^ε times
    likelier under one than under the other (ε-local privacy); nobody is trusted.

    Reference: N4.2def; [KLNRS11].
    """

    kind: ClassVar[int]  # byte of the format; a number is never used again
    epsilon: float

    @cached_property
    def ratio(self) -> Fraction:
        """The odds just below e^ε that decide the law, as an exact rational."""
        return odds(checks.real("epsilon", self.epsilon))

    @property
    def loss(self) -> float:
        """The ε that one report spends: log of the largest ratio, rounded up."""
        # log1p keeps the digits of small ε; up to 2^-50 covers both roundings.
        log = math.log1p(float(self.ratio - 1)) * (1 + 2.0**-50)
        return min(float(self.epsilon), log)

    def curve(self) -> "Curve":
        """Return the guarantee of one report when its value is replaced by another."""
        from hush.privacy.notions.pure import Pure

        return Pure(epsilon=self.loss)

    def shuffled(self, people: int) -> "Curve":
        """Return the central guarantee of `people` reports in a random order.

        Guarantee: for one person's value replaced by another; see `Reports.shuffle`.

        Example:
            >>> from hush.local import RandomizedResponse
            >>> c = RandomizedResponse(epsilon=1, size=10).shuffled(people=10_000)
            >>> f"{c.epsilon_at(1e-6):.3f}"
            '0.043'
        """
        from hush.privacy.rules.shuffle import shuffle

        return shuffle(self.curve(), people=people)

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of one report."""

    @abstractmethod
    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are possible reports."""

    @abstractmethod
    def _clean(self, values: Any) -> NDArray[Any]:
        """Return values ready to encode; refuse the impossible without naming any."""

    @abstractmethod
    def _encode(self, values: NDArray[Any], source: Source) -> Bytes:
        """Return the reports of a block of people."""

    def encode(self, values: Any, *, source: Source = SECURE) -> Reports:
        """Return one private report for each value."""
        checked_source(source)
        clean = self._clean(values)
        rows = np.empty((len(clean), self.width), dtype=np.uint8)
        for start, stop in self._blocks(len(clean)):
            rows[start:stop] = self._encode(clean[start:stop], source)
        return Reports(self, rows, seeded=source.seeded)

    def collect(self, messages: Iterable[bytes], *, most: int | None = None) -> Reports:
        """Return the reports in messages; malformed ones are counted and dropped.

        A message with more than `most` reports is dropped as one: `most=1` where every
        sender is one person, so that nobody counts twice.
        """
        if most is not None:
            most = checks.whole("most", most, at_least=1)
        # Byte by byte, one message would be as many that were rejected.
        if isinstance(messages, (bytes, bytearray, memoryview, str, Reports)):
            raise InvalidArgument(
                f"messages must be a list of them; got a {type(messages).__name__}. "
                "Write [message] for one in bytes; Reports go to estimate as they are."
            )
        return joined_reports(self, (read(self, each, most) for each in messages))

    @cached_property
    def fingerprint(self) -> bytes:
        """Three bytes that tell apart randomizers of one kind; not a signature."""
        public = {name: str(value) for name, value in self._public().items()}
        public["epsilon"] = repr(float(self.epsilon))
        text = f"{type(self).__name__} {sorted(public.items())}"
        return hashlib.sha256(text.encode()).digest()[:3]

    def _public(self) -> dict[str, Any]:
        """Return the parameters that tell apart randomizers of one kind."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def _blocks(self, count: int) -> Iterable[tuple[int, int]]:
        step = max(256, min(1 << 17, _MEMORY // self.width))
        return ((at, min(at + step, count)) for at in range(0, count, step))


def array_of(values: Any) -> NDArray[Any]:
    """Return values as an array; refuse what is none, and what hides values."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidArgument(
            "values must not be masked: the masked would be reported. Leave them out."
        )
    with Withheld():  # lists of unequal lengths, or what raises when it is looked at
        return np.asarray(values)
    raise InvalidArgument("values must be an array of one shape.")


def categories(values: Any, size: int) -> NDArray[np.int64]:
    """Return a vector of categories 0..size-1, or say that it is not one."""
    array = array_of(values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    inside = array.ndim == 1 and array.dtype.kind in "iub"
    if not inside or np.any(array < 0) or np.any(array >= size):
        way = "Map categories to numbers first."
        if array.dtype.kind == "f":  # a column of a frame that had gaps
            way = "Leave out who has no answer, then values.astype(int)."
        raise InvalidArgument(
            f"values must be a vector of whole numbers 0..{size - 1}. {way}"
        )
    return array.astype(np.int64)


def count_of(people: Any) -> int:
    """Return a number of people of at least one."""
    return checks.whole("people", people, at_least=1)


# -- The odds e^ε as an exact rational, rounded towards more privacy -------------------

_BITS = 40  # a relative 10^-12 of e^ε is given away, and no more
LEAST, MOST = 1e-6, 50.0


@lru_cache(maxsize=256)
def odds(epsilon: float) -> Fraction:
    """Return a rational just below e^ε with denominator 2^40.

    Guarantee: at most e^ε and above 1, the same on every machine: decimal arithmetic
    and not the platform's `exp` decides it.

    Example:
        >>> float(odds(1.0))
        2.71828182845...
    """
    checks.real("epsilon", epsilon, at_least=LEAST, at_most=MOST)
    _, most = exp_bracket(Fraction(float(epsilon)), 60)
    return Fraction(math.floor(2**_BITS / most), 2**_BITS)
