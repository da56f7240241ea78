"""Attempts to ask more than was paid for: threads, copies, strange questions."""

import copy
import math
import pickle
import sys
import threading
from contextlib import suppress
from functools import partial

import pytest
from scipy import special

from hush import mechanisms as m
from hush.errors import HushError, InvalidArgument
from hush.estimate import Estimate
from hush.local import Conversation, HeavyHitters, RandomizedResponse
from hush.noise import Seeded

COPIES = [copy.copy, copy.deepcopy, pickle.dumps]


@pytest.fixture
def hurried():
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work, threads=8):
    """Return what `work` gave in several threads at once; refusals give nothing."""
    found, gate = [], threading.Barrier(threads)

    def one():
        gate.wait()
        with suppress(HushError):
            found.append(work())

    started = [threading.Thread(target=one) for _ in range(threads)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return found


def test_threads_never_get_more_hits_than_were_paid_for(hurried):
    # Before: two or more hits for the price of one in 22 of 50 rounds.
    for _ in range(40):
        talk = m.SparseVector.for_epsilon(1000, threshold=5, hits=1).start()
        assert sum(together(lambda t=talk: t.ask(1000))) == 1


def test_threads_never_lengthen_a_stream(hurried):
    for _ in range(20):
        stream = m.TreeSum(horizon=4, scale=0.01).start()
        assert len(together(lambda s=stream: s.add(1))) == 4


def test_threads_never_ask_one_person_too_often(hurried):
    for _ in range(20):
        ask = partial(Conversation(epsilon=1.0).ask, "ann")
        assert len(together(partial(ask, RandomizedResponse(epsilon=1.0), 1))) == 1


@pytest.mark.parametrize("how", COPIES)
def test_no_conversation_is_copied(how):
    talks = [
        m.SparseVector.for_epsilon(1, threshold=5).start(),
        m.TreeSum(horizon=4, scale=1.0).start(),
        Conversation(epsilon=1.0),
    ]
    for talk in talks:
        with pytest.raises(HushError, match="never copied"):
            how(talk)


@pytest.mark.parametrize("value", [math.nan, math.inf, "5", None, 1.5, True])
def test_a_question_that_is_no_number_changes_nothing(value):
    talk = m.SparseVector.for_epsilon(1000, threshold=5, hits=1).start()
    stream = m.TreeSum(horizon=2, scale=0.001).start()
    for ask in (talk.ask, stream.add):
        with pytest.raises(HushError):
            ask(value)
    assert talk.ask(1000)
    assert [stream.add(1), stream.add(1)] == [1, 2]


@pytest.mark.filterwarnings("error")
def test_edges_found_in_strange_data_still_give_a_point_inside():
    choose = m.Exponential.for_epsilon(1)
    edges = [
        [0.0, math.nan, 1.0],
        [0.0, math.inf, 1.0],
        [0.0, -math.inf, 1.0],
        [0.0, 5.0, 1.0],
        [0.0, -0.0, 1.0],
        [0.0, 5e-324, 1.0],
    ]
    for each in edges:
        for seed in range(5):
            found = choose.run_pieces([5, 1], edges=each, source=Seeded(seed))
            assert 0 <= found <= 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "utilities", [[], [math.nan, 1], [math.inf, 1], ["a"], 5, None], ids=str
)
def test_utilities_that_are_none_are_refused(utilities):
    chosen = (m.Exponential, m.NoisyMax, m.PermuteAndFlip)
    for mechanism in chosen:
        with pytest.raises(HushError):
            mechanism.for_epsilon(1).run(utilities)


def test_who_is_not_equal_to_himself_is_asked_nothing():
    """NaN is a new key of a dictionary each time: he had a new budget each time."""
    talk, one = Conversation(epsilon=1.0), RandomizedResponse(epsilon=1.0)
    with pytest.raises(InvalidArgument, match="person must be equal to itself"):
        talk.ask(math.nan, one, 1)
    assert talk.transcript == ()


@pytest.mark.parametrize("level", [1 - 2.0**-53, 1 - 2.0**-52, 1e-17])
def test_levels_next_to_one_and_to_zero_have_ends(level):
    """(1 + level)/2 is 1 there, whose quantile is infinite: a bare error."""
    low, high = Estimate(0.0, std=1.0, effective=1.0).interval(level)
    reach = -special.ndtri((1 - level) / 2)
    assert (low, high) == pytest.approx((-reach, reach), rel=1e-9)
    finder = HeavyHitters(epsilon=4.0, bits=4)
    found = finder.find(finder.encode([3] * 500, source=Seeded(1)), level=level)
    assert 3 in found.values
