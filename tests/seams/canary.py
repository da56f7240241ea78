"""A record that occurs nowhere else, and the forms in which it could leave."""

import base64
import hashlib
import struct
from collections.abc import Iterator

TEXT = "Zyxw-7q3zk9w-canary"
WHOLE = 987_654_321_987_123
REAL = 7654.3210987654
VALUES = (TEXT, WHOLE, REAL)

_DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha512", "blake2b", "blake2s")
_LEAST = 8  # bytes; of a digest, so many are not there by chance


def _spelled(value: object) -> Iterator[bytes]:
    """Yield a value as text and as bytes of memory."""
    yield str(value).encode()
    yield repr(value).encode()
    if isinstance(value, str):
        yield value.encode("utf-16-le")
        yield value.encode("utf-32-le")
        yield value.lower().encode()
        yield value.upper().encode()
        yield value[:12].encode()
        yield value[-12:].encode()
    if isinstance(value, int):
        yield f"{value:,}".encode()
        yield hex(value).encode()
        yield from (struct.pack(order + "q", value) for order in "<>")
        yield float(value).hex().encode()
    if isinstance(value, float):
        yield value.hex().encode()
        yield f"{value:.6f}".encode()
        yield from (struct.pack(order + "d", value) for order in "<>")


def forms(value: object) -> set[bytes]:
    """Return what betrays a value: it, its hexadecimal, base64 and hashes."""
    found = set(_spelled(value))
    for each in tuple(found):
        found |= {each.hex().encode(), each.hex().upper().encode()}
        for start in range(3):  # a piece of a longer text, at any place
            coded = base64.b64encode(b"\0" * start + each)
            found.add(coded[4 if start else 0 : len(coded) // 4 * 4 - 4])
        for name in _DIGESTS:
            digest = hashlib.new(name, each).digest()
            found |= {digest.hex()[: 2 * _LEAST].encode(), digest[:_LEAST]}
    return {each for each in found if len(each) >= _LEAST}


FORMS = frozenset().union(*(forms(value) for value in VALUES))


def hits(text: str | bytes) -> set[bytes]:
    """Return the forms of the canary that are in a text.

    False alarms: a form has eight bytes or more, there are about a thousand, and a test
    searches less than 10^5 random bytes: 10^8 / 256^8 < 1e-11.
    """
    if isinstance(text, bytes):
        sides = [text]
    else:
        sides = [
            text.encode("utf-8", "surrogatepass"),
            text.encode("latin-1", "ignore"),
        ]
    return {each for each in FORMS if any(each in side for side in sides)}
