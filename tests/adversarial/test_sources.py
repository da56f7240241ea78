"""Attempts to make noise repeat: forks, threads, signals, copies, interrupted draws."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import hush
from hush.errors import InsecureSource
from hush.mechanisms import Laplace, count
from hush.noise import (
    SECURE,
    Seeded,
    discrete_gaussian,
    discrete_laplace,
    integers,
    source,
)

_CHILD = 64  # bytes that a child sends back


def _from_child(fork) -> bytes:
    """Return bits that a forked child drew."""
    read, write = os.pipe()
    pid = fork()
    if pid == 0:
        os.write(write, SECURE.words(_CHILD, np.uint8).tobytes())
        os._exit(0)
    os.close(write)
    found = os.read(read, _CHILD)
    os.close(read)
    os.waitpid(pid, 0)
    return found


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_children_draw_other_bits_than_each_other_and_the_parent():
    SECURE.words(3, np.uint8)  # the stock is filled: a copy of it is what would repeat
    drawn = [_from_child(os.fork) for _ in range(4)]
    drawn.append(SECURE.words(_CHILD, np.uint8).tobytes())
    assert len(set(drawn)) == 5


_BEHIND = """
import ctypes, os
from adversarial.test_sources import _CHILD, _from_child
from hush.noise import SECURE
SECURE.words(3, "u1")
drawn = [_from_child(ctypes.PyDLL(None).fork) for _ in range(3)]
drawn.append(SECURE.words(_CHILD, "u1").tobytes())
print(len(set(drawn)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="calls the C library's fork")
def test_a_fork_behind_pythons_back_is_noticed(root):
    # In a process of one thread: a child never gets the locks that another one holds.
    paths = os.pathsep.join([str(root / "src"), str(root / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", _BEHIND],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "4\n", done.stderr


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_pool_of_forked_workers_releases_different_noise():
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        found = pool.map(_release, range(8), chunksize=1)
    assert len(set(found)) == 8


def _release(_: int) -> int:
    return int(Laplace(scale=2.0**40).run(0))


def test_threads_never_share_a_word():
    found, barrier = [], threading.Barrier(8)

    def draw():
        barrier.wait()
        found.append(SECURE.words(20_000, np.uint64))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 160 000 words of 64 bits meet by chance once in 10^9 runs.
    everything = np.concatenate(found)
    assert np.unique(everything).size == everything.size


@pytest.mark.parametrize("source", [SECURE, Seeded(1)], ids=repr)
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_source_is_never_copied(source, how):
    with pytest.raises(TypeError, match="copied or pickled"):
        how(source)
    with pytest.raises(TypeError, match="copied or pickled"):
        how(source) if how is copy.copy else how([source])


def test_an_interrupted_draw_does_not_hand_out_its_bits_again():
    # A signal raises wherever the draw happens to be; what comes later is fresh.
    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    seen = []
    try:
        for _ in range(30):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                while True:
                    seen.append(SECURE.words(2, np.uint64).tobytes())
            except Interrupted:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(set(seen)) == len(seen) > 100
    assert SECURE.words(2, np.uint64).tobytes() not in set(seen)


def test_a_draw_inside_a_signal_handler_neither_repeats_nor_hangs():
    # A handler runs between two instructions of the main thread, which may hold the
    # lock of the source. In a process of its own, so that a hang can be ended.
    code = """
import signal, numpy as np
from hush.noise import SECURE
inside = []
signal.signal(signal.SIGALRM, lambda *_: inside.append(SECURE.bits(128)))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
outside = [SECURE.bits(128) for _ in range(20_000)]
signal.setitimer(signal.ITIMER_REAL, 0)
drawn = inside + outside
print(len(inside) > 0, len(set(drawn)) == len(drawn))
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ},
        check=True,
    )
    assert found.stdout.split() == ["True", "True"]


def test_a_draw_that_interrupts_another_needs_no_cipher(monkeypatch):
    # The draw it interrupts may be importing the cipher, in this very thread.
    def importing(*_):
        raise AssertionError("the cipher was asked for")

    monkeypatch.setattr(source, "_keystream", importing)
    monkeypatch.setattr(SECURE, "_busy", True)
    drawn = [SECURE.bits(128) for _ in range(100)]
    assert len(set(drawn)) == 100


def test_two_runs_never_give_the_same_noise():
    noise = [discrete_laplace(2.0**40, 50).tolist() for _ in range(20)]
    noise += [discrete_gaussian(2.0**40, 50).tolist() for _ in range(20)]
    noise += [integers(2**60, 50).tolist() for _ in range(20)]
    flat = [each for row in noise for each in row]
    # 3000 numbers spread over 2^40: two meet by chance with probability 1e-5, three
    # pairs with 1e-15.
    assert len(flat) - len(set(flat)) < 3


def test_every_coordinate_of_a_vector_has_noise_of_its_own():
    noise = Laplace(scale=2.0**40).run(np.zeros(500, dtype=np.int64))
    assert len(set(noise.tolist())) > 498


def test_a_seeded_source_cannot_call_itself_secure():
    source = Seeded(7)
    with pytest.raises(AttributeError):
        source.seeded = False
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1))
    with ledger, pytest.raises(InsecureSource):
        ledger.release(Laplace(scale=10.0), count(), [1, 2], source=source)


def test_a_batch_draws_fresh_noise_for_equal_mechanisms():
    with hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1)) as ledger:
        noise = Laplace(scale=2.0**40)
        batch = ledger.release([noise] * 20, [count()] * 20, [1, 2, 3])
    assert len(set(batch.values)) == 20
