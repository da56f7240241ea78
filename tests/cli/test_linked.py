"""Months of one population: data sets of a ledger that count to the same people."""

import pytest

from shop import COUNT, left


def april(shop):
    """Turn the folder's data set into another one of the same ledger."""
    shop.edit('name = "trips"', 'name = "april"')
    return COUNT.replace("trips", "april")


def test_two_months_share_the_budget_of_their_people(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shown = shop.json("budget", "--link", "drivers", "-e", 1.2, "-d", 1e-6)
    assert left(shown)["unit:drivers"] == pytest.approx(0.7)  # what was spent counts
    count = april(shop)
    refused = shop.run("query", count, "-e", 0.5)
    assert refused.exit_code == 4
    assert "`hush budget --open --link people` here" in refused.stderr
    shop.json("budget", "--open", "--link", "drivers")
    shop.json("query", count, "-e", 0.5)
    assert left(shop.json("budget")) == {
        "dataset:april": pytest.approx(1.5),
        "unit:drivers": pytest.approx(0.2),
    }
    dear = shop.run("query", count, "-e", 0.5)
    assert dear.exit_code == 3
    assert "`hush budget --raise --link drivers -e ...`" in dear.stderr
    shown = shop.json("budget", "--raise", "--link", "drivers", "-e", 2, "-d", 1e-6)
    assert left(shown)["unit:drivers"] == pytest.approx(1.0)
    assert shop.run("verify").exit_code == 0
    again = shop.run("budget", "--open")
    assert "'april' had its account before" in again.stderr
    assert "other data (trips, april)" not in refused.stderr
    assert "other data (trips)" in refused.stderr


def test_people_have_the_delta_of_the_data_set(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shown = shop.json("budget", "--link", "drivers", "-e", 1)["accounts"][1]
    assert shown["delta_limit"] == 1e-5


def test_a_link_that_would_not_hold_what_was_spent_is_refused(shop):
    shop.json("query", COUNT, "-e", 0.5)
    done = shop.run("budget", "--link", "drivers", "-e", 0.3)
    assert done.exit_code == 3
    assert "dataset 'trips' has spent epsilon 0.5" in done.stderr
    assert list(left(shop.json("budget"))) == ["dataset:trips"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--link", "drivers"), "'drivers' has no account in this ledger. Open it"),
        (("--link", "drivers", "--grant", "ana", "-e", 1), "--grant or --link"),
        (("--link", "drivers", "-d", 1e-6), "needs -e EPSILON"),
        (("-e", 1), "or of the people of --link"),
    ],
)
def test_what_is_missing_is_asked_for(shop, options, words):
    shop.json("query", COUNT, "-e", 0.5)
    done = shop.run("budget", *options)
    assert done.exit_code == 1
    assert words in done.stderr


def test_people_keep_the_budget_they_have(shop):
    shop.json("query", COUNT, "-e", 0.5)
    for _ in range(2):  # the second time it is harmless
        shop.json("budget", "--link", "drivers", "-e", 1)
    done = shop.run("budget", "--link", "drivers", "-e", 2)
    assert done.exit_code == 1
    assert "--raise --link drivers" in done.stderr
