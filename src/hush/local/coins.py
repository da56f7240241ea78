"""Coins by the billion: 64 to a word, exact for any rational chance.

The uniform number of a coin is compared with the binary digits of its chance, one digit
of 64 coins at a time. A coin is decided at the first digit in which the two differ, so
after a few digits hardly any word has an open coin and only those words go on.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.noise import Source

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]

_BLOCK = 1 << 16  # words: large enough to amortise the calls
_TOGETHER = 7  # digits after which most words have no open coin
_FEW = 16  # rows that are cheaper to unpack than to add


def _digits(chance: Fraction, open_: Words, result: Words, source: Source) -> None:
    """Decide the coins of a block in place."""
    open_.fill(~np.uint64(0))
    result.fill(0)
    places: NDArray[np.int64] | None = None
    rest, digit = chance, 0
    while rest and open_.size:
        rest, digit = 2 * rest, digit + 1
        kept = source.words(open_.size, np.uint64)
        kept &= open_  # coins whose digit is that of the chance stay open
        if rest >= 1:  # the others have a 0 where the chance has a 1: below it, true
            rest -= 1
            true = np.bitwise_xor(open_, kept, out=open_)
            if places is None:
                result |= true
            else:
                result[places] |= true
        open_ = kept
        if digit >= _TOGETHER:
            still = np.flatnonzero(open_)
            places = still if places is None else places[still]
            open_ = open_[still]


def packed_coins(chance: Fraction, count: int, source: Source) -> Bytes:
    """Return `count` bytes of independent coins, eight to a byte.

    Guarantee: every bit is 1 with probability exactly `chance`, which lies in [0, 1].

    Example:
        >>> from hush.noise import SECURE
        >>> packed_coins(Fraction(1), 2, SECURE).tolist()
        [255, 255]
    """
    words = -(-count // 8)
    result = np.empty(words, dtype=np.uint64)
    if chance >= 1:
        result.fill(~np.uint64(0))
    else:
        space = np.empty(min(words, _BLOCK), dtype=np.uint64)
        for start in range(0, words, _BLOCK):
            block = result[start : start + _BLOCK]
            _digits(chance, space[: block.size], block, source)
    return result.view(np.uint8)[:count]


def columns(rows: Bytes, size: int) -> Integers:
    """Return how many rows of packed bits have a 1 in each of `size` columns.

    Three rows become one row of sums and one of carries, so that the work is a few
    operations per word instead of several per bit.

    Example:
        >>> columns(np.array([[1], [3], [2], [2]], dtype=np.uint8), 2).tolist()
        [2, 3]
    """
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    weight, pending = 1, rows
    while len(pending):
        carries = [pending[:0]]
        while len(pending) > _FEW:
            third = len(pending) // 3
            a, b, c = (pending[i * third : (i + 1) * third] for i in range(3))
            odd = a ^ b
            carries.append((a & b) | (odd & c))
            pending = np.concatenate([odd ^ c, pending[3 * third :]])
        bits = np.unpackbits(pending, axis=1, bitorder="little")
        total += weight * bits.sum(axis=0, dtype=np.int64)
        weight, pending = 2 * weight, np.concatenate(carries)
    return total[:size]


def set_bits(rows: Bytes, values: Integers, bits: NDArray[np.bool_]) -> None:
    """Set the bit of each row at the column that `values` names."""
    place, column = np.arange(len(rows)), values >> 3
    shift = (values & 7).astype(np.uint8)
    kept = rows[place, column] & ~(np.uint8(1) << shift)
    rows[place, column] = kept | (bits.astype(np.uint8) << shift)


def padding_mask(size: int) -> np.uint8:
    """Return the mask of the bits of the last byte that no column uses."""
    return np.uint8((0xFF << ((size - 1) % 8 + 1)) & 0xFF)


def unused_are_zero(rows: Bytes, size: int) -> NDArray[np.bool_]:
    """Return which rows leave the bits beyond the last column at 0."""
    return np.asarray((rows[:, -1] & padding_mask(size)) == 0)
