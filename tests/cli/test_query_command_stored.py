"""`hush query --stored`: a released answer is read back, and nothing else happens."""

import pytest

from shop import BY, COUNT


@pytest.mark.parametrize("text", [COUNT, f"{BY} ORDER BY n DESC LIMIT 1"])
def test_an_answer_outlives_the_data(shop, text):
    first = shop.json("query", text, "-e", 0.5, "--key", "monday")
    whole = (shop.folder / "trips.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    broken = b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:]
    (shop.folder / "trips.parquet").write_bytes(broken)  # only its schema is left
    again = shop.json("query", text, "-e", 0.5, "--key", "monday", "--stored")
    assert again["rows"] == first["rows"]
    assert again["receipt"] == first["receipt"]
    assert shop.spent() == pytest.approx(0.5)
    done = shop.run("query", text, "--key", "monday", "--stored")  # spends nothing
    assert "Stored answer of entry 2" in done.stderr
    assert "as in -e 0.5" in shop.run("query", text, "--key", "monday").stderr


def test_private_keys_are_read_back(shop):
    text = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone"
    given = ("query", text, "-e", 0.5, "-d", 1e-6, "--key", "k")
    assert shop.json(*given)["rows"] == shop.json(*given, "--stored")["rows"]


def test_what_is_not_stored_is_refused_and_costs_nothing(shop):
    assert shop.run("query", COUNT, "-e", 0.5, "--key", "k", "--stored").exit_code == 4
    assert shop.spent() == 0
    shop.json("query", COUNT, "-e", 0.5, "--key", "monday")
    for arguments, words in (
        ((COUNT, "--stored"), "name it"),
        ((COUNT, "--stored", "--key", "sunday"), "no answer is stored under"),
        ((BY, "--stored", "--key", "monday"), "is one to another statement"),
    ):
        done = shop.run("query", *arguments, "-e", 0.5)
        assert done.exit_code == 1
        assert words in done.stderr
    shop.edit("rows = 4", "rows = 5")
    done = shop.run("query", COUNT, "-e", 0.5, "--key", "monday", "--stored")
    assert "had another unit, rows" in done.stderr
    assert shop.spent() == pytest.approx(0.5)


def test_bounds_that_were_found_are_not_guessed(shop):
    shop.edit("bounds = [0, 60]", 'bounds = "private"')
    given = ("query", "SELECT AVG(fare) AS fare FROM trips", "-e", 1.5, "--key", "k")
    assert shop.run(*given).exit_code == 0
    done = shop.run(*given, "--stored")
    assert done.exit_code == 1
    assert "cannot be read back" in done.stderr


def test_an_answer_is_that_of_the_data_set_that_paid(shop):
    shop.json("query", COUNT, "-e", 0.5, "--key", "monday")
    shop.edit('name = "trips"', 'name = "rides"')
    assert shop.run("budget", "--open").exit_code == 0
    text = COUNT.replace("trips", "rides")
    done = shop.run("query", text, "-e", 0.5, "--key", "monday", "--stored")
    assert "no answer is stored under" in done.stderr
