"""Conversations, sources of noise, curves and learners in many threads.

Noise is so small that an answer off by one half has a chance below e^-100, and answers
are compared exactly; random words of 64 bits repeat with a chance below 1e-9.
"""

import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush import local, noise, privacy
from hush.errors import BudgetExceeded, DrawFailed, HushError, InvalidArgument
from hush.holdout import Holdout, ReusableHoldout
from hush.mechanisms import SparseVector, TreeSum
from hush.mechanisms.sparse_vector import OneAtATime
from seams.bookkeeper import Wrong
from seams.injector import CANARY, chain, together

MANY = pytest.mark.parametrize(
    "times", [5, pytest.param(150, marks=pytest.mark.slow)], ids=["few", "many"]
)
LABELS = np.arange(4000) % 2


@pytest.fixture(autouse=True)
def hasty():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def asked(work, refusal):
    """Return what a call answers, None where it refuses as it may."""
    try:
        return work()
    except refusal:
        return None


def hits_of(times):
    talk = SparseVector(threshold=50, scale=Fraction(1, 1000), hits=3).start()

    def work(i):
        found = []
        for j in range(times):
            value = 100 if (i + j) % 2 else 0
            answer = asked(lambda value=value: talk.ask(value), InvalidArgument)
            if answer not in (None, value == 100):
                raise Wrong("a wrong answer")
            found.append(answer)
        return found

    found = Counter(each for listed in together(work) for each in listed)
    if found[True] != 3:
        raise Wrong(f"{found[True]} hits of 3")


def many_hits_of(times, rounds):
    for _ in range(rounds):
        hits_of(times)


@MANY
def test_a_sparse_vector_has_no_more_hits_than_were_paid(times):
    many_hits_of(times, rounds=4)


def test_a_conversation_without_a_lock_is_caught(monkeypatch):
    class Open:
        def __enter__(self):
            return self

        def __exit__(self, *about):
            return None

    begin = OneAtATime.__init__

    def unlocked(self):
        begin(self)
        self._lock = Open()

    monkeypatch.setattr(OneAtATime, "__init__", unlocked)
    with pytest.raises(Wrong):
        many_hits_of(5, rounds=200)


@MANY
def test_a_running_total_counts_every_number_once(times):
    horizon = 6 * times
    counter = TreeSum(horizon=horizon, scale=Fraction(1, 1000)).start()

    def work(i):
        return [asked(lambda: counter.add(1), InvalidArgument) for _ in range(times)]

    found = [each for listed in together(work) for each in listed]
    assert sorted(each for each in found if each is not None) == [
        *range(1, horizon + 1)
    ]


@MANY
def test_a_holdout_answers_no_more_than_it_was_opened_for(times):
    exam = Holdout(LABELS, queries=4 * times)
    reach = 10 * exam.plan.radius  # far beyond the noise of every answer

    def work(i):
        found = []
        for j in range(times):
            guess = np.ones(4000) if (i + j) % 3 else LABELS
            wanted = 0.5 if (i + j) % 3 else 1.0
            answer = asked(lambda guess=guess: exam.submit(guess), BudgetExceeded)
            if answer is not None and abs(float(answer) - wanted) > reach:
                raise Wrong("a wrong answer")
            found.append(answer)
        return found

    found = [each for listed in together(work) for each in listed]
    assert sum(each is not None for each in found) == 4 * times
    assert exam.left == 0


def test_a_fixed_holdout_takes_one_list_of_one_thread():
    for _ in range(60):
        exam = Holdout.fixed(LABELS[:40], queries=16)
        lists = [np.ones(40), np.zeros(40)]
        found = together(
            lambda _, exam=exam, lists=lists: asked(
                lambda: exam.submit_all(lists), (InvalidArgument, BudgetExceeded)
            )
        )
        assert sum(each is not None for each in found) == 1


@MANY
def test_a_reusable_holdout_corrects_no_more_than_was_paid(times):
    # A record of training is 0 throughout: each question about labels is a correction.
    exam = ReusableHoldout(
        LABELS, training=LABELS * 0, queries=8 * times, hits=2, tolerance=0.2
    )
    found = together(
        lambda _: [asked(lambda: exam.ask(float), BudgetExceeded) for _ in range(times)]
    )
    methods = Counter(each.method for listed in found for each in listed if each)
    assert methods["transfer"] == 2
    assert exam.hits_left == 0


def test_a_question_that_fails_in_a_thread_is_used_up_and_says_nothing():
    exam = Holdout((LABELS.reshape(-1, 1), LABELS), queries=16)

    def bad(rows):
        if len(rows):
            raise RuntimeError(CANARY)
        return []

    def short(rows):
        return rows[:1, 0]

    models = (lambda rows: rows[:, 0], bad, short)

    def work(i):
        kinds = []
        for _ in range(2):
            try:
                exam.score(models[i % 3])
                kinds.append("answered")
            except HushError as problem:
                said = "shown" if CANARY in chain(problem) else "used"
                kinds.append(said if isinstance(problem, DrawFailed) else "refused")
        return kinds

    found = Counter(kind for listed in together(work) for kind in listed)
    assert found["refused"] == 0
    assert found["answered"] + found["used"] == 16
    assert exam.left == 0


@MANY
def test_nobody_is_asked_for_more_than_they_agreed_to(times):
    talk = local.Conversation(epsilon=1.0)
    coin = local.RandomizedResponse(epsilon=0.25)

    def work(i):
        people = [f"person {j % 3}" for j in range(times)]
        return [
            asked(lambda who=who: talk.ask(who, coin, 1), BudgetExceeded)
            for who in people
        ]

    given = sum(each is not None for listed in together(work) for each in listed)
    turns = Counter(turn.person for turn in talk.transcript)
    assert given == sum(turns.values())
    assert max(turns.values()) <= 4


@MANY
def test_reports_of_threads_are_all_collected(times):
    oracle = local.RandomizedResponse(epsilon=40, size=4)
    sent = together(lambda i: [oracle.encode([i % 4] * 10) for _ in range(times)])
    whole = oracle.collect([each.to_bytes() for listed in sent for each in listed])
    assert len(whole) == 80 * times
    found = np.asarray(oracle.estimate(whole).value)
    # Somebody says another value with a chance below 3e^-40 each.
    assert np.allclose(found, 0.25, atol=1e-6)


@MANY
def test_no_two_threads_draw_the_same_words(times):
    for source in (noise.SECURE, noise.Seeded(5)):
        found = together(
            lambda _, source=source: [
                source.words(3, np.uint64).tolist() for _ in range(20 * times)
            ]
        )
        words = [each for listed in found for drawn in listed for each in drawn]
        assert len(words) == len(set(words))


def test_a_curve_is_the_same_in_every_thread():
    for _ in range(3):
        curve = privacy.compose(
            privacy.GDP(mu=0.5), privacy.Pure(epsilon=0.3), privacy.ZCDP(rho=0.01)
        )
        found = together(
            lambda i, curve=curve: [curve.delta_at(0.1 * (1 + i % 4)) for _ in range(2)]
        )
        alone = privacy.compose(
            privacy.GDP(mu=0.5), privacy.Pure(epsilon=0.3), privacy.ZCDP(rho=0.01)
        )
        for i, each in enumerate(found):
            assert set(each) == {alone.delta_at(0.1 * (1 + i % 4))}


def test_learners_share_a_ledger():
    from hush.learn import LinearRegression

    generator = np.random.default_rng(1)
    rows = generator.uniform(-0.5, 0.5, (2000, 2))
    answers = rows @ np.array([0.5, -0.25])
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1000, delta=0.1))

    def work(i):
        sign = 1 if i % 2 else -1
        model = LinearRegression(epsilon=10, bounds=(-1, 1), y_bounds=(-1, 1))
        return sign, model.fit(rows, sign * answers, ledger=ledger).coef_

    for sign, found in together(work):
        assert np.sign(found[0]) == sign
    kinds = Counter(each.kind for each in ledger.history())
    assert kinds["reserve"] == kinds["seal"] > 0
    assert not ledger.pending()
    assert ledger.verify()
