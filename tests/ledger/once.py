"""Release a few keys, killed or watched: python once.py URL LOG STEP [COUNT [SYNC]].

Without arguments it reads them, a JSON list per line, forks for each and says how the
child ended: importing hush takes longer than all the rest.

STEP is where to die ("never" to live). SYNC sabotages the store: the value of SQLite's
`synchronous`, 3 in a real ledger with a rollback journal.
"""

import json
import os
import signal
import sys

from hush.ledger import Ledger
from hush.ledger.stores import sqlite
from hush.ledger.two_phase import plant
from ledger.toys import Die, Total
from ledger.worker import report


def main(
    url: str, path: str, deadly: str, count: str = "1", sync: str | None = None
) -> None:
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if sync is not None:
        real = sqlite.settings
        sqlite.settings = lambda version: real(version) | {"synchronous": int(sync)}

    def die(step: str) -> None:
        if step == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    plant(die)
    with Ledger.open(url, check=False) as ledger:
        for number in range(int(count)):
            release = ledger.release(Die(0.1), Total(), [1, 1], f"key{number}")
            report(log, f"release key{number} {release.values}")
            die("released")


def serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                main(*json.loads(line))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:]) if sys.argv[1:] else serve()
