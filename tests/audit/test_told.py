"""What an audit and an attack say about themselves can be read without the source."""

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit import audit, membership, reconstruct
from hush.audit.distinguisher import Bins, _powers, _runs
from hush.audit.finding import p_text
from hush.errors import InvalidArgument
from hush.noise import Seeded, integers
from hush.privacy import GDP, Pure

NOISE = m.Laplace(scale=1.0)


def test_a_forgotten_neighbor_is_no_violation():
    # None would be run as the neighbor, fail, and look like a leak.
    with pytest.raises(InvalidArgument, match="neighbor must be given"):
        audit(lambda x: NOISE.run(x), 0, claim=Pure(1.0), samples=400)


def test_an_audit_that_never_guesses_does_not_claim_to_catch_anything():
    found = audit(lambda _: 0, 0, 1, claim=Pure(1.0), samples=400)
    assert found.guesses == 0
    assert "catches nothing: give it more samples" in str(found)


def test_neighboring_cells_are_told_as_one():
    bins = Bins(np.array([0.0, 1.0, 2.0]))
    assert _runs([3, 0, 2, 7]) == [(2, 3), (0, 0), (7, 7)]
    assert [bins.text(*run, "x") for run in _runs([3, 0, 2])] == ["x >= 1", "x < 0"]
    assert Bins(np.array([])).text(0, 0, "x") == "x is a number"
    assert _powers([-55, -47, -54]) == "2^-55 to 2^-54 or 2^-47"


def test_what_is_guessed_is_said_in_full_or_counted():
    # Ten separate values tell the neighbor: three are named, seven are counted.
    chances = Seeded(5)

    def combed(bit):
        k = int(integers(10, source=chances))
        return 4 * k + 2 * bit

    found = audit(combed, 0, 1, claim=Pure(1.0), samples=2000, source=Seeded(6))
    assert found.violated
    assert found.event.count(" or 7 more of the kind") == 2


def test_no_p_value_is_told_as_zero():
    assert p_text(0.0) == p_text(1e-310) == "p < 1e-300"
    assert p_text(3e-5) == "p = 3e-05"


def test_attacks_say_what_they_found():
    secret = np.arange(40) % 3 == 0
    found = reconstruct(lambda asked: secret[asked].sum(), 40, source=Seeded(1))
    assert str(found) == (
        "40 bits from 160 questions by least squares; they explain every answer to ± 0"
    )
    with pytest.raises(InvalidArgument, match="answer must be a function"):
        reconstruct(secret, people=40)
    guessed = membership(
        m.Gaussian(std=1.0),
        0.0,
        1.0,
        claim=GDP(1.0),
        score=lambda y: y,
        samples=4000,
        source=Seeded(2),
    )
    assert "the claim allows 26.0%" in str(guessed)
    assert "within the claim at every level" in str(guessed)
    worse = membership(
        m.Gaussian(std=0.5),
        0.0,
        1.0,
        claim=GDP(1.0),
        score=lambda y: y,
        samples=4000,
        source=Seeded(2),
    )
    assert "beyond it at some level" in str(worse)
