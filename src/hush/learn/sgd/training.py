"""A training run as a mechanism: its public numbers, and what they guarantee."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self, final

from hush import called, checks
from hush.errors import InvalidArgument, NoBound
from hush.learn.sgd import passes, slack
from hush.mechanisms.gaussian import lattice_curve
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source
from hush.privacy import compose, fixed_size, group, poisson
from hush.privacy.compose import repeat
from hush.privacy.curve import Curve
from hush.privacy.pure import Pure
from hush.serialization import tagged
from hush.units import Neighbors

SAMPLINGS = ("poisson", "fixed-size")
GROUP = 256  # rows that are added in floats; their rounding costs 0.8 % of the clip
_LOST = 2.0**-9  # what 32 bits may cost, in clips
_COARSE, _FINE = 20, 24  # bits of the noise; 64 widths of it fit 32 bits
_SUM = 31  # a group's sum is below 2^31 lattice steps, with 1 % to spare


@final
@tagged("sgd.training/1")
@dataclass(frozen=True, repr=False)
class Training(Mechanism):
    """DP-SGD: noisy sums of clipped per-example gradients over secret batches.

    `std` is the noise in clips; `records` stands for the number of rows and is public;
    `batch` is the expected size of a Poisson batch or the exact size of a fixed one;
    `dimension` counts the parameters and `longest` the squares added up in a norm;
    `widest` is how many rows a pass may hold, for the sake of memory.

    Guarantee: a Poisson batch is charged for one row added or removed, a fixed-size
    one for one row replaced; both as what they are, over all `steps`, float rounding,
    lattice and clipping included. Every iterate may be published.

    Example:
        >>> run = Training(std=2.0, clip=1.0, batch=100, records=10_000, steps=500)
        >>> round(run.curve().epsilon_at(1e-5), 3), run.neighbors.value
        (0.433, 'add-remove')

    Reference: [ACGMMTZ16]; N11.A7; docs/proofs/sgd.md.
    """

    noise: ClassVar[str] = "std"
    unit: ClassVar[str] = "row"  # one row is one person
    std: float
    clip: float
    batch: int
    records: int
    steps: int
    sampling: str = "poisson"
    dimension: int = 1
    longest: int = 64
    devices: int = 1
    widest: int = 4096
    model: str = ""

    def __post_init__(self) -> None:
        checks.real("std", self.std, at_least=2.0**-8, at_most=2.0**16)
        checks.real("clip", self.clip, at_least=2.0**-20, at_most=2.0**20)
        checks.whole("records", self.records, at_least=1, at_most=2**31 - 1)
        checks.whole("batch", self.batch, at_least=1, at_most=self.records)
        checks.whole("steps", self.steps, at_least=0)
        checks.whole("dimension", self.dimension, at_least=1)
        checks.whole("longest", self.longest, at_least=1, at_most=1 << 20)
        checks.whole("devices", self.devices, at_least=1)
        checks.whole("widest", self.widest, at_least=1)
        if self.sampling not in SAMPLINGS:
            raise InvalidArgument(
                f"sampling must be 'poisson' or 'fixed-size'; got {self.sampling!r}. "
                "Shuffled batches have no such guarantee: the proof needs batches that "
                "are drawn afresh and secretly at every step."
            )

    @classmethod
    @called.answering(called.TRAIN)
    def for_epsilon(
        cls,
        epsilon: float,
        sensitivity: Any = 1,
        *,
        delta: float | None = None,
        **public: Any,
    ) -> Self:
        """Return the run with the least noise that is (ε, δ)-private; no data needed.

        `records` is needed; `clip` is 1, and `batch`, `steps` and `delta` are those of
        `train` where they are left out. Of e epochs there are e·records/batch steps.

        Example:
            >>> run = Training.for_epsilon(
            ...     2.0, delta=1e-5, records=60_000, batch=600, steps=15 * 60_000 // 600
            ... )
            >>> round(run.std, 3), run.steps
            (1.064, 1500)
        """
        from hush.learn.sgd import defaults  # it chooses for what is defined here

        if sensitivity != 1:
            raise InvalidArgument(
                "sensitivity must be 1: a run is planned for one row. For several, "
                f"read run.curve(sensitivity=...); got {sensitivity!r}."
            )
        records = checks.whole("records", public.get("records"), at_least=1)
        batch = checks.whole("batch", public.get("batch", defaults.batch(records)))
        steps = public.get("steps", defaults.steps(records, max(batch, 1)))
        filled = {"clip": 1.0, **public, "batch": batch, "steps": steps}
        return cls(std=defaults.noise(filled, epsilon, delta), **filled)

    @property
    def neighbors(self) -> Neighbors:
        """The relation that the guarantee speaks of."""
        if self.sampling == "poisson":
            return Neighbors.ADD_REMOVE
        return Neighbors.REPLACE_ONE

    @property
    def rate(self) -> Fraction:
        """The chance of a row to be in a batch."""
        return Fraction(self.batch, self.records)

    @cached_property
    def _shape(self) -> tuple[int, int]:
        """Groups and rows of a group in one pass: the cheapest for a usual batch.

        A device adds one group at a time: that is faster than several side by side.
        """
        spread = 0.0
        if self.sampling == "poisson":
            spread = math.sqrt(self.batch * (1 - float(self.rate)))
        wide = max(min(self.devices * GROUP, self.widest), self.devices)
        rows = passes.cheapest(self.batch, spread, wide)
        return self.devices, -(-rows // self.devices)

    @property
    def groups(self) -> int:
        """How many groups of rows one pass adds up: one on each device."""
        return self._shape[0]

    @property
    def group(self) -> int:
        """How many rows are added in floats; groups are added exactly."""
        return self._shape[1]

    @property
    def rows(self) -> int:
        """Slots of one pass; a batch that needs more takes another pass."""
        return self.groups * self.group

    @cached_property
    def _narrow(self) -> int:
        """The finest lattice on which sums and noise of a batch fit 32 bits."""
        most = self.batch
        if self.sampling == "poisson":  # of more rows than records, too
            most += 12 * math.isqrt(self.batch) + 64
        total = most * slack.contribution(self.longest) + 64 * Fraction(self.std)
        return math.ceil(math.log2(total)) - 31

    @property
    def wide(self) -> bool:
        """Whether sums need 48 bits, since 32 bits would round them too coarsely."""
        lost = 2.0**self._narrow * math.sqrt(self.dimension)
        return self._narrow > self._fine and lost > _LOST

    @cached_property
    def _fine(self) -> int:
        """The exponent of the lattice that noise and groups alone would choose."""
        # Coarse noise is drawn faster; rounding d numbers to it must stay negligible.
        rough = self.std * math.sqrt(self.dimension) * 2.0**-_COARSE > 2.0**-10
        noise = Lattice.under(self.std, bits=_FINE if rough else _COARSE).exponent
        longest = self.group * slack.contribution(self.longest) * Fraction(101, 100)
        total = math.ceil(math.log2(longest))
        return max(noise, total - _SUM)

    @cached_property
    def grid(self) -> Lattice:
        """The public lattice of sums and noise, in clips."""
        return Lattice(self._fine if self.wide else max(self._fine, self._narrow))

    @cached_property
    def deviation(self) -> Fraction:
        """The noise in lattice steps."""
        return Fraction(self.std) / self.grid.step

    @cached_property
    def distance(self) -> Fraction:
        """How far one row moves the rounded sum, in clips, rounding included.

        A replaced row moves one group; one that comes or goes may move two.
        """
        replaced = self.sampling == "fixed-size"
        try:
            moved = slack.distance(
                rows=self.group, longest=self.longest, replaced=replaced
            )
        except OverflowError:
            raise NoBound(
                f"a norm of {self.longest} squares is too inexact in float32."
            ) from None
        groups = 1 if replaced else 2
        return moved + groups * self.grid.step * slack.root(self.dimension)

    def step_curve(self) -> Curve:
        """Return the guarantee of a single step."""
        base = lattice_curve(
            self.deviation, self.distance / self.grid.step, scalar=False
        )
        if self.batch == self.records:
            return base
        if self.sampling == "poisson":
            rate = float(self.rate)
            if Fraction(rate) < self.rate:
                rate = math.nextafter(rate, math.inf)
            return poisson(base, rate)
        return fixed_size(base, batch=self.batch, records=self.records)

    def curve(self, sensitivity: Any = 1, *, steps: int | None = None) -> Curve:
        """Return the guarantee for `sensitivity` rows, of all steps or the first few.

        Example:
            >>> run = Training(std=2.0, clip=1.0, batch=100, records=10_000, steps=500)
            >>> round(run.curve(steps=50).epsilon_at(1e-5), 3)
            0.136
        """
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        times = self.steps
        if steps is not None:
            times = checks.whole("steps", steps, at_least=0, at_most=self.steps)
        if people == 0 or times == 0:
            return Pure(epsilon=0.0)
        found = compose(repeat(self.step_curve(), times=times))
        return found if people == 1 else group(found, size=people)

    @property
    def error(self) -> NoReturn:
        """No law: how good a trained model is depends on the data."""
        raise NoBound("the error of a trained model depends on the data.")

    def run(self, value: Any, *, source: Source = SECURE) -> dict[str, Any]:
        """Return the trained numbers, flat; value is (a run of this plan, data)."""
        session, data = value
        found: dict[str, Any] = session.run(self, data, source)
        return found
