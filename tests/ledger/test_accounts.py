"""Budgets, accounts and charges, on every store."""

from fractions import Fraction

import pytest

import hush
from hush import mechanisms
from hush.errors import BudgetExceeded, InvalidArgument, KeyConflict, LedgerError
from hush.ledger import Budget, Ledger
from hush.privacy import GDP, ZCDP, Approx, Pure


def test_ten_tenths_fill_a_budget_of_one(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        for _ in range(10):
            ledger.charge(Pure(epsilon=0.1))
        assert ledger.remaining().epsilon == 0
        with pytest.raises(BudgetExceeded):
            ledger.charge(Pure(epsilon=5e-324))
        assert ledger.verify()


def test_a_refused_charge_says_why_and_changes_nothing(url):
    with Ledger.open(url, budget=Budget(epsilon=1), dataset="visits") as ledger:
        ledger.charge(Pure(epsilon=0.6))
        before = ledger.history()
        with pytest.raises(BudgetExceeded) as refused:
            ledger.charge(Pure(epsilon=0.5))
        assert "needs epsilon 0.5 of dataset 'visits'" in str(refused.value)
        assert "epsilon 0.4 of epsilon 1 is left" in str(refused.value)
        assert ledger.history() == before
        assert ledger.remaining().epsilon == pytest.approx(0.4, abs=1e-12)


def test_a_charge_goes_to_all_accounts_or_to_none(url):
    with Ledger.open(url, budget=Budget(epsilon=1), unit="patients") as opened:
        opened.grant(Budget(epsilon=0.3), analyst="ana")
        ledger = opened.on(analyst="ana")
        ledger.charge(Pure(epsilon=0.25))
        left = {each.account: each.epsilon for each in ledger.remaining().accounts}
        assert left == {"dataset:default": 0.75, "unit:patients": 0.75} | {
            "analyst:ana": pytest.approx(0.05)
        }
        with pytest.raises(BudgetExceeded, match="analyst 'ana'"):
            ledger.charge(Pure(epsilon=0.1))
        assert {e.account: e.epsilon for e in ledger.remaining().accounts} == left


def test_c4_analysts_together_cannot_exceed_the_data_set(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as opened:
        people = ["ana", "ben", "cem"]
        for name in people:
            opened.grant(Budget(epsilon=0.5), analyst=name)
        opened.on(analyst="ana").charge(Pure(epsilon=0.5))
        opened.on(analyst="ben").charge(Pure(epsilon=0.5))
        with pytest.raises(BudgetExceeded, match="dataset"):
            opened.on(analyst="cem").charge(Pure(epsilon=0.5))


def test_c5_the_same_people_under_a_new_name_share_one_account(url):
    budget = Budget(epsilon=1)
    with Ledger.open(url, budget=budget, dataset="a", unit="patients") as ledger:
        ledger.charge(Pure(epsilon=0.75))
        ledger.grant(budget, dataset="b")
        ledger.link("b", "patients")
        again = ledger.on(dataset="b")
        assert again.remaining().epsilon == 0.25
        with pytest.raises(BudgetExceeded, match="unit 'patients'"):
            again.charge(Pure(epsilon=0.5))


def test_what_was_spent_before_a_link_is_charged_to_the_people(url):
    with Ledger.open(url, budget=Budget(epsilon=1, delta=1e-6)) as ledger:
        ledger.charge(Approx(0.3, 1e-7))
        ledger.link("default", "people", Budget(epsilon=0.5, delta=1e-5))
        ledger.link("default", "people")  # a second time it charges nothing
        people = ledger.remaining()["unit:people"]
        assert people.spent_exact == (Fraction(3, 10), Fraction(1, 10**7))
        ledger.grant(Budget(epsilon=9), dataset="copy")
        ledger.on(dataset="copy").charge(Pure(epsilon=0.25))
        before = ledger.accounts(), ledger.history()
        with pytest.raises(BudgetExceeded, match="'copy' has spent epsilon 0"):
            ledger.link("copy", "people")
        with pytest.raises(InvalidArgument, match="one cannot be added to"):
            ledger.link("copy", "others", Budget(rho=1))
        assert (ledger.accounts(), ledger.history()) == before
        ledger.raise_budget(Budget(epsilon=1, delta=1e-5), unit="people")
        ledger.link("copy", "people")
        left = ledger.remaining()["unit:people"]
        assert left.spent_exact[0] == Fraction(55, 100)
        assert ledger.verify()


def test_a_link_does_not_hide_that_rows_were_charged(url):
    about = {"neighbors": "add-remove"}
    with Ledger.open(url, budget=Budget(epsilon=1), dataset="a", unit="p") as ledger:
        ledger.charge(Pure(epsilon=0.1), notes={**about, "unit": "patient"})
        for name, unit in (("rows", "row"), ("people", "pid")):
            ledger.grant(Budget(epsilon=1), dataset=name)
            each = ledger.on(dataset=name)
            each.charge(Pure(epsilon=0.1), notes={**about, "unit": unit})
        before = ledger.history()
        with pytest.raises(InvalidArgument, match="unit 'p' was charged for 'patient'"):
            ledger.link("rows", "p")
        assert ledger.history() == before
        ledger.link("people", "p")
        # An account that knows only rows by its link refuses people from then on.
        ledger.link("rows", "q", Budget(epsilon=1))
        ledger.grant(Budget(epsilon=1), dataset="late")
        ledger.link("late", "q")
        with pytest.raises(InvalidArgument, match="unit 'q' was charged for 'row'"):
            ledger.on(dataset="late").charge(
                Pure(epsilon=0.1), notes={**about, "unit": "pid"}
            )


def test_a_link_made_elsewhere_is_seen_by_an_open_ledger(sqlite_url):
    budget = Budget(epsilon=1)
    with Ledger.open(sqlite_url, budget=budget) as first:
        first.charge(Pure(epsilon=0.1))
        with Ledger.open(sqlite_url, check=False) as second:
            second.link("default", "people", Budget(epsilon=0.3))
        first.charge(Pure(epsilon=0.1))
        with pytest.raises(BudgetExceeded, match="unit 'people'"):
            first.charge(Pure(epsilon=0.2))


def test_accounts_may_count_in_different_notions(url):
    with Ledger.open(url, budget=Budget(rho=0.5)) as opened:
        opened.grant(Budget(epsilon=2, delta=1e-6), analyst="ana")
        opened.grant(Budget(mu=1), analyst="ben")
        opened.on(analyst="ana").charge(GDP(mu=0.25), delta=1e-7)
        opened.on(analyst="ben").charge(GDP(mu=0.25))
        left = opened.on(analyst="ben").remaining()
        assert left["dataset:default"].left_exact[0] == Fraction(7, 16)
        assert left["analyst:ben"].left_exact[0] == Fraction(15, 16)
        assert left.mu == pytest.approx(0.9682458365518543)


def test_the_same_key_is_charged_once(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        first = ledger.charge(Pure(epsilon=0.5), key="q1")
        assert ledger.charge(Pure(epsilon=0.5), key="q1") == first
        assert ledger.remaining().epsilon == 0.5
        with pytest.raises(KeyConflict, match="'q1' belongs to another request"):
            ledger.charge(Pure(epsilon=0.25), key="q1")
        with pytest.raises(KeyConflict):
            ledger.charge(Pure(epsilon=0.5), key="q1", version="tomorrow")


def test_budgets_are_raised_never_cut(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        ledger.charge(Pure(epsilon=1.0))
        ledger.raise_budget(Budget(epsilon=1.5), dataset="default")
        assert ledger.remaining().epsilon == 0.5
        with pytest.raises(InvalidArgument, match="only be raised"):
            ledger.raise_budget(Budget(epsilon=1.2), dataset="default")
        with pytest.raises(InvalidArgument, match="only be raised"):
            ledger.raise_budget(Budget(rho=9), dataset="default")
        with pytest.raises(InvalidArgument, match="another budget on record"):
            ledger.grant(Budget(epsilon=1), dataset="default")
        assert ledger.verify()


def test_an_unknown_account_is_named(url):
    with Ledger.open(url) as ledger, pytest.raises(LedgerError, match="'default'"):
        ledger.charge(Pure(epsilon=0.1))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": float("inf")},
        {"epsilon": float("nan")},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-9},
        {"rho": 1, "delta": 1e-6},
        {"mu": "1"},
    ],
)
def test_budgets_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        Budget(**wrong)


@pytest.mark.parametrize("bad", ["mysql://x", "sqlite://x", "budget.db", "memory://x"])
def test_an_address_that_is_none_is_refused(bad):
    with pytest.raises(InvalidArgument, match="address"):
        Ledger.open(bad)


def test_a_password_in_an_address_is_never_repeated():
    with pytest.raises(InvalidArgument) as refused:
        Ledger.open("postgre://me:hunter2@host/db")
    assert "hunter2" not in str(refused.value)


def test_rho_reads_every_curve_that_has_one(url):
    with Ledger.open(url, budget=Budget(rho=1)) as ledger:
        ledger.charge(ZCDP(rho=0.25))
        ledger.charge(GDP(mu=0.5))
        ledger.charge(Pure(epsilon=0.5))
        spent = 0.25 + 0.125 + 0.5 * 0.24491866240370913
        assert ledger.remaining().rho == pytest.approx(1 - spent, abs=1e-9)


class Promised:
    sensitivity = 2

    def __call__(self, data):
        return len(data)


def test_records_are_not_added_to_people():
    rows = {"who": [1, 1, 2], "x": [1.0, 2, 3]}
    budget = Budget(epsilon=10)
    data = hush.open(rows, unit="who", rows=2, budget=budget)
    data.agg(n=hush.count()).release(epsilon=1)
    ledger, noise = data.ledger, mechanisms.Laplace(scale=5.0)
    for ask in (
        lambda **more: ledger.release(noise, mechanisms.count(), [1, 2], **more),
        lambda **more: ledger.release(
            mechanisms.Quantile(0.5, bounds=(0, 9), scale=9.0), None, [1.0], **more
        ),
    ):
        with pytest.raises(InvalidArgument, match=r"'row', and .*notes=\{'unit': "):
            ask()
        ask(notes={"unit": "who"})  # a promise: every record is another person's
    # A sensitivity of one's own is one's own promise, and says what it is about.
    with pytest.raises(InvalidArgument, match="does not state its"):
        ledger.release(noise, Promised(), [1, 2])
    about = {"unit": "who", "neighbors": "add-remove"}
    ledger.release(noise, Promised(), [1, 2], notes=about)


def test_without_a_name_the_only_data_set_is_meant(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1), dataset="visits") as ledger:
        ledger.charge(Pure(epsilon=0.25))
    with Ledger.open(durable_url) as ledger:
        ledger.charge(Pure(epsilon=0.25))
        assert ledger.remaining()["dataset:visits"].epsilon == 0.5
        ledger.grant(Budget(epsilon=1), dataset="other")
    with (
        Ledger.open(durable_url) as ledger,
        pytest.raises(LedgerError, match="which has dataset 'other', dataset 'visits'"),
    ):
        ledger.remaining()


def test_a_budget_without_a_name_is_not_that_of_another_data_set(sqlite_url):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1), dataset="visits"):
        pass
    with Ledger.open(sqlite_url, budget=Budget(epsilon=2)) as ledger:
        assert [each.account for each in ledger.accounts().accounts] == [
            "dataset:default",
            "dataset:visits",
        ]


def test_an_unknown_account_is_not_advised_to_begin_a_second_budget(url):
    with Ledger.open(url, budget=Budget(epsilon=1), dataset="visits") as ledger:
        ledger.grant(Budget(epsilon=0.5), analyst="ana")
        with pytest.raises(LedgerError) as refused:
            ledger.on(dataset="visit").charge(Pure(epsilon=0.1))
        assert "which has dataset 'visits'. Name one of these" in str(refused.value)
        assert "budget of its own" in str(refused.value)
        with pytest.raises(LedgerError, match=r"which has analyst 'ana'.*analyst='bo'"):
            ledger.on(analyst="bo").charge(Pure(epsilon=0.1))


def test_many_accounts_are_not_all_named(sqlite_url):
    with Ledger.open(sqlite_url) as ledger:
        for i in range(7):
            ledger.grant(Budget(epsilon=1), dataset=f"d{i}")
        with pytest.raises(LedgerError, match="dataset 'd4' and 2 more"):
            ledger.remaining()


def test_all_accounts_are_listed_with_what_is_left(url):
    with Ledger.open(url, budget=Budget(epsilon=1), unit="patients") as ledger:
        ledger.grant(Budget(rho=0.5), analyst="ana")
        ledger.charge(Pure(epsilon=0.25))
        assert str(ledger.accounts()).splitlines() == [
            "analyst 'ana': rho 0.5 left of rho 0.5",
            "dataset 'default': epsilon 0.75 left of epsilon 1",
            "unit 'patients': epsilon 0.75 left of epsilon 1",
        ]
