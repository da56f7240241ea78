"""The groups of a query: public keys, or keys found privately in the data."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import ibis.expr.types as ir

from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.tables.bounding.relations import Reading, Sums
from hush.tables.bounding.sensitivity import Key, Limit, Part
from hush.tables.engines.key_lookup import placed

_MOST_KEYS = 1 << 20


class Groups(ABC):
    """Which groups a query answers for, and what it takes to know them."""

    by: tuple[str, ...]
    mode: ClassVar[str]

    @property
    @abstractmethod
    def keys(self) -> tuple[Key, ...] | None:
        """The keys, None where they are found in the data."""

    @property
    def matched(self) -> tuple[Key, ...] | None:
        """The keys as values of their columns, as engines compare them."""
        return self.keys

    @property
    @abstractmethod
    def number(self) -> int:
        """How many groups there are at most."""

    @property
    @abstractmethod
    def touched(self) -> int:
        """How many of them one person can be in."""

    @abstractmethod
    def readings(
        self, table: ir.Table, sums: Sums | None, *, cut: bool
    ) -> tuple[Reading, ...]:
        """Return what is read to know them and, where asked for, sums over them.

        `cut` says that only the keys which a person keeps may count in the sums.
        """

    @abstractmethod
    def parts(self, limit: Limit) -> tuple[Part, ...]:
        """Return what is noised to know them."""

    @abstractmethod
    def finding(
        self, epsilon: Fraction, delta: float, limit: Limit, parts: int
    ) -> tuple[tuple[Mechanism, ...], Fraction, float]:
        """Return the mechanisms that find keys, and the ε and δ that are left."""

    @abstractmethod
    def rows(self, table: ir.Table, unit: str | None) -> ir.Table:
        """Return the rows that may belong to one of the groups."""

    @abstractmethod
    def words(self, *, cut: bool) -> str:
        """Say what the groups are, and whether rows of others are `cut`."""


@final
@dataclass(frozen=True)
class PublicGroups(Groups):
    """Public keys in the order given: each appears, whether or not anybody is in it."""

    by: tuple[str, ...] = ()
    listed: tuple[Key, ...] = ((),)
    exact: tuple[Key, ...] | None = None  # the same as values of their columns
    mode: ClassVar[str] = "public"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys as they were given."""
        return self.listed

    @property
    def matched(self) -> tuple[Key, ...]:
        """The keys as values of their columns, as engines compare them."""
        return self.exact or self.listed

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self.keys)

    @property
    def touched(self) -> int:
        """How many of them one person can be in."""
        return len(self.keys)

    def readings(
        self, table: ir.Table, sums: Sums | None, *, cut: bool
    ) -> tuple[Reading, ...]:
        """Nothing is read to know public keys."""
        del table, cut
        return (sums,) if sums else ()

    def parts(self, limit: Limit) -> tuple[Part, ...]:
        """Nothing is noised to know public keys."""
        return ()

    def finding(
        self, epsilon: Fraction, delta: float, limit: Limit, parts: int
    ) -> tuple[tuple[Mechanism, ...], Fraction, float]:
        """Return the mechanisms that find keys, and the ε and δ that are left."""
        del limit, parts
        return (), epsilon, delta

    def rows(self, table: ir.Table, unit: str | None) -> ir.Table:
        """Return the rows that belong to one of the groups."""
        return placed(table, self.by, self.matched)

    def words(self, *, cut: bool) -> str:
        """Say what the groups are."""
        del cut
        if not self.by:
            return "All rows together."
        return f"{len(self.keys)} public groups by {', '.join(self.by)}."


def public(by: tuple[str, ...], keys: Any, exact: Any = None) -> PublicGroups:
    """Return the groups of public keys: values of one column, or tuples of several.

    `exact` are the same keys as values of their columns, where these are others.
    """
    listed = tuple(tuple(key) if len(by) > 1 else (key,) for key in keys)
    if not listed or len(listed) > _MOST_KEYS or len(set(listed)) != len(listed):
        raise InvalidArgument("keys must be 1 to 2^20 different values.")
    if any(len(key) != len(by) for key in listed):
        raise InvalidArgument(
            f"each key must have {len(by)} values, one of each of {', '.join(by)}."
        )
    return PublicGroups(by, listed, None if exact is None else tuple(exact))
