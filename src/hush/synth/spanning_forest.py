"""A forest over columns: which pairs are measured, and the order to walk them in."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Self, final

from hush.errors import InvalidArgument

Edge = tuple[int, int]


@final
@dataclass(frozen=True)
class Forest:
    """Edges between columns 0..size-1 that close no circle.

    Example:
        >>> found = Forest(4, ((0, 1), (1, 2)))
        >>> found.eligible_edges
        ((0, 3), (1, 3), (2, 3))
        >>> found.walk
        ((0, None), (1, 0), (2, 1), (3, None))
    """

    size: int
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        _ = self.roots  # which refuses a circle

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """A name for the part of the forest that each column is in."""
        roots = list(range(self.size))
        for first, second in self.edges:
            old, new = roots[second], roots[first]
            if old == new:
                raise InvalidArgument(
                    "pairs must close no circle: a tree has one way between any two "
                    "columns. Leave one of the pairs out."
                )
            roots = [new if each == old else each for each in roots]
        return tuple(roots)

    @cached_property
    def eligible_edges(self) -> tuple[Edge, ...]:
        """Pairs that may still be added, in order."""
        pairs = combinations(range(self.size), 2)
        return tuple((a, b) for a, b in pairs if self.roots[a] != self.roots[b])

    def with_edge(self, edge: Edge) -> Self:
        """Return the forest with one more edge."""
        return type(self)(self.size, (*self.edges, edge))

    @property
    def lone_columns(self) -> tuple[int, ...]:
        """Columns without an edge."""
        touched = {column for edge in self.edges for column in edge}
        return tuple(each for each in range(self.size) if each not in touched)

    @cached_property
    def walk(self) -> tuple[tuple[int, int | None], ...]:
        """Every column with the one it follows from; None where a tree begins."""
        found: list[tuple[int, int | None]] = []
        seen: set[int] = set()
        for start in range(self.size):
            waiting: list[tuple[int, int | None]] = [(start, None)]
            while waiting:
                here, before = waiting.pop(0)
                if here in seen:
                    continue
                seen.add(here)
                found.append((here, before))
                waiting += [(each, here) for each in self._neighbors(here)]
        return tuple(found)

    def _neighbors(self, column: int) -> list[int]:
        ends = (edge for edge in self.edges if column in edge)
        return [second if first == column else first for first, second in ends]

    def path(self, start: int, end: int) -> tuple[int, ...] | None:
        """Return the columns between two, both included; None where nothing joins."""
        above = dict(self.walk)
        left, right = _way_to_root(start, above), _way_to_root(end, above)
        common = next((each for each in left if each in right), None)
        if common is None:
            return None
        down = right[: right.index(common)]
        return (*left[: left.index(common) + 1], *reversed(down))


def _way_to_root(column: int, above: dict[int, int | None]) -> list[int]:
    found: list[int] = []
    here: int | None = column
    while here is not None:
        found.append(here)
        here = above[here]
    return found


def forest_of_choices(size: int, places: Iterable[int]) -> Forest:
    """Return the forest that choices made: one beyond the eligible pairs ends it.

    Example:
        >>> forest_of_choices(3, [0, 2, 0]).edges  # the pair (0, 1), then no more
        ((0, 1),)
    """
    forest = Forest(size)
    for place in places:
        if place >= len(forest.eligible_edges):
            break
        forest = forest.with_edge(forest.eligible_edges[place])
    return forest
