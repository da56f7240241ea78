"""Many processes and threads race for the last unit of a budget, round after round.

python race.py '{"kind": ..., "url": ..., "rounds": ..., ...}' prints the number of
grants in every round; kinds are ledger, naive and unlocked.
"""

import contextlib
import json
import multiprocessing
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from hush.errors import BudgetExceeded
from hush.ledger import Ledger
from hush.privacy import Pure

Attempt = Callable[[int, str], bool]


def with_ledger(url: str) -> Attempt:
    ledger = Ledger.open(url, check=False)

    def attempt(turn: int, who: str) -> bool:
        try:
            ledger.on(dataset=f"round{turn}").charge(Pure(epsilon=1.0), key=who)
        except BudgetExceeded:
            return False
        return True

    return attempt


def naive(url: str) -> Attempt:
    """Select, compare, insert: what everybody writes first."""
    if url.startswith("sqlite"):

        def connect() -> Any:
            return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)

        insert = "INSERT INTO naive VALUES (?, 1)"
    else:
        import psycopg

        def connect() -> Any:
            return psycopg.connect(url)

        insert = "INSERT INTO naive VALUES (%s, 1)"

    local = threading.local()

    def attempt(turn: int, who: str) -> bool:
        if not hasattr(local, "connection"):
            local.connection = connect()
        sql = f"SELECT coalesce(sum(cost), 0) FROM naive WHERE turn = {turn}"
        try:
            if local.connection.execute(sql).fetchone()[0] + 1 > 1:
                return False
            time.sleep(0.001)  # the comparison, on a machine where it takes a while
            local.connection.execute(insert, (turn,))
            return True
        finally:
            local.connection.commit()

    return attempt


def unlock(url: str) -> None:
    """Leave nothing but the UPDATE and its CHECK to keep the budget, in this database.

    The chain's own lock goes from the functions; from the protocol's transactions it
    goes in `without_chain_lock`.
    """
    import psycopg

    from hush.ledger.stores import postgres

    with psycopg.connect(url) as connection:
        for statement in postgres.functions():
            bare = statement.replace(f"mark := {postgres.ALONE};", "")
            assert bare != statement
            connection.execute(bare)


def without_chain_lock(url: str) -> Attempt:
    """The ledger in a database without the lock; the protocol goes without it, too."""
    from hush.ledger.stores import postgres

    postgres._BEGIN = tuple(e for e in postgres._BEGIN if "pg_advisory" not in e)
    return with_ledger(url)


KINDS = {"ledger": with_ledger, "naive": naive, "unlocked": without_chain_lock}


def runner(job: dict[str, Any], process: int, barrier: Any, grants: Any) -> None:
    attempt = KINDS[job["kind"]](job["url"])

    def run(thread: int) -> None:
        for turn in range(job["rounds"]):
            barrier.wait(60)
            if attempt(turn, f"p{process}t{thread}"):
                with grants.get_lock():
                    grants[turn] += 1

    threads = [threading.Thread(target=run, args=(t,)) for t in range(job["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(job: dict[str, Any]) -> None:
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(job["processes"] * job["threads"])
    grants = fork.Array("i", job["rounds"])
    processes = [
        fork.Process(target=runner, args=(job, each, barrier, grants))
        for each in range(job["processes"])
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        with contextlib.suppress(Exception):
            process.kill()
    print(json.dumps(list(grants)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
