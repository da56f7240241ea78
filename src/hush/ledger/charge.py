"""A charge: which mechanisms will answer which queries, and who pays what for them.

A plan is known before data is read, and described by its public parameters; a request
is a plan with the accounts that pay.
"""

import dataclasses
import functools
import hashlib
import json
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hush.errors import InvalidArgument
from hush.ledger.budget import Grid, Units
from hush.ledger.hash_chain import Entry, canonical, members
from hush.legacy_formats import current_spelling, described_fields, home_of, name_of
from hush.mechanisms.measurement import (
    AGREED,
    Measurement,
    curve_of,
    is_ours,
    runs_own_functions,
    text_of,
    unit_and_relation,
)
from hush.serialization import freeze, stored_fields, tag_of
from hush.units import Unit

if TYPE_CHECKING:
    from hush.privacy import Curve

# -- The description of a request: public parameters, by which two are the same -------

_FEW = 16  # values of a tuple that is a parameter, such as bounds


def _code(code: CodeType) -> bytes:
    """Return a function's instructions and constants, the same in every process."""
    inner = [
        _code(each) if isinstance(each, CodeType) else str(describe(each)).encode()
        for each in code.co_consts
    ]
    return b"\0".join([code.co_code, *inner])


_PLAIN = (bool, int, float, complex, str, bytes, Fraction, Decimal, type(None))


def _is_parameter(value: Any) -> bool:
    """Whether a value is small and plain: a parameter rather than data."""
    if isinstance(value, tuple):
        return len(value) <= _FEW and all(map(_is_parameter, value))
    return isinstance(value, (*_PLAIN, np.generic))


def _parameters(function: Any) -> list[str]:
    """Return the plain values that a function closes over or has as defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = (function.__kwdefaults__ or {}).items()
    found = [*cells, *(function.__defaults__ or ()), *(v for _, v in sorted(named))]
    return [repr(each) for each in found if _is_parameter(each)]


def _inside(function: Any, *, before_tags: bool) -> list[Any]:
    """Return what tells two functions of one name apart, without reading data.

    The functions of hush close over public parameters only; those of others may close
    over anything, so of them only the code counts, and plain values they close over:
    another threshold makes another function.
    """
    if not hasattr(function, "__code__"):
        return []
    code = function.__code__
    if not str(function.__module__).startswith("hush."):
        known = b"\0".join([_code(code), *map(str.encode, _parameters(function))])
        return [hashlib.sha256(known).hexdigest()]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    found: list[Any] = describe(cells, before_tags=before_tags)
    return found


def describe(thing: Any, *, before_tags: bool = False) -> Any:
    """Return the public parameters of a mechanism or query as JSON types.

    Two plans with the same description are the same request: numbers are written
    exactly, functions by their name and what tells them apart. `before_tags` is how
    requests of earlier versions were described, so that their keys are known again.

    Example:
        >>> describe(Fraction(1, 3)), describe((1, 2.5))
        ('1/3', [1, 2.5])
    """
    again = functools.partial(describe, before_tags=before_tags)
    if thing is None or isinstance(thing, (bool, str)):
        return thing
    if isinstance(thing, Enum):
        return again(thing.value)
    if isinstance(thing, np.ndarray):
        return {"dtype": str(thing.dtype), "values": again(thing.tolist())}
    if isinstance(thing, numbers.Integral):
        return int(thing)
    if isinstance(thing, Fraction):
        return str(thing)
    if isinstance(thing, numbers.Real):
        number = float(thing)
        return number if math.isfinite(number) else str(number)
    if isinstance(thing, Mapping):
        return {str(key): again(each) for key, each in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [again(each) for each in thing]
    if isinstance(thing, (set, frozenset)):
        return sorted(map(str, map(again, thing)))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        names = [each.name for each in stored_fields(thing)]
        if before_tags:
            names = described_fields(thing)
        shown = {name: again(getattr(thing, name)) for name in names}
        kind = tag_of(type(thing)) or type(thing).__name__  # a tag outlives a name
        return {"type": name_of(type(thing)) if before_tags else kind, **shown}
    if isinstance(thing, functools.partial):
        return [again(thing.func), again(thing.args), again(thing.keywords)]
    if hasattr(thing, "__qualname__"):
        name = thing.__qualname__
        # The files of hush move; those of a user are what tells two functions apart.
        module = str(thing.__module__) if hasattr(thing, "__module__") else ""
        home = "" if module.startswith("hush.") else module
        if before_tags:
            home = home_of(thing)
        return [f"{home}.{name}", *_inside(thing, before_tags=before_tags)]
    text = repr(thing)
    return type(thing).__name__ if " at 0x" in text else text


# -- A plan: which mechanisms will answer which queries -------------------------------


def _contradiction(name: str, said: Any, found: Any) -> InvalidArgument:
    return InvalidArgument(
        f"notes state another {name} than what is released does: {said!r}, and not "
        f"{found!r}. A receipt tells what was charged: leave {name!r} out of the "
        "notes, or call it by another name."
    )


def stated_fact(name: str, said: str, found: set[str]) -> str:
    """Return a fact that notes state, unless what is charged states it otherwise.

    Whose a row is, its owner knows: where no two rows are of one person, a charge for
    rows is one for people. All else follows from the mechanism and its query.
    """
    rows = name == "unit" and found == {str(Unit())}
    if found - {said} and not rows:
        raise _contradiction(name, said, ", ".join(sorted(found)))
    return said


SCHEME = "2:"  # how requests are described; before it, by modules of hush as well
OWN = "mechanism"  # where an error law is best asked of the mechanism again


def _error(step: Measurement) -> Any:
    law = step.error
    frozen = freeze(law)
    own = frozen is None and law is not None and step.query is None
    return OWN if own and freeze(step.mechanism) is not None else frozen


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
        return members(
            {
                "hush": "release",
                "format": 1,
                "mechanisms": [freeze(step.mechanism) for step in self.steps],
                "errors": [_error(step) for step in self.steps],
                "curve": json.loads(self.curve.to_json()),
            }
        )

    @cached_property
    def requests(self) -> dict[Any, Any]:
        """What this plan asks, by who pays: a repeated plan is not priced again."""
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
            raise _contradiction(name, said, found)
        return said

    def _one(self, name: str) -> str:
        found = {
            str(value) for step in self.steps if (value := step.fact(name)) is not None
        }
        if name in self.notes:
            # Where group keys came from, only the notes of a table say.
            own = found if name in AGREED else set()
            return stated_fact(name, str(self.notes[name]), own)
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
                stated[name] = stated_fact(name, str(given[name]), found)
        return cls(curve, repr(what), version, given, stated)

    @property
    def own(self) -> bool:
        """Whether a function of a user's own will see the data: nothing is drawn."""
        return False

    @property
    def requests(self) -> dict[Any, Any]:
        """Nothing: it is charged once."""
        return {}

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


# -- A request: a plan, and the accounts that pay for it -------------------------------

_PRICED = 64  # analysts and accounts that one plan remembers
Grids = tuple[tuple[str, Grid], ...]  # the accounts that pay, and their grains
# What a price depends on beside the plan: who pays, in which grains, the δ that was
# named, and the version of hush.
PriceKey = tuple[tuple[str, ...], Grids, float | None, str]


@final
@dataclass(frozen=True)
class Request:
    """A charge as it will be written, under any key: who pays what, for what."""

    payers: tuple[str, ...]  # as asked: data set and analyst, sorted
    digest: str  # of the plan, the data version and the payers
    costs: dict[str, Units]  # payers and the people their data sets are tied to
    grids: dict[str, tuple[str, int, int]]  # the notion and grains of each cost
    facts: dict[str, Any]
    what: str
    plan: Plan | Spend

    @classmethod
    def of(
        cls, plan: Plan | Spend, key: PriceKey, costs: dict[str, Units]
    ) -> "Request":
        """Return what `plan` asks of its payers at a price, and let the plan keep it.

        A request goes with its plan: a plan may hold a query, and a query may hold
        data.
        """
        payers, grids, delta, library = key
        known = plan.requests
        if len(known) >= _PRICED:
            known.clear()
        found = known[key] = cls(
            payers=payers,
            digest=plan.digest(payers, {name: costs[name] for name in payers}, delta),
            costs=costs,
            grids={name: (grid.notion, *grid.powers) for name, grid in grids},
            facts={**plan.facts, "library": library},
            what=plan.what,
            plan=plan,
        )
        return found

    def is_that_of(self, charge: Entry) -> bool:
        """Whether a charge on record was made by this request.

        Before tags requests were described by names that may have changed since. One
        of those is the same if it states the same facts to the same accounts: the
        mechanism, the query, its sensitivity, the data version and all else of a
        receipt. What a function of a user's own does is in no fact: it is known by its
        code, as it was then.
        """
        known = charge.content
        if known["request"] == self.digest:
            return True
        if isinstance(self.plan, Spend) or known["request"].startswith(SCHEME):
            return False
        # As it was charged: what it costs today may be computed more tightly.
        paid = {name: known["costs"].get(name) for name in self.payers}
        old = self.plan.digest(self.payers, paid, None, before_tags=True)
        if old == known["request"]:
            return True
        before, now = ({**each, "library": ""} for each in (known["facts"], self.facts))
        return not self.plan.own and current_spelling(canonical(before)) == canonical(
            now
        )

    @cached_property
    def body(self) -> str:
        """The text of the entry."""
        return canonical(
            {
                "request": self.digest,
                "costs": self.costs,
                "grids": self.grids,
                "facts": self.facts,
            }
        )

    @cached_property
    def names(self) -> list[str]:
        """Everybody who pays, in the order in which accounts are locked."""
        return sorted(self.costs)

    @cached_property
    def quoted(self) -> list[str]:
        """The names of everybody who pays, as JSON."""
        return list(map(canonical, self.names))

    @cached_property
    def storable(self) -> bool:
        """Whether a store can hold its costs: none beyond 64 bits could be paid."""
        return all(unit < 1 << 63 for cost in self.costs.values() for unit in cost)

    @cached_property
    def scope(self) -> str:
        """The name space of the key."""
        return scope_of(self.payers)


def scope_of(payers: Sequence[str]) -> str:
    """Return the text that stands for the accounts of a charge."""
    return canonical(list(payers))
