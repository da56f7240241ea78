"""Graphs: an edge table in which a person is an edge, or a node with all its edges.

Edges are undirected: (a, b) and (b, a) are one, repeated edges count once, loops and
edges without an end (NULL, NaN) are dropped. One edge changes the number of edges by 1
and the degrees of two nodes, hence a degree histogram by 4.

A node may have any number of edges, so its graph is first thinned to degree at most d:
edges are taken in the order of a keyed hash of their ends, and one is kept if both ends
have fewer than d so far. Then a node moves the number of edges by at most d, and the
degree histogram by at most 2d + 1 (docs/proofs/graphs.md).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.ledger import Budget, Ledger, Release
from hush.mechanisms import Geometric
from hush.noise import SECURE, Source
from hush.tables.dataset import paying_ledger
from hush.tables.engines import engine, provenance
from hush.tables.engines.provenance import Origin, refuse_unreachable
from hush.tables.engines.sources import source as table_of
from hush.tables.expressions.types import told_apart

Integers = NDArray[np.int64]


class Protects(StrEnum):
    """What one person is in a graph."""

    EDGE = "edge"
    NODE = "node"


@final
@dataclass(frozen=True, eq=False)
class Edges:
    """Different undirected edges, fetched when drawn and never shown."""

    table: Any
    ends: tuple[str, str]
    origin: Origin

    def __repr__(self) -> str:
        return "data"

    def fetch(self) -> list[tuple[Any, Any]]:
        """Return each edge once, with its ends in order."""
        table = told_apart(self.table, self.ends)
        first, second = (table[name] for name in self.ends)
        wanted = table.filter(first.notnull() & second.notnull() & (first != second))
        found = engine.fetch(wanted.select(*self.ends).distinct())
        self.origin.check_unchanged()
        return list({(a, b) if a < b else (b, a) for a, b in found.tuples(self.ends)})


def bounded_degree(
    edges: Iterable[tuple[Any, Any]], degree: int
) -> list[tuple[Any, Any]]:
    """Return a subgraph of degree at most `degree`, the same for any order of edges.

    Guarantee: taking away a node and its edges changes the degrees of the others by at
    most `degree` in all (docs/proofs/graphs.md).

    Example:
        >>> star = [(0, i) for i in range(1, 9)]
        >>> len(bounded_degree(star, 3))
        3
    """
    have: dict[Any, int] = {}
    kept = []
    for edge in sorted(edges, key=_edge_place):
        if all(have.get(end, 0) < degree for end in edge):
            kept.append(edge)
            for end in edge:
                have[end] = have.get(end, 0) + 1
    return kept


def _edge_place(edge: tuple[Any, Any]) -> tuple[bytes, str]:
    """Return where an edge stands: a function of its ends alone."""
    text = repr(edge)
    return hashlib.blake2b(text.encode(), digest_size=16).digest(), text


def degrees(edges: Iterable[tuple[Any, Any]], most: int) -> Integers:
    """Return how many nodes have degree 1, 2, …, `most` or more.

    Example:
        >>> degrees([(1, 2), (2, 3)], most=3).tolist()
        [2, 1, 0]
    """
    have: dict[Any, int] = {}
    for edge in edges:
        for end in edge:
            have[end] = have.get(end, 0) + 1
    held = np.array(
        list(have.values()), dtype=np.int64
    )  # an empty graph has a type too
    return np.bincount(np.minimum(held, most), minlength=most + 1)[1:].astype(np.int64)


@final
@dataclass(frozen=True)
class GraphQuery:
    """A statistic of the graph, and how far one edge or one node moves it."""

    what: str
    protects: Protects
    degree: int
    most: int = 0
    neighbors: str = "add-remove"

    @property
    def unit(self) -> str:
        """What is protected."""
        return str(self.protects)

    @property
    def sensitivity(self) -> int:
        """Largest ℓ1 distance between neighboring graphs."""
        if self.protects is Protects.EDGE:
            return 1 if self.what == "edges" else 4
        return self.degree if self.what == "edges" else 2 * self.degree + 1

    def __call__(self, data: Edges) -> Any:
        """Return the exact statistic: private."""
        found: Any = data.fetch()
        if self.protects is Protects.NODE:
            found = bounded_degree(found, self.degree)
        if self.what == "edges":
            return np.array([len(found)], dtype=np.int64)
        return degrees(found, self.most)


@final
@dataclass(frozen=True, eq=False)
class Graph:
    """A graph to be asked privately about its edges and degrees.

    Guarantee: answers are ε-private for one edge, or for one node with all its edges;
    neighbors are graphs with one of them added or removed.

    Example:
        >>> import hush
        >>> ring = {"a": range(500), "b": [*range(1, 500), 0]}
        >>> budget = hush.Budget(epsilon=9)
        >>> graph = open_graph(ring, ends=("a", "b"), degree=2, budget=budget)
        >>> bool(abs(graph.edges(epsilon=4).values[0] - 500) < 10)
        True
        >>> graph.degrees(most=4, epsilon=4).values.shape
        (4,)

    Reference: N4.ex1; thinning after [DLL16]; docs/proofs/graphs.md.
    """

    data: Edges
    protects: Protects
    degree: int
    ledger: Ledger

    @property
    def version(self) -> str:
        """What receipts call the state of the data; see `Dataset.version`."""
        refuse_unreachable((self.data.origin,), self.data.table)
        return self.data.origin.version(self.ledger)

    @property
    def budget(self) -> Any:
        """What is left, in the budget's own notion and in the others."""
        return self.ledger.remaining()

    def edges(
        self, epsilon: float, *, key: str | None = None, source: Source = SECURE
    ) -> Release:
        """Release the number of edges (of the thinned graph, for nodes)."""
        return self._release("edges", 0, epsilon, key, source)

    def degrees(
        self,
        most: int,
        epsilon: float,
        *,
        key: str | None = None,
        source: Source = SECURE,
    ) -> Release:
        """Release how many nodes have degree 1, 2, …, and `most` or more."""
        most = checks.whole("most", most, at_least=1, at_most=10**6)
        return self._release("degrees", most, epsilon, key, source)

    def _release(
        self, what: str, most: int, epsilon: float, key: str | None, source: Source
    ) -> Release:
        exact = checks.rational("epsilon", epsilon)
        query = GraphQuery(what, self.protects, self.degree, most)
        noise = Geometric(scale=query.sensitivity / exact)
        return self.ledger.release(
            noise,
            query,
            self.data,
            key=key,
            source=source,
            version=self.version,
            notes={"degree": self.degree, "ends": list(self.data.ends)},
        )


def open_graph(
    given: Any,
    *,
    ends: tuple[str, str],
    protects: str = "node",
    degree: int = 100,
    budget: Budget | None = None,
    ledger: Ledger | str | None = None,
    name: str | None = None,
) -> Graph:
    """Open an edge table whose two columns `ends` name the nodes.

    `protects` "node" hides a person with all their edges, of which at most `degree`
    count; "edge" hides one edge.
    """
    found = table_of(given, name)
    try:
        kind = Protects(protects)
    except ValueError:
        raise InvalidArgument(
            f'protects must be "node" or "edge"; got {protects!r}.'
        ) from None
    if len(ends) != 2 or any(each not in found.table.columns for each in ends):
        known = ", ".join(sorted(found.table.columns))
        raise InvalidArgument(f"ends must be two of the columns {known}; got {ends!r}.")
    types = {found.table[each].type() for each in ends}
    if len({str(each).lstrip("!") for each in types}) != 1:
        raise InvalidArgument(f"ends must have one type; they have {types}.")
    told_apart(found.table, ends)  # refuses now what could not be read when paid
    most = checks.whole("degree", degree, at_least=1, at_most=10**6)
    edges = Edges(found.table, (ends[0], ends[1]), found.origin)
    provenance.remember_private(given, found.table, found.origin)
    return Graph(edges, kind, most, paying_ledger(ledger, budget, found.name))
