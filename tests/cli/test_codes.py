"""The same refusal has the same code in Python and on the command line."""

import pytest

import hush
from hush.cli.session import Foreign, stable_code
from hush.errors import HushError
from shop import COUNT, table

KEYS = ('[columns.borough]\nkeys = ["Bronx", "Kings"]\n', "")


def opened(**more):
    given = {"unit": "driver", "rows": 4, "name": "trips"} | more
    given.setdefault("budget", hush.Budget(epsilon=2, delta=1e-5))
    return hush.open("trips.parquet", **given)


def asked(text, epsilon=0.5, **more):
    return opened().sql(text, epsilon=epsilon, **more)


FEAR = "SELECT SUM(CLAMP(fear, 0, 1)) AS s FROM trips"
BY = "SELECT borough, COUNT(*) AS n FROM trips GROUP BY borough"
ZONE = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone"
# code -> (the change of hush.toml, the command, the same in Python)
SAME = {
    "unknown-column": (
        (),
        ("query", FEAR, "-e", 0.5),
        lambda: asked(FEAR),
    ),
    "unknown-table": (
        (),
        ("query", "SELECT COUNT(*) AS n FROM other", "-e", 0.5),
        lambda: asked("SELECT COUNT(*) AS n FROM other"),
    ),
    "bounds-missing": (
        ("[columns.fare]\nbounds = [0, 60]\n", ""),
        ("query", "SELECT AVG(fare) AS m FROM trips", "-e", 0.5),
        lambda: asked("SELECT AVG(fare) AS m FROM trips"),
    ),
    "keys-missing": (KEYS, ("query", BY, "-e", 0.5), lambda: asked(BY)),
    "not-an-aggregate": (
        (),
        ("query", "SELECT fare FROM trips", "-e", 0.5),
        lambda: asked("SELECT fare FROM trips"),
    ),
    "unreadable-sql": (
        (),
        ("plan", "SELECT COUNT(* FROM trips", "-e", 0.5),
        lambda: asked("SELECT COUNT(* FROM trips"),
    ),
    "delta-missing": (
        (),
        ("query", ZONE, "-e", 0.5),
        lambda: asked(ZONE, keys={"zone": "private"}),
    ),
    "budget-exceeded": (
        (),
        ("query", COUNT, "-e", 2.5),
        lambda: asked(COUNT, epsilon=2.5),
    ),
    "invalid-argument": (
        (),
        ("query", COUNT, "-e", 0),
        lambda: asked(COUNT, epsilon=0),
    ),
    "data-unreachable": (
        ("trips.parquet", "gone.parquet"),
        ("query", COUNT, "-e", 0.5),
        lambda: hush.open("gone.parquet", budget=hush.Budget(epsilon=1)),
    ),
    "unit-missing": (
        ('"driver"', '""'),
        ("query", COUNT, "-e", 0.5),
        lambda: opened(unit=None),
    ),
}


@pytest.mark.parametrize("code", SAME)
def test_python_and_the_command_line_say_the_same_code(shop, code):
    change, command, call = SAME[code]
    with pytest.raises(HushError) as refused:
        call()
    assert refused.value.code == code
    if change:
        shop.edit(*change)
    done = shop.run(*command, "--json")
    assert f'"code": "{code}"' in done.stdout
    assert code not in done.stderr  # the line for people stays as it was


def test_a_wrong_unit_is_an_unknown_column_in_both(shop):
    with pytest.raises(HushError) as refused:
        opened(unit="nobody")
    shop.edit('"driver"', '"nobody"')
    shown = shop.json("query", COUNT, "-e", 0.5, code=1)["error"]
    assert shown["code"] == refused.value.code == "unknown-column"
    assert set(shown) == {"kind", "code", "message", "exit"}


def test_a_key_of_another_request_is_the_same_conflict_in_both(shop):
    data = opened(ledger="sqlite:///own.db")
    data.sql(COUNT, epsilon=0.1, key="may")
    with pytest.raises(HushError) as refused:
        data.sql(COUNT, epsilon=0.2, key="may")
    shop.run("query", COUNT, "-e", 0.1, "--key", "may")
    shown = shop.json("query", COUNT, "-e", 0.2, "--key", "may", code=4)["error"]
    assert shown["code"] == refused.value.code == "key-conflict"


def test_an_answer_that_is_not_stored_and_a_budget_that_differs(shop):
    shop.run("query", COUNT, "-e", 0.1, "--key", "may")
    given = ("query", COUNT, "--stored", "--key", "june")
    assert shop.json(*given, code=1)["error"]["code"] == "no-stored-answer"
    shop.edit("epsilon = 2.0", "epsilon = 3.0")
    shown = shop.json("query", COUNT, "-e", 0.1, code=1)["error"]
    assert shown["code"] == "budget-differs"
    with pytest.raises(HushError) as refused:
        opened(ledger="sqlite:///trips.budget.db", budget=hush.Budget(epsilon=3))
    assert refused.value.code == "budget-differs"


def test_errors_of_others_have_codes_too():
    assert stable_code(KeyboardInterrupt()) == Foreign.STOPPED
    assert stable_code(OSError(2, "no", "file")) == Foreign.FILE
    assert stable_code(ZeroDivisionError()) == Foreign.INTERNAL


def test_a_file_that_changed_says_so(shop):
    from pyarrow import parquet

    data = opened()
    parquet.write_table(table().slice(1), shop.folder / "trips.parquet")
    with pytest.raises(HushError) as refused:
        data.sql(COUNT, epsilon=0.1)
    assert refused.value.code == "data-changed"
    (shop.folder / "trips.parquet").unlink()
    with pytest.raises(HushError) as refused:
        data.sql(COUNT, epsilon=0.1)
    assert refused.value.code == "data-unreachable"
