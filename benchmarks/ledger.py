"""Charged releases per second, against the bare commits they cannot do without.

A release makes two durable commits: the charge and the answer. The yardstick is two
bare commits of one small row, with the same store, settings and number of processes, in
the same run, each alone on a lock, as whoever adds up a budget must be. On PostgreSQL
there is a second, harder one: two rows without any lock, one round trip each, whose
flushes several processes may share. An SQLite ledger has its anchor, one more line in a
second file per release; it is written, not synchronised: no third sync is counted.
Prints a Markdown table: python benchmarks/ledger.py [FILE]
"""

import argparse
import contextlib
import multiprocessing
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from hush.ledger import Budget, Ledger
from hush.ledger.stores.sqlite import settings
from hush.mechanisms import Geometric, count
from servers import database, postgres


def release(url: str) -> Callable[[], None]:
    """A count of two people with integer noise: the ledger is what takes time."""
    ledger = Ledger.open(url, check=False)
    noise, people = Geometric(scale=10), count()
    return lambda: (ledger.release(noise, people, [1, 2]), None)[1]


def bare_sqlite(url: str) -> Callable[[], None]:
    """Two commits that add a row and a sum, with the pragmas of the ledger."""
    path = url.removeprefix("sqlite:///") + ".bare"
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    for name, value in settings(sqlite3.sqlite_version_info).items():
        connection.execute(f"PRAGMA {name} = {value}").fetchall()
    connection.execute(
        "CREATE TABLE IF NOT EXISTS bare (x INTEGER PRIMARY KEY, t TEXT)"
    )

    def twice() -> None:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO bare (t) VALUES (?)", ("x" * 500,))
            connection.execute("COMMIT")

    return twice


def bare_postgres(url: str) -> Callable[[], None]:
    """Two commits that add a row, alone on one lock as any exact budget must be."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET client_min_messages = warning")
    connection.execute("CREATE TABLE IF NOT EXISTS bare (x SERIAL PRIMARY KEY, t TEXT)")

    def twice() -> None:
        for _ in range(2):
            connection.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
            connection.execute("INSERT INTO bare (t) VALUES (%s)", ("x" * 500,))
            connection.execute("COMMIT")

    return twice


def unlocked_postgres(url: str) -> Callable[[], None]:
    """Two rows, one prepared statement and one round trip each, and no lock at all."""
    import psycopg

    bare_postgres(url)
    cursor = psycopg.connect(url, autocommit=True).cursor()

    def twice() -> None:
        for _ in range(2):
            row = ("x" * 500,)
            cursor.execute("INSERT INTO bare (t) VALUES (%s)", row, prepare=True)

    return twice


def worker(make: Any, url: str, seconds: float, barrier: Any, result: Any) -> None:
    once = make(url)
    once()
    barrier.wait()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        once()
        count += 1
    result.put(count / (time.perf_counter() - start))


def rate(make: Any, url: str, processes: int, seconds: float) -> float:
    """Return operations per second, all processes together."""
    fork = multiprocessing.get_context("fork")
    barrier, result = fork.Barrier(processes), fork.Queue()
    started = [
        fork.Process(target=worker, args=(make, url, seconds, barrier, result))
        for _ in range(processes)
    ]
    for process in started:
        process.start()
    total = sum(result.get(timeout=60 + 10 * seconds) for _ in started)
    for process in started:
        process.join()
    return total


def compare(
    url: str, bare: Any, processes: int, seconds: float, rounds: int
) -> tuple[float, ...]:
    """Return releases/s, bare pairs/s and the median of their ratio, interleaved."""
    with Ledger.open(url, budget=Budget(epsilon=10**5)):
        pass
    bare(url)()
    pairs = [
        (rate(release, url, processes, seconds), rate(bare, url, processes, seconds))
        for _ in range(rounds)
    ]
    ours, theirs = (statistics.median(each) for each in zip(*pairs, strict=True))
    return ours, theirs, statistics.median(b / a for a, b in pairs)


@contextlib.contextmanager
def stores() -> Iterator[list[tuple[str, Callable[[], str], Any]]]:
    with tempfile.TemporaryDirectory(prefix="hush-bench") as folder, postgres() as url:
        names = iter(range(1000))
        found: list[Any] = [
            (
                f"SQLite {sqlite3.sqlite_version}",
                lambda: f"sqlite:///{folder}/b{next(names)}.db",
                bare_sqlite,
            )
        ]
        if url is not None:
            for name, bare in (
                ("PostgreSQL", bare_postgres),
                ("PostgreSQL, bare without a lock", unlocked_postgres),
            ):
                found.append((name, lambda: database(url, f"b{next(names)}"), bare))
        yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    lines = [
        "| store | processes | releases/s | two bare commits/s | time, bare = 1 |",
        "|---|---:|---:|---:|---:|",
    ]
    with stores() as found:
        for name, make, bare in found:
            for processes in (1, 4):
                ours, theirs, times = compare(
                    make(), bare, processes, options.seconds, options.rounds
                )
                row = (name, processes, f"{ours:.0f}", f"{theirs:.0f}", f"{times:.2f}")
                lines.append(f"| {' | '.join(map(str, row))} |")
    lines.append("")
    lines.append(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"{time.strftime('%Y-%m-%d')}; median of {options.rounds} interleaved runs of "
        f"{options.seconds:g} s."
    )
    text = "\n".join(lines)
    print(text)
    if options.file:
        Path(options.file).write_text(text + "\n")


if __name__ == "__main__":
    main()
