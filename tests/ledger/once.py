"""Release one key and die at one step: python once.py URL LOG STEP."""

import os
import signal
import sys

from hush.ledger import Ledger
from hush.ledger.steps import plant
from ledger.toys import Die, Total
from ledger.worker import report


def main(url: str, path: str, deadly: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def die(step: str) -> None:
        if step == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    plant(die)
    with Ledger.open(url, check=False) as ledger:
        release = ledger.release(Die(0.1), Total(), [1, 1], "key0")
        report(log, f"release key0 {release.values}")
        die("released")


if __name__ == "__main__":
    main(*sys.argv[1:])
