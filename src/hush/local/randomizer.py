"""A local randomizer: what one person's device does before anything leaves it."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, Withheld
from hush.local import reports as wire
from hush.local.coins import Bytes
from hush.local.odds import odds
from hush.local.reports import Reports
from hush.noise import SECURE, Source
from hush.noise.source import sourced

if TYPE_CHECKING:
    from hush.privacy.curve import Curve

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
        from hush.privacy.pure import Pure

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
        from hush.privacy.shuffle import shuffle

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
        sourced(source)
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
        if isinstance(messages, (bytes, bytearray, memoryview, str, wire.Reports)):
            raise InvalidArgument(
                f"messages must be a list of them; got a {type(messages).__name__}. "
                "Write [message] for one in bytes; Reports go to estimate as they are."
            )
        return wire.joined(self, (wire.read(self, each, most) for each in messages))

    @cached_property
    def fingerprint(self) -> bytes:
        """Three bytes that tell apart randomizers of one kind; not a signature."""
        public = {f.name: str(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        public["epsilon"] = repr(float(self.epsilon))
        text = f"{type(self).__name__} {sorted(public.items())}"
        return hashlib.sha256(text.encode()).digest()[:3]

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
