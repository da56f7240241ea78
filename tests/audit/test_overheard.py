"""A replay hears threads, conversations and pieces as it hears plain runs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit import assert_replays, distance, replay
from hush.mechanisms.selection.exponential import Pieces

LAPLACE = m.Laplace(scale=1.0)


def what(report):
    return [each.what for each in report.divergences]


def in_threads(data):
    found = {}

    def work(place):
        found[place] = m.Laplace(scale=1.0 + place).run(len(data))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in reversed(threads):
        each.start()
    for each in threads:
        each.join()
    return [found[i] for i in range(4)]


def in_a_pool(data):
    with ThreadPoolExecutor(2) as pool:
        own = LAPLACE.run(len(data))
        return [own, *pool.map(lambda i: m.Laplace(1.0 + i).run(len(data)), range(8))]


def in_threads_of_threads(data):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(in_threads, data).result()


@pytest.mark.parametrize("run", [in_threads, in_a_pool, in_threads_of_threads])
def test_threads_are_heard(run):
    for _ in range(5):  # whoever speaks first
        assert_replays(run, [1, 2], [1], sensitivity=1)
    report = replay(run, [1, 2, 3], [1], sensitivity=1)
    assert set(what(report)) == {"distance"}
    assert len(what(report)) == len(report.calls)


def test_a_leak_in_a_thread_is_heard():
    def odd(data):
        said = []
        threads = [
            threading.Thread(target=lambda: said.append(LAPLACE.run(1)))
            for _ in range(len(data))
        ]
        for each in threads:
            each.start()
            each.join()
        return sum(said)

    assert "sequence" in what(replay(odd, [1, 2], [1], sensitivity=1))
    assert "sequence" in what(replay(odd, [1], [1, 2], sensitivity=1))


def test_threads_of_others_are_left_alone():
    before = threading.Thread.start, ThreadPoolExecutor.submit
    assert_replays(in_threads, [1, 2], [1], sensitivity=1)
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before
    pool = ThreadPoolExecutor(1)  # its only thread starts inside a replay
    replay(lambda d: pool.submit(LAPLACE.run, len(d)).result(), [1], [1], sensitivity=1)
    assert isinstance(pool.submit(LAPLACE.run, 3).result(), float)
    pool.shutdown()


def conversation(monotone=False):
    def run(data):
        talk = m.SparseVector(2, 1.0, hits=2, monotone=monotone).start()
        said = []
        for place in range(9):
            if talk.over:
                break
            said.append(talk.ask(sum(each > place for each in data)))
        return said

    return run


def test_sparse_vectors_are_heard_turn_by_turn():
    for _ in range(5):
        assert_replays(conversation(), [1, 5, 9], [1, 5], sensitivity=1)
    report = replay(conversation(), [9, 9, 9], [9], sensitivity=1)
    assert set(what(report)) == {"distance"}


def test_a_conversation_is_judged_as_a_whole():
    # Each question moves by one, but not in one direction, as was promised.
    def crossing(data):
        talk = m.SparseVector(50, 1.0, monotone=True).start()
        return [talk.ask(data[0]), talk.ask(data[1])]

    assert replay(crossing, [3, 3], [4, 4], sensitivity=1).passed
    assert what(replay(crossing, [3, 3], [4, 2], sensitivity=1)) == ["distance"]


def test_running_totals_are_heard():
    def totals(data):
        counter = m.TreeSum(horizon=8, scale=2.0).start()
        return [counter.add(each) for each in data]

    assert_replays(totals, [1, 0, 1], [1, 1, 1], sensitivity=1)
    # One person may move one number by one: two moves are one too many.
    found = replay(totals, [1, 0, 1], [0, 1, 1], sensitivity=1)
    assert what(found) == ["distance", "distance"]


def test_two_conversations_are_told_apart():
    def two(data):
        first, second = (m.TreeSum(horizon=8, scale=2.0).start() for _ in range(2))
        return [first.add(data[0]), second.add(data[1]), first.add(data[2])]

    assert replay(two, [1, 1, 1], [2, 2, 1], sensitivity=1).passed
    assert what(replay(two, [1, 1, 1], [2, 1, 2], sensitivity=1)) == ["distance"]


def median(data):
    data = sorted(data)
    ranks = [-abs(place - len(data) // 2) for place in range(len(data) + 1)]
    return m.Exponential(2.0).run_pieces(ranks, edges=[0, *data, 10])


def test_pieces_are_heard():
    assert_replays(median, [1, 2, 3], [1, 2, 8], sensitivity=1)
    assert_replays(median, [1, 2, 3], [1, 2, 3, 9], sensitivity=1)
    report = replay(median, [1, 2, 3, 4], [7, 8, 9, 9], sensitivity=1)
    assert what(report) == ["distance"]
    assert "7" not in f"{report} {report.calls}"


def test_the_distance_of_pieces_is_that_of_the_functions():
    # Against both functions in all of 64 cells.
    generator = np.random.default_rng(3)
    for _ in range(20):
        both = []
        for size in generator.integers(1, 6, 2):
            edges = np.concatenate([[0], np.sort(generator.uniform(0, 1, size)), [1]])
            utilities = generator.integers(-5, 5, size + 1)
            both.append(Pieces.of(utilities, edges, bits=6))
        first, second = (np.repeat(each.utilities, np.diff(each.cuts)) for each in both)
        expected = int(np.max(np.abs(first - second)))
        found = distance(m.Exponential(1.0), *both)
        assert found.value == Fraction(expected)
