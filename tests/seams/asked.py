"""Random questions: every aggregate, over every kind of group, bound, join, filter."""

import datetime
import random
from dataclasses import dataclass
from decimal import Decimal

import hush

BOUNDS = (0, 30)
BOTH = (BOUNDS, (-9, 9))
AGGREGATES = {
    "count": lambda: hush.count(),
    "count_distinct": lambda: hush.count_distinct("x"),
    "distinct texts": lambda: hush.count_distinct("g"),
    "distinct days": lambda: hush.count_distinct("d"),
    "people": lambda: hush.count_distinct("who"),
    "sum": lambda: hush.sum("x", bounds=(-5, 30)),
    "one-sided sum": lambda: hush.sum("s", bounds=(3, 4)),
    "decimal sum": lambda: hush.sum("m", bounds=(-1e9, 5)),
    "share": lambda: hush.mean("b"),
    "mean": lambda: hush.mean("x * y", bounds=(-20, 50)),
    "variance": lambda: hush.variance("x", bounds=BOUNDS),
    "std": lambda: hush.std("y", bounds=BOUNDS),
    "covariance": lambda: hush.covariance("x", "y", bounds=BOTH),
    "correlation": lambda: hush.correlation("x", "y", bounds=BOTH),
    "median": lambda: hush.median("x", bounds=BOUNDS),
    "quantile": lambda: hush.quantile("x", 0.3, bounds=BOUNDS, population=True),
    "quantiles": lambda: hush.quantiles("x", [0.1, 0.5, 0.9], bounds=BOUNDS),
    "min": lambda: hush.min("x", bounds=BOUNDS),
    "max": lambda: hush.max("y", bounds=BOUNDS),
    "histogram": lambda: hush.histogram("x", edges=[0, 10, 20, 30]),
    "histogram of texts": lambda: hush.histogram("g", values=["a", "A", "a "]),
    "mode": lambda: hush.mode("g", values=["a", "b", "\u00e9", "e\u0301", "nobody"]),
    "top_k": lambda: hush.top_k("h", 2, values=[0, 1, 2, 3]),
}
PEOPLE = {  # what is left where rows were added up per person
    "count": lambda: hush.count(),
    "sum": lambda: hush.sum("paid", bounds=(0, 90)),
    "median": lambda: hush.median("n", bounds=(0, 20)),
    "max": lambda: hush.max("last", bounds=BOUNDS),
}
FILTERS = [
    "x > 5",
    "NOT b",
    "b OR x < 10",
    "NOT (b AND h > 1)",
    "(NOT b) IS NULL",
    "x / h > 2 OR g = 'a'",
    "g IN ('a', 'A') OR h IS NULL",
    "CASE WHEN b THEN x ELSE y END BETWEEN 0 AND 20",
    "d > '1969-12-31' AND m <> 0.1",
    "COALESCE(x, y, 0) >= 0 AND NOT (g LIKE 'a%')",
    "who IS NOT NULL AND who <> 3",
]
DAY = datetime.date(1969, 12, 31)
TUPLES = [("a", 0), ("a", 1), ("A", 0), ("a ", None), (None, None), ("b", 2)]
GROUPS = {
    "none": None,
    "texts": (("g",), ["a", "A", "\u00e9", "nobody", None]),
    "many texts": (("g",), ["a", "b", *map(str, range(40))]),
    "numbers": (("h",), [0, 1, None, 2**63 - 1]),
    "truth": (("b",), [True, False, None]),
    "days": (("d",), [DAY, datetime.date(9999, 12, 31), None]),
    "decimals": (("m",), [Decimal("0.1"), Decimal("-99999999.99"), None]),
    "singles": (("s",), [0.1, 0.2, None]),
    "two": (("g", "h"), TUPLES),
    "crossed": (("g", "b"), {"g": ["a", "b"], "b": [True, False]}),
    "computed": (("part",), [None, 0.0, 10.0, 20.0]),
    "private": (("g",), "private"),
    "private two": (("g", "h"), "private"),
    "private numbers": (("h",), "private"),
    "private floats": (("x",), "private"),
    "private days": (("d", "b"), "private"),
    "private decimals": (("m", "s"), "private"),
    "private computed": (("part",), "private"),
}
JOINS = ["inner", "left", "private"]
AREAS = {
    "g": ["a", "A", "\u00e9", "b"],
    "area": ["n", "n", "s", "s"],
    "w": [1, 2, 3, 4],
}


@dataclass(frozen=True)
class Question:
    """A question as plain values; the neighbors and bounds it is asked under."""

    unit: str | None
    rows: int | None
    groups: int | None
    neighbors: str
    where: str | None
    join: str | None
    per_person: bool
    grouping: str
    most: int
    aggregates: tuple
    epsilon: float
    delta: float

    @classmethod
    def drawn(cls, chance, **fixed):
        """Draw a question; refusals are rare among these."""
        unit = None if chance.random() < 0.1 else "who"
        per_person = unit is not None and chance.random() < 0.1
        names = list(PEOPLE if per_person else AGGREGATES)
        grouping = "none" if per_person else chance.choice(list(GROUPS))
        few = chance.choices([1, 4, 9], [2, 3, 4])[0]
        private = grouping.startswith("private")
        sampled = unit is not None and chance.random() < 0.25
        found = {
            "unit": unit,
            "rows": chance.choice([1, 2, 3, 10]) if unit else None,
            "groups": chance.choice([1, 2]) if sampled else None,
            "neighbors": chance.choice(["add-remove", "replace-one"]),
            "where": chance.choice(FILTERS) if chance.random() < 0.35 else None,
            "join": chance.choice(JOINS) if chance.random() < 0.25 else None,
            "per_person": per_person,
            "grouping": grouping,
            "most": chance.choice([1, 2, 5]),
            "aggregates": tuple(chance.sample(names, min(few, len(names)))),
            "epsilon": chance.choice([1.0, 20.0]),
            "delta": 1e-3 if private or few == 9 else 0.0,
        }
        if unit is None:
            found["join"] = None if found["join"] == "private" else found["join"]
        return cls(**{**found, **fixed})

    @property
    def opening(self):
        more = {"rows": self.rows, "groups": self.groups} if self.unit else {}
        return {"unit": self.unit, "neighbors": self.neighbors, **more}

    def of(self, data, second=None):
        """Return the query about a data set; `second` is private too."""
        if self.join == "private":
            data = data.join(second(data.ledger), on="who")
        elif self.join is not None:
            data = data.join(AREAS, on="g", how=self.join)
        if self.where is not None:
            data = data.where(self.where)
        if self.per_person:
            data = data.per_person(
                paid="SUM(CLAMP(x, 0, 30))", n="COUNT(*)", last="MAX(y)"
            )
            return data.agg(**self._named(PEOPLE))
        if self.grouping == "none":
            return data.agg(**self._named(AGGREGATES))
        columns, keys = GROUPS[self.grouping]
        if columns == ("part",):
            data = data.select(part="BIN(x, 0, 30, 3)")
        more = {"most": self.most} if keys == "private" else {}
        grouped = data.group_by(*columns, keys=keys, **more)
        return grouped.agg(**self._named(AGGREGATES))

    def _named(self, known):
        return {name.replace(" ", "_"): known[name]() for name in self.aggregates}


def questions(seed, count, **fixed):
    chance = random.Random(seed)
    return [Question.drawn(chance, **fixed) for _ in range(count)]
