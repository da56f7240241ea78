"""Processes that release keys and die where they are told.

A nursery imports hush once and forks its workers, so that they are killed at work and
not while importing: python worker.py '{"url": ..., "log": ..., ...}'
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from typing import Any

from hush.errors import BudgetExceeded
from hush.ledger import Ledger
from hush.ledger.two_phase import plant
from ledger.toys import Die, Total


def report(log: int, text: str) -> None:
    os.write(log, (text + "\n").encode())  # one write: the moment of release


def work(
    log: int, seed: int, *, url: str, keys: int, chance: float, cost: float
) -> None:
    """Release every key once, in a random order."""
    random.seed(seed)

    def die(step: str) -> None:
        if random.random() < chance:
            report(log, f"killed {step}")
            os.kill(os.getpid(), signal.SIGKILL)

    plant(die)
    names = [f"key{k}" for k in range(keys)]
    random.shuffle(names)
    ledger = Ledger.open(url, check=False)
    for name in names:
        try:
            release = ledger.release(Die(cost), Total(), [1, 1], name)
        except BudgetExceeded:
            report(log, f"refused {name}")
        else:
            report(log, f"release {name} {release.values}")
            die("released")


class Diary:
    """What the workers have reported so far, read as it grows."""

    def __init__(self, log: str) -> None:
        self.file = open(log)  # noqa: SIM115 (as long as the nursery)
        self.lines = 0
        self.seen = Counter[str]()  # releases, refusals, deaths, and these by step

    def read(self) -> int:
        """Return how many lines there are."""
        for line in self.file:
            words = line.split()
            self.lines += 1
            self.seen[words[0]] += 1
            if words[0] == "killed":
                self.seen[words[1]] += 1
        return self.lines


def nursery(
    *,
    log: str,
    seconds: float,
    workers: int,
    outside: float,
    least: dict[str, int],
    **job: Any,
) -> None:
    """Keep `workers` at work for a while; kill one from outside now and then.

    On a busy machine a while is longer: until there is `least` of everything, at most
    ten times. Kills from outside wait for something to happen in between, else workers
    would be killed before they get anywhere.
    """
    start, alive, count, last = time.monotonic(), set[int](), 0, 0
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    diary, generator = Diary(log), random.Random(7)

    def enough() -> bool:
        diary.read()
        passed = time.monotonic() - start
        reached = all(diary.seen[name] >= number for name, number in least.items())
        return passed > (seconds if reached else 10 * seconds)

    while not enough():
        while len(alive) < workers:
            count += 1
            child = os.fork()
            if child == 0:
                try:
                    work(descriptor, count, **job)
                finally:
                    os._exit(0)
            alive.add(child)
        time.sleep(0.01)
        if generator.random() < outside and diary.read() >= last + workers:
            os.kill(generator.choice(sorted(alive)), signal.SIGKILL)
            report(descriptor, "killed outside")
            last = diary.read()
        while alive:
            gone, _ = os.waitpid(-1, os.WNOHANG)
            if not gone:
                break
            alive.discard(gone)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    nursery(**json.loads(sys.argv[1]))
