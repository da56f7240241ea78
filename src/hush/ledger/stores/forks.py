"""A connection belongs to the process that opened it; a forked child opens its own."""

import os
import threading
from typing import Any, Protocol

_lock = threading.Lock()

# What was inherited is kept and never touched: closing it would reach the parent's.
_inherited: list[Any] = []


class Owned(Protocol):
    """A store with one connection, one lock, and the process they belong to."""

    _owner: int
    _connection: Any
    _lock: Any


def adopt(store: Owned) -> None:
    """Give `store` a lock and no connection if this process did not open it."""
    if store._owner == os.getpid():
        return
    with _lock:
        if store._owner != os.getpid():
            _inherited.append(store._connection)
            store._connection = None
            store._lock = threading.RLock()  # a lost thread may hold the old one
            store._owner = os.getpid()


def _renew() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)
