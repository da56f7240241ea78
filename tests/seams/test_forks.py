"""A live object that counts what it may still answer counts in one process alone."""

import os
import pickle

import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.holdout import Holdout, ReusableHoldout
from hush.local import Conversation, RandomizedResponse
from hush.mechanisms import SparseVector, TreeSum

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
LABELS = np.arange(4000) % 2


def in_a_child(work):
    """Return what `work` returns, or the error it raises, in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = ("answered", None)
            try:
                work()
            except BaseException as error:
                found = (type(error).__name__, str(error))
            with os.fdopen(write, "wb") as out:
                pickle.dump(found, out)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as given:
        found = pickle.load(given)
    os.waitpid(child, 0)
    return found


def holdout():
    return Holdout(LABELS, queries=20)


def reusable():
    return ReusableHoldout(LABELS, training=LABELS, queries=20, hits=2, tolerance=0.5)


def scoring():
    exam = Holdout.fixed((LABELS[:, None], LABELS), queries=1)
    return exam.scorer([{}])


CONVERSATIONS = {
    "holdout": (holdout, lambda it: it.ask(float)),
    "fixed holdout": (
        lambda: Holdout.fixed(LABELS, queries=2),
        lambda it: it.submit_all([LABELS]),
    ),
    "scorer of a fixed holdout": (scoring, lambda it: it(lambda rows: rows[:, 0])),
    "reusable holdout": (reusable, lambda it: it.ask(float)),
    "sparse vector": (
        lambda: SparseVector(threshold=10, scale=1, hits=2).start(),
        lambda it: it.ask(3),
    ),
    "running total": (
        lambda: TreeSum(horizon=8, scale=1).start(),
        lambda it: it.add(3),
    ),
    "local conversation": (
        lambda: Conversation(epsilon=1.0),
        lambda it: it.ask("first", RandomizedResponse(epsilon=0.5), 1),
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_forked_copy_of_a_conversation_answers_nothing(name):
    make, ask = CONVERSATIONS[name]
    made = make()
    kind, message = in_a_child(lambda: ask(made))
    assert kind == "InvalidArgument"
    assert "process" in message
    ask(made)  # where it was made it still answers


def test_a_pool_gets_no_more_answers_than_one_process():
    """Four forked workers once had 80 answers of 20."""
    talk = holdout()

    def all_of_them():
        return [talk.ask(float) for _ in range(20)]

    assert {in_a_child(all_of_them)[0] for _ in range(4)} == {"InvalidArgument"}
    assert len(all_of_them()) == 20


def test_a_question_that_forks_is_answered_once():
    """The count is used up before the question runs: both copies come back from it."""
    talk, parent, children = holdout(), os.getpid(), []

    def forks(record):
        if not children:
            children.append(os.fork())
        return float(record)

    answered = None
    try:
        answered = talk.ask(forks)
    except InvalidArgument:
        pass
    finally:
        if os.getpid() != parent:
            os._exit(7 if answered is None else 0)
    _, status = os.waitpid(children[0], 0)
    assert answered is not None
    assert os.waitstatus_to_exitcode(status) == 7


def test_a_process_that_was_given_the_number_of_a_dead_one_is_another(monkeypatch):
    """Numbers of processes are used again: a grandchild may have that of the first."""
    talk, first = holdout(), os.getpid()

    def ask():
        monkeypatch.setattr(os, "getpid", lambda: first)
        talk.ask(float)

    assert in_a_child(ask)[0] == "InvalidArgument"
