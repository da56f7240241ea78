"""Where randomness comes from: the operating system, or a named seed for rehearsals.

Both sources are AES-256 in counter mode. The secure one mixes fresh bytes of the
operating system into its key at every refill and forgets the old key, so that neither
a copied process image nor a later compromise replays noise. On a device without the
`cryptography` package the secure source is the operating system's own generator, call
by call: as secure, several times slower in bulk.
"""

import hashlib
import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, Unsupported

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR, GCM
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "cryptography":
        raise  # installed and broken is not the same as absent
    FAST = False
else:
    FAST = True

Word = TypeVar("Word", np.uint8, np.uint16, np.uint32, np.uint64)

_STOCK = 1 << 14  # bytes kept ready for small requests
_ZEROS = memoryview(bytes(1 << 18))
_LONG = 1 << 17  # bytes from which a second cipher pays
_LONGEST = 1 << 35  # bytes, below what GCM may do under one key


def _keystream(key: bytes, into: memoryview) -> None:
    """Fill `into` with the AES-256-CTR keystream of a key that is used only once.

    GCM with a nonce of zeros is that keystream from its third block on, and twice as
    fast where the processor has wide AES instructions.
    """
    whole: list[tuple[Any, memoryview]] = [(CTR(bytes(16)), into)]
    if _LONG <= len(into) <= _LONGEST:
        whole = [(CTR(bytes(16)), into[:32]), (GCM(bytes(12)), into[32:])]
    for mode, room in whole:
        encryptor = Cipher(AES(key), mode).encryptor()
        for start in range(0, len(room), len(_ZEROS)):
            piece = room[start : start + len(_ZEROS)]
            encryptor.update_into(_ZEROS[: len(piece)], piece)


class Source(ABC):
    """A stream of uniform random bits: thread-safe, never copied, never pickled.

    Guarantee: no two calls, threads or processes are given the same bits.
    """

    @property
    @abstractmethod
    def seeded(self) -> bool:
        """Whether the stream can be repeated, and so gives no protection."""

    @abstractmethod
    def words(self, count: int, dtype: type[Word]) -> NDArray[Word]:
        """Return `count` independent uniform words of an unsigned `dtype`."""

    def fill(self, room: NDArray[Word]) -> None:
        """Overwrite a contiguous array with independent uniform words."""
        room[:] = self.words(room.size, room.dtype.type)

    def integers(self, count: int, bits: int) -> NDArray[np.int64]:
        """Return `count` independent uniform integers of `bits` <= 63 bits."""
        dtype: Any = np.uint64 if bits > 32 else np.uint32 if bits > 16 else np.uint16
        words = self.words(count, dtype)
        words >>= dtype(8 * words.itemsize - bits)
        return words.astype(np.int64)

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits, of any length."""
        whole = self.words(-(-count // 8), np.uint8).tobytes()
        return int.from_bytes(whole, "big") >> (-count % 8)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a source of randomness cannot be copied or pickled: the copy would repeat "
            "its noise. Pass the mechanism, and name the source where it runs."
        )

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce_ex__(2)


class _Stream(Source):
    """AES-256 in counter mode: a stock for small requests, a key for each large one."""

    def __init__(self) -> None:
        self._new_lock()
        self._restart()

    def _new_lock(self) -> None:
        # A signal handler or a finalizer may draw while its own thread is drawing: it
        # must neither wait for that thread nor touch a stock that is half changed.
        self._lock = threading.RLock()
        self._busy = False

    def _restart(self) -> None:
        self._key = self._first_key()
        self._stock = memoryview(bytearray(_STOCK))
        self._used = _STOCK
        self._owner = os.getpid()

    @abstractmethod
    def _first_key(self) -> bytes:
        """Return the key that starts the stream."""

    @abstractmethod
    def _next_key(self, key: bytes) -> bytes:
        """Return the key that follows `key`; the old one is forgotten."""

    @abstractmethod
    def _check_owner(self) -> None:
        """Act on a change of process."""

    def _bytes_or_key(self, size: int) -> tuple[bytes, bytes]:
        """Return `size` bytes or, for many, the key of a stream of their own."""
        few = size <= _STOCK // 4
        with self._lock:
            if self._busy:
                # The draw below may be importing its cipher: importing it here again,
                # in the same thread, can wait for itself.
                return (os.urandom(size), b"") if few else (b"", os.urandom(32))
            self._busy = True
            try:
                self._check_owner()
                size = size if few else 32
                if size > _STOCK - self._used:  # a new stock, and a new key after it
                    block = memoryview(bytearray(32 + _STOCK))
                    _keystream(self._key, block)
                    self._key = self._next_key(bytes(block[:32]))
                    self._stock, self._used = block[32:], 0
                start, self._used = self._used, self._used + size
                taken = bytes(self._stock[start : self._used])
                self._stock[start : self._used] = bytes(size)  # forget what is given
                return (taken, b"") if few else (b"", self._next_key(taken))
            finally:
                self._busy = False

    def words(self, count: int, dtype: type[Word]) -> NDArray[Word]:
        """Return `count` independent uniform words of an unsigned `dtype`."""
        taken, key = self._bytes_or_key(count * np.dtype(dtype).itemsize)
        if not key:
            return np.frombuffer(bytearray(taken), dtype=dtype)
        result = np.empty(count, dtype=dtype)
        _keystream(key, result.view(np.uint8).data)
        return result

    def fill(self, room: NDArray[Word]) -> None:
        """Overwrite a contiguous array with independent uniform words."""
        taken, key = self._bytes_or_key(room.nbytes)
        if key:
            _keystream(key, room.view(np.uint8).data)
        else:
            room[:] = np.frombuffer(taken, dtype=room.dtype)


@final
class _Secure(_Stream):
    """Randomness of the operating system, stretched by AES-256-CTR."""

    @property
    def seeded(self) -> bool:
        """No: it cannot be repeated."""
        return False

    def _first_key(self) -> bytes:
        return os.urandom(32)

    def _next_key(self, key: bytes) -> bytes:
        return hashlib.sha256(key + os.urandom(32)).digest()

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            self._restart()

    def _after_fork(self) -> None:
        self._new_lock()  # another thread may have held the old one
        self._restart()

    def __repr__(self) -> str:
        return "SECURE"


@final
class _System(Source):
    """Randomness of the operating system as it comes: no state, so nothing to copy."""

    @property
    def seeded(self) -> bool:
        """No: it cannot be repeated."""
        return False

    def words(self, count: int, dtype: type[Word]) -> NDArray[Word]:
        """Return `count` independent uniform words of an unsigned `dtype`."""
        size = count * np.dtype(dtype).itemsize
        return np.frombuffer(bytearray(os.urandom(size)), dtype=dtype)

    def __repr__(self) -> str:
        return "SECURE"


@final
class Seeded(_Stream):
    """A repeatable stream for rehearsals and tests; its releases say so for ever.

    Example:
        >>> from hush.noise import Seeded, integers
        >>> integers(6, source=Seeded(7)) == integers(6, source=Seeded(7))
        True
    """

    @property
    def seeded(self) -> bool:
        """Yes: whoever knows the seed knows the noise."""
        return True

    def __init__(self, seed: int) -> None:
        self.seed = checks.whole("seed", seed)
        if not FAST:
            raise Unsupported(
                "a seed names an AES stream, the same on every machine; install "
                "`cryptography` to rehearse, or leave the source out."
            )
        super().__init__()

    def _first_key(self) -> bytes:
        return hashlib.sha256(f"hush seed {self.seed}".encode()).digest()

    def _next_key(self, key: bytes) -> bytes:
        return key

    def _check_owner(self) -> None:
        """Keep the stream: a rehearsal repeats in every process."""

    def __repr__(self) -> str:
        return f"Seeded({self.seed})"


def _secure() -> Source:
    """Return the one secure source of this process."""
    if not FAST:
        return _System()
    source = _Secure()
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=source._after_fork)
    return source


SECURE: Source = _secure()


def checked_source(source: Any) -> Source:
    """Return a source of randomness, or say what one is.

    Example:
        >>> checked_source(SECURE)
        SECURE
    """
    if isinstance(source, Source):
        return source
    raise InvalidArgument(
        f"source must be hush.noise.SECURE, the default, or hush.noise.Seeded(7) for "
        f"rehearsals; got a {type(source).__name__}. Generators of other libraries do "
        "not give exact noise."
    )


# -- Sizes as NumPy understands them, filled block by block in bounded memory ----------

Size = int | tuple[int, ...] | None

# Large enough to amortise the calls, small enough to stay near the caches.
BLOCK = 1 << 17


def filled_array(size: Size, dtype: Any, fill: Callable[[int], NDArray[Any]]) -> Any:
    """Return `fill` in the shape of `size`: a plain Python value when it is None."""
    if size is None:
        return fill(1)[0].item()
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(checks.whole("size", each, at_least=0) for each in sizes)
    total = math.prod(shape)
    if total <= BLOCK:
        return fill(total).reshape(shape)
    result = np.empty(total, dtype=dtype)
    for start in range(0, total, BLOCK):
        stop = min(start + BLOCK, total)
        result[start:stop] = fill(stop - start)
    return result.reshape(shape)
