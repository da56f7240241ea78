"""A measurement: the one thing that a ledger charges and draws.

It joins a mechanism to what is asked of the data, and knows how far one person can move
that in the mechanism's metric. What does not fit is refused when it is made: nothing
is charged for a question that cannot be answered, and nothing is drawn that was not
charged.
"""

import dataclasses
import functools
import inspect
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, final

from hush import checks
from hush.errors import HushError, InvalidArgument
from hush.mechanisms.mechanism import (
    Mechanism,
    declare_sensitivity,
    metric_of,
    run_unobserved,
)
from hush.mechanisms.metrics import Metric
from hush.noise.source import Source
from hush.privacy.curve import Curve

# What a query or a mechanism says of itself, for receipts.
_SAID: Final = ("unit", "neighbors", "bounds", "keys")
AGREED: Final = ("unit", "neighbors")  # what all charges of an account have in common


@final
@dataclass(frozen=True)
class Measurement:
    """A mechanism, and the query whose answer it noises or None where it reads data.

    A query is one of `hush.mechanisms`, which binds itself to a mechanism by `>>`, or
    any function of the data with a `sensitivity`; its `dimension`, if stated, is how
    many numbers it returns at most, and is needed where a mechanism has a `step`. One
    that is `adaptive` also sees the earlier answers of its batch; `default` is the
    public answer where it fails.

    Guarantee: `curve()` covers neighbors whose inputs to the mechanism are at most
    `sensitivity` apart in its metric.

    Example:
        >>> from hush.mechanisms import Laplace, sum
        >>> found = Measurement.of(Laplace(scale=60.0), sum(bounds=(0, 60)))
        >>> found.sensitivity, found.metric.norm, found.curve().epsilon_at(0)
        (60, 1, 1.0)
    """

    mechanism: Any
    query: Any = None
    sensitivity: Any = None
    dimension: int | None = None
    adaptive: bool = False
    default: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, mechanism: Any, query: Any = None) -> "Measurement":
        """Return the measurement, or refuse a pair that does not fit."""
        _runs(mechanism)
        if query is None:
            refuse_unstated(mechanism, "pass a query that states it")
            return cls(mechanism, facts=_stated_facts(mechanism))
        if not callable(query) or not hasattr(query, "sensitivity"):
            raise InvalidArgument(
                f"query must be callable and state its sensitivity; got a "
                f"{type(query).__name__}. Use a Query, or None for a mechanism "
                "that reads the data itself."
            )
        stated = getattr(query, "dimension", None)
        made = cls(
            mechanism,
            query,
            _sensitivity(query),
            None if stated is None else checks.whole("dimension", stated, at_least=1),
            bool(getattr(query, "adaptive", False)),
            getattr(query, "default", None),
            _stated_facts(query, mechanism),
        )
        made._fit()
        return made

    @property
    def metric(self) -> Metric:
        """The metric in which `sensitivity` counts."""
        return metric_of(self.mechanism)

    @cached_property
    def bound(self) -> Any:
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

    def fact(self, name: str) -> Any:
        """Return what the query, or else the mechanism, says of itself."""
        return self.sensitivity if name == "sensitivity" else self.facts[name]

    def _fit(self) -> None:
        """Refuse more numbers than the mechanism's curve is about."""
        if self.bound is not None:
            return
        most, several = self.metric.dimension, self.dimension
        if most is not None and several is not None and several > most:
            raise InvalidArgument(
                f"{type(self.mechanism).__name__} noise is charged for one number, and "
                f"the query returns up to {several}: use Laplace or Gaussian."
            )

    @cached_property
    def finish(self) -> Any:
        """A last step of a user's own: run on what is sealed, never before."""
        finish = getattr(getattr(self.bound, "query", None), "finish", None)
        return finish if runs_own_functions(finish) else None

    def curve(self) -> Curve:
        """Return the guarantee, from public parameters alone."""
        if self.bound is not None:
            return self.bound.curve()  # type: ignore[no-any-return]
        if isinstance(self.mechanism, Mechanism):
            return self.mechanism.answer_curve(
                self.sensitivity, dimension=self.dimension
            )
        return self.mechanism.curve(self.sensitivity)  # type: ignore[no-any-return]

    @property
    def error(self) -> Any:
        """The error law of the answer; None where it depends on the data."""
        try:
            return (self.bound or self.mechanism).error
        except (HushError, AttributeError):
            return None

    def draw(self, data: Any, source: Source, earlier: tuple[Any, ...] = ()) -> Any:
        """Return the noisy answer: the only lines that touch data.

        Where the query fails, its public `default` stands for the exact answer.
        """
        if self.bound is not None:
            bound = self.bound
            if self.finish is not None:
                bound = replace(bound, query=replace(bound.query, finish=None))
            with declare_sensitivity(1):
                return run_unobserved(bound)(data, source=source)
        try:
            value = self.query(data, earlier) if self.adaptive else self.query(data)
            self._refuse_more(value)
        except (Exception, SystemExit):
            if self.default is None:
                raise
            value = self.default
        with declare_sensitivity(self.sensitivity):
            return run_unobserved(self.mechanism)(value, source=source)

    def _refuse_more(self, value: Any) -> None:
        """Refuse more numbers than were charged, on a lattice where that matters.

        A lattice that is coarse is charged by the law of one number, or by one rounding
        for each of `dimension`; the default ones lose 2^-40 at most.
        """
        most = _smallest_known(self.metric.dimension, self.dimension)
        if most is None and getattr(self.mechanism, "step", None) is None:
            return
        import numpy as np

        if np.size(value) > (most or 1):
            raise InvalidArgument(
                "query must say by `dimension` how many numbers it returns at most; "
                "Staircase and Canonical noise are charged for one number."
            )


def _smallest_known(*numbers: int | None) -> int | None:
    return min((each for each in numbers if each is not None), default=None)


def _stated_facts(*things: Any) -> dict[str, Any]:
    """Return the facts that the first of several things states of itself."""
    found = {}
    for name in _SAID:
        each = (getattr(thing, name, None) for thing in things)
        found[name] = next((value for value in each if value is not None), None)
    return found


def unit_and_relation(thing: Any) -> dict[str, str]:
    """Return the unit and the relation that a curve or a mechanism states, if any."""
    said = _stated_facts(thing)
    return {name: str(said[name]) for name in AGREED if said[name] is not None}


def text_of(thing: Any) -> str:
    """Return what a receipt calls a mechanism or a query: no address in memory."""
    text = "" if thing is None else repr(thing)
    if " at 0x" not in text:
        return text
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else type(thing).__name__


def curve_of(what: Any, sensitivity: Any) -> Curve:
    """Return the curve of a curve, a plan, or a mechanism at a sensitivity."""
    curve: Any = what if hasattr(what, "epsilon_at") else getattr(what, "curve", None)
    if curve is None:
        raise InvalidArgument(
            "what must be a curve, a plan, or a mechanism with its sensitivity; got a "
            f"{type(what).__name__}."
        )
    if not hasattr(curve, "epsilon_at"):  # a mechanism's depends on the sensitivity
        if sensitivity is None:
            refuse_unstated(what, "state the sensitivity")
        found: Curve = curve() if sensitivity is None else curve(sensitivity)
        return found
    if sensitivity is not None:
        raise InvalidArgument(
            f"sensitivity must be left out beside a {type(what).__name__}: its curve "
            "is the guarantee already. For k people at once charge hush.privacy."
            "group(curve, size=k)."
        )
    return curve  # type: ignore[no-any-return]


def _sensitivity(query: Any) -> Any:
    """Return how far a query moves between neighbors, as it states it."""
    found = query.sensitivity
    try:  # not of a class: calling `int` would say 0, and cost nothing
        asked = callable(found) and not isinstance(found, type)
        return _plain_sensitivity(found() if asked else found)
    except TypeError:
        raise InvalidArgument(
            "sensitivity must be a number, or a method without arguments."
        ) from None


def _plain_sensitivity(sensitivity: Any) -> Any:
    """Return a sensitivity as Python's own number; other values stay as they are.

    A number that fails as one, or is less than nothing, is refused here.
    """
    if isinstance(sensitivity, type):
        raise InvalidArgument(
            f"sensitivity must be a number; got the class {sensitivity.__name__}."
        )
    if not isinstance(sensitivity, numbers.Real):
        return sensitivity
    checks.real("sensitivity", sensitivity, at_least=0)
    return checks.plain_number(sensitivity)


def refuse_unstated(mechanism: Any, way: str) -> None:
    """Refuse what cannot know how far one person moves its input.

    Whoever reads records states how their neighbors differ. Noise on an answer, or a
    choice by scores, has a curve for every sensitivity, and nobody stated one.
    """
    if _stated_facts(mechanism)["neighbors"] is None and not _reads_records(mechanism):
        raise InvalidArgument(
            f"{type(mechanism).__name__} does not read records, so it cannot know how "
            f"far one person moves its input: {way}, as in ledger.release("
            "Laplace(scale=10.0), hush.mechanisms.sum(bounds=(0, 120)), ages) or "
            "ledger.charge(Laplace(scale=10.0), 120). A mechanism of your own that "
            "reads records states `neighbors`, 'add-remove' or 'replace-one'."
        )


def _reads_records(mechanism: Any) -> bool:
    return metric_of(mechanism).reads == "records"


def _runs(mechanism: Any) -> None:
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


# -- Functions of a user's own: what hush runs on data without having written it.

# Each failure is a bit without noise. Five let a typing mistake pass.
LOCKOUT: Final = 5
_DEEP = 8  # levels of public parameters; hush nests mechanisms three deep


def is_ours(thing: Any) -> bool:
    """Whether this is a frozen value of hush, equal only to what is the same."""
    return thing is None or type(thing).__module__.startswith("hush.")


def _is_function(thing: Any) -> bool:
    return callable(thing) and not isinstance(thing, type) and not is_ours(thing)


def _written_by_hush(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("hush.")


def _parameters(thing: Any) -> Any:
    """Return the public parameters inside `thing`: fields, items, closures."""
    if isinstance(thing, functools.partial):
        return (thing.func, *thing.args, *thing.keywords.values())
    if isinstance(thing, Mapping):
        return tuple(thing.values())
    if isinstance(thing, (list, tuple)):
        return thing
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return tuple(getattr(thing, f.name, None) for f in dataclasses.fields(thing))
    cells = getattr(thing, "__closure__", None) or ()
    return tuple(cell.cell_contents for cell in cells)


def runs_own_functions(thing: Any, depth: int = _DEEP) -> bool:
    """Whether a mechanism or query is, or holds, a function that is not of hush.

    Example:
        >>> from hush.mechanisms import Query, count
        >>> runs_own_functions(count())
        False
        >>> runs_own_functions(Query("mine", len, (1,), "add-remove"))
        True
    """
    if isinstance(thing, functools.partial):
        return any(runs_own_functions(each, depth - 1) for each in _parameters(thing))
    if _is_function(thing) and not _written_by_hush(thing):
        return True
    if depth == 0 or isinstance(thing, (str, bytes)):
        return False
    return any(runs_own_functions(each, depth - 1) for each in _parameters(thing))
