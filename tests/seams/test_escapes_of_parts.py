"""What models, holdouts, graphs and ledgers tell beside noise: the same for neighbors.

The number of records is public here (replace-one), but for mechanisms and graphs.
"""

import functools
import json
import sqlite3

import numpy as np
import pytest

import hush
from hush import learn, mechanisms
from hush.holdout import Holdout, ReusableHoldout
from hush.synth import Bins, TreeSynthesizer
from seams import canary
from seams.escaping import Tape, differing, gathered, plain, shown, stored, words
from seams.neighbors import NEIGHBORS as PEOPLE
from seams.neighbors import ROWS, arrow

SIZE = 120
ODD = {
    "canary": (canary.REAL, canary.WHOLE),
    "usual": (0.25, -0.5),
    "not a number": (np.nan, np.nan),
    "infinite": (np.inf, -np.inf),
    "huge": (1.7e308, -1.7e308),
    "tiny": (5e-324, -0.0),
}


def ledger():
    budget = hush.Budget(epsilon=1e4, delta=0.5)
    return hush.Ledger.open("memory://", budget=budget, dataset="a")


@functools.cache
def features(name=None):
    """Return 120 rows of two columns; in one of them stands what is odd."""
    found = np.sin(np.outer(np.arange(SIZE), [1.0, 2.0]))
    if name is not None:
        found[5] = ODD[name]
    return found


@functools.cache
def labels(name=None):
    found = (np.arange(SIZE) % 3 == 0).astype(float)
    if name is not None:
        found[7] = ODD[name][0]
    return found


@functools.cache
def column(name=None):
    return features()[1:, 0] if name == "gone" else features(name)[:, 0]


def given(name):
    """Return what a caller passes in, and holds in frames of its own."""
    known = name if name in ODD else None
    return features(known), labels(known), column(name)


def told(name, make):
    """Yield what an object says of itself, and what its public attributes hold."""
    kept = {}

    def made():
        kept["it"] = make()
        return shown(kept["it"])

    yield f"{name}: text", made
    if "it" in kept:
        it = kept["it"]
        public = [n for n in sorted(vars(it)) if not n.startswith("_")]
        yield f"{name}: fields", lambda: repr([(n, shown(vars(it)[n])) for n in public])
        yield f"{name}: pickle", lambda: stored(it)
        release = getattr(it, "release_", None)
        if release is not None:
            yield f"{name}: release", release.to_json


def learners(name):
    x, y = features(name), labels(name)
    wide = {"epsilon": 1.0, "bounds": (-1, 1)}
    classes = wide | {"classes": (0, 1)}
    numbers = wide | {"y_bounds": (0, 1)}
    for kind, options in {
        "LogisticRegression": classes,
        "LinearRegression": numbers,
        "GaussianNB": classes,
        "RandomForestClassifier": classes,
        "KMeans": wide,
        "PCA": wide,
        "QuantileRegression": numbers,
        "SelectModel": numbers,
    }.items():
        paying = ledger()
        model = getattr(learn, kind)(**options)
        yield from told(kind, lambda m=model, p=paying: m.fit(x, y, ledger=p))
        yield (
            f"{kind}: history",
            lambda p=paying: repr([e.content for e in p.history()]),
        )


def holdouts(name):
    x, y = features(name), labels()
    held = Holdout((x, y), queries=3)
    yield "holdout: text", lambda: shown(held) + stored(held)
    for at, ask in enumerate(
        (
            lambda: held.ask(lambda record: record[0][0] > 0),
            lambda: held.ask(lambda record: 1 / record[0][1]),
            lambda: held.submit(np.zeros(SIZE)),
            lambda: held.submit(np.zeros(SIZE)),
        )
    ):
        yield from told(f"holdout {at}", ask)
    again = ReusableHoldout(
        (x, y), training=(features(), labels()), queries=9, hits=2, tolerance=0.9
    )
    yield "reusable: text", lambda: shown(again) + stored(again)
    yield from told("reusable", lambda: again.ask(lambda record: record[0][0] > 0))


def _failing(values):
    raise ValueError(f"cannot add {values.tolist()}")


def _leaving(values):
    raise SystemExit(int(values.sum() > 0))


def _interrupted(values):
    answer = values.sum()
    problem = KeyboardInterrupt(str(answer))
    problem.add_note(str(answer))
    problem.answer = answer
    raise problem


def releases(name):
    """Yield what a ledger says of mechanisms and queries on numbers."""
    data, books = column(name), []
    noise, relation = mechanisms.Laplace(2.0), "add-remove"
    asked = {
        "count": (mechanisms.Geometric(2.0), mechanisms.count()),
        "sum": (noise, mechanisms.sum(bounds=(0.0, 1.0))),
        "mean": (mechanisms.WinsorizedMean(bounds=(0, 1), scale=0.5), None),
        "quantile": (mechanisms.Quantile(0.5, bounds=(0, 1), scale=4.0), None),
        "histogram": (mechanisms.Histogram(edges=(0, 0.5, 1), scale=2.0), None),
        "failing": (noise, mechanisms.Query("own", _failing, (1,), relation)),
        "leaving": (noise, mechanisms.Query("own", _leaving, (1,), relation)),
        "interrupted": (noise, mechanisms.Query("own", _interrupted, (1,), relation)),
        "a vector": (noise, mechanisms.Query("own", np.copy, (1,), relation)),
    }
    for kind, (mechanism, query) in asked.items():
        books.append(ledger())
        yield from told(
            kind, lambda m=mechanism, q=query: books[-1].release(m, q, data, key="k")
        )
    for at, book in enumerate(books):
        yield f"history {at}", lambda b=book: repr([e.content for e in b.history()])
        yield f"pending {at}", lambda b=book: shown(b.pending())


def graphs(name):
    ends = [(i, (i * 7 + 1) % 40) for i in range(60)]
    more = {
        "canary": [(canary.WHOLE, 3)],
        "usual": [(3, 4)],
        "gone": [],
        "huge": [(-(2**62), 2**62)],
        "tiny": [(3, 3)],
        "infinite": [(None, 4)],
        "not a number": [(3, 4)] * 2,
    }
    edges = ends + (more[name] if name else [(1, 9)])
    table = {"a": [e[0] for e in edges], "b": [e[1] for e in edges]}
    for protects, options in (("edge", {}), ("node", {"degree": 3})):
        graph = hush.open_graph(
            table, ends=("a", "b"), protects=protects, ledger=ledger(), **options
        )
        yield f"{protects}: text", lambda g=graph: shown(g) + g.version
        yield from told(f"{protects} edges", lambda g=graph: g.edges(epsilon=1))
        yield from told(
            f"{protects} degrees", lambda g=graph: g.degrees(most=4, epsilon=1)
        )


def synthesized(name):
    x = features(name)
    domain = {
        "x": Bins.of((-1, 1), bins=4, missing=True),
        "y": Bins.of((-1, 1), bins=3),
    }
    table = {"x": x[:, 0], "y": x[:, 1]}
    made = TreeSynthesizer(domain, epsilon=1.0, delta=1e-6, neighbors="replace-one")
    paying = ledger()
    yield from told("synth", lambda: made.fit(table, ledger=paying))
    yield "synth: history", lambda: repr([e.content for e in paying.history()])


PARTS = {
    "learners": learners,
    "holdouts": holdouts,
    "releases": releases,
    "graphs": graphs,
    "synthesized": synthesized,
}


def compared(part, names):
    """Return what tells neighbors apart in one part, and how much was compared."""
    tape = Tape()
    first, again = (
        gathered(lambda: PARTS[part](None), tape, own=given(None)) for _ in "ab"
    )
    found, cases = {}, 0
    for name in names:
        other = gathered(lambda name=name: PARTS[part](name), tape, own=given(name))
        cases += len(other)
        for channel, apart in differing(first, again, other).items():
            found[name, channel] = apart
        for channel, text in other.items() if name == "canary" else ():
            if canary.hits(text):
                found["found", channel] = str(canary.hits(text))
    return found, cases


def test_a_release_tells_nothing_beside_its_noise():
    found, cases = compared("releases", ["canary"])
    assert found == {}
    assert cases > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_no_part_tells_anything_beside_its_noise(part):
    more = ["gone"] if part in ("releases", "graphs") else []
    found, cases = compared(part, [*ODD, *more])
    assert found == {}
    assert cases > 50


def dumped(path):
    """Return a ledger's file as SQL, sorted, for the order of keys is random."""
    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


def kept(folder, rows):
    """Return what a rehearsal leaves on disk: names, sizes, modes and contents."""
    path = folder / "a.db"
    with hush.Ledger.open(
        f"sqlite:///{path}",
        budget=hush.Budget(epsilon=100, delta=0.1),
        dataset="data",
        rehearsal=True,
    ) as book:
        data = hush.open(arrow(rows), unit="u", rows=3, ledger=book, name="data")
        query = data.group_by("g", keys=["a", "b"]).agg(
            n=hush.count(), q=hush.median("x", bounds=(0, 10))
        )
        query.release(epsilon=1, key="k")
    facts = [
        (p.name, oct(p.stat().st_mode), p.stat().st_size)
        for p in sorted(folder.iterdir())
    ]
    text = json.dumps(facts) + "\n".join(dumped(path))
    raw = b"".join(p.read_bytes() for p in sorted(folder.iterdir()))
    return text, raw


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["canary", "nulls"])
def test_a_ledger_on_disk_tells_nothing_beside_its_noise(tmp_path, name):
    tape, sides = Tape(), []
    for at, rows in enumerate((ROWS, ROWS, PEOPLE[name])):
        folder = tmp_path / str(at)
        folder.mkdir()
        with tape.playing():
            sides.append(kept(folder, rows))
    first, again, other = ({"disk": text} for text, _ in sides)
    constants = words(first) & words(again)
    lines = [
        sorted(plain(side["disk"], constants).splitlines())
        for side in (first, again, other)
    ]
    assert lines[0] == lines[1] == lines[2]
    assert canary.hits(sides[2][1]) == set()
