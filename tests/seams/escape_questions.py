"""Questions of tables, and everything that each lets out beside its answer."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import hush
from hush.synth import Bins, TreeSynthesizer
from seams.escaping import Step, shown, stored

Ask = Callable[[Any], Any]  # from a data set to a query or a statement
KEYS = {"g": ["a", "b", "zz"], "k": [0, 1, 2], "b": [True, False]}
REGIONS = {"g": ["a", "b"], "region": ["north", "south"]}


def _sql(text: str) -> Ask:
    return lambda data: data.prepare(text, keys=KEYS)


def _by(data: Any, *columns: str) -> Any:
    return data.group_by(*columns, keys={name: KEYS[name] for name in columns})


QUESTIONS: dict[str, Ask] = {
    "public keys": lambda data: data.group_by("g", keys=KEYS["g"]).agg(
        n=hush.count(), m=hush.mean("x", bounds=(0, 10))
    ),
    "private keys": lambda data: data.group_by("g", keys="private", most=3).agg(
        n=hush.count(), s=hush.sum("x", bounds=(0, 10))
    ),
    "ranks": lambda data: data.agg(
        q=hush.median("x", bounds=(0, 10)),
        low=hush.min("k", bounds=(-5, 5)),
        all=hush.quantiles("x", [0.2, 0.8], bounds=(0, 10)),
    ),
    "cells": lambda data: data.agg(
        h=hush.histogram("x", edges=[0, 2, 10]),
        top=hush.top_k("g", 2, values=["a", "b", "c"]),
        mode=hush.mode("k", values=[0, 1, 2]),
        d=hush.count_distinct("g"),
    ),
    "moments": lambda data: _by(data, "b").agg(
        v=hush.variance("x", bounds=(0, 10)),
        c=hush.correlation("x", "k", bounds=((0, 10), (0, 5))),
    ),
    "crossed groups": lambda data: _by(data, "g", "k").agg(people=hush.count()),
    "derived": lambda data: (
        data.select(r="x / k", t="UPPER(g)", l="LENGTH(g)", w="k * k")
        .where("r > 0 OR w >= 4 OR t = 'A'")
        .agg(n=hush.count(), r=hush.mean("r", bounds=(0, 10)))
    ),
    "people": lambda data: (
        data.per_person(most="MAX(x)", n="COUNT(*)", s="SUM(CLAMP(k, 0, 5))")
        .where("n > 1")
        .agg(n=hush.count(), s=hush.mean("s", bounds=(0, 20)))
    ),
    "joined": lambda data: (
        data.join(REGIONS, on="g", how="left")
        .group_by("region", keys=["north", "south"])
        .agg(n=hush.count())
    ),
    "bounds": lambda data: data.agg(m=hush.mean("x", bounds="private")),
    "SQL": _sql(
        "SELECT g, COUNT(*) AS n, AVG(CLAMP(x, 0, 10)) AS m FROM data "
        "WHERE NOT (b AND k > 1) OR x IS NULL GROUP BY g HAVING n > -1e9 ORDER BY n"
    ),
    "dates": _sql(
        "SELECT MONTH(d) AS month, COUNT(*) AS n FROM data "
        "WHERE d >= DATE '2024-01-01' GROUP BY MONTH(d)"
    ),
    "cases": _sql(
        "SELECT CASE WHEN x > 5 THEN 'high' ELSE 'low' END AS c, "
        "COUNT(DISTINCT k) AS n FROM data GROUP BY c"
    ),
    "no such column": lambda data: data.agg(m=hush.mean("nothing", bounds=(0, 1))),
    "mean of texts": lambda data: data.agg(m=hush.mean("g", bounds=(0, 1))),
    "comparison of types": lambda data: data.where("g > 3").agg(n=hush.count()),
    "cast": _sql("SELECT SUM(CLAMP(CAST(g AS INTEGER), 0, 9)) AS s FROM data"),
    "rows asked for": _sql("SELECT g, x FROM data"),
}
# Each neighbor is asked one of these lists; over all neighbors and sources, all are.
LISTS = (
    ("public keys", "private keys", "cast", "no such column", "joined"),
    ("ranks", "cells", "moments", "SQL", "mean of texts", "rows asked for"),
    ("derived", "people", "crossed groups", "cases", "comparison of types"),
    ("dates", "bounds", "synth"),
)
FEW = ("public keys", "mean of texts")


def _answer(answer: Any, name: str) -> Iterator[Step]:
    whole = getattr(answer, "answer", answer)
    yield f"{name}: answer", lambda: shown(answer) + shown(whole)
    yield f"{name}: json", answer.to_json
    yield f"{name}: release", lambda: shown(whole.release) + whole.release.to_json()
    yield f"{name}: pickle", lambda: stored(answer) + stored(whole.release)
    receipt = whole.receipt
    yield f"{name}: receipt", lambda: shown(receipt) + json.dumps(receipt.to_dict())
    yield f"{name}: table", lambda: repr(answer.to_dict()) + answer.to_csv()
    yield f"{name}: schema", lambda: str(answer.to_arrow().schema)
    yield f"{name}: parts", lambda: repr((whole.keys, whole.mechanisms, whole.bounds))


def told(data: Any, name: str) -> Iterator[Step]:
    """Yield all that one question lets out, in the order in which people look."""
    if name == "synth":
        yield from _synthetic(data)
        return
    kept: dict[str, Any] = {}

    def asked() -> str:
        kept["query"] = QUESTIONS[name](data)
        return shown(kept["query"]) + stored(kept["query"])

    yield f"{name}: query", asked
    query = kept.get("query")
    if query is None:
        return
    given: dict[str, Any] = {"bounds": {"x": (0, 10)}} if name == "bounds" else {}
    yield f"{name}: plan", lambda: query.plan(epsilon=1, delta=1e-5, **given)
    if name != "bounds":
        yield f"{name}: explain", query.explain
        yield f"{name}: sql", query.sql_text

    def released() -> str:
        kept["answer"] = query.release(epsilon=8, delta=1e-5)
        return "released"

    yield f"{name}: end", released
    if "answer" in kept:
        yield from _answer(kept["answer"], name)
    yield f"{name}: too much", lambda: query.release(epsilon=1e9)


def books(data: Any) -> Iterator[Step]:
    """Yield what the data set and its ledger say of themselves."""
    ledger = data.ledger
    yield "data set", lambda: shown(data) + repr((data.columns, data.steps, data.name))
    yield "version", lambda: data.version
    yield "budget", lambda: shown(data.budget) + shown(ledger.accounts())
    yield "ledger", lambda: shown(ledger) + stored(ledger)
    yield "history", lambda: repr([each.content for each in ledger.history()])
    yield "verdict", lambda: shown(ledger.verify())
    yield "pending", lambda: shown(ledger.pending())


def _synthetic(data: Any) -> Iterator[Step]:
    """Yield what a synthetic table lets out beside its rows."""
    domain = {"g": ["a", "b", None], "x": Bins.of((0, 10), bins=3), "b": [True, False]}
    made = TreeSynthesizer(domain, epsilon=1.0, delta=1e-6)
    kept: dict[str, Any] = {}

    def fitted() -> str:
        kept["model"] = made.fit(data)
        return shown(kept["model"])

    yield "synth: model", fitted
    model = kept.get("model")
    if model is not None:
        yield "synth: pairs", lambda: repr((model.pairs, model.curve))
        yield "synth: pickle", lambda: stored(model)
        yield "synth: release", lambda: shown(model.release)
