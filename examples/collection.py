"""A collection from people who trust nobody, over a socket, with liars among them.

Each device randomizes its own answer before a byte leaves it. A collector on the other
side of a socket knows nothing but these bytes. It adds them up, merges its tally with
that of a second collector, and estimates shares with intervals. Some senders do not
follow the protocol; what a well-formed lie can do is bounded in advance.

Run it: python examples/collection.py
"""

import socket
import threading
from collections.abc import Iterable, Iterator

import numpy as np

from hush.local import UnaryEncoding
from hush.local.aggregation import Tally
from hush.noise import SECURE, Seeded, Source

FEATURES = ["search", "maps", "mail", "music", "video", "games", "news", "none"]
ORACLE = UnaryEncoding(epsilon=2, size=len(FEATURES))  # public: all devices have it
MESSAGE = 8 + ORACLE.width  # a header and one row


def answers(size: int, seed: int) -> np.ndarray:
    """Return what people would say to somebody they trust: a category each."""
    shares = np.array([0.30, 0.22, 0.16, 0.12, 0.09, 0.06, 0.03, 0.02])
    return np.random.default_rng(seed).choice(len(FEATURES), size, p=shares)


def devices(truth: np.ndarray, source: Source = SECURE) -> Iterator[bytes]:
    """Yield one message per person; the true answer does not leave this function."""
    yield from ORACLE.encode(truth, source=source).messages()


def liars(count: int, push: int) -> Iterator[bytes]:
    """Yield reports that claim one category and nothing else, as strongly as can be."""
    head = next(devices(np.array([push])))[:8]
    row = np.packbits(np.arange(len(FEATURES)) == push, bitorder="little")
    yield from (head + row.tobytes() for _ in range(count))


def rubbish() -> list[bytes]:
    """Return messages that are none: they are dropped and counted."""
    return [b"GET / HTTP/1.1\r\n", b"hu\x01\x02\x00abc!", bytes(MESSAGE)]


def send(messages: Iterable[bytes], wire: socket.socket) -> None:
    """Write messages with their lengths, and hang up."""
    with wire:
        wire.sendall(b"".join(len(m).to_bytes(2, "big") + m for m in messages))


def receive(wire: socket.socket) -> Iterator[bytes]:
    """Yield the messages of one connection."""
    with wire, wire.makefile("rb") as stream:
        while size := stream.read(2):
            yield stream.read(int.from_bytes(size, "big"))


def collect(messages: Iterable[bytes]) -> tuple[Tally, int]:
    """Send messages through a socket; return the collector's tally and its refusals.

    `most=1` drops a message that carries more than one report: one device, one vote.
    """
    here, there = socket.socketpair()
    sender = threading.Thread(target=send, args=(messages, there))
    sender.start()
    heard = ORACLE.collect(receive(here), most=1)
    sender.join()
    return ORACLE.aggregate(heard), heard.rejected


def main() -> None:
    """Collect twice, merge, estimate; then do it again with liars."""
    # Seeded so that the page repeats. On a device, leave `source=` out: somebody who
    # knows the seed undoes the randomizing. Seeded messages say so in their header.
    morning, evening = answers(30_000, seed=1), answers(20_000, seed=2)
    first, refused = collect([*rubbish(), *devices(morning, Seeded(1))])
    second, _ = collect(devices(evening, Seeded(2)))
    tally = first + second
    found = ORACLE.estimate(tally)
    low, high = found.interval(0.95)
    exact = np.bincount(np.concatenate([morning, evening]), minlength=len(FEATURES))
    exact = exact / exact.sum()
    print(f"{ORACLE}: {MESSAGE} bytes per person, {tally.people:,} reports heard")
    print(f"dropped, because they cannot be reports: {refused}")
    print("feature    estimate   95% interval        true")
    for i, name in enumerate(FEATURES):
        ends = f"{low[i]:6.1%} to {high[i]:5.1%}"
        print(f"{name:9} {found.value[i]:9.1%}   {ends}    {exact[i]:7.1%}")

    lies = 500
    forged, _ = collect(liars(lies, push=7))
    moved = ORACLE.estimate(tally + forged).value[7] - found.value[7]
    bound = lies * ORACLE.leverage / (tally.people + lies)
    print(f"{lies} liars push 'none' by {moved:.1%}, of {bound:.1%} at most")


if __name__ == "__main__":
    main()
