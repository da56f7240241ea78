"""A plan: which mechanisms will answer which queries, known before data is read."""

import functools
import hashlib
import inspect
import json
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from hush import checks
from hush.errors import HushError, InvalidArgument
from hush.ledger.budget import Units
from hush.ledger.hash_chain import canonical, members
from hush.ledger.privacy_filter import Grid
from hush.ledger.request_description import describe
from hush.ledger.user_functions import is_ours, runs_own_functions
from hush.noise.source import Source
from hush.serialization import freeze
from hush.units import Unit

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
        if self.query is None:
            _refuse_unstated(self.mechanism, "pass a query that states it")
        elif not callable(self.query) or not hasattr(self.query, "sensitivity"):
            raise InvalidArgument(
                f"query must be callable and state its sensitivity; got a "
                f"{type(self.query).__name__}. Use a Query, or None for a mechanism "
                "that reads the data itself."
            )
        if self._bound is None:  # a query that cannot be answered is refused here
            _ = self.sensitivity
        several = getattr(self.query, "dimension", None)
        if several is None:
            return
        several = checks.whole("dimension", several, at_least=1)
        one = getattr(self.mechanism, "coordinates", None)
        if one is not None and several > one:
            raise InvalidArgument(
                f"{type(self.mechanism).__name__} noise is charged for one number, and "
                f"the query returns up to {several}: use Laplace or Gaussian."
            )

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

    @cached_property
    def finish(self) -> Any:
        """A last step of a user's own: run on what is sealed, never before."""
        finish = getattr(getattr(self._bound, "query", None), "finish", None)
        return finish if runs_own_functions(finish) else None

    @property
    def sensitivity(self) -> Any:
        """How far the query moves between neighbors; None without a query."""
        found: Any = getattr(self.query, "sensitivity", None)
        try:  # not of a class: calling `int` would say 0, and cost nothing
            asked = callable(found) and not isinstance(found, type)
            return _stated(found() if asked else found)
        except TypeError:
            raise InvalidArgument(
                "sensitivity must be a number, or a method without arguments."
            ) from None

    def curve(self) -> "Curve":
        """Return the guarantee of this step, from public parameters alone."""
        if self._bound is not None:
            return self._bound.curve()  # type: ignore[no-any-return]
        from hush.mechanisms import DiscreteGaussian, Gaussian, Laplace

        several = checks.plain(getattr(self.query, "dimension", None))
        if isinstance(self.mechanism, DiscreteGaussian):
            # How many numbers a function returns is not known; 2 stands for any number.
            return self.mechanism.curve(self.sensitivity, dimension=several or 2)
        if several and isinstance(self.mechanism, (Gaussian, Laplace)):
            return self.mechanism.curve(self.sensitivity, dimension=several)
        return self.mechanism.curve(self.sensitivity)  # type: ignore[no-any-return]

    def _fits(self, value: Any) -> None:
        """Refuse more numbers than were charged, on a lattice where that matters.

        A lattice that is coarse is charged by the law of one number, or by one rounding
        for each of `query.dimension`; the default ones lose 2^-40 at most. Noise whose
        curve is that of one number says so by `coordinates`.
        """
        one = getattr(self.mechanism, "coordinates", None)
        charged = one or getattr(self.query, "dimension", None)
        if charged is None and getattr(self.mechanism, "step", None) is None:
            return
        import numpy as np

        if np.size(value) > (charged or 1):
            raise InvalidArgument(
                "query must say by `dimension` how many numbers it returns at most; "
                "Staircase and Canonical noise are charged for one number."
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
            bound = self._bound
            if self.finish is not None:
                bound = replace(bound, query=replace(bound.query, finish=None))
            with declaring(1):
                return bound.run(data, source=source)
        value = self._answer(data, earlier)
        with declaring(self.sensitivity):
            return self.mechanism.run(value, source=source)

    def _answer(self, data: Any, earlier: tuple[Any, ...]) -> Any:
        """Return the exact answer, or the query's public `default` where it fails."""
        adaptive = getattr(self.query, "adaptive", False)
        try:
            value = self.query(data, earlier) if adaptive else self.query(data)
            self._fits(value)
        except (Exception, SystemExit):
            value = getattr(self.query, "default", None)
            if value is None:
                raise
        return value

    def fact(self, name: str) -> Any:
        """Return what the query, or else the mechanism, says of itself."""
        if name == "sensitivity":
            return self.sensitivity
        found = getattr(self.query, name, None)
        return getattr(self.mechanism, name, None) if found is None else found


def _stated(sensitivity: Any) -> Any:
    """Return a sensitivity as Python's own number; what is none, its mechanism reads.

    A number that fails as one, or is less than nothing, is refused here.
    """
    if isinstance(sensitivity, type):
        raise InvalidArgument(
            f"sensitivity must be a number; got the class {sensitivity.__name__}."
        )
    if not isinstance(sensitivity, numbers.Real):
        return sensitivity
    checks.real("sensitivity", sensitivity, at_least=0)
    return checks.plain(sensitivity)


def _refuse_unstated(mechanism: Any, way: str) -> None:
    """Refuse what cannot know how far one person moves its input.

    Whoever reads records states how their neighbors differ. Noise on an answer, or a
    choice by scores, has a curve for every sensitivity, and nobody stated one.
    """
    if getattr(mechanism, "neighbors", None) is None:
        raise InvalidArgument(
            f"{type(mechanism).__name__} does not read records, so it cannot know how "
            f"far one person moves its input: {way}, as in ledger.release("
            "Laplace(scale=10.0), hush.mechanisms.sum(bounds=(0, 120)), ages) or "
            "ledger.charge(Laplace(scale=10.0), 120). A mechanism of your own that "
            "reads records states `neighbors`, 'add-remove' or 'replace-one'."
        )


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
        _ = is_ours(mechanism) or inspect.signature(mechanism.run).bind(
            None, source=None
        )
    except TypeError:
        raise InvalidArgument(
            f"{kind.__name__}.run must take a value and the source of its randomness: "
            "def run(self, value, *, source=SECURE)."
        ) from None


def _contradicted(name: str, said: Any, found: Any) -> InvalidArgument:
    return InvalidArgument(
        f"notes state another {name} than what is released does: {said!r}, and not "
        f"{found!r}. A receipt tells what was charged: leave {name!r} out of the "
        "notes, or call it by another name."
    )


def noted(name: str, said: str, found: set[str]) -> str:
    """Return a fact that notes state, unless what is charged states it otherwise.

    Whose a row is, its owner knows: where no two rows are of one person, a charge for
    rows is one for people. All else follows from the mechanism and its query.
    """
    rows = name == "unit" and found == {str(Unit())}
    if found - {said} and not rows:
        raise _contradicted(name, said, ", ".join(sorted(found)))
    return said


_AGREED = ("unit", "neighbors")  # what all charges of an account have in common
SCHEME = "2:"  # how requests are described; before it, by modules of hush as well
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
        if not all(map(is_ours, (*mechanisms, *queries))):
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
        """What `hush.ledger.charge.ask` computed for this plan, by who pays."""
        return {}

    @cached_property
    def finish(self) -> Callable[[Any], Any] | None:
        """What turns sealed values into those that are read; None if nothing does."""
        last = [step.finish for step in self.steps]
        if not any(last):
            return None
        if not self.batch:
            return last[0]  # type: ignore[no-any-return]
        return lambda values: tuple(
            value if each is None else each(value)
            for each, value in zip(last, values, strict=True)
        )

    @cached_property
    def own(self) -> bool:
        """Whether a function of a user's own will see the data."""
        run = [each for step in self.steps for each in (step.mechanism, step.query)]
        return not all(map(is_ours, run)) or any(map(runs_own_functions, run))

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
        each = [describe(step.fact(name)) for step in self.steps]
        found = each if self.batch else each[0]
        if name not in self.notes:
            return found
        said = describe(self.notes[name])
        if said != found and any(known is not None for known in each):
            raise _contradicted(name, said, found)
        return said

    def _one(self, name: str) -> str:
        found = {
            str(value) for step in self.steps if (value := step.fact(name)) is not None
        }
        if name in self.notes:
            # Where group keys came from, only the notes of a table say.
            own = found if name in _AGREED else set()
            return noted(name, str(self.notes[name]), own)
        if len(found) > 1 and name in _AGREED:
            raise InvalidArgument(
                f"one batch must have one {name}; got {sorted(found)}. A guarantee for "
                "two of them cannot be added up: release them apart."
            )
        return ", ".join(sorted(found))

    def digest(
        self,
        payers: Sequence[str],
        costs: Any,
        delta: Any,
        *,
        before_tags: bool = False,
    ) -> str:
        """Return the hash that two equal requests share, and how it was made.

        What a plan costs follows from what it is, and may be computed more tightly by
        a later version. Only of a mechanism of a user's own nothing else may be known.
        """
        say = functools.partial(describe, before_tags=before_tags)
        asked = [(step.mechanism, step.query) for step in self.steps]
        shown = {
            "steps": [list(map(say, each)) for each in asked],
            "facts": self.facts,
            "payers": list(payers),
        }
        if before_tags or self.own:
            shown["costs"] = costs
        if not before_tags:
            shown["delta"] = describe(delta)
        found = hashlib.sha256(canonical(shown).encode()).hexdigest()
        return found if before_tags else SCHEME + found


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
    def of(cls, what: Any, sensitivity: Any, version: str, notes: Any) -> "Spend":
        """Return a charge that states the unit and the relation of what is charged."""
        curve = _curve_of(what, sensitivity)
        given = dict(notes or {})
        stated: dict[str, str] = {}
        for name in _AGREED:
            own = getattr(what, name, None)
            found = set() if own is None else {str(own)}
            if name in given:
                stated[name] = noted(name, str(given[name]), found)
            elif own is not None:
                stated[name] = str(own)
        return cls(curve, repr(what), version, given, stated)

    @property
    def own(self) -> bool:
        """Whether a function of a user's own will see the data: nothing is drawn."""
        return False

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

    def digest(self, payers: Sequence[str], costs: Any, _delta: Any) -> str:
        """Return the hash that two equal requests share."""
        text = canonical({"facts": self.facts, "payers": list(payers), "costs": costs})
        return hashlib.sha256(text.encode()).hexdigest()


def _curve_of(what: Any, sensitivity: Any) -> "Curve":
    """Return the curve of a curve, a plan, or a mechanism at a sensitivity."""
    curve: Any = what if hasattr(what, "epsilon_at") else getattr(what, "curve", None)
    if curve is None:
        raise InvalidArgument(
            "what must be a curve, a plan, or a mechanism with its sensitivity; got a "
            f"{type(what).__name__}."
        )
    if not hasattr(curve, "epsilon_at"):  # a mechanism's depends on the sensitivity
        if sensitivity is None:
            _refuse_unstated(what, "state the sensitivity")
        found: Curve = curve() if sensitivity is None else curve(sensitivity)
        return found
    if sensitivity is not None:
        raise InvalidArgument(
            f"sensitivity must be left out beside a {type(what).__name__}: its curve "
            "is the guarantee already. For k people at once charge hush.privacy."
            "group(curve, size=k)."
        )
    return curve  # type: ignore[no-any-return]


def _text(thing: Any) -> str:
    if thing is None:
        return ""
    text = repr(thing)
    if " at 0x" not in text:
        return text
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else type(thing).__name__
