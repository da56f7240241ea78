"""Threads that a listened-to run starts are listened to as well, each in its own lane.

A listener belongs to one context, and a new thread begins with an empty one. While a
replay runs, work that is handed to a thread or to a pool of threads from a context that
is listened to takes a copy of that context along. Which thread speaks first is chance,
so that calls are kept by lanes: the order in which work was handed over, not done.
"""

import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from hush.mechanisms.listening import overheard

Lane = tuple[int, ...]  # () for the caller; a number for each hand-over after that

_LANE: contextvars.ContextVar[Lane] = contextvars.ContextVar("lane", default=())
_BEGUN: contextvars.ContextVar[dict[Lane, int] | None] = contextvars.ContextVar(
    "begun", default=None
)
_COUNTING, _PATCHING = threading.Lock(), threading.RLock()


def lane() -> Lane:
    """Return the lane of the current context."""
    return _LANE.get()


def _taken(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the work, to be done in a copy of this context and a lane of its own."""
    begun = _BEGUN.get()
    if begun is None or not overheard():
        return work
    with _COUNTING:
        here = lane()
        number = begun[here] = begun.get(here, 0) + 1
    context = contextvars.copy_context()
    context.run(_LANE.set, (*here, number))
    return functools.partial(context.run, work)


def _ended(work: Callable[[], Any]) -> None:
    """Do the work of a thread; a replay that was stopped ends it without a word."""
    with suppress(SystemExit):
        work()


@contextmanager
def followed() -> Iterator[None]:
    """Follow threads and pools of threads that the code inside starts.

    Only `threading.Thread` and `ThreadPoolExecutor` are followed, and what builds on
    them (`asyncio.to_thread`); other processes and threads of an engine are not.
    """
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def started(self: threading.Thread) -> None:
        self.run = functools.partial(_ended, _taken(self.run))  # type: ignore[method-assign]
        start(self)

    def submitted(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **named: Any
    ) -> "Future[Any]":
        work = _taken(fn)
        with silent():  # the pool's own threads belong to nobody
            return submit(self, work, *args, **named)

    token = _BEGUN.set({})
    with _PATCHING:  # one replay at a time
        threading.Thread.start = started  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]
            ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
            _BEGUN.reset(token)


@contextmanager
def silent() -> Iterator[None]:
    """Start no lane in here."""
    token = _BEGUN.set(None)
    try:
        yield
    finally:
        _BEGUN.reset(token)
