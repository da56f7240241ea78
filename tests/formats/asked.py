"""What ledgers are asked: each request is a function of a ledger and a key.

Asked once, it writes; asked again of what is stored, it must be known and cost nothing.
"""

from dataclasses import dataclass
from typing import Any

from hush import mechanisms


@dataclass(frozen=True)
class Given:
    """The data themselves, with the sensitivity and the relation that are stated."""

    sensitivity: Any = 1
    dimension: int | None = None
    neighbors: str = "add-remove"
    unit: str = "row"

    def __call__(self, data: Any) -> Any:
        return data


@dataclass(frozen=True)
class After:
    """A number of the data, chosen by the answers before it in the batch."""

    sensitivity: int = 1
    adaptive: bool = True
    neighbors: str = "add-remove"
    unit: str = "row"

    def __call__(self, data: Any, earlier: Any) -> Any:
        return data[int(earlier[0]) % 2]


@dataclass(frozen=True)
class Broken:
    """A question that fails on every data set."""

    sensitivity: int = 1
    neighbors: str = "add-remove"
    unit: str = "row"

    def __call__(self, data: Any) -> Any:
        raise ValueError


def release(mechanism, query, data, **more):
    """Return the request to release a mechanism's answer about data."""
    return lambda ledger, key: ledger.release(mechanism, query, data, key, **more)


def charge(what, *given, **more):
    """Return the request to charge what is run elsewhere."""
    return lambda ledger, key: ledger.charge(what, *given, key=key, **more)


def on(request, **names):
    """Return a request that another account pays for."""
    return lambda ledger, key: request(ledger.on(**names), key)


def public_mechanisms():
    """Return the names of the mechanisms that hush makes public."""
    base = mechanisms.Mechanism
    found = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return {
        name
        for name, each in found.items()
        if isinstance(each, type) and issubclass(each, base) and each is not base
    }
