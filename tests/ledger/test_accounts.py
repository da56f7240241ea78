"""Budgets, accounts and charges, on every store, and who may change accounts."""

import contextlib
import json
from fractions import Fraction

import pytest

import hush
from hush import mechanisms
from hush.errors import BudgetExceeded, InvalidArgument, KeyConflict, LedgerError
from hush.ledger import Admin, Budget, Ledger
from hush.ledger.hash_chain import canonical, digest
from hush.privacy import GDP, ZCDP, Approx, Pure
from ledger.test_tampering import unguarded
from ledger.toys import Die, Total


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


# -- Entries signed by the key that a ledger began with --------------------------------

OFFICE = Admin.generate("office")


@pytest.fixture
def founded(durable_url):
    """A ledger with an administrator, one account and one held charge."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1), admin=OFFICE) as ledger:
        ledger.hold(Die(0.1), Total(), key="held")
    return durable_url


def test_administrative_entries_are_signed_and_say_by_whom(founded):
    with Ledger.open(founded, admin=OFFICE) as ledger:
        ledger.raise_budget(Budget(epsilon=2), dataset="default", reason="agreed")
        ledger.grant(Budget(epsilon=1), analyst="ana")
        ledger.link("default", "people", Budget(epsilon=3))
        ledger.void("held", "asked twice")
        ledger.unlock("mended")
        kinds = ("grant", "link", "void", "unlock")
        found = [each for each in ledger.history() if each.kind in kinds]
        assert len(found) == 7
        assert {each.content["by"] for each in found} == {"office"}
        assert all(len(each.content["signature"]) == 128 for each in found)
        assert found[1].content["reason"] == "agreed"
        assert ledger.verify().voided == 1
        assert "1 given back" in str(ledger.verify())


def test_who_has_no_key_releases_but_changes_no_account(founded):
    with Ledger.open(founded, budget=Budget(epsilon=1)) as ledger:  # as on record
        ledger.release(Die(0.1), Total(), [1], "k")
        before = ledger.history()
        for attempt in (
            lambda: ledger.raise_budget(Budget(epsilon=2), dataset="default"),
            lambda: ledger.grant(Budget(epsilon=2), analyst="ana"),
            lambda: ledger.link("default", "people", Budget(epsilon=2)),
            lambda: ledger.void("held", "please"),
            lambda: ledger.unlock("please"),
        ):
            with pytest.raises(LedgerError, match="signed by its administrator"):
                attempt()
        assert ledger.history() == before
        assert ledger.verify()


def test_a_key_is_pinned_and_stays(founded, tmp_path):
    with Ledger.open(founded, admin=OFFICE.public) as ledger:  # an auditor
        assert ledger.admin == OFFICE.public
    for other in (Admin.generate("office"), Admin.generate("office").public):
        with pytest.raises(LedgerError, match="another administrator"):
            Ledger.open(founded, admin=other)
    plain = f"sqlite:///{tmp_path}/plain.db"
    with Ledger.open(plain, budget=Budget(epsilon=1)) as ledger:
        assert ledger.admin is None
    with pytest.raises(LedgerError, match="has none"):
        Ledger.open(plain, admin=OFFICE)


def _append(url, kind, scope, key, content):
    """Add a well-chained entry by hand, as somebody would who writes the tables."""
    with unguarded(url) as connection:
        rows = connection.execute("SELECT seq, hash FROM hush_entry ORDER BY seq")
        seq, prev = rows.fetchall()[-1]
        line = (seq + 1, kind, scope, key, "now", canonical(content))
        hash = digest(*line, prev)
        mark = "?" if url.startswith("sqlite") else "%s"
        connection.execute(
            "INSERT INTO hush_entry (seq, kind, scope, key, at, body, prev, hash) "
            f"VALUES ({', '.join([mark] * 8)})",
            (*line, prev, hash),
        )
        if kind == "grant":
            limit = content["limit"][0]
            connection.execute(
                f"UPDATE hush_account SET limit1 = {limit} WHERE name = '{scope}'"
            )
    return seq + 1


@pytest.mark.parametrize("forgery", ["none", "garbage", "replayed", "other key"])
def test_a_forged_grant_is_found(founded, forgery):
    """The chain and the sums agree; only the signature does not."""
    with Ledger.open(founded) as ledger:
        old = next(each for each in ledger.history() if each.kind == "grant")
    content = {**old.content, "limit": [2 * old.content["limit"][0], 0]}
    if forgery == "none":
        del content["signature"]
    elif forgery == "garbage":
        content["signature"] = "no hexadecimal"
    elif forgery == "other key":
        content["signature"] = Admin.generate("office").key.sign(b"x").hex()
    else:
        content = old.content  # itself signed, but for another place
    seq = _append(founded, "grant", "dataset:default", "9", content)
    with pytest.raises(LedgerError, match=f"entry {seq}: not signed"):
        Ledger.open(founded)


def test_without_an_administrator_the_same_forgery_is_not_seen(sqlite_url, tmp_path):
    """What the signature adds: the chain alone binds nobody who can write it."""
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        old = next(each for each in ledger.history() if each.kind == "grant")
    content = {**old.content, "limit": [2 * old.content["limit"][0], 0]}
    del content["after"]  # a version of before did not write it
    _append(sqlite_url, "grant", "dataset:default", "9", content)
    with Ledger.open(sqlite_url) as ledger:
        assert ledger.remaining().epsilon == 2


def test_a_void_without_a_signature_gives_nothing_back(founded):
    with Ledger.open(founded) as ledger:
        scope = next(e for e in ledger.history() if e.kind == "hold").accounts
    seq = _append(founded, "void", scope, "held", {"reason": "mine"})
    with unguarded(founded) as connection:
        connection.execute("UPDATE hush_account SET spent1 = 0")
    with pytest.raises(LedgerError, match=f"entry {seq}: not signed"):
        Ledger.open(founded)


def test_keys_are_kept_as_pem_and_never_printed():
    for password in (None, b"a password"):
        pem = OFFICE.to_pem(password)
        assert Admin.from_pem("office", pem, password).public == OFFICE.public
    assert OFFICE.public not in repr(OFFICE)
    secret = OFFICE.key.private_bytes_raw().hex()
    with contextlib.closing(
        Ledger.open("memory://", budget=Budget(epsilon=1), admin=OFFICE)
    ) as ledger:
        ledger.charge(Pure(epsilon=0.5))
        everything = json.dumps([each.content for each in ledger.history()])
        assert secret not in everything
        assert OFFICE.public in everything
    with pytest.raises(InvalidArgument, match="PEM"):
        Admin.from_pem("office", b"nonsense")
    with pytest.raises(InvalidArgument, match="PEM"):
        Admin.from_pem("office", OFFICE.to_pem(b"a password"), b"another")
    with pytest.raises(InvalidArgument, match="printable"):
        Admin("a\nb", OFFICE.key)


@pytest.mark.parametrize("password", ["text", b"", 7])
def test_a_password_is_bytes(password):
    with pytest.raises(InvalidArgument, match="must be bytes"):
        Admin.generate("office").to_pem(password)
