"""Bad input: one line with the way out, the documented code, and nothing charged."""

import sqlite3

import pytest

from hush.cli.session import MEANING, Code, code_of
from hush.errors import HushError
from shop import BY, CANARY, COUNT, SECRET, TOML


def quiet(done) -> str:
    """Return the one line of a failure that shows nothing it should not."""
    text = done.stderr
    assert text.startswith("hush: "), text
    assert 1 <= text.count("\n") <= 2, text
    for word in ("Traceback", "duckdb", "Error:", "ibis", CANARY, str(SECRET)):
        assert word not in text
    return text


# name -> (what to change in hush.toml, the statement, further options, code, words)
BAD = {
    "missing file": (("trips.parquet", "gone.parquet"), COUNT, (), 1, "does not exist"),
    "wrong unit": (('"driver"', '"nobody"'), COUNT, (), 1, "not a column"),
    "no unit": (('"driver"', '""'), COUNT, (), 1, "who is protected"),
    "wrong column": (
        (),
        "SELECT SUM(CLAMP(nope, 0, 1)) AS s FROM trips",
        (),
        1,
        "nope",
    ),
    "column without bounds": ((), "SELECT AVG(zone) AS z FROM trips", (), 1, "bounds"),
    "group without keys": (
        ('[columns.borough]\nkeys = ["Bronx", "Kings"]\n', ""),
        BY,
        (),
        1,
        "public values",
    ),
    "malformed SQL": ((), "SELECT FROM WHERE", (), 1, ""),
    "not a SELECT": ((), "DROP TABLE trips", (), 1, "SELECT"),
    "a raw column": ((), "SELECT fare FROM trips", (), 1, "cannot be released"),
    "another table": ((), "SELECT COUNT(*) FROM other", (), 1, "trips"),
    "engine function": ((), "SELECT COUNT(*) AS n FROM read_csv('x')", (), 1, ""),
    "nan bounds": (("[0, 60]", "[nan, 60]"), COUNT, (), 1, "bounds of 'fare'"),
    "infinite bounds": (("[0, 60]", "[0, inf]"), COUNT, (), 1, "bounds of 'fare'"),
    "bounds reversed": (("[0, 60]", "[60, 0]"), COUNT, (), 1, "lower <= upper"),
    "one bound": (("[0, 60]", "[0]"), COUNT, (), 1, "a pair"),
    "unknown column": (("columns.fare", "columns.fear"), COUNT, (), 1, "'fear'"),
    "unknown setting": (("rows = 4", "row = 4"), COUNT, (), 1, "'row' is unknown"),
    "rows of zero": (("rows = 4", "rows = 0"), COUNT, (), 1, "rows must be"),
    "two notions": (("delta = 1e-5", "rho = 1.0"), COUNT, (), 1, "one of epsilon"),
    "not TOML": (("[budget]", "[budget"), COUNT, (), 1, "not TOML"),
    "odd ledger": (("sqlite:///", "file:///"), COUNT, (), 1, "sqlite:///"),
    "no folder": (("sqlite:///", "sqlite:///no/such/"), COUNT, (), 4, "does not exist"),
    "odd neighbors": (("rows = 4", 'rows = 4\nneighbors = "x"'), COUNT, (), 1, "add-"),
    "odd keys": (('["Bronx", "Kings"]', "[]"), BY, (), 1, "keys of 'borough'"),
    "spent": ((), COUNT, ("-e", "2.5"), 3, "needs epsilon 2.5"),
    "delta spent": ((), COUNT, ("-d", "0.1"), 3, "delta"),
    "epsilon of zero": ((), COUNT, ("-e", "0"), 1, "epsilon must be"),
    "nan epsilon": ((), COUNT, ("-e", "nan"), 1, "epsilon must be"),
    "negative epsilon": ((), COUNT, ("-e", "-1"), 1, "epsilon must be"),
    "delta of one": ((), COUNT, ("-d", "1"), 1, "delta must be"),
    "odd level": ((), COUNT, ("--level", "1.5"), 1, "level must be"),
    "no config": ((), COUNT, ("-c", "no.toml"), 1, "hush init"),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", BAD)
def test_a_bad_query_is_refused_and_nothing_is_charged(shop, name):
    change, text, options, code, words = BAD[name]
    if change:
        shop.edit(*change)
    given = ("-e", "0.5", *options)
    done = shop.run("query", text, *given)
    assert done.exit_code == code, done.output
    assert words in quiet(done)
    assert done.stdout == ""
    shown = shop.json("query", text, *given, code=code)["error"]
    assert shown["exit"] == code
    assert words in shown["message"]
    (shop.folder / "hush.toml").write_text(TOML)
    assert shop.spent() == 0


def test_usage_errors_are_told_apart(shop):
    for wrong in (("query",), ("query", COUNT), ("query", COUNT, "-e", "x"), ("nope",)):
        assert shop.run(*wrong).exit_code == 2
    assert shop.spent() == 0


def test_a_spent_budget_through_the_real_entry_point(shop):
    assert shop.run("query", COUNT, "-e", 2).exit_code == 0
    done = shop.really("query", COUNT, "-e", 0.1)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "needs epsilon 0.1" in quiet(done)
    assert shop.spent() == 2


def test_a_broken_file_through_the_real_entry_point(shop):
    whole = (shop.folder / "trips.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    broken = b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:]
    (shop.folder / "trips.parquet").write_bytes(broken)
    done = shop.really("query", COUNT, "-e", 0.5, "--debug")
    # Refused if the reader notices at once; charged and failed if it reads later.
    assert done.returncode in (1, 5)
    assert "Traceback" not in done.stderr
    if done.returncode == 1:
        assert shop.spent() == 0


def test_a_locked_ledger_is_waited_for_and_then_told(shop, monkeypatch):
    from hush.cli import ledgers
    from hush.ledger.stores import sqlite

    shop.json("query", COUNT, "-e", 1)
    monkeypatch.setattr(sqlite, "_WAIT", 50)
    monkeypatch.setattr(ledgers, "WAIT", 0.05)
    holder = sqlite3.connect(shop.folder / "trips.budget.db", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        done = shop.run("query", COUNT, "-e", 0.5)
        assert done.exit_code == 4
        assert done.stdout == ""
        assert "SQLITE_BUSY" in quiet(done)
        assert shop.run("budget").exit_code == 4
        assert shop.run("verify", "trips.budget.db").exit_code == 4
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert shop.spent() == 1


def test_a_file_that_is_no_ledger_is_left_as_it_is(shop):
    path = shop.folder / "trips.budget.db"
    path.write_text("shopping list")
    assert "is not a ledger" in quiet(shop.run("query", COUNT, "-e", 0.5))
    assert shop.run("verify", path).exit_code == 4
    assert path.read_text() == "shopping list"
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE theirs (x)")
    file.close()
    before = path.read_bytes()
    assert "is not a ledger" in quiet(shop.run("query", COUNT, "-e", 0.5))
    assert path.read_bytes() == before


def test_a_lost_anchor_is_told(shop):
    shop.json("query", COUNT, "-e", 0.5)
    (shop.folder / "trips.budget.db.anchor").unlink()
    done = shop.run("query", COUNT, "-e", 0.5)
    assert done.exit_code == 4
    assert "anchor" in quiet(done)


def test_verify_does_not_make_a_ledger(shop):
    done = shop.run("verify", "none.db")
    assert done.exit_code == 4
    assert "there is no ledger" in quiet(done)
    assert not (shop.folder / "none.db").exists()


def test_a_failed_draw_keeps_its_charge_and_says_nothing(shop, monkeypatch):
    from hush.tables.bounding.relations import QueryResult

    def broken(self, relation):
        raise RuntimeError(f"{CANARY} {SECRET}")

    monkeypatch.setattr(QueryResult, "fetch", broken)
    done = shop.run("query", COUNT, "-e", 0.5, "--key", "k", "--debug")
    assert done.exit_code == 5
    assert CANARY not in done.output
    assert "its charge" in done.stderr
    assert shop.spent() == 0.5


def test_an_internal_error_shows_no_text_of_its_own(shop, monkeypatch):
    from hush.cli import query_command

    def broken(*_):
        raise RuntimeError(f"{CANARY} {SECRET}")

    monkeypatch.setattr(query_command, "plan_of", broken)
    done = shop.run("query", COUNT, "-e", 0.5)
    assert done.exit_code == 70
    assert "RuntimeError" in quiet(done)
    done = shop.run("query", COUNT, "-e", 0.5, "--debug")
    assert "in broken" in done.stderr
    assert CANARY not in done.output


def test_an_interrupt_ends_with_its_own_code(shop, monkeypatch):
    from hush.cli import query_command

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(query_command, "plan_of", stopped)
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 130


def test_every_error_has_a_code_and_every_code_a_meaning():
    def below(kind):
        yield kind
        for each in kind.__subclasses__():
            yield from below(each)

    for kind in below(HushError):
        assert code_of(kind("x")) not in (Code.OK, Code.USAGE, Code.INTERNAL)
    assert set(MEANING) == set(Code)
