"""Listening: a test may hear every mechanism run, or answer in its place.

Nothing listens unless a test says so, and then only in its own context: another thread
or task does not notice, unless it was handed a copy of the context. `hush.audit.replay`
is built on it.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from hush.noise.source import sourced


class Listener(Protocol):
    """Whoever hears a mechanism decides what it answers."""

    def hear(self, mechanism: Any, value: Any, run: Callable[[Any], Any]) -> Any:
        """Return an answer about `value`; `run(value)` is the mechanism's own."""

    def turn(
        self, talk: Any, mechanism: Any, value: Any, run: Callable[[Any], Any]
    ) -> Any:
        """Return the next answer of a conversation that `mechanism` started."""


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_DECLARED: ContextVar[Any] = ContextVar("declared", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Let `listener` hear every run inside; None closes its ears."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def declaring(sensitivity: Any) -> Iterator[None]:
    """Tell a listener at which sensitivity the runs inside are charged."""
    token = _DECLARED.set(sensitivity)
    try:
        yield
    finally:
        _DECLARED.reset(token)


def declared() -> Any:
    """Return the sensitivity that the current run is charged at, None if unsaid."""
    return _DECLARED.get()


def heard(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run` with one look at its source, and one whether somebody listens."""

    @functools.wraps(run)
    def wrapped(self: Any, value: Any, **options: Any) -> Any:
        if "source" in options:
            sourced(options["source"])
        listener = _LISTENER.get()
        if listener is None:
            return run(self, value, **options)
        return listener.hear(self, value, lambda given: run(self, given, **options))

    return wrapped


def heard_turn(ask: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return one turn of a conversation with the same look; it knows `_mechanism`."""

    @functools.wraps(ask)
    def wrapped(self: Any, value: Any) -> Any:
        listener = _LISTENER.get()
        if listener is None:
            return ask(self, value)
        return listener.turn(
            self, self._mechanism, value, lambda given: ask(self, given)
        )

    return wrapped


def overheard() -> bool:
    """Return whether somebody listens in this context."""
    return _LISTENER.get() is not None
