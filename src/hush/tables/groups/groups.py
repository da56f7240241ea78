"""The groups of a query: public keys, or keys found privately in the data."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import ibis.expr.types as ir

from hush.mechanisms.mechanism import Mechanism
from hush.tables.bounding.relations import Relation, Sums
from hush.tables.bounding.sensitivity import Key, Limit, Part


class Groups(ABC):
    """Which groups a query answers for, and what it takes to know them."""

    by: tuple[str, ...]
    mode: ClassVar[str]

    @property
    @abstractmethod
    def keys(self) -> tuple[Key, ...] | None:
        """The keys, None where they are found in the data."""

    @property
    @abstractmethod
    def number(self) -> int:
        """How many groups there are at most."""

    @property
    @abstractmethod
    def groups_per_person(self) -> int:
        """How many of them one person can be in."""

    @abstractmethod
    def relations(
        self, table: ir.Table, sums: Sums | None, *, cut: bool
    ) -> tuple[Relation, ...]:
        """Return what is read to know them and, where asked for, sums over them.

        `cut` says that only the keys which a person keeps may count in the sums.
        """

    @abstractmethod
    def parts(self, limit: Limit) -> tuple[Part, ...]:
        """Return what is noised to know them."""

    @abstractmethod
    def selection(
        self, epsilon: Fraction, delta: float, limit: Limit, parts: int
    ) -> tuple[tuple[Mechanism, ...], Fraction, float]:
        """Return the mechanisms that find keys, and the ε and δ that are left."""

    @abstractmethod
    def rows(self, table: ir.Table, unit: str | None) -> ir.Table:
        """Return the rows that may belong to one of the groups."""

    @abstractmethod
    def place(self, table: ir.Table) -> Any:
        """Return the place of a row's key among public keys, of a table of `rows`."""

    @abstractmethod
    def is_near(self, table: ir.Table) -> bool:
        """Whether that place is cheap to find."""

    @abstractmethod
    def describe(self, *, cut: bool) -> str:
        """Say what the groups are, and whether rows of others are `cut`."""
