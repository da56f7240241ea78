"""Sabotaged twins: each lets something out beside the noise, and is caught."""

import hashlib
import logging
import os
import warnings
from pathlib import Path

import pytest

import hush
from hush.errors import InvalidArgument
from hush.ledger import Receipt
from hush.tables import Answer, Dataset, Query
from hush.tables.engines.provenance import Origin
from seams import canary
from seams.desk import Desk, compared
from seams.escaping import Tape, differing, gathered, plain, told_by, words
from seams.neighbors import ROWS, SOURCES


def lengths(query):
    """Return how many rows a data set of these tests has, as no plan may say."""
    return query.dataset._table.count().execute()


def _unkeyed(monkeypatch):
    def version(self, ledger):
        facts = [(each.path.name, each.state[2]) for each in self.files]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]

    monkeypatch.setattr(Origin, "version", version)


def _quoting(monkeypatch):
    agg = Dataset.agg

    def told(self, **aggregates):
        try:
            return agg(self, **aggregates)
        except Exception:
            first = self._table.g.min().execute()
            raise InvalidArgument(f"cannot add up {first!r}") from None

    monkeypatch.setattr(Dataset, "agg", told)


def _chained(monkeypatch):
    agg = Dataset.agg

    def told(self, **aggregates):
        try:
            return agg(self, **aggregates)
        except Exception as problem:
            largest = self._table.u.max().execute()
            problem.add_note(str(largest))
            raise

    monkeypatch.setattr(Dataset, "agg", told)


def _counting(monkeypatch):
    explain = Query.explain
    monkeypatch.setattr(Query, "explain", lambda q: f"{explain(q)} {lengths(q)} rows")


def _printing(monkeypatch):
    sql_text = Query.sql_text

    def told(self):
        if self.dataset._table.u.max().execute() > 1000:
            warnings.warn("large numbers", stacklevel=1)
            logging.getLogger("hush").debug("more than %d", 1000)
        return sql_text(self)

    monkeypatch.setattr(Query, "sql_text", told)


def _ordering(monkeypatch):
    to_dict = Answer.to_dict

    def told(self, *more, **options):
        found = to_dict(self, *more, **options)
        turned = lengths(self.query) % 2
        return dict(reversed(found.items())) if turned else found

    monkeypatch.setattr(Answer, "to_dict", told)


def _writing(monkeypatch):
    release = Query.release

    def told(self, *more, **options):
        Path("left.csv").write_text(f"{lengths(self)} rows")
        os.environ["HUSH_ROWS"] = str(lengths(self))
        return release(self, *more, **options)

    monkeypatch.setattr(Query, "release", told)


def _hashing(monkeypatch):
    to_dict = Receipt.to_dict

    def told(self):
        held = hashlib.blake2b(str(canary.WHOLE).encode()).hexdigest()
        return {**to_dict(self), "notes": held}

    monkeypatch.setattr(Receipt, "to_dict", told)


# What is broken: on which source, and the channels that must tell it.
TWINS = {
    "a version without a key": (
        _unkeyed,
        "parquet",
        {"version", "public keys: receipt"},
    ),
    "an error that quotes a value": (
        _quoting,
        "arrow",
        {"mean of texts: query: error"},
    ),
    "an error with a note": (_chained, "arrow", {"mean of texts: query: error"}),
    "a plan that counts rows": (_counting, "arrow", {"public keys: explain"}),
    "a warning by the data": (_printing, "arrow", {"warnings", "logs"}),
    "columns in another order": (_ordering, "arrow", {"public keys: table"}),
    "a file and a variable": (_writing, "arrow", {"files", "environment"}),
    "a hash of a value": (_hashing, "arrow", {"public keys: receipt"}),
}


FAST = ("a version without a key", "an error with a note", "a plan that counts rows")
CASES = [
    each if each in FAST else pytest.param(each, marks=pytest.mark.slow)
    for each in TWINS
]


@pytest.mark.parametrize("name", CASES)
def test_a_sabotaged_twin_is_caught(tmp_path, monkeypatch, name):
    sabotage, source, channels = TWINS[name]
    monkeypatch.setenv("HUSH_ROWS", "")
    desk = Desk(tmp_path, SOURCES[source])
    desk.settle(monkeypatch)
    sabotage(monkeypatch)
    found, _ = compared(desk, ["canary"])
    assert channels <= {channel for _, channel in found}


def test_a_word_is_masked_only_where_it_is_random():
    first = {"a": "key 0123456789abcdef of deadbeefdeadbeef at 2026-01-01T10:11:12"}
    again = {"a": "key fedcba9876543210 of deadbeefdeadbeef at 2026-01-01T10:11:13"}
    other = {"a": "key aaaaaaaaaaaaaaaa of deadbeefdeadbee0 at 2026-01-01T10:11:14"}
    assert differing(first, again, again) == {}
    assert list(differing(first, again, other)) == ["a"]
    with pytest.raises(AssertionError, match="same data"):
        differing({"a": "one"}, {"a": "two"}, {"a": "one"})
    assert plain("x 0123456789abcdef", words({"a": "0123456789abcdef"})) != plain(
        "x 0123456789abcdef", set()
    )


@pytest.mark.parametrize(
    "text",
    [
        f"Could not convert '{canary.TEXT}'",
        canary.TEXT.encode("utf-16-le").decode("latin-1"),
        hashlib.sha1(repr(canary.REAL).encode()).hexdigest()[:20],
        hashlib.md5(canary.TEXT.encode()).digest().decode("latin-1"),
        f"{canary.WHOLE:,}",
        canary.REAL.hex(),
        "eyJnIjogIlp5eHctN3EzenJTV3LWNhbmFyeSJ9" + "Wnl4dy03cTN6azl3LWNhbmFyeQ==",
    ],
)
def test_the_canary_is_found_in_any_of_its_forms(text):
    assert canary.hits(text)
    assert not canary.hits(text[: len(text) // 4])


def test_what_a_frame_of_hush_holds_is_seen():
    code = "def draw(given):\n    answer = 2 * given\n    raise ValueError('no')\n"
    space = {}
    exec(compile(code, "/site/hush/draw.py", "exec"), space)  # a frame of hush
    data = (canary.REAL,)
    with pytest.raises(ValueError, match="no") as caught:
        space["draw"](data)
    words, held = told_by(caught.value, (data,))
    assert not canary.hits(words)
    assert canary.hits(held)
    assert "given" in held
    assert str(data) not in held.partition("draw.given")[2]


def test_a_run_that_differs_in_its_mechanisms_is_caught():
    from hush.mechanisms import Laplace

    def steps(scale):
        yield "answer", lambda: str(Laplace(scale).run(1.0))

    tape = Tape()
    first, again = (gathered(lambda: steps(2.0), tape) for _ in "ab")
    other = gathered(lambda: steps(3.0), tape)
    assert list(differing(first, again, other)) == ["mechanisms"]
    assert first["answer"] == other["answer"]


@pytest.mark.slow
def test_the_table_is_the_same_in_every_source(tmp_path):
    from seams.neighbors import TYPES

    for name, held in SOURCES.items():
        place = tmp_path / name
        place.mkdir()
        more = {"types": TYPES} if name == "csv" else {}
        budget = hush.Budget(epsilon=1e9)
        data = hush.open(held(place, ROWS), budget=budget, name="data", **more)
        query = data.where("b AND k > 1 AND d < DATE '2025-01-01'")
        # Noise of half a row has a chance below e^-400.
        found = query.agg(n=hush.count()).release(epsilon=1000)["n"][0]
        assert round(found) == 8, name
