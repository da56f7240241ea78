"""Randomness: forks, copies, seeds, reuse, snapshots and bit health (HAZARDS R1-R6)."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from scipy import stats

from goodness import FALSE_ALARM
from hush import noise
from hush.errors import InvalidArgument
from hush.local import RandomizedResponse
from hush.mechanisms import Laplace
from hush.noise.source import SECURE, Seeded, _keystream, _Secure


def forked(work) -> bytes:
    """Return what `work()` returns in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writing, "wb") as out:
                out.write(work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        result = stream.read()
    os.waitpid(child, 0)
    return result


def many_blocks() -> bytes:
    """10^4 words from four threads, in requests of several sizes."""
    parts: list[bytes] = []

    def work():
        for size in (1, 7, 200, 2292):
            parts.append(SECURE.words(size, np.uint64).tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return b"".join(parts)


def repeats(pieces: list[bytes]) -> int:
    blocks = np.frombuffer(b"".join(pieces), dtype=np.uint64)
    return blocks.size - np.unique(blocks).size


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_r1_forks_and_threads_never_share_bits():
    SECURE.words(3, np.uint64)  # leave the parent with a stock the children could copy
    pieces = [forked(many_blocks) for _ in range(4)] + [many_blocks()]
    assert all(len(piece) == 4 * 2500 * 8 for piece in pieces)
    # 50 000 words: a repetition has probability below 1e-10.
    assert repeats(pieces) == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_r1_power_a_generator_of_numpy_repeats():
    generator = np.random.default_rng()

    def work():
        return generator.integers(0, 2**63, 100).tobytes()

    assert repeats([forked(work), forked(work)]) == 100


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_r1_a_lock_held_during_the_fork_does_not_block_the_child():
    with SECURE._lock:
        assert len(forked(lambda: SECURE.words(4, np.uint64).tobytes())) == 32


@pytest.mark.parametrize("source", [SECURE, Seeded(3)], ids=repr)
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_r2_a_source_is_never_copied(source, way):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        way(source)


def test_r3_a_seed_repeats_and_says_so():
    first = noise.discrete_laplace(5, 1000, source=Seeded(7))
    again = noise.discrete_laplace(5, 1000, source=Seeded(7))
    other = noise.discrete_laplace(5, 1000, source=Seeded(8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert Seeded(7).seeded
    assert not SECURE.seeded


def test_r3_other_seeds_change_nothing():
    code = (
        "import numpy, random; numpy.random.seed(1); random.seed(1);"
        "from hush import noise; print(noise.discrete_laplace(10**9, 4).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(outputs) == 2


@pytest.mark.statistical
def test_r4_two_releases_share_no_noise():
    x = noise.discrete_gaussian(10**9, 5000)
    y = noise.discrete_gaussian(10**9, 5000)
    assert np.intersect1d(x, y).size < 5
    # Fails wrongly with probability below 1e-9: six and a half standard errors.
    assert abs(np.corrcoef(x, y)[0, 1]) < 6.5 / np.sqrt(5000)


def test_r5_a_cloned_state_departs_at_the_next_refill():
    first, twin = _Secure(), _Secure()
    first.words(1, np.uint64)
    for name in ("_key", "_used"):
        setattr(twin, name, getattr(first, name))
    twin._stock = memoryview(bytearray(first._stock))
    # A snapshot shares at most the stock that was ready, never a later key.
    pieces = [first.words(1000, np.uint64), twin.words(1000, np.uint64)]
    pieces = [source.words(40_000, np.uint64) for source in (first, twin)]
    assert np.intersect1d(*pieces).size == 0
    for _ in range(20):
        a, b = first.words(500, np.uint64), twin.words(500, np.uint64)
    assert np.intersect1d(a, b).size == 0


@pytest.mark.statistical
@pytest.mark.parametrize("size", [400, 1_250_000], ids=["stock", "direct"])
def test_r6_bits_are_balanced_and_free_of_runs(size):
    repeats_ = 1_250_000 // size
    raw = np.concatenate([SECURE.words(size, np.uint8) for _ in range(repeats_)])
    bits = np.unpackbits(raw).astype(np.int64)
    n = bits.size
    balance = abs(2 * bits.sum() - n) / np.sqrt(n)
    runs = abs(np.count_nonzero(np.diff(bits)) - (n - 1) / 2) / (np.sqrt(n - 1) / 2)
    limit = stats.norm.isf(FALSE_ALARM / 2)
    assert balance < limit
    assert runs < limit
    counts = np.bincount(raw, minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_r6_power_a_slightly_unfair_bit_is_seen():
    raw = SECURE.words(1_250_000, np.uint8) | (
        (SECURE.words(1_250_000, np.uint8) < 4).astype(np.uint8)
    )
    assert stats.chisquare(np.bincount(raw, minlength=256)).pvalue < FALSE_ALARM


def test_handed_out_bytes_are_forgotten():
    source = _Secure()
    given = source.words(100, np.uint8).tobytes()
    assert given not in bytes(source._stock)


@pytest.mark.parametrize("size", [1 << 17, (1 << 17) + 7, (1 << 18) + 32, 1 << 20])
def test_a_long_stream_is_that_of_the_counter(size):
    key, found = os.urandom(32), bytearray(size)
    _keystream(key, memoryview(found))
    plain = Cipher(AES(key), CTR(bytes(16))).encryptor()
    assert found == plain.update(bytes(size))


def test_long_integers_have_every_bit():
    draws = [SECURE.bits(130) for _ in range(200)]
    seen = 0
    for draw in draws:
        assert 0 <= draw < 2**130
        seen |= draw
    assert seen == 2**130 - 1  # fails wrongly with probability 130·2^-200


@pytest.mark.parametrize("wrong", [7, None, np.random.default_rng(1)])
def test_what_is_no_source_is_refused_by_name(wrong):
    for draw in (
        lambda: noise.discrete_laplace(2, source=wrong),
        lambda: noise.discrete_gaussian(2, source=wrong),
        lambda: noise.integers(6, source=wrong),
        lambda: noise.bernoulli(0.5, source=wrong),
        lambda: noise.bernoulli_exp(0.5, source=wrong),
        lambda: noise.categorical([0.0, 1.0], source=wrong),
        lambda: Laplace(1.0).run(3, source=wrong),
        lambda: RandomizedResponse(epsilon=1.0).encode([1], source=wrong),
    ):
        with pytest.raises(InvalidArgument, match=r"source must be .*Seeded"):
            draw()
