"""Charge at random and write down when: python operations.py '{"url": ..., ...}'.

A nursery forks workers, stops some of them in the middle of whatever they do and kills
others. A worker that follows a killed one repeats its last operation under its key.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from typing import Any

from hush.errors import BudgetExceeded
from hush.ledger import Ledger
from hush.privacy import Pure
from ledger.worker import report

UNIT = 1e-4  # what an operation costs is a small number of these


def operation(worker: int, number: int, accounts: int) -> tuple[str, str, int]:
    """Return key, data set and cost of one operation, the same at every attempt."""
    chosen = random.Random(f"{worker} {number}")
    cost = chosen.choice([1, 1, 2, 5])
    return f"{worker}-{number}", f"d{chosen.randrange(accounts)}", cost


def work(
    log: int, done: Any, *, worker: int, url: str, each: int, accounts: int
) -> None:
    """Go on where the last worker of this number was killed."""
    ledger = Ledger.open(url, check=False)
    datasets = [ledger.on(dataset=f"d{n}") for n in range(accounts)]
    while done[worker] < each:
        key, dataset, cost = operation(worker, done[worker], accounts)
        report(log, json.dumps(["invoked", key, time.monotonic(), None]))
        sequence = None
        try:
            paying = datasets[int(dataset[1:])]
            sequence = paying.charge(Pure(epsilon=cost * UNIT), key=key).sequence
        except BudgetExceeded:
            pass
        report(log, json.dumps(["completed", key, time.monotonic(), sequence]))
        done[worker] += 1


def nursery(
    *, url: str, log: str, workers: int, each: int, accounts: int, calm: float
) -> None:
    """Keep workers at work until all is done; disturb one every `calm` seconds."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    fork = multiprocessing.get_context("fork")
    done = fork.Array("i", workers, lock=False)
    generator, alive, turn = random.Random(7), dict[int, int](), 0
    while any(number < each for number in done):
        for worker in range(workers):
            if worker not in alive and done[worker] < each:
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        job = {"url": url, "each": each, "accounts": accounts}
                        work(descriptor, done, worker=worker, **job)
                        code = 0
                    finally:
                        os._exit(code)
                alive[worker] = child
        time.sleep(calm * generator.random())
        turn += 1
        worker, child = generator.choice(sorted(alive.items()))
        if turn % 2:
            os.kill(child, signal.SIGKILL)
            report(descriptor, json.dumps(["killed", "", time.monotonic(), worker]))
        else:
            os.kill(child, signal.SIGSTOP)
            time.sleep(5.0 if turn % 40 == 0 else calm * generator.random())
            report(descriptor, json.dumps(["stopped", "", time.monotonic(), worker]))
            os.kill(child, signal.SIGCONT)
        for worker, child in list(alive.items()):
            gone, status = os.waitpid(child, os.WNOHANG)
            if gone:
                assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
                del alive[worker]
    for child in alive.values():
        os.waitpid(child, 0)


if __name__ == "__main__":
    nursery(**json.loads(sys.argv[1]))
