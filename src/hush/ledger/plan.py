"""A plan: which mechanisms will answer which queries, known before data is read."""

import functools
import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from hush.errors import HushError, InvalidArgument
from hush.ledger.budget import Units
from hush.ledger.cost import Grid
from hush.ledger.entry import canonical, members
from hush.ledger.frozen import freeze
from hush.ledger.values import describe
from hush.noise.source import Source

if TYPE_CHECKING:
    from hush.privacy import Curve


@final
@dataclass(frozen=True)
class Step:
    """One mechanism and the query it answers (None: the mechanism reads the data).

    A query is one of `hush.mechanisms`, which binds itself to a mechanism by `>>`, or
    any function of the data with a `sensitivity`; its `dimension`, if stated, is how
    many numbers it returns at most, and is needed where a mechanism has a `step`.
    """

    mechanism: Any
    query: Any = None

    def __post_init__(self) -> None:
        _whole(self.mechanism)
        if self.query is not None and (
            not callable(self.query) or not hasattr(self.query, "sensitivity")
        ):
            raise InvalidArgument(
                f"query must be callable and state its sensitivity; got a "
                f"{type(self.query).__name__}. Use a Query, or None for a mechanism "
                "that reads the data itself."
            )
        _ = self._bound  # a query that the mechanism cannot answer is refused here

    @cached_property
    def _bound(self) -> Any:
        """The mechanism that reads the data, or None where the query is a function."""
        if self.query is None:
            return self.mechanism
        if not hasattr(self.query, "__rshift__"):
            return None
        try:
            return self.query >> self.mechanism
        except TypeError:
            raise InvalidArgument(
                f"{type(self.mechanism).__name__} does not answer a query; pass None "
                "as the query if it reads the data itself."
            ) from None

    @property
    def sensitivity(self) -> Any:
        """How far the query moves between neighbors; None without a query."""
        found = getattr(self.query, "sensitivity", None)
        return found() if callable(found) else found

    def curve(self) -> "Curve":
        """Return the guarantee of this step, from public parameters alone."""
        if self._bound is not None:
            return self._bound.curve()  # type: ignore[no-any-return]
        from hush.mechanisms import DiscreteGaussian, Gaussian, Laplace

        several = getattr(self.query, "dimension", None)
        if isinstance(self.mechanism, DiscreteGaussian):
            # How many numbers a function returns is not known; 2 stands for any number.
            return self.mechanism.curve(self.sensitivity, dimension=several or 2)
        if several and isinstance(self.mechanism, (Gaussian, Laplace)):
            return self.mechanism.curve(self.sensitivity, dimension=several)
        return self.mechanism.curve(self.sensitivity)  # type: ignore[no-any-return]

    def _fits(self, value: Any) -> None:
        """Refuse more numbers than were charged, on a lattice where that matters.

        A lattice that is coarse is charged by the law of one number, or by one rounding
        for each of `query.dimension`; the default ones lose 2^-40 at most.
        """
        charged = getattr(self.query, "dimension", None)
        if charged is None and getattr(self.mechanism, "step", None) is None:
            return
        import numpy as np

        if np.size(value) > (charged or 1):
            raise InvalidArgument(
                "query must say by `dimension` how many numbers it returns at most."
            )

    @property
    def error(self) -> Any:
        """The error law of the answer; None where it depends on the data."""
        try:
            return (self._bound or self.mechanism).error
        except (HushError, AttributeError):
            return None

    def draw(self, data: Any, source: Source, earlier: tuple[Any, ...] = ()) -> Any:
        """Return the noisy answer: the only lines of the ledger that touch data.

        A query that is `adaptive` also sees the earlier answers of its batch.
        """
        from hush.mechanisms.listening import declaring  # light until a draw

        if self._bound is not None:
            with declaring(1):
                return self._bound.run(data, source=source)
        adaptive = getattr(self.query, "adaptive", False)
        value = self.query(data, earlier) if adaptive else self.query(data)
        self._fits(value)
        with declaring(self.sensitivity):
            return self.mechanism.run(value, source=source)

    def fact(self, name: str) -> Any:
        """Return what the query, or else the mechanism, says of itself."""
        if name == "sensitivity":
            return self.sensitivity
        found = getattr(self.query, name, None)
        return getattr(self.mechanism, name, None) if found is None else found


def _whole(mechanism: Any) -> None:
    """Refuse what cannot run as a mechanism does: it would be charged for nothing."""
    kind = mechanism if isinstance(mechanism, type) else type(mechanism)
    methods: list[Any] = [getattr(mechanism, n, None) for n in ("curve", "run")]
    if kind is mechanism or not all(map(callable, methods)):
        raise InvalidArgument(
            f"mechanism must have curve() and run(); got "
            f"{'the class' if kind is mechanism else 'a'} {kind.__name__}. Choose one "
            "of hush.mechanisms, with its noise, as in Laplace(scale=2.0)."
        )
    try:
        _ = _ours(mechanism) or inspect.signature(mechanism.run).bind(None, source=None)
    except TypeError:
        raise InvalidArgument(
            f"{kind.__name__}.run must take a value and the source of its randomness: "
            "def run(self, value, *, source=SECURE)."
        ) from None


_AGREED = ("unit", "neighbors")  # what all charges of an account have in common
OWN = "mechanism"  # where an error law is best asked of the mechanism again


def _error(step: Step) -> Any:
    law = step.error
    frozen = freeze(law)
    own = frozen is None and law is not None and step.query is None
    return OWN if own and freeze(step.mechanism) is not None else frozen


def frame(steps: tuple[Step, ...], curve: "Curve") -> dict[str, str]:
    """Return the texts of a release that are known before data is read."""
    return members(
        {
            "hush": "release",
            "format": 1,
            "mechanisms": [freeze(step.mechanism) for step in steps],
            "errors": [_error(step) for step in steps],
            "curve": json.loads(curve.to_json()),
        }
    )


@final
@dataclass(frozen=True)
class Plan:
    """Steps that are declared together and charged as one event.

    Guarantee: the curve is the tight composition of the steps. It is valid because all
    of them were fixed before the first answer.
    """

    steps: tuple[Step, ...]
    batch: bool = False
    version: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, mechanism: Any, query: Any, version: str, notes: Mapping[str, Any] | None
    ) -> "Plan":
        """Return the plan of one mechanism, or of two lists of equal length."""
        place = (id(mechanism), id(query), version)
        recent = _recent.get(place)
        # What is kept is kept alive, so nothing else can have its place.
        if recent is not None and not notes:
            return recent[-1]
        batch = isinstance(mechanism, (list, tuple))
        mechanisms = tuple(mechanism) if batch else (mechanism,)
        several = batch and isinstance(query, (list, tuple))
        queries = tuple(query) if several else (query,) * len(mechanisms)
        if not mechanisms or len(queries) != len(mechanisms):
            raise InvalidArgument(
                f"a batch needs one query per mechanism; got {len(mechanisms)} "
                f"mechanisms and {len(queries)} queries."
            )
        extra = canonical(describe(notes)) if notes else "{}"
        # What others wrote may change between two releases, or call itself equal to
        # what it is not: its sensitivity is asked every time.
        if not all(map(_ours, (*mechanisms, *queries))):
            return _plan(mechanisms, queries, "", batch, version, extra)
        # 2 equals 2.0, but a plan is known by what is written: hence the text.
        text = repr((mechanisms, queries))
        try:
            found = _known(mechanisms, queries, text, batch, version, extra)
        except TypeError:  # a parameter that has no hash
            return _plan(mechanisms, queries, text, batch, version, extra)
        if not batch and not notes:
            if len(_recent) >= _MOST:
                _recent.clear()
            _recent[place] = (mechanism, query, found)
        return found

    @cached_property
    def curve(self) -> "Curve":
        """The guarantee of the whole plan."""
        curves = [step.curve() for step in self.steps]
        if len(curves) == 1:
            return curves[0]
        from hush.privacy import compose

        return compose(*curves)

    @cached_property
    def outline(self) -> dict[str, str]:
        """What its release says, whatever the answer."""
        return frame(self.steps, self.curve)

    @cached_property
    def asked(self) -> dict[Any, Any]:
        """What `hush.ledger.request.ask` computed for this plan, by who pays."""
        return {}

    def cost(self, grid: Grid, delta: float | None) -> Units:
        """Return what an account pays, in its grains."""
        return grid.charge(self.curve, delta)

    def draw(self, data: Any, source: Source) -> Any:
        """Return the answers: a tuple for a batch, the value itself otherwise."""
        answers: tuple[Any, ...] = ()
        for step in self.steps:
            answers = (*answers, step.draw(data, source, answers))
        return answers if self.batch else answers[0]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What a receipt says about the plan."""
        return {
            "mechanism": self._join([_text(step.mechanism) for step in self.steps]),
            "query": self._join([_text(step.query) for step in self.steps]),
            "sensitivity": self._all("sensitivity"),
            "unit": self._one("unit"),
            "neighbors": self._one("neighbors"),
            "bounds": self._all("bounds"),
            "keys": self._one("keys"),
            "version": self.version,
            "notes": describe(self.notes),
        }

    @property
    def what(self) -> str:
        """The plan's name in messages."""
        names = [type(step.mechanism).__name__ for step in self.steps]
        if len(names) == 1:
            return f"this release ({names[0]})"
        return f"this release ({len(names)} charges, made as one)"

    @staticmethod
    def _join(texts: list[str]) -> str:
        return "; ".join(texts)

    def _all(self, name: str) -> Any:
        if name in self.notes:
            return describe(self.notes[name])
        found = [describe(step.fact(name)) for step in self.steps]
        return found if self.batch else found[0]

    def _one(self, name: str) -> str:
        found = {
            str(value) for step in self.steps if (value := step.fact(name)) is not None
        }
        if name in self.notes:
            said = str(self.notes[name])
            # Whose a row is, its owner knows; how neighbors differ, the curve does.
            if name == "neighbors" and found - {said}:
                raise InvalidArgument(
                    f"notes say neighbors {said!r}, and what is released says "
                    f"{sorted(found)}: its curve holds for that alone. Leave it out."
                )
            return said
        if len(found) > 1 and name in _AGREED:
            raise InvalidArgument(
                f"one batch must have one {name}; got {sorted(found)}. A guarantee for "
                "two of them cannot be added up: release them apart."
            )
        return ", ".join(sorted(found))

    @cached_property
    def _described(self) -> list[Any]:
        return [[describe(step.mechanism), describe(step.query)] for step in self.steps]

    def digest(self, payers: Sequence[str], costs: Any) -> str:
        """Return the hash that two equal requests share."""
        text = canonical(
            {
                "steps": self._described,
                "facts": self.facts,
                "payers": list(payers),
                "costs": costs,
            }
        )
        return hashlib.sha256(text.encode()).hexdigest()


def _plan(
    mechanisms: tuple[Any, ...],
    queries: tuple[Any, ...],
    text: str,  # noqa: ARG001 (tells equal parameters of different types apart)
    batch: bool,  # noqa: FBT001 (part of a cache's key)
    version: str,
    notes: str,
) -> Plan:
    steps = tuple(map(Step, mechanisms, queries))
    return Plan(steps, batch=batch, version=version, notes=json.loads(notes))


def _ours(thing: Any) -> bool:
    """Whether this is a frozen value of hush, equal only to what is the same."""
    return thing is None or type(thing).__module__.startswith("hush.")


# Plans are public values: what was computed for one serves its repetitions, found by
# what is written or, faster, by being the same frozen objects.
_MOST = 256
_known = functools.lru_cache(maxsize=_MOST)(_plan)
_recent: dict[tuple[int, int, str], tuple[Any, Any, Plan]] = {}


@final
@dataclass(frozen=True)
class Spend:
    """A charge for something that hush does not draw itself."""

    curve: "Curve"
    what: str
    version: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, what: Any, curve: "Curve", version: str, notes: Any) -> "Spend":
        """Return a charge that states the unit and the relation of what is charged."""
        noted = dict(notes or {})
        own = {name: getattr(what, name, None) for name in _AGREED}
        said = {name: noted.get(name, own[name]) for name in _AGREED}
        stated = {name: str(value) for name, value in said.items() if value is not None}
        return cls(curve, repr(what), version, noted, stated)

    def cost(self, grid: Grid, delta: float | None) -> Units:
        """Return what an account pays, in its grains."""
        return grid.charge(self.curve, delta)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What a receipt says about the charge."""
        return {
            **self.stated,
            "mechanism": self.what,
            "version": self.version,
            "notes": describe(self.notes),
        }

    def digest(self, payers: Sequence[str], costs: Any) -> str:
        """Return the hash that two equal requests share."""
        text = canonical({"facts": self.facts, "payers": list(payers), "costs": costs})
        return hashlib.sha256(text.encode()).hexdigest()


def _text(thing: Any) -> str:
    if thing is None:
        return ""
    text = repr(thing)
    if " at 0x" not in text:
        return text
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else type(thing).__name__
