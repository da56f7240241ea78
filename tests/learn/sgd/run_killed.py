"""A training run that kills itself after writing some checkpoints, or resumes."""

import os
import signal
import sys

import numpy as np

from hush.learn import sgd
from hush.learn.sgd.checkpoint import Checkpoint
from hush.ledger import Budget, Ledger

X = np.linspace(-1, 1, 50, dtype=np.float32)


def loss(p, row):
    return p * row


def main(folder: str, kill_after: int) -> None:
    """Train; die right after, or right before, the n-th checkpoint is written."""
    save, count = Checkpoint.save, 0

    def saving(self, state):
        nonlocal count
        count += 1
        if count == -kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        save(self, state)
        if count == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint.save = saving
    budget = Budget(epsilon=3, delta=1e-5)
    with Ledger.open(f"sqlite:///{folder}/budget.db", budget=budget) as ledger:
        found = sgd.train(
            loss,
            np.float32(0),
            X,
            epsilon=1.0,
            delta=1e-6,
            steps=600,
            ledger=ledger,
            checkpoint=f"{folder}/run.npz",
        )
        print(float(found.params), ledger.remaining().epsilon, bool(ledger.verify()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
