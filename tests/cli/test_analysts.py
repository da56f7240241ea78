"""Colleagues who share a budget: each has an account, and the data set's bounds all."""

import pytest

from hush.ledger import Admin
from shop import COUNT, left


def test_an_analyst_pays_from_two_accounts_or_from_none(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shop.json("budget", "--grant", "ana", "-e", 0.3)
    found = shop.json("query", COUNT, "-e", 0.25, "--analyst", "ana")
    assert {each["account"] for each in found["left"]} == {
        "analyst:ana",
        "dataset:trips",
    }
    before = left(shop.json("budget"))
    assert before == {
        "dataset:trips": pytest.approx(1.25),
        "analyst:ana": pytest.approx(0.05),
    }
    done = shop.run("query", COUNT, "-e", 0.25, "--analyst", "ana")
    assert done.exit_code == 3
    assert "`hush budget --raise --grant ana -e ...`" in done.stderr
    assert left(shop.json("budget")) == before
    shown = shop.json("budget")["charges"]
    assert [each["analyst"] for each in shown] == [None, "ana"]


def test_the_data_set_comes_first_and_analysts_after_it(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shown = shop.json("budget", "--grant", "ana", "-e", 0.3, "-d", 1e-6)
    assert list(left(shown)) == ["dataset:trips", "analyst:ana"]
    done = shop.run("budget")
    assert "analyst 'ana': epsilon 0.3, delta 1e-06 left of" in done.stdout


def test_a_share_is_enlarged_on_purpose_and_never_made_smaller(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shop.json("budget", "--grant", "ana", "-e", 0.3)
    shop.json("budget", "--grant", "ana", "-e", 0.3)  # harmless: it has that share
    done = shop.run("budget", "--grant", "ana", "-e", 0.4)
    assert done.exit_code == 1
    assert "--raise --grant ana" in done.stderr
    shown = shop.json("budget", "--raise", "--grant", "ana", "-e", 0.4)
    assert left(shown)["analyst:ana"] == pytest.approx(0.4)
    assert left(shown)["dataset:trips"] == pytest.approx(1.5)
    assert shop.run("budget", "--raise", "--grant", "ana", "-e", 0.2).exit_code == 1


def test_nobody_asks_without_an_account_and_no_ledger_is_begun(shop):
    done = shop.run("query", COUNT, "-e", 0.5, "--analyst", "ana")
    assert done.exit_code == 4
    assert not (shop.folder / "trips.budget.db").exists()
    shop.json("query", COUNT, "-e", 0.5)
    done = shop.run("query", COUNT, "-e", 0.5, "--analyst", "ana")
    assert done.exit_code == 4
    assert "`hush budget --grant ana -e ...`" in done.stderr
    assert len(shop.json("budget")["charges"]) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--grant", "ana"], "add -e EPSILON"),
        (["-e", 0.3], "named with --grant"),
        (["-d", 1e-6], "named with --grant"),
    ],
)
def test_a_share_has_a_name_and_an_amount(shop, options, said):
    shop.json("query", COUNT, "-e", 0.5)
    done = shop.run("budget", *options)
    assert done.exit_code == 1
    assert said in done.stderr


def test_a_share_in_a_signed_ledger_needs_the_signature(shop):
    (shop.folder / "office.pem").write_bytes(Admin.generate("office").to_pem())
    assert shop.run("budget", "--open", "--admin", "office.pem").exit_code == 0
    assert shop.run("budget", "--grant", "ana", "-e", 0.3).exit_code == 4
    done = shop.run("budget", "--grant", "ana", "-e", 0.3, "--admin", "office.pem")
    assert done.exit_code == 0


def test_what_an_analyst_released_is_shown_again_to_all(shop):
    shop.json("query", COUNT, "-e", 0.5)
    shop.json("budget", "--grant", "ana", "-e", 0.3)
    asked = ("query", COUNT, "-e", 0.25, "--key", "may")
    first = shop.json(*asked, "--analyst", "ana")
    assert shop.json(*asked, "--stored")["rows"] == first["rows"]
