"""A mechanism and a query that need nothing but the ledger."""

from dataclasses import dataclass
from typing import Any

from hush.noise import SECURE, Source, integers
from hush.privacy import Pure


@dataclass(frozen=True)
class Die:
    """Adds the throw of a many-sided die: easy to tell one draw from another."""

    epsilon: float = 0.1
    sides: int = 2**60

    def curve(self, sensitivity: Any = 1) -> Pure:
        return Pure(epsilon=self.epsilon * sensitivity)

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        return int(value) + integers(self.sides, source=source)


@dataclass(frozen=True)
class Total:
    """The sum of the data."""

    sensitivity: int = 1
    unit: str = "person"
    neighbors: str = "add-remove"
    bounds: tuple[int, int] = (0, 1)

    def __call__(self, data: Any) -> Any:
        return sum(data)


@dataclass(frozen=True)
class Broken:
    """Fails with a message that holds a data value."""

    sensitivity: int = 1
    unit: str = "person"
    neighbors: str = "add-remove"

    def __call__(self, data: Any) -> Any:
        raise ValueError(f"bad value {data[0]!r}")
