"""One small table in every place that hush reads, and questions with known answers.

Answers are worked out here, row by row. ε is so large that noise of half a row has a
chance below e^-100 per number, whatever is asked.
"""

import hush
from seams import injector as driver

EPSILON = 10**4
BUDGET = hush.Budget(epsilon=10**9, delta=0.5)
DELTA = 2.0**-40
KEYS = ("a", "b", "c")
SIZE = 120  # two rows each of sixty people
ROWS = {
    "u": [i // 2 for i in range(SIZE)],
    "k": ["abc"[i % 3] for i in range(SIZE)],
    "x": [(7 * i) % 9 for i in range(SIZE)],
}
ZONES = {"k": ["a", "b"], "zone": ["north", "south"]}


def rows():
    return list(zip(*(ROWS[name] for name in ("u", "k", "x")), strict=True))


def _csv(folder):
    lines = "".join(f"{u},{k},{x}\n" for u, k, x in rows())
    (folder / "stock.csv").write_text("u,k,x\n" + lines)
    return folder / "stock.csv"


def _parquet(folder):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(ROWS), folder / "stock.parquet")
    return folder / "stock.parquet"


def _pandas(_):
    import pandas

    return pandas.DataFrame(ROWS).astype({"k": "string"})


def _polars(_):
    import polars

    return polars.DataFrame(ROWS)


def _lazy(folder):
    return _polars(folder).lazy()


def _duckdb(_):
    import ibis
    import pyarrow

    return ibis.duckdb.connect().create_table("stock", pyarrow.table(ROWS))


def _file(folder):
    import duckdb
    import pyarrow

    connection = duckdb.connect(str(folder / "stock.duckdb"))
    given = pyarrow.table(ROWS)
    connection.register("given", given)
    connection.execute("CREATE TABLE stock AS SELECT * FROM given")
    connection.close()
    return f"{folder}/stock.duckdb/stock"


PLACES = {
    "dict": lambda _: ROWS,
    "pandas": _pandas,
    "polars": _polars,
    "lazy": _lazy,
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "file": _file,
}


def place(name, folder, request):
    """Return a source by name, and what wraps the driver that reads it."""
    if name in ("postgres", "session"):
        engine = request.getfixturevalue("postgres_engine")
        table = engine.table(ROWS).get_name()
        if name == "postgres":
            return engine.address.replace("?", f"/public.{table}?")
        import ibis

        url = engine.address.replace("postgresql://", "postgres://")
        connection = ibis.connect(url)
        request.addfinalizer(connection.con.close)
        return connection.table(table)
    if name == "spark":
        engine = request.getfixturevalue("spark_engine")
        return engine.session.createDataFrame(list(rows()), "u long, k string, x long")
    return PLACES[name](folder)


def wrapped(name, monkeypatch):
    """Plant an injector at the driver that a source is read by."""
    found = driver.Injector()
    wrap = {
        "postgres": driver.wrap_postgres,
        "session": driver.wrap_postgres,
        "spark": driver.wrap_spark,
        "lazy": driver.wrap_polars,
    }.get(name, driver.wrap_duckdb)
    wrap(monkeypatch, found)
    return found


def opened(given, ledger=None, **more):
    paid = {"budget": BUDGET} if ledger is None else {"ledger": ledger}
    if str(given).endswith(".csv"):
        more["types"] = {"u": "number", "x": "number"}
    return hush.open(given, unit="u", rows=2, name="stock", **paid, **more)


# -- questions: how they are asked, and what is right ---------------------------------


def _near(found, wanted):
    return len(found) == len(wanted) and all(
        abs(one - other) < 0.5 for one, other in zip(found, wanted, strict=True)
    )


def grouped(data, keys=KEYS):
    """Counts and sums by public keys."""
    made = data.group_by("k", keys=list(keys)).agg(
        n=hush.count(), s=hush.sum("x", bounds=(0, 8))
    )
    counts = [sum(k == key for _, k, _ in rows()) for key in keys]
    sums = [sum(x for _, k, x in rows() if k == key) for key in keys]

    def right(answer):
        found = answer.to_dict()
        return (
            list(found["k"]) == list(keys)
            and _near(found["n"], counts)
            and _near(found["s"], sums)
        )

    return made, right


def filtered(data, least):
    """The number of rows with x above a bound."""
    made = data.where(f"x > {least}").agg(n=hush.count())
    wanted = [sum(x > least for _, _, x in rows())]
    return made, lambda answer: _near(list(answer.to_dict()["n"]), wanted)


def found(data):
    """Counts by keys that are found in the data."""
    made = data.group_by("k", keys="private", most=2).agg(n=hush.count())

    def right(answer):
        shown = answer.to_dict()
        counts = [sum(k == key for _, k, _ in rows()) for key in shown["k"]]
        return sorted(shown["k"]) == sorted(KEYS) and _near(shown["n"], counts)

    return made, right


def median(data):
    """The middle of x: among the values around the middle rank."""
    made = data.agg(m=hush.median("x", bounds=(0, 8)))
    values = sorted(x for _, _, x in rows())
    low, high = values[SIZE // 2 - 2], values[SIZE // 2 + 2]
    return made, lambda answer: low <= answer.to_dict()["m"][0] <= high + 1


QUESTIONS = (
    grouped,
    lambda data: grouped(data, ("c", "a")),
    lambda data: filtered(data, 3),
    lambda data: filtered(data, 6),
    found,
    median,
)


def asked(made):
    return lambda key: made.release(epsilon=EPSILON, delta=DELTA, key=key)
