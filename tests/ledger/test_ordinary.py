"""The ordinary case in few steps does what the protocol would have done, or nothing."""

import pytest

from hush.errors import BudgetExceeded, DrawFailed, KeyConflict, LockedOut
from hush.ledger import Budget, Ledger
from hush.ledger.charge import Plan, Request
from hush.ledger.hash_chain import Kind, canonical
from hush.ledger.release import receipt_of, receipt_text
from ledger.toys import Broken, Die, Total


@pytest.fixture
def ledger(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ledger.grant(Budget(epsilon=0.3), analyst="ana")
        yield ledger


def _ask(ledger, epsilon=0.1):
    plan = Plan.of(Die(epsilon), Total(), "", None)
    payers = ledger._payers
    grids = payers._known_grids()
    costs = {name: grid.charge(plan.curve, None) for name, grid in grids}
    return Request.of(plan, (payers.names, grids, None, "0"), costs)


def _state(ledger):
    return ledger.history(), ledger.remaining()


def test_a_new_key_is_charged_in_one_step(ledger):
    request = _ask(ledger)
    entry = ledger._store.charge(request, "k", Kind.RESERVE, None)
    stored = ledger._store.read(lambda t: t.entries())[-1]
    assert entry == stored
    answer = ledger._store.answer(Kind.SEAL, request.scope, "k", "{}")
    assert answer == ledger._store.read(lambda t: t.entries())[-1]
    assert answer.prev == entry.hash
    assert ledger.verify()


def test_whatever_is_not_ordinary_changes_nothing(ledger):
    store, ana = ledger._store, ledger.on(analyst="ana")
    request = _ask(ledger)
    assert store.charge(request, "k", Kind.RESERVE, None) is not None
    before = _state(ledger)
    assert store.charge(request, "k", Kind.RESERVE, None) is None, "a known key"
    large = _ask(ledger, 0.95)
    assert store.charge(large, "large", Kind.RESERVE, None) is None, "does not fit"
    both = _ask(ana, 0.4)
    assert both.names[0].startswith("analyst"), "the first account refuses"
    assert store.charge(both, "ana", Kind.RESERVE, None) is None
    assert store.answer(Kind.SEAL, request.scope, "unknown", "{}") is None
    assert _state(ledger) == before


def test_a_second_account_that_refuses_takes_the_first_charge_back(ledger):
    ledger.grant(Budget(epsilon=2), analyst="rich")
    rich = ledger.on(analyst="rich")
    both, before = _ask(rich, 1.5), _state(rich)
    assert rich._store.charge(both, "k", Kind.RESERVE, None) is None
    assert _state(rich) == before
    with pytest.raises(BudgetExceeded, match="dataset"):
        rich.release(Die(1.5), Total(), [1], "k")
    assert _state(rich) == before


def test_an_answer_is_stored_once_and_only_for_a_charge_that_waits(ledger):
    request = _ask(ledger)
    for kind, fits in ((Kind.CHARGE, False), (Kind.RESERVE, True), (Kind.HOLD, True)):
        ledger._store.charge(request, str(kind), kind, None)
        sealed = ledger._store.answer(Kind.SEAL, request.scope, str(kind), "{}")
        assert (sealed is not None) is fits
        again = ledger._store.answer(Kind.SEAL, request.scope, str(kind), "[]")
        assert again is None
    assert ledger.verify()


def test_a_link_made_elsewhere_is_charged(ledger, durable_url):
    ledger.release(Die(0.1), Total(), [1])
    with Ledger.open(durable_url) as other:
        other.link("default", "people", Budget(epsilon=0.25))
    ledger.release(Die(0.1), Total(), [1])
    with pytest.raises(BudgetExceeded, match="unit 'people'"):
        ledger.release(Die(0.1), Total(), [1])


def test_failures_count_too(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1), lockout=2) as ledger:
        for key in "ab":
            with pytest.raises(DrawFailed):
                ledger.release(Die(0.1), Broken(), [1], key)
        before = ledger.remaining()
        with pytest.raises(LockedOut):
            ledger.release(Die(0.1), Total(), [1], "c")
        assert ledger.remaining() == before
        ledger.unlock("mended")
        ledger.release(Die(0.1), Total(), [1], "c")
        with pytest.raises(KeyConflict):
            ledger.release(Die(0.2), Total(), [1], "c")


def test_the_protocol_is_asked_only_for_what_is_not_ordinary(ledger, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the protocol was asked")

    ledger.release(Die(0.1), Total(), [1], "a")  # the first one reads its neighbors
    monkeypatch.setattr("hush.ledger.two_phase.reserve", never)
    monkeypatch.setattr("hush.ledger.two_phase.seal", never)
    ledger.release(Die(0.1), Total(), [1], "b")
    with pytest.raises(AssertionError, match="was asked"):
        ledger.release(Die(0.1), Total(), [1], "b")


@pytest.mark.parametrize("key", ["plain", 'clé "№1" \\ 日本 😀'])
def test_a_receipt_is_the_same_in_parts_and_as_a_whole(ledger, key):
    release = ledger.release(Die(0.1), Total(), [1], key)
    assert release.text == canonical(release._shown), "one text of one value"
    opening = ledger._store.read(lambda t: t.entries())[-2]
    terms = {"ledger": "l", "seeded": False, "rehearsal": True}
    whole = canonical(receipt_of(opening, **terms).to_dict())
    assert receipt_text(opening, **terms) == whole
    assert key in whole or "\\u" in whole


def test_new_keys_are_in_the_order_of_time(ledger):
    keys = [ledger.charge(Die(0.01), 1).key for _ in range(20)]
    times = [int(key[:12], 16) for key in keys]
    assert times == sorted(times)
    assert len(set(keys)) == 20
    assert {len(key) for key in keys} == {32}
