"""A small table of people, and one engine on which such tables are laid."""

import functools
from dataclasses import fields

import ibis
import numpy as np
import pyarrow

from hush.tables.bounding.relations import Relation
from hush.tables.engines import duckdb


def base(seed):
    generator = np.random.default_rng(seed)
    n = 60
    return {
        "who": generator.integers(0, 15, n).tolist(),
        "g": generator.choice(["a", "b", "c"], n).tolist(),
        "h": generator.integers(0, 3, n).tolist(),
        "x": generator.normal(10, 20, n).round(3).tolist(),
        "y": generator.normal(0, 5, n).round(3).tolist(),
    }


TYPES = {
    "who": pyarrow.int64(),
    "g": pyarrow.string(),
    "h": pyarrow.int64(),
    "x": pyarrow.float64(),
    "y": pyarrow.float64(),
}


def arrow(columns):
    return pyarrow.table(
        {
            name: pyarrow.array([_fit(v, kind) for v in columns[name]], kind)
            for name, kind in TYPES.items()
        }
    )


def _fit(value, kind):
    """What a typed column can hold: a strange number in a whole column is NULL."""
    if kind == pyarrow.int64() and isinstance(value, float):
        return int(value) if value == value and abs(value) < 2**63 else None
    if kind == pyarrow.string() and value is not None:
        return str(value)
    return value


_written = duckdb.sql_of


@functools.lru_cache(maxsize=500)
def _text(connection, asked):
    return _written(connection, asked.to_expr())


def written_once(connection, relation):
    """The SQL of a relation; equal expressions have equal texts, whatever the rows."""
    return _text(connection, relation.op())


class _Watched:
    """An engine that counts how often somebody reached for it."""

    def __init__(self, engine):
        self.engine, self.asked = engine, 0

    def __getattr__(self, name):
        self.asked += 1
        return getattr(self.engine, name)


class Desk:
    """One engine on which table after table is laid, under one name.

    Nothing is done twice: Ibis takes most of a small release to build expressions and
    to make SQL of them, and a table is on one side of several pairs. What is built
    while the engine is asked nothing follows from public parameters alone, equal
    expressions have equal texts, and equal rows equal sums. An expression into which
    data found its way is built again on every table, and is another one.
    """

    def __init__(self, monkeypatch):
        self.connection = ibis.duckdb.connect(threads=1)
        self.connection.con = _Watched(self.connection.con)
        self._laid = ""
        for kind in Relation.__subclasses__():
            built = self._building_once(kind.table)
            monkeypatch.setattr(kind, "table", built)
        monkeypatch.setattr(duckdb, "sql_of", written_once)
        monkeypatch.setattr(duckdb, "fetch", self._reading_once(duckdb.fetch))

    def lay(self, columns):
        self._laid = repr(columns)
        self.connection.con.register("desk", arrow(columns))
        return self.connection.table("desk")

    def _building_once(self, build):
        kept = {}

        def table(relation, bounded):
            parts = (getattr(bounded, each.name) for each in fields(bounded))
            public = (p.op() if isinstance(p, ibis.Table) else p for p in parts)
            asked = relation, *public
            if asked in kept:
                return kept[asked]
            before = self.connection.con.asked
            built = build(relation, bounded)
            if self.connection.con.asked == before:
                kept[asked] = built
            return built

        return table

    def _reading_once(self, read):
        kept = {}

        def fetch(connection, relation):
            if connection is not self.connection:
                return read(connection, relation)
            asked = self._laid, relation.op()
            if asked not in kept:
                kept[asked] = read(connection, relation)
            return kept[asked]

        return fetch


def parts(read, table):
    """Yield people, and nobody, with what is read of their rows alone.

    With what is read of all the others it is what is read of everybody. Two of the
    people are as far apart as numbers can be.
    """
    far = 2**63 - 1
    ends = {-7: -far - 1, 31: far}
    who = [ends.get(person, person) for person in table["who"].to_pylist()]
    table = table.set_column(0, "who", pyarrow.array(who, pyarrow.int64()))

    def of(keep):
        return read(table.filter(pyarrow.array([keep(each) for each in who])))

    everyone = of(lambda _: True)
    for person in (-far - 1, far, -6, 5, None):
        own = of(lambda each, person=person: each == person)
        rest = of(lambda each, person=person: each != person)
        assert np.array_equal(everyone, own + rest)
        yield person, own
