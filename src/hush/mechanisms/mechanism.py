"""A mechanism: a public value that knows its privacy, its error and its answer."""

import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ClassVar, Protocol, Self

from hush import checks, legacy_formats, serialization, suggestions
from hush.display import facts, if_known
from hush.errors import InvalidArgument
from hush.mechanisms import calibration
from hush.mechanisms.metrics import Metric, Records, Stated
from hush.noise import SECURE, Source
from hush.noise.source import checked_source
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure


class Mechanism(checks.Spelled, ABC):
    """How private am I (`curve`), how wrong (`error`), what do I say (`run`).

    Every concrete mechanism is a frozen dataclass of public numbers: it holds neither
    data nor randomness, so it may be printed, compared, stored and posted.

    Guarantee: for any two inputs at distance at most `sensitivity` in the mechanism's
    metric, the laws of `run` satisfy `curve(sensitivity)`.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> Laplace(scale=2.0)
        Laplace(scale=2.0)
    """

    # The field that grows with the noise; the law-suite checks that privacy does too.
    noise: ClassVar[str] = "scale"
    # Whether every number has fresh noise of its own: one long vector is many runs.
    independent: ClassVar[bool] = False
    # Whether it answers queries of several numbers: its curve is then about all.
    answers_vectors: ClassVar[bool] = False
    _near_arguments = suggestions.MECHANISM

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "run" in cls.__dict__:  # so that tests can observe what every run is given
            cls.run = observed_run(cls.run)  # type: ignore[method-assign]
        if "__post_init__" in cls.__dict__:
            kind: Any = cls
            kind.__post_init__ = _check_of_plain_fields(kind.__post_init__)

    def __post_init__(self) -> None:
        """Keep Python's own numbers; each mechanism checks its fields after that."""
        checks.plain_fields(self)

    @abstractmethod
    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for inputs at distance at most `sensitivity`."""

    @property
    def metric(self) -> Metric:
        """How far apart two inputs are: what `sensitivity` counts."""
        neighbors = getattr(self, "neighbors", None)
        return Stated() if neighbors is None else Records(None, neighbors, listed=False)

    def answer_curve(
        self,
        sensitivity: Any,
        *,
        dimension: int | None = None,
        whole: bool = False,
    ) -> Curve:
        """Return the guarantee for an answer of up to `dimension` numbers.

        None: nobody said how many. They are `whole` where all answers are declared to
        be whole numbers.
        """
        return self.curve(sensitivity)

    def for_answers(self, *, whole: bool) -> "Mechanism":
        """Return the mechanism on the lattice that fractions, or whole numbers, use."""
        return self

    def run_answer(self, value: Any, *, whole: bool, source: Source) -> Any:
        """Return a private answer about the exact answer of a query."""
        return self.run(value, source=source)

    def inner_move(self, people: Any) -> Any:
        """Return how far the input of a mechanism inside moves; None: there is none."""
        return None

    @property
    @abstractmethod
    def error(self) -> Any:
        """The law of what separates an answer from the truth."""

    @abstractmethod
    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return a private answer about `value`."""

    @classmethod
    def for_curve(cls, target: Curve, sensitivity: Any = 1, **public: Any) -> Self:
        """Return the mechanism with the least noise that meets `target`.

        Example:
            >>> from hush.mechanisms import Gaussian
            >>> from hush.privacy import GDP
            >>> round(Gaussian.for_curve(GDP(mu=0.5), sensitivity=1).std, 6)
            2.0
        """
        calibration.check_names(cls, public)
        calibration.positive_sensitivity(sensitivity)
        if isinstance(target, Pure):
            exact = cls._for_pure(float(target.epsilon), sensitivity, public)
            if exact is not None:
                return exact
        return calibration.smallest(
            lambda noise: cls(**{cls.noise: noise}, **public),
            lambda found: calibration.is_as_private(found.curve(sensitivity), target),
        )

    @classmethod
    def for_epsilon(
        cls,
        epsilon: float,
        sensitivity: Any = 1,
        *,
        delta: float = 0.0,
        **public: Any,
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private.

        Example:
            >>> from hush.mechanisms import Laplace
            >>> Laplace.for_epsilon(epsilon=0.5, sensitivity=1)
            Laplace(scale=2.0)
        """
        epsilon = checks.plain_number(epsilon)
        checks.real("epsilon", epsilon, above=0)
        delta = checks.real("delta", delta, at_least=0, below=1)
        target = Approx(epsilon, delta) if delta else Pure(epsilon)
        return cls.for_curve(target, sensitivity, **public)

    @classmethod
    def for_accuracy(
        cls, within: float, level: float = 0.95, sensitivity: Any = 1, **public: Any
    ) -> Self:
        """Return the mechanism with the most noise whose error stays `within`.

        Guarantee: the error is at most `within` with probability at least `level`.

        Example:
            >>> from hush.mechanisms import Laplace
            >>> m = Laplace.for_accuracy(within=5, level=0.95, sensitivity=1)
            >>> round(m.curve(1).epsilon_at(0), 3)
            0.599
        """
        within = checks.real("within", within, above=0)
        level = checks.real("level", level, above=0, below=1)
        calibration.check_names(cls, public)
        checks.distance(sensitivity)
        return calibration.largest(
            lambda noise: cls(**{cls.noise: noise}, **public),
            lambda found: found.error.chance(within) >= level,
        )

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        """Return the closed form for an ε target, where there is one."""
        return None

    def to_json(self) -> str:
        """Return the mechanism as JSON text: its tag and its public fields.

        Example:
            >>> from hush.mechanisms import Geometric
            >>> Geometric(scale=2).to_json()
            '{"mechanism": "geometric/1", "scale": 2}'
        """
        return json.dumps(
            serialization.to_tagged_json(self, "mechanism"), allow_nan=False
        )

    @staticmethod
    def from_json(text: str) -> "Mechanism":
        """Return the mechanism that `to_json` wrote.

        Example:
            >>> Mechanism.from_json('{"mechanism": "geometric/1", "scale": 2}')
            Geometric(scale=2)
        """
        shown = serialization.parse(text, "JSON as a mechanism's to_json() writes it")
        if legacy_formats.is_untagged(shown, "mechanism"):
            found = legacy_formats.mechanism(shown)
        else:
            found = serialization.from_tagged_json(shown, "mechanism")
        if not isinstance(found, Mechanism):
            raise InvalidArgument(
                "text must hold a mechanism; it holds something else."
            )
        return found

    def _repr_html_(self) -> str:
        bar = if_known(lambda: self.error.interval(0.95), _range_text)
        shown = [(name, str(value)) for name, value, _ in _public(self)]
        shown += [
            ("curve at sensitivity 1", if_known(lambda: self.curve(1), repr)),
            ("error, 95%", bar),
        ]
        return facts(type(self).__name__, shown)

    def __repr__(self) -> str:
        shown = (
            f"{name}={value!r}"
            for name, value, default in _public(self)
            if value != default
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _check_of_plain_fields(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what checks the fields of a mechanism, after they are plain numbers."""

    @functools.wraps(check)
    def check_plain(self: Any) -> None:
        checks.plain_fields(self)
        check(self)

    return check_plain


def _range_text(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.6g} to {ends[1]:.6g}"


def _public(mechanism: Any) -> Iterable[tuple[str, Any, Any]]:
    """Yield (name, value, default) of each public field."""
    if not is_dataclass(mechanism):  # what it holds may be anything: it is not shown
        raise InvalidArgument(
            f"{type(mechanism).__name__} must be a dataclass of public numbers, which "
            "can be printed and stored: write @dataclass(frozen=True) above its class."
        )
    for field in fields(mechanism):
        default = None if field.default is MISSING else field.default
        value = getattr(mechanism, field.name)
        # A field without a default is always shown.
        yield field.name, value, default if field.default is not MISSING else object()


# -- Listener: a test may observe every run of a mechanism, or answer in its place.


class Listener(Protocol):
    """An observer of mechanisms: it decides what each run answers."""

    def on_run(self, mechanism: Any, value: Any, run: Callable[[Any], Any]) -> Any:
        """Return an answer about `value`; `run(value)` is the mechanism's own."""

    def on_turn(
        self, talk: Any, mechanism: Any, value: Any, run: Callable[[Any], Any]
    ) -> Any:
        """Return the next answer of a conversation that `mechanism` started."""


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_DECLARED: ContextVar[Any] = ContextVar("declared", default=None)


@contextmanager
def listen_with(listener: Listener | None) -> Iterator[None]:
    """Send every run inside to `listener`; with None runs are not observed."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def declare_sensitivity(sensitivity: Any) -> Iterator[None]:
    """State to the listener at which sensitivity the runs inside are charged."""
    token = _DECLARED.set(sensitivity)
    try:
        yield
    finally:
        _DECLARED.reset(token)


def declared_sensitivity() -> Any:
    """Return the sensitivity at which the current run is charged, None if unknown."""
    return _DECLARED.get()


def observed_run(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run` with a check of its source, sent to the listener if there is one."""

    @functools.wraps(run)
    def wrapped(self: Any, value: Any, **options: Any) -> Any:
        if "source" in options:
            checked_source(options["source"])
        listener = _LISTENER.get()
        if listener is None:
            return run(self, value, **options)
        return listener.on_run(self, value, lambda given: run(self, given, **options))

    wrapped._unobserved = run  # type: ignore[attr-defined]
    return wrapped


def run_unobserved(mechanism: Any) -> Callable[..., Any]:
    """Return `run` of a mechanism; without the look for listeners if there is none."""
    plain = getattr(mechanism.run, "_unobserved", None)
    if plain is None or has_listener():
        return mechanism.run  # type: ignore[no-any-return]
    return functools.partial(plain, mechanism)


def observed_turn(ask: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return one turn of a conversation with the same look; it knows `_mechanism`."""

    @functools.wraps(ask)
    def wrapped(self: Any, value: Any) -> Any:
        listener = _LISTENER.get()
        if listener is None:
            return ask(self, value)
        return listener.on_turn(
            self, self._mechanism, value, lambda given: ask(self, given)
        )

    return wrapped


def has_listener() -> bool:
    """Return whether this context has a listener."""
    return _LISTENER.get() is not None


def metric_of(mechanism: Any) -> Metric:
    """Return the metric of a mechanism, also of one that does not say it."""
    found = getattr(mechanism, "metric", None)
    if isinstance(found, Metric):
        return found
    neighbors = getattr(mechanism, "neighbors", None)
    return Stated() if neighbors is None else Records(None, neighbors, listed=False)
