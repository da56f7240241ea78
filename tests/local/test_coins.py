"""Packed coins, sums of columns and the nearest distribution."""

from fractions import Fraction

import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush.local import coins as packing
from hush.local.frequency.oracle import project
from hush.noise import SECURE, Seeded


def test_the_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(5)
    for _ in range(50):
        vector = rng.normal(0.2, 0.5, 5)
        near = project(vector)
        assert near.min() >= 0
        assert near.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(5), 500)
        distances = np.linalg.norm(others - vector, axis=1)
        assert np.linalg.norm(near - vector) <= distances.min() + 1e-12


@pytest.mark.parametrize("size", [1, 3, 8, 13, 64, 1000])
@pytest.mark.parametrize("rows", [0, 1, 2, 17, 18, 500])
def test_columns_of_bits_are_summed_exactly(size, rows):
    width = -(-size // 8)
    bits = np.random.default_rng(1).integers(0, 256, (rows, width), dtype=np.uint8)
    wanted = np.unpackbits(bits, axis=1, bitorder="little").sum(axis=0)[:size]
    assert packing.columns(bits, size).tolist() == wanted.tolist()


@pytest.mark.statistical
@pytest.mark.parametrize(
    "chance", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000)]
)
def test_packed_coins_have_their_chance_and_no_memory(chance):
    # Bytes are 256 outcomes of eight independent coins.
    drawn = packing.packed_coins(chance, 600_000, Seeded(8))
    ones = np.bitwise_count(np.arange(256, dtype=np.uint8)).astype(int)
    p = float(chance)
    law_ = p**ones * (1 - p) ** (8 - ones)
    observed = np.bincount(drawn, minlength=256)
    assert p_value(observed, law_ * drawn.size) > FALSE_ALARM
    pairs = np.bincount(drawn[:-1:2] >> 4 << 4 | drawn[1::2] >> 4, minlength=256)
    assert p_value(pairs, law_ * pairs.sum()) > FALSE_ALARM


class Recorded:
    """A source that remembers its words."""

    seeded = True

    def __init__(self, seed):
        self._source, self.heard = Seeded(seed), []

    def words(self, count, dtype):
        self.heard.append(self._source.words(count, dtype))
        return self.heard[-1].copy()


@pytest.mark.parametrize(
    "chance",
    [Fraction(1, 3), Fraction(5, 8), Fraction(1, 1 << 30), 1 - Fraction(1, 10**9)],
)
def test_every_coin_is_the_comparison_of_a_uniform_number_with_its_chance(chance):
    # A word's 1 says that the uniform number has the digit of the chance there. Digits
    # never drawn do not matter: the comparison was decided, or the chance had ended.
    for seed in range(20):
        source = Recorded(seed)
        coins = np.unpackbits(
            packing.packed_coins(chance, 8, source), bitorder="little"
        )
        heard = [int(word[0]) for word in source.heard]
        for lane in range(64):
            uniform, rest = Fraction(0), chance
            for j, word in enumerate(heard, 1):
                rest *= 2
                digit, rest = (1, rest - 1) if rest >= 1 else (0, rest)
                same = word >> lane & 1
                uniform += Fraction(digit if same else 1 - digit, 2**j)
            assert bool(coins[lane]) == (uniform < chance)


def test_certain_coins():
    assert not packing.packed_coins(Fraction(0), 100, SECURE).any()
    assert (packing.packed_coins(Fraction(1), 100, SECURE) == 255).all()
