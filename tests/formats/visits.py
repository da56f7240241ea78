"""Questions to tables: every aggregate, over public, private and no groups."""

import datetime
import functools

import hush

DAYS = [datetime.date(2026, 1, 1 + i % 3) for i in range(120)]
ROWS = {
    "who": [i // 2 for i in range(120)],
    "x": [float(i % 7) for i in range(120)],
    "y": [float((3 * i) % 5) for i in range(120)],
    "b": [i % 3 == 0 for i in range(120)],
    "g": [("a", "b", None)[i % 3] for i in range(120)],
    "h": [i % 4 for i in range(120)],
    "d": DAYS,
}
AREAS = {"g": ["a", "b"], "area": ["north", "south"]}
EDGES = {"a": [*range(30)], "b": [*range(1, 30), 0]}
BOUNDS = {"bounds": (0, 8)}
BOTH = {"bounds": ((0, 8), (0, 5))}


def aggregates():
    """Return every aggregate by name."""
    return {
        "count": hush.count(),
        "people": hush.count_distinct("who"),
        "distinct": hush.count_distinct("x"),
        "sum": hush.sum("x", bounds=(-5, 8)),
        "positive": hush.sum("x", bounds=(0, 8)),
        "mean": hush.mean("x", **BOUNDS),
        "share": hush.mean("b"),
        "variance": hush.variance("x", **BOUNDS),
        "std": hush.std("x", **BOUNDS),
        "covariance": hush.covariance("x", "y", **BOTH),
        "correlation": hush.correlation("x", "y", **BOTH),
        "median": hush.median("x", **BOUNDS),
        "quantile": hush.quantile("x", 0.3, **BOUNDS, population=True),
        "quantiles": hush.quantiles("x", [0.2, 0.5, 0.8], **BOUNDS),
        "min": hush.min("x", **BOUNDS),
        "max": hush.max("x", **BOUNDS),
        "histogram": hush.histogram("x", edges=[0, 2, 4, 8]),
        "histogram_of_texts": hush.histogram("g", values=["a", "b"]),
        "mode": hush.mode("g", values=["a", "b"]),
        "top": hush.top_k("h", 2, values=[0, 1, 2, 3]),
    }


def ways(data):
    """Return the groups that a question can be about."""
    crossed = {"g": ["a", "b"], "b": [True, False]}
    return {
        "all": data,
        "public": data.group_by("g", keys=["a", "b", None]),
        "crossed": data.group_by("g", "b", keys=crossed),
        "pairs": data.group_by("g", "h", keys=[("a", 0), ("b", 3), (None, 2)]),
        "days": data.group_by("d", keys=DAYS[:3]),
        "private": data.group_by("g", keys="private", most=2),
        "private pair": data.group_by("g", "b", keys="private", most=3),
        "private days": data.group_by("d", keys="private", most=2),
        "private, optimal": data.group_by("h", keys="private", most=1),
    }


def shaped(data):
    """Return questions with filters, joins, rows per person and bounds to be found."""
    few = {"n": hush.count(), "m": hush.mean("x", **BOUNDS)}
    areas = data.join(AREAS, on="g")
    people = data.per_person(total="SUM(CLAMP(x, 0, 8))", n="COUNT(*)")
    grouped = data.where("x > 1").group_by("g", keys=["a", "b"])
    return {
        "where": grouped.agg(**few),
        "join": areas.group_by("area", keys=["north", "south"]).agg(**few),
        "left join": data.join(AREAS, on="g", how="left").agg(n=hush.count()),
        "per person": people.agg(
            n=hush.count(),
            total=hush.sum("total", bounds=(0, 20)),
            median=hush.median("n", bounds=(0, 10)),
        ),
        "private bounds": data.agg(m=hush.mean("x", bounds="private")),
        "private bounds of a median": data.agg(m=hush.median("x", bounds="private")),
    }


SQL = {
    "sql": ("SELECT COUNT(*) AS n, AVG(CLAMP(x, 0, 8)) AS m FROM visits", {}),
    "sql, grouped": (
        "SELECT g, COUNT(*) AS n FROM visits GROUP BY g ORDER BY n DESC LIMIT 2",
        {"keys": {"g": ["a", "b"]}},
    ),
    "sql, having": (
        "SELECT g, SUM(CLAMP(x, 0, 8)) AS s FROM visits WHERE y > 0 GROUP BY g "
        "HAVING s > 1",
        {"keys": {"g": "private"}},
    ),
}
OPENED = {
    "visits": {"unit": "who", "rows": 2},
    "sampled": {"unit": "who", "rows": 1, "groups": 1},
    "rows": {},
    "exchanged": {"unit": "who", "rows": 2, "neighbors": "replace-one"},
}


def opened(ledger, name):
    """Return a data set whose questions are paid from a ledger."""
    paying = ledger.on(dataset=name)
    return hush.open(ROWS, ledger=paying, name=name, **OPENED[name])


def released(name, find, **spent):
    """Return the request to release the query that `find` makes of a data set."""
    amounts = {"epsilon": 30.0, "delta": 1e-6, **spent}

    def request(ledger, key):
        return find(opened(ledger, name)).release(**amounts, key=key)

    return request


def of(way, only=None):
    def find(data):
        found = aggregates()
        chosen = found if only is None else {name: found[name] for name in only}
        return ways(data)[way].agg(**chosen)

    return find


def _shaped(name, data):
    return shaped(data)[name]


def _prepared(name, data):
    text, more = SQL[name]
    return data.prepare(text, **more)


def finders():
    """Return key -> (data set, how to find its query)."""
    few = ("count", "sum", "mean", "median", "histogram", "mode")
    found = {}
    for way in ("all", "public", "private"):
        found[f"everything, {way}"] = ("visits", of(way))
    for way in ("crossed", "pairs", "days", "private pair", "private days"):
        found[f"few, {way}"] = ("visits", of(way, few))
    found["count, optimal"] = ("visits", of("private, optimal", ("count",)))
    for name in ("sampled", "rows", "exchanged"):
        found[f"{name}, all"] = (name, of("all", few))
        found[f"{name}, private"] = (name, of("private", few))
    for name in (
        "where", "join", "left join", "per person", "private bounds",
        "private bounds of a median",
    ):  # fmt: skip
        found[name] = ("visits", functools.partial(_shaped, name))
    for name in SQL:
        found[name] = ("visits", functools.partial(_prepared, name))
    return found


def _graph(name, what, *given):
    told = {"degree": 2} if name == "nodes" else {"protects": "edge"}

    def request(ledger, key):
        paying = ledger.on(dataset=name)
        graph = hush.open_graph(
            EDGES, ends=("a", "b"), name=name, ledger=paying, **told
        )
        return getattr(graph, what)(*given, epsilon=2.0, key=key)

    return request


def requests():
    """Return every request to the ledger of tables."""
    found = {key: released(*each) for key, each in finders().items()}
    found["pure, public"] = released("visits", of("public"), delta=0.0)
    for name in ("nodes", "edges"):
        found[f"{name}: number of edges"] = _graph(name, "edges")
        found[f"{name}: degrees"] = _graph(name, "degrees", 4)
    return found


NAMES = (*OPENED, "nodes", "edges")
