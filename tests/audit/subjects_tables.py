"""Every aggregate of a table, through the engine: many groups are many runs.

A group holds people of its own, the same few in each, so that one release of a thousand
groups is a thousand independent answers about the same data. The noise comes from the
operating system: a ledger takes no other.
"""

from typing import Any

import pyarrow
from suite import Subject, looped, pure

import hush
from hush import tables
from hush.noise import Source

_EPSILON = 1.0
_GROUPS = 2000  # of one release
_UNIT, _PAIR = (0.0, 1.0), ((0.0, 1.0), (0.0, 1.0))

_FEW = [(0.0, 0.0, "a"), (0.0, 1.0, "b"), (1.0, 0.0, "a")]
_MORE = [*_FEW, (1.0, 1.0, "b")]
_SAME = [(0.5, 0.5, "a")] * 2
_ODD = [*_SAME, (1.0, 1.0, "b")]

# A rank is told by how much room there is between values, so none lies at a bound.
_LOW, _HIGH = (0.1, 0.0, "a"), (0.9, 0.0, "a")
_MIDDLE = [(0.5, 0.0, "a")] * 2
_UPPER = [_MIDDLE[0], _HIGH]
_APART = [(0.4, 0.0, "a"), (0.8, 0.0, "a")]
_ENDS = (0.2, 0.8)

# name -> (aggregate, the two groups of people, the noise that the twin keeps)
AGGREGATES: dict[str, Any] = {
    "count": (tables.count(), (_FEW, _MORE), 0.9),
    "count_distinct": (tables.count_distinct("c"), (_SAME, _ODD), 0.1),
    "sum": (tables.sum("x", _UNIT), (_FEW, _MORE), 0.9),
    "mean": (tables.mean("x", _UNIT), (_SAME, _ODD), 0.1),
    "variance": (tables.variance("x", _UNIT), (_SAME, _ODD), 0.05),
    "std": (tables.std("x", _UNIT), (_SAME, _ODD), 0.05),
    "covariance": (tables.covariance("x", "y", _PAIR), (_SAME, _ODD), 0.05),
    "correlation": (tables.correlation("x", "y", _PAIR), (_FEW, _MORE), 0.05),
    "min": (tables.min("x", _UNIT), (_MIDDLE, [*_MIDDLE, _LOW]), 0.1),
    "max": (tables.max("x", _UNIT), (_MIDDLE, [*_MIDDLE, _HIGH]), 0.1),
    "median": (tables.median("x", _UNIT), (_UPPER, [*_UPPER, _LOW]), 0.1),
    "quantile": (tables.quantile("x", 0.25, _UNIT), (_APART, [*_APART, _LOW]), 0.1),
    "quantiles": (tables.quantiles("x", _ENDS, _UNIT), (_APART, [*_APART, _LOW]), 0.1),
    "histogram": (tables.histogram("x", [0.0, 0.5, 1.0]), (_FEW, _MORE), 0.9),
    "mode": (tables.mode("c", ["a", "b"]), (_SAME[:1], _ODD[1:]), 0.1),
    "top_k": (tables.top_k("c", 1, ["a", "b", "z"]), (_SAME[:1], _ODD[1:]), 0.1),
}  # fmt: skip


# One person, one row, one group; where that is not yet possible, two rows.
_CAPS: dict[str, dict[str, int]] = {"count_distinct": {"rows": 2}}


def _opened(people: Any, groups: int, caps: dict[str, int]) -> Any:
    rows = [(g, f"{g} {i}", *p) for g in range(groups) for i, p in enumerate(people)]
    columns = zip(*rows, strict=True)
    table = pyarrow.table(dict(zip(("g", "who", "x", "y", "c"), columns, strict=True)))
    return hush.open(table, unit="who", budget=hush.Budget(epsilon=1e9), **caps)


def _answers(name: str, aggregate: Any) -> Any:
    caps = _CAPS.get(name, {"rows": 1, "groups": 1})

    def draws(factor: float, _source: Source) -> Any:
        opened: dict[Any, Any] = {}

        def released(people: Any, groups: int) -> list[Any]:
            place = str(people), groups
            if place not in opened:
                data = _opened(people, groups, caps)
                opened[place] = data.group_by("g", keys=list(range(groups))).agg(
                    a=aggregate
                )
            answer = opened[place].release(epsilon=_EPSILON / factor)
            return _by_group(answer.to_pandas(), groups)

        def many(people: Any, count: int) -> Any:
            found: list[Any] = []
            while len(found) < count:
                found += released(people, _GROUPS)
            return found[:count]

        return many

    return draws


def _by_group(frame: Any, groups: int) -> list[Any]:
    """Return what is said about each group, as plain values."""
    shown = frame.drop(columns="g")
    found: list[Any] = [[] for _ in range(groups)]
    for g, row in zip(frame["g"], shown.itertuples(index=False), strict=True):
        found[int(g)] += [str(x) if isinstance(x, (list, dict)) else x for x in row]
    return found


def _edges(factor: float, _source: Source, bit: int) -> Any:
    """The number of edges of a small graph, and of one with a node more."""
    # No degree passes the cap, so that the two edges of the node are counted.
    ends = ([0, 2], [1, 3]) if bit == 0 else ([0, 2, 4, 4], [1, 3, 0, 2])
    graph = tables.open_graph(
        pyarrow.table({"a": ends[0], "b": ends[1]}),
        ends=("a", "b"),
        degree=2,
        budget=hush.Budget(epsilon=1e9),
    )
    return graph.edges(epsilon=_EPSILON / factor).values


def subjects() -> list[Subject]:
    """Return one subject for every aggregate."""
    found = [
        Subject(
            f"table {name}",
            (f"tables.{name}",),
            pair,
            pure(_EPSILON),
            _answers(name, aggregate),
            factor=factor,
            samples=40_000 if factor == 0.9 else 9_000,
        )
        for name, (aggregate, pair, factor) in AGGREGATES.items()
    ]
    graph = Subject(
        "graph edges",
        ("tables.open_graph",),
        (0, 1),
        pure(_EPSILON),
        looped(_edges),
        factor=0.1,
        samples=400,
    )
    return [*found, graph]
