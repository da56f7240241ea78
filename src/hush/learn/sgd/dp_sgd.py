"""DP-SGD as a mechanism: the public numbers of a run, and what they guarantee."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self, final

import optax

from hush import checks, suggestions
from hush.errors import InvalidArgument, NoBound
from hush.learn.sgd import rounding_slack
from hush.mechanisms.lattice_rounding import lattice_curve
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source
from hush.privacy import compose, fixed_size, group, poisson
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.rules.calibrate import calibrate
from hush.privacy.rules.composition import repeat
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
    @suggestions.with_argument_hints(suggestions.TRAIN)
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
        if sensitivity != 1:
            raise InvalidArgument(
                "sensitivity must be 1: a run is planned for one row. For several, "
                f"read run.curve(sensitivity=...); got {sensitivity!r}."
            )
        records = checks.whole("records", public.get("records"), at_least=1)
        batch = checks.whole("batch", public.get("batch", default_batch(records)))
        steps = public.get("steps", default_steps(records, max(batch, 1)))
        filled = {"clip": 1.0, **public, "batch": batch, "steps": steps}
        return cls(std=default_noise(filled, epsilon, delta), **filled)

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
        rows = cheapest(self.batch, spread, wide)
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
        total = most * rounding_slack.contribution(self.longest) + 64 * Fraction(
            self.std
        )
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
        longest = (
            self.group * rounding_slack.contribution(self.longest) * Fraction(101, 100)
        )
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
            moved = rounding_slack.distance(
                rows=self.group, longest=self.longest, replaced=replaced
            )
        except OverflowError:
            raise NoBound(
                f"a norm of {self.longest} squares is too inexact in float32."
            ) from None
        groups = 1 if replaced else 2
        return moved + groups * self.grid.step * rounding_slack.root(self.dimension)

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


# -- How many rows one pass holds: few empty slots, few passes; from public numbers ----

_EACH = 8  # what a pass costs besides its rows, in rows


def expected_passes(rows: int, batch: int, spread: float) -> float:
    """Return how many passes of `rows` slots a batch needs on average.

    Sizes are taken as normal: this chooses a speed, and nothing depends on it.
    """
    if not spread:
        return float(max(1, math.ceil(batch / rows)))
    first = max(1, math.floor((batch - 6 * spread) / rows))
    last = math.ceil((batch + 6 * spread) / rows)
    more = (
        math.erfc((i * rows + 0.5 - batch) / (spread * math.sqrt(2))) / 2
        for i in range(first, last + 1)
    )
    return first + sum(more)


def cheapest(batch: int, spread: float, most: int) -> int:
    """Return the slots of a pass, `most` at most, that cost the least on average.

    Example:
        >>> cheapest(2048, 0.0, 256), cheapest(256, 16.0, 256)
        (256, 141)
    """
    least = max(1, min(most, batch) // 3)
    enough = min(most, math.ceil(batch + 4 * spread))
    stride = max(1, (enough - least) // 512)

    def cost(rows: int) -> float:
        return expected_passes(rows, batch, spread) * (rows + _EACH)

    return min(range(enough, least - 1, -stride), key=cost)


# -- Choices made from public numbers alone: rows, model size and the target -----------

_FULL = 4096  # up to so many rows every step sees all of them
_STEPS = 120
_PASSES = 5
_WALK = 0.3  # how far the noise alone may carry each parameter
_FASTEST = 1.0  # the largest single step, in clips
_FARTHEST = 10.0  # how far one gradient may carry in the end, in clips


def default_batch(records: int) -> int:
    """Return all rows of small data, a growing share of large data."""
    return records if records <= _FULL else max(_FULL, math.ceil(records / 64))


def default_steps(records: int, batch: int) -> int:
    """Return 120 steps, or as many as make five passes over the data."""
    return max(_STEPS, math.ceil(_PASSES * records / batch))


def optimizer(plan: Training) -> optax.GradientTransformation:
    """Return gradient descent under which noise alone carries a parameter 0.3 far.

    A gradient moves a parameter by rate/(1-momentum) of itself in the end, so noise of
    std·clip/batch per step adds up to √steps times that. What one step of size 1 can do
    is done without momentum, which would only delay it; momentum, 0.9 at most, carries
    further where noise leaves room, since longer single steps overshoot.
    """
    walk = plan.std * math.sqrt(max(plan.steps, 1)) / plan.batch
    reach = min(_WALK / walk, _FARTHEST)
    rate = min(reach, _FASTEST)
    return optax.sgd(rate / plan.clip, momentum=1 - rate / reach)


def delta(records: int) -> float:
    """Return the default δ: one over ten times the number of rows, at most 1e-5."""
    return min(1e-5, 0.1 / records)


def default_noise(
    public: dict[str, Any], epsilon: float | None, delta_: float | None
) -> float:
    """Return the least noise, in clips, with which a run is (ε, δ)-private."""
    epsilon = checks.real("epsilon", epsilon, above=0)
    given = delta(public["records"]) if delta_ is None else delta_
    checks.real("delta", given, above=0, below=1)

    def curve(std: float) -> Any:
        return Training(std=std, **public).curve()

    found = calibrate(
        curve,
        target=Approx(epsilon, given),
        low=2.0**-8,
        high=2.0**16,
        relative=1e-6,
    )
    if curve(found).delta_at(epsilon) > given:
        raise InvalidArgument(f"epsilon={epsilon:g} is too small for this run.")
    return found
