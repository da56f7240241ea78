"""Charge at random and write down when: python operations.py URL LOG COUNT SEED."""

import contextlib
import json
import random
import sys
import time
from pathlib import Path

from hush.errors import BudgetExceeded
from hush.ledger import Ledger
from hush.privacy import Pure


def main(url: str, log: str, count: str, seed: str) -> None:
    random.seed(seed)
    with Ledger.open(url, check=False) as ledger, Path(log).open("w") as file:
        for _ in range(int(count)):
            cost = random.choice([1, 1, 2, 5])
            invoked = time.monotonic()
            sequence = None
            with contextlib.suppress(BudgetExceeded):
                sequence = ledger.charge(Pure(epsilon=cost / 10_000)).sequence
            completed = time.monotonic()
            file.write(json.dumps([invoked, completed, cost, sequence]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
