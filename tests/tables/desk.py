"""A small table of people, and one engine on which such tables are laid."""

import functools

import ibis
import numpy as np
import pyarrow

from hush.tables import embedded


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


class Desk:
    """One engine on which table after table is laid, under one name.

    Ibis makes SQL from an expression without looking at rows, and takes most of a small
    release to do so. Equal expressions are compiled once; one into which data found its
    way is another expression.
    """

    def __init__(self, monkeypatch):
        self.connection = ibis.duckdb.connect()
        honest = embedded.written

        @functools.cache
        def text(asked):
            return honest(self.connection, asked.to_expr())

        def written(connection, relation):
            if connection is not self.connection:
                return honest(connection, relation)
            return text(relation.op())

        monkeypatch.setattr(embedded, "written", written)

    def lay(self, columns):
        self.connection.con.register("desk", arrow(columns))
        return self.connection.table("desk")
