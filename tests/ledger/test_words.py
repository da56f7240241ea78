"""What a ledger says to people: sound when rounded, short, and with the way out."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import BudgetExceeded, HushError, InvalidArgument
from hush.ledger import Budget, Ledger
from hush.ledger.budget import amounts_text, cost_text, left_text
from hush.mechanisms import Laplace, count
from hush.privacy import GDP, Approx, Pure

AMOUNTS = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6)


def said(text: str) -> tuple[Fraction, ...]:
    """Return the numbers of a text such as "epsilon 0.5, delta 1e-06"."""
    return tuple(Fraction(part.split()[1]) for part in text.split(", "))


@given(AMOUNTS, AMOUNTS)
def test_costs_are_rounded_up_and_what_is_left_down(epsilon, delta):
    exact = epsilon, delta
    for shown, true in zip(said(cost_text("epsilon", exact)), exact, strict=True):
        assert true <= shown <= true * (1 + Fraction(1, 10**5))
    for shown, true in zip(said(left_text("epsilon", exact)), exact, strict=True):
        assert true * (1 - Fraction(1, 10**5)) <= shown <= true


def test_odd_digits_are_not_shown_and_a_budget_is_shown_as_stated():
    odd = Fraction("0.250000012599"), Fraction(0)
    assert left_text("epsilon", odd) == "epsilon 0.25"
    assert cost_text("rho", (Fraction("0.499999999042"), Fraction(0))) == "rho 0.5"
    assert left_text("mu", (Fraction("0.09"), Fraction(0))) == "mu 0.3"
    assert amounts_text("epsilon", odd) == "epsilon 0.250000012599"


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (Approx(0.1, 1e-6), "Delta is short: use less of it"),
        (Approx(3.0, 1e-6), "Epsilon and delta are short: use less of both"),
        (Pure(3.0), "Use more noise, that is a smaller epsilon"),
    ],
)
def test_a_refusal_says_which_amount_is_short(curve, words):
    with Ledger.open("memory://", budget=Budget(epsilon=2, delta=1e-7)) as ledger:
        with pytest.raises(BudgetExceeded) as refused:
            ledger.charge(curve)
        text = str(refused.value)
        assert f"Nothing was spent. {words}, or" in text
        # The way out works: a budget without its delta would be refused.
        assert "raise_budget(hush.Budget(epsilon=..., delta=...), dataset=" in text
        ledger.raise_budget(Budget(epsilon=5, delta=1e-5), dataset="default")
        ledger.charge(curve)


def test_a_delta_that_was_never_there_is_named():
    with Ledger.open("memory://", budget=Budget(epsilon=2)) as ledger:
        with pytest.raises(BudgetExceeded, match="epsilon 2, delta 0 of epsilon 2 is"):
            ledger.charge(Approx(0.1, 1e-6))
        with pytest.raises(BudgetExceeded, match=r"Budget\(epsilon=\.\.\.\), data"):
            ledger.charge(Pure(3.0))


def test_a_refusal_speaks_of_the_release():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        with pytest.raises(BudgetExceeded, match=r"^this release \(Laplace\) needs"):
            ledger.release(Laplace(scale=0.5), count(), [1])
        batch = [Laplace(scale=0.5)] * 2
        with pytest.raises(BudgetExceeded, match=r"\(2 charges, made as one\) needs"):
            ledger.release(batch, [count()] * 2, [1])


def test_what_a_prompt_shows_is_short():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        receipt = ledger.charge(Pure(0.25), key="first")
        left = ledger.remaining()
        assert repr(left) == str(left) == repr(left.accounts[0])
        assert "epsilon 0.75 left of epsilon 1" in repr(left)
        assert repr(receipt).startswith("Receipt(entry 2 (")
        assert repr(ledger.history()[2]) == "Record(2, charge, charged, key='first')"
        assert repr(ledger.verify()) == "Verdict(3 entries, whole)"
        assert left == ledger.remaining()
        again = type(receipt).from_dict(json.loads(json.dumps(receipt.to_dict())))
        assert again == receipt


def test_an_answer_says_whose_it_is():
    with Ledger.open("memory://", budget=Budget(epsilon=3)) as ledger:
        ledger.release(Laplace(scale=2.0), count(), [1], key="a")
        ledger.release(Laplace(scale=4.0), count(), [1], key="b")
        charge, answer, second, other = ledger.history()[2:]
        assert [charge.charge, answer.charge, second.charge, other.charge] == [
            None, 2, None, 4,
        ]  # fmt: skip
        assert str(charge).endswith("released  a  Laplace(scale=2.0)")
        assert str(answer).endswith("released  a  answer of entry 2")
        assert repr(other) == "Record(5, seal, answer of entry 4, key='b')"


def test_a_failed_draw_says_whose_it_was():
    def broken(rows):
        raise ValueError

    broken.sensitivity = 1
    with Ledger.open("memory://", budget=Budget(epsilon=3)) as ledger:
        with pytest.raises(HushError):
            ledger.release(Laplace(scale=2.0), broken, [1], key="a")
        assert str(ledger.history()[-1]).endswith("failure of entry 2")


def test_a_source_of_another_library_is_refused_before_a_charge():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
    for other in (7, None, "secure"):
        with pytest.raises(
            InvalidArgument, match=r"source must be hush\.noise\.SECURE"
        ):
            ledger.release(Laplace(scale=9.0), count(), [1], source=other)
    assert ledger.remaining().epsilon == 1


def test_a_charge_that_is_dear_in_its_notion_names_the_other():
    ledger = Ledger.open("memory://", budget=Budget(mu=0.1))
    with pytest.raises(BudgetExceeded, match="a budget of epsilon and delta holds"):
        ledger.charge(GDP(mu=1.0))
    pure = Ledger.open("memory://", budget=Budget(epsilon=9))
    with pytest.raises(BudgetExceeded, match="this budget has none"):
        pure.charge(GDP(mu=1.0))
