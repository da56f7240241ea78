"""Charge, draw, store, show: what a release says and what it never says."""

import contextlib
import io
import json

import numpy as np
import pytest

from hush.errors import (
    BudgetExceeded,
    DrawFailed,
    InsecureSource,
    InvalidArgument,
    KeyConflict,
    LedgerError,
    LockedOut,
)
from hush.ledger import Budget, Ledger, Release
from hush.noise import Seeded
from hush.serialization import decode, encode
from ledger.toys import Broken, Die, Total

CANARY = 8123456789


class TouchedData(Exception):
    pass


class Untouchable:
    """Data that may not be read."""

    def __iter__(self):
        raise TouchedData

    def __getitem__(self, index):
        raise TouchedData

    def __len__(self):
        raise TouchedData


@pytest.fixture
def ledger(url):
    with Ledger.open(url, budget=Budget(epsilon=1), dataset="visits") as opened:
        yield opened


def test_q6_a_release_is_one_draw_however_often_it_is_read(ledger):
    release = ledger.release(Die(), Total(), [1, 1], "k")
    texts = {release.to_json() for _ in range(3)}
    again = Release.from_json(release.to_json())
    assert again == release
    assert texts == {again.to_json()}
    assert repr(release) == repr(again)
    assert ledger.release(Die(), Total(), [1, 1], "k") == release
    assert ledger.remaining().epsilon == pytest.approx(0.9)


def test_the_receipt_says_what_was_paid_and_for_what(ledger):
    release = ledger.release(
        Die(0.25), Total(), [1], version="2026-11", notes={"keys": "public"}
    )
    receipt = release.receipt
    entry = ledger.history()[receipt.sequence]
    assert entry.hash == receipt.hash
    assert entry.kind == "reserve"
    assert {k: (float(a), float(b)) for k, (a, b) in release.cost.items()} == {
        "dataset:visits": (0.25, 0.0)
    }
    assert (receipt.unit, receipt.neighbors) == ("person", "add-remove")
    assert receipt.bounds == [0, 1]
    assert receipt.sensitivity == 1
    assert receipt.keys == "public"
    assert receipt.version == "2026-11"
    assert receipt.mechanism.startswith("Die(")
    assert not receipt.seeded
    assert receipt.library
    assert release.curve.epsilon_at(0.0) == 0.25


def test_a_release_can_be_shown(ledger):
    from rich import console as rich

    release = ledger.release(Die(), Total(), [1], notes={"keys": "<b>public</b>"})
    console = rich.Console(record=True, width=200, file=io.StringIO())
    console.print(release)
    text = console.export_text()
    assert str(release.values) in text
    html = release._repr_html_()
    assert "<b>public" not in html
    assert str(release.values) in html
    assert str(release.values) in repr(release)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        41,
        2**80,
        -0.0,
        0.1,
        float("inf"),
        "text",
        (1, (2.5, "x")),
        {"a": [1, 2], "b": {"hush": "tag"}},
        {1: "one", ("x", 2): 0.5},
        np.float64(0.1),
        np.int8(-5),
        np.arange(6).reshape(2, 3),
        np.linspace(0, 1, 2000, dtype=np.float32),
        np.array(["x", "yy"]),
        np.array([], dtype=np.int64),
        np.array([np.nan, np.inf]),
    ],
    ids=repr,
)
def test_values_survive_json_bit_for_bit(value):
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype
        assert again.shape == value.shape
        assert again.tobytes() == value.tobytes()
    else:
        assert repr(again) == repr(value)


def test_values_that_are_not_public_types_are_refused():
    with pytest.raises(InvalidArgument, match="numbers, text"):
        encode(object())
    with pytest.raises(InvalidArgument, match="dtype"):
        encode(np.array([1j]))


# -- before the data ----------------------------------------------------------------


def test_q3_nothing_that_can_be_refused_reads_the_data(ledger):
    ledger.release(Die(0.9), Total(), [1])
    with pytest.raises(BudgetExceeded):
        ledger.release(Die(0.2), Total(), Untouchable())
    with pytest.raises(InvalidArgument):
        ledger.release(Die(0.1), sum, Untouchable())
    with pytest.raises(InvalidArgument):
        ledger.release("laplace", Total(), Untouchable())
    with pytest.raises(InsecureSource):
        ledger.release(Die(0.1), Total(), Untouchable(), source=Seeded(1))
    with pytest.raises(InvalidArgument, match="key must be"):
        ledger.release(Die(0.1), Total(), Untouchable(), key="a\nb")
    assert not ledger.pending()


def test_q3_what_is_left_does_not_depend_on_the_data(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        left = set()
        for number, data in enumerate(([0] * 10, [1] * 1000, [], Untouchable())):
            ledger.grant(Budget(epsilon=1), dataset=f"d{number}")
            one = ledger.on(dataset=f"d{number}")
            with contextlib.suppress(DrawFailed):
                one.release(Die(0.1), Total(), data)
            left.add(one.remaining().accounts[0].left_exact)
        assert len(left) == 1


def test_a_stored_answer_is_returned_without_reading(ledger):
    first = ledger.release(Die(), Total(), [1, 1], "k")
    assert ledger.release(Die(), Total(), Untouchable(), "k") == first


# -- when the draw fails -------------------------------------------------------------


def test_q2_a_failed_draw_is_charged_and_says_nothing(ledger):
    messages = []
    for number, query in enumerate((Broken(), Total(), Broken())):
        data = Untouchable() if number == 1 else [CANARY + number]
        with pytest.raises(DrawFailed) as failed:
            ledger.release(Die(0.1), query, data, f"k{number}")
        assert failed.value.__cause__ is None
        assert failed.value.__context__ is None
        messages.append(str(failed.value).replace(f"k{number}", "k"))
    assert len({len(each) for each in messages}) == 1
    assert ledger.remaining().epsilon == pytest.approx(0.7)
    bodies = [e.content for e in ledger.history() if e.kind == "fail"]
    assert bodies == [{"error": "query_failed"}] * 3
    with pytest.raises(DrawFailed):
        ledger.release(Die(0.1), Broken(), [1], "k0")
    assert ledger.remaining().epsilon == pytest.approx(0.7), "a retry is free"


def test_q2_failures_lock_the_analyst_out_of_the_data_set(url):
    budget = Budget(epsilon=9)
    with Ledger.open(url, budget=budget, lockout=3) as opened:
        for name in ("ana", "ben"):
            opened.grant(budget, analyst=name)
        ana, ben = opened.on(analyst="ana"), opened.on(analyst="ben")
        for _ in range(3):
            with pytest.raises(DrawFailed):
                ana.release(Die(), Broken(), [1])
        with pytest.raises(LockedOut, match="analyst 'ana' and dataset 'default'"):
            ana.release(Die(), Total(), [1])
        ben.release(Die(), Total(), [1])
        ana.unlock("the query was mended")
        ana.release(Die(), Total(), [1])
        assert opened.verify()


def test_an_interrupt_leaves_a_reservation_that_can_be_resumed(ledger):
    class Interrupted(Total):
        def __call__(self, data):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.release(Die(), Interrupted(), [1], "k")
    assert [each.key for each in ledger.pending()] == ["k"]
    assert ledger.verify()


def test_q7_no_data_value_reaches_the_ledger(sqlite_url, tmp_path):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        release = ledger.release(Die(), Total(), [CANARY, 1], "k")
        with pytest.raises(DrawFailed):
            ledger.release(Die(), Broken(), [f"CANARY-{CANARY}"], "k2")
        texts = [release.to_json(), repr(release), release._repr_html_()]
        texts += [str(each) for each in ledger.history()]
    for path in tmp_path.iterdir():
        texts.append(path.read_bytes().decode("latin-1"))
    assert not any(str(CANARY) in text or "CANARY" in text for text in texts)


# -- seeds, keys, versions -------------------------------------------------------------


def test_r3_a_real_ledger_refuses_seeds_and_a_rehearsal_says_so(tmp_path):
    url = f"sqlite:///{tmp_path}/rehearsal.db"
    with Ledger.open(url, budget=Budget(epsilon=1), rehearsal=True) as ledger:
        first = ledger.release(Die(), Total(), [1], source=Seeded(3))
        second = ledger.release(Die(), Total(), [1], source=Seeded(3))
        assert first.values == second.values
        assert first.seeded
        assert "seeded=True" in repr(first)
        assert Release.from_json(first.to_json()).receipt.rehearsal
        assert not ledger.release(Die(), Total(), [1]).seeded
    with pytest.raises(LedgerError, match="rehearsal and stays so"):
        Ledger.open(url)


@pytest.mark.parametrize(
    "other",
    [
        {"query": Total(bounds=(0, 2))},
        {"query": Total(sensitivity=2)},
        {"mechanism": Die(0.2)},
        {"mechanism": Die(sides=10)},
        {"version": "tomorrow"},
        {"notes": {"keys": "private"}},
    ],
    ids=str,
)
def test_r7_a_different_request_is_never_answered_from_the_store(ledger, other):
    rest = dict(other)
    mechanism, query = rest.pop("mechanism", Die()), rest.pop("query", Total())
    ledger.release(Die(), Total(), [1], "k")
    with pytest.raises(KeyConflict):
        ledger.release(mechanism, query, [1], "k", **rest)
    before = ledger.remaining().epsilon
    ledger.release(mechanism, query, [1], "another", **rest)
    assert ledger.remaining().epsilon < before


def test_r7_another_unit_is_refused_whatever_the_key(ledger):
    ledger.release(Die(), Total(), [1], "k")
    before = ledger.remaining()
    for key in ("k", "another"):
        with pytest.raises(InvalidArgument, match="unit of this charge"):
            ledger.release(Die(), Total(unit="household"), [1], key)
    assert ledger.remaining() == before


def test_keys_of_two_analysts_do_not_meet(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as opened:
        for name in ("ana", "ben"):
            opened.grant(Budget(epsilon=1), analyst=name)
        first = opened.on(analyst="ana").release(Die(), Total(), [1], "k")
        second = opened.on(analyst="ben").release(Die(), Total(), [1], "k")
        assert first.values != second.values
        assert opened.remaining().epsilon == pytest.approx(0.8)


# -- holding and voiding --------------------------------------------------------------


def test_a_held_charge_can_be_drawn_or_given_back(ledger):
    ledger.hold(Die(0.3), Total(), key="later")
    ledger.hold(Die(0.3), Total(), key="never")
    assert ledger.remaining().epsilon == pytest.approx(0.4)
    ledger.void("never", "the analyst withdrew")
    assert ledger.remaining().epsilon == pytest.approx(0.7)
    release = ledger.release(Die(0.3), Total(), [1], "later")
    assert ledger.remaining().epsilon == pytest.approx(0.7)
    assert ledger.release(Die(0.3), Total(), [1], "later") == release
    with pytest.raises(LedgerError, match="cannot be voided"):
        ledger.void("later", "too late")
    with pytest.raises(LedgerError, match="was voided"):
        ledger.release(Die(0.3), Total(), [1], "never")
    assert [e.state for e in ledger.history() if e.kind == "hold"] == [
        "released",
        "voided",
    ]
    assert ledger.verify()


def test_what_may_have_touched_the_data_is_never_given_back(ledger):
    class Interrupted(Total):
        def __call__(self, data):
            raise KeyboardInterrupt

    ledger.hold(Die(), Interrupted(), key="held")
    for key in ("held", "direct"):
        with pytest.raises(KeyboardInterrupt):
            ledger.release(Die(), Interrupted(), [1], key)
        with pytest.raises(LedgerError, match="cannot be voided"):
            ledger.void(key, "please")
    ledger.charge(
        Die(), 1, key="spent", notes={"unit": "person", "neighbors": "add-remove"}
    )
    with pytest.raises(LedgerError, match="cannot be voided"):
        ledger.void("spent", "please")
    with pytest.raises(InvalidArgument, match="reason"):
        ledger.void("held", "")
