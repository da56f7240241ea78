"""A plan: which mechanisms will answer which queries, known before data is read."""

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from hush.errors import InvalidArgument
from hush.ledger.budget import Units
from hush.ledger.hash_chain import canonical, members
from hush.ledger.privacy_filter import Grid
from hush.ledger.request_description import describe
from hush.mechanisms.measurement import (
    AGREED,
    Measurement,
    curve_of,
    is_ours,
    runs_own_functions,
    text_of,
    unit_and_relation,
)
from hush.noise.source import Source
from hush.serialization import freeze
from hush.units import Unit

if TYPE_CHECKING:
    from hush.privacy import Curve


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


SCHEME = "2:"  # how requests are described; before it, by modules of hush as well
OWN = "mechanism"  # where an error law is best asked of the mechanism again


def _error(step: Measurement) -> Any:
    law = step.error
    frozen = freeze(law)
    own = frozen is None and law is not None and step.query is None
    return OWN if own and freeze(step.mechanism) is not None else frozen


def frame(steps: tuple[Measurement, ...], curve: "Curve") -> dict[str, str]:
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

    steps: tuple[Measurement, ...]
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
            "mechanism": self._join([text_of(step.mechanism) for step in self.steps]),
            "query": self._join([text_of(step.query) for step in self.steps]),
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
            own = found if name in AGREED else set()
            return noted(name, str(self.notes[name]), own)
        if len(found) > 1 and name in AGREED:
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
    steps = tuple(map(Measurement.of, mechanisms, queries))
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
        curve = curve_of(what, sensitivity)
        given = dict(notes or {})
        stated = unit_and_relation(what)
        for name in AGREED:
            if name in given:
                found = {stated[name]} if name in stated else set()
                stated[name] = noted(name, str(given[name]), found)
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
