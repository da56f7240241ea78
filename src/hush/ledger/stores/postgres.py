"""A ledger in PostgreSQL, for several machines."""

import functools
import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, final

from hush.errors import HushError, LedgerError
from hush.ledger.charge import Request
from hush.ledger.hash_chain import (
    RARE,
    SUMMED,
    TABLE_NAMES,
    Entry,
    Kind,
    now,
    postgres_tables,
    prefix,
)
from hush.ledger.two_phase import (
    HEAD,
    Result,
    Rows,
    Statement,
    Store,
    Transaction,
    at,
    head_of,
    replaced,
)

# -- The two writes of a release as functions of PostgreSQL: one round trip each -------
#
# A function does the ordinary case and nothing else: a new key that fits, a first
# answer. Anything else changes nothing, returns nulls, and is decided by
# `hush.ledger.two_phase`, which can explain. Names end in a version: two versions of
# hush may share a database.

LOCK = 0x6875736C65646765  # names the chain among a database's advisory locks

# Every statement of a function sees what was committed before it began, so what is read
# after the lock is the latest. An assignment is cheaper than a query; remote_apply
# equals a local flush where there are no synchronous replicas.
ALONE = f"pg_advisory_xact_lock({LOCK})"
ALTERED = "HU002"  # the past is not what it was: nothing is written

# What this handle saw last, and what the anchor says, must be there as they were.
_PAST = f"""
    IF seen >= 0 AND NOT EXISTS (
        SELECT FROM hush_entry e WHERE e.seq = seen AND e.hash = seal)
    OR anchored >= 0 AND NOT EXISTS (
        SELECT FROM hush_entry e WHERE e.seq = anchored AND e.hash = line)
    THEN RAISE SQLSTATE '{ALTERED}'; END IF;"""
_GIVEN = "seen bigint, seal text, anchored bigint, line text"
_BODY = f"""
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := {ALONE};
    mark := NULL;{_PAST}"""

# The hash of `hush.ledger.hash_chain.digest`: each field preceded by its length.
_FIELDS = ("(h.seq + 1)::text", "what", "place", "name", "moment", "content", "h.hash")
_LINE = ", ".join(f"length({field}), ':', {field}" for field in _FIELDS)
_DIGEST = f"encode(sha256(convert_to(concat({_LINE}), 'UTF8')), 'hex')"

_APPEND = f"""
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, {_DIGEST}
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h"""
_RETURN = "RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;"

_CHARGE_ROUTINE = f"""CREATE OR REPLACE FUNCTION hush_charge_2(
    {_GIVEN},
    what text, place text, name text, moment text, content text,
    payers text, accounts text, quoted text, units text, most text,
    OUT sequence bigint, OUT before text, OUT mark text, OUT written text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    who text[] := string_to_array(accounts, E'\\n');
    names text[] := string_to_array(quoted, E'\\n');
    cost bigint[] := string_to_array(units, ' ');
    spent bigint[] := '{{}}';
    one record;
BEGIN{_BODY}
    IF EXISTS (SELECT FROM hush_entry e WHERE e.scope = place AND e.key = name)
    OR EXISTS (SELECT FROM hush_entry e WHERE {RARE} AND kind = 'link'
        AND scope = ANY (string_to_array(payers, E'\\n')) AND key <> ALL (who))
    THEN RETURN; END IF;
    IF most <> '' THEN
        IF most::bigint <= (
            SELECT count(*) FROM hush_entry
            WHERE {RARE} AND kind = 'fail' AND scope = place
            AND seq > (SELECT coalesce(max(seq), 0) FROM hush_entry
                WHERE {RARE} AND kind = 'unlock' AND scope = place))
        THEN RETURN; END IF;
    END IF;
    written := '';
    FOR i IN 1 .. cardinality(who) LOOP
        SELECT a.spent1 + cost[2 * i - 1] AS first, a.spent2 + cost[2 * i] AS second,
            a.limit1 AS most1, a.limit2 AS most2,
            strpos({prefix("strpos", "e.body")},
                concat(replace(names[i] || ':', ']}},":', ':'), '[',
                    a.spent1, ',', a.spent2, ',', a.limit1, ',', a.limit2, ']')) AS said
        INTO one FROM hush_account a JOIN hush_entry e ON e.seq = a.last
        WHERE a.name = who[i] AND NOT EXISTS (
            SELECT FROM hush_entry l WHERE l.seq > a.last AND l.kind IN {SUMMED}
            AND strpos(l.body, names[i] || ':[') > 0);
        IF NOT FOUND OR one.said = 0 OR one.first > one.most1 OR one.second > one.most2
        THEN RETURN; END IF;
        spent := spent || one.first || one.second;
        written := written || concat(',', names[i], ':[', one.first, ',', one.second,
            ',', one.most1, ',', one.most2, ']');
    END LOOP;
    written := concat('{{"after":{{', substr(written, 2), '}},');
    content := written || substr(content, 2);{_APPEND}
    {_RETURN}
    FOR i IN 1 .. cardinality(who) LOOP
        UPDATE hush_account a SET spent1 = a.spent1 + cost[2 * i - 1],
            spent2 = a.spent2 + cost[2 * i], last = sequence
        WHERE a.name = who[i] AND a.spent1 + cost[2 * i - 1] = spent[2 * i - 1]
            AND a.spent2 + cost[2 * i] = spent[2 * i];
        IF NOT FOUND THEN RAISE SQLSTATE '40001'; END IF;
    END LOOP;
END $$"""

_ANSWER_ROUTINE = f"""CREATE OR REPLACE FUNCTION hush_answer_2(
    {_GIVEN},
    what text, place text, name text, moment text, content text,
    OUT sequence bigint, OUT before text, OUT mark text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN{_BODY}{_APPEND}
    WHERE 1 = (SELECT sum(CASE WHEN o.kind IN ('reserve', 'hold') THEN 1
            WHEN o.kind = 'start' THEN 0 ELSE 9 END)
        FROM hush_entry o WHERE o.scope = place AND o.key = name)
    {_RETURN}
END $$"""

NAMES = frozenset({"hush_charge_2", "hush_answer_2"})


def functions() -> tuple[str, ...]:
    """Return the statements that make the functions."""
    return _CHARGE_ROUTINE, _ANSWER_ROUTINE


# -- A ledger in PostgreSQL, for several machines --------------------------------------

_TRIES = 12

_BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "SET LOCAL synchronous_commit = remote_apply",
    f"SELECT {ALONE}",
)
# The functions need to see what was committed while they waited for the lock.
_SESSION = (
    "SET client_min_messages = 'warning'; "
    "SET default_transaction_isolation = 'read committed'"
)
_SNAPSHOT = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)


# What psycopg is given is text: lists would cost more than the rest of the call.
_PAIRS = "%s::bigint, %s, %s::bigint, %s"
_CHARGE = f"SELECT * FROM hush_charge_2({_PAIRS}, {', '.join(['%s'] * 10)})"
_ANSWER = f"SELECT * FROM hush_answer_2({_PAIRS}, {', '.join(['%s'] * 5)})"
_NOTHING = (-1, "")  # for the anchor's line, where there is none

# Left to the protocol: a function that somebody dropped,
# prepared statements lost or doubled by a pool between here and the server.
_LEAVE = ("42883", "26000", "42P05")


def _wire(request: Request) -> tuple[str, ...]:
    """Return payers, accounts and their costs as text; names hold no newline."""
    units = (str(each) for name in request.names for each in request.costs[name])
    names = "\n".join(request.names), "\n".join(request.quoted)
    return "\n".join(request.payers), *names, " ".join(units)


@final
class _Remote(Transaction):
    """A transaction over a wire: what can wait is sent with what cannot."""

    def __init__(
        self, cursor: Any, begin: Sequence[str], check: Callable[[Transaction], None]
    ) -> None:
        self._cursor = cursor
        self._waiting: list[Statement] = [(each, ()) for each in begin]
        self._check: Callable[[Transaction], None] | None = check

    def batch(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run everything that waits, then `statements`, in one round trip."""
        if self._check is not None:  # before anything is decided by what is read
            check, self._check = self._check, None
            check(self)
        everything, self._waiting = [*self._waiting, *statements], []
        text = ";".join(sql for sql, _ in everything).replace("?", "%s")
        values = [value for _, given in everything for value in given]
        self._cursor.execute(text, values or None)
        found: list[Rows] = []
        while True:
            answer = self._cursor.pgresult
            has_rows = answer is not None and answer.nfields > 0
            found.append(self._cursor.fetchall() if has_rows else [])
            if not self._cursor.nextset():
                return found[len(found) - len(statements) :]

    def later(self, statement: str, values: Sequence[Any]) -> None:
        """Keep a statement for the next round trip."""
        self._waiting.append((statement, values))

    def commit(self) -> None:
        """Send what waits, and COMMIT: skipped by the server if anything fails."""
        self.batch([("COMMIT", ())])

    def commit_and_head(self) -> tuple[int, str]:
        """Commit, and return the last entry as it was then."""
        rows, _ = self.batch([(HEAD, ()), ("COMMIT", ())])
        return head_of(rows)


@final
class Postgres(Store):
    """A ledger in the tables `hush_entry` and `hush_account` of a database.

    Guarantee: the budget rests on the row an UPDATE locks and the CHECK of its sum,
    not on an isolation level; after a lost connection or a deadlock the same key is
    tried again.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                "a postgresql:// ledger needs psycopg. Install it, in a copy of the "
                "repository, with pip install '.[postgres]'.",
                code="extra-missing",
            ) from None
        self._psycopg = psycopg
        self._url = url
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: Any = None
        self._cursor: Any = None  # of that connection, kept: making one takes time
        self._made = False  # whether the tables are there
        try:
            self._attempt(self._check, "")
            if not self.read(self._complete):
                self.run(self._create)
            self._made = True
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return "Postgres(...)"  # the address may hold a password

    def _check(self, step: str) -> None:
        names = ("fsync", "full_page_writes")
        asked = ", ".join(f"current_setting('{name}')" for name in names)
        values = self._open().execute(f"SELECT {asked}").fetchone()
        for name, value in zip(names, values, strict=True):
            if value != "on":
                raise LedgerError(
                    f"the PostgreSQL server runs with {name}=off, so a charge could be "
                    "lost in a crash. Switch it on."
                )

    @staticmethod
    def _complete(transaction: Transaction) -> bool:
        # By name first: to ask of every function whether it is visible takes long.
        rows = transaction.rows(
            "SELECT relname FROM pg_class "
            "WHERE starts_with(relname, 'hush_') AND pg_table_is_visible(oid) "
            "UNION ALL SELECT tgname FROM pg_trigger "
            "WHERE starts_with(tgname, 'hush_') "
            "AND tgenabled <> 'D' AND pg_table_is_visible(tgrelid) "
            "UNION ALL SELECT proname FROM pg_proc "
            "WHERE starts_with(proname, 'hush_') AND pg_function_is_visible(oid)"
        )
        return transaction.has(TABLE_NAMES | NAMES, rows)

    @staticmethod
    def _create(transaction: Transaction) -> None:
        for statement in (*postgres_tables(), *functions()):
            transaction.later(statement, ())

    def _open(self) -> Any:
        if self._connection is None or self._connection.closed:
            connection = self._psycopg.connect(
                self._url, autocommit=True, connect_timeout=10
            )
            try:
                self._begin_session(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._cursor = connection, connection.cursor()
        return self._connection

    @staticmethod
    def _begin_session(connection: Any) -> None:
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            raise LedgerError(
                "the database has no encoding (SQL_ASCII), so letters have no agreed "
                "length to be hashed with. Create it with ENCODING 'UTF8'."
            )
        connection.execute(_SESSION)

    def _attempt(self, once: Callable[[str], Result], step: str) -> Result:
        """Run `once`, again after conflicts and lost connections."""
        errors = self._psycopg.errors
        transient = (
            errors.SerializationFailure,
            errors.DeadlockDetected,
            errors.UniqueViolation,
            errors.CheckViolation,  # decided on a sum that was old: look again
            self._psycopg.OperationalError,
            self._psycopg.InterfaceError,
        )
        self.drop_inherited_connection()
        with self._lock:
            for tried in range(_TRIES):
                try:
                    return once(step)
                except HushError:
                    raise
                except self._psycopg.Error as problem:
                    self._rollback()
                    name = problem.sqlstate or type(problem).__name__
                    if not isinstance(problem, transient):
                        break
                if tried < _TRIES - 1:
                    time.sleep(secrets.randbelow(10 * 2 ** min(tried, 6)) / 1000)
        raise LedgerError(
            f"the ledger database cannot be reached or refused the entry ({name}); "
            "nothing was released. Check the server and try again with the same key.",
            code="ledger-unreachable",
        )

    def _rollback(self) -> None:
        try:
            if self._connection is not None and not self._connection.closed:
                self._connection.execute("ROLLBACK")
        except self._psycopg.Error:
            self._connection.close()

    def _transact(
        self,
        begin: Sequence[str],
        work: Callable[[Transaction], Result],
        step: str,
    ) -> Result:
        # Values are quoted on this side, so that statements can travel together.
        with self._psycopg.ClientCursor(self._open()) as cursor:
            check: Callable[[Transaction], None] = self.check_seen
            if begin is _BEGIN:
                line = self.last_anchored()
                check = functools.partial(self.check_past, anchored=line)
            transaction = _Remote(cursor, begin, check)
            try:
                result = work(transaction)
                if step:
                    at(step)
            except self._psycopg.Error:
                raise
            except BaseException:
                self._rollback()
                raise
            try:
                if self._made:
                    self.seen = transaction.commit_and_head()
                else:
                    transaction.commit()
            except self._psycopg.Error:
                raise
            except BaseException:  # interrupted: whether it happened is not known
                self._connection.close()
                raise
            return result

    def run(self, work: Callable[[Transaction], Result], step: str = "") -> Result:
        """Do `work` alone; return once it is on the server's disk.

        After a connection lost at COMMIT the outcome is unknown: `work` runs again, and
        finds by its key what was committed.
        """
        return self._attempt(lambda name: self._transact(_BEGIN, work, name), step)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work` on one snapshot of the database."""
        return self._attempt(lambda name: self._transact(_SNAPSHOT, work, name), "")

    def charge(
        self, request: Request, key: str, kind: Kind, lockout: int | None
    ) -> Entry | None:
        """Charge a new key in one round trip."""
        most = "" if lockout is None else str(lockout)
        row = (str(kind), request.scope, key, now(), request.body)
        return self._call(_CHARGE, row, (*_wire(request), most), "commit-reserve")

    def answer(self, kind: Kind, scope: str, key: str, body: str) -> Entry | None:
        """Store a first answer in one round trip."""
        row = (str(kind), scope, key, now(), body)
        return self._call(_ANSWER, row, (), "commit-seal")

    def _call(
        self, sql: str, row: tuple[str, ...], more: tuple[str, ...], step: str
    ) -> Entry | None:
        """Run a function that appends `row`, and check that it did as Python would."""
        if self.unchecked is not None:
            return None  # the protocol looks before it writes

        def once(name: str) -> Entry | None:
            connection = self._open()
            at(name)
            try:
                past = (*self.seen, *(self.last_anchored() or _NOTHING))
                self._cursor.execute(sql, (*past, *row, *more), prepare=True)
                found = self._cursor.fetchone()
            except self._psycopg.Error as problem:
                if problem.sqlstate == ALTERED:
                    raise replaced() from None
                if problem.sqlstate not in _LEAVE:
                    raise
                return None  # and nothing was changed
            except BaseException:  # interrupted: whether it happened is not known
                connection.close()
                raise
            # Still alone: another thread would move what this handle saw last.
            return self._agreed(found, row)

        return self._attempt(once, step)

    def _agreed(self, found: Any, row: tuple[str, ...]) -> Entry | None:
        """Return the entry that a function appended, if it did as Python would."""
        if found is None or found[0] is None:
            return None
        seq, prev, hash, *written = found
        kind, scope, key, moment, body = row
        if written:  # what the function put before the rest: the sums after the charge
            body = written[0] + body[1:]
        entry = Entry(seq, Kind(kind), scope, key, moment, body, prev, hash)
        if not entry.sound():
            raise LedgerError(
                f"the database wrote entry {seq} with a hash that is not that of its "
                "content; nothing is shown. Is its encoding UTF8?"
            )
        self.seen = (seq, hash)
        return entry

    def close(self) -> None:
        """Close this process's connection."""
        with self._lock:
            if self._connection is not None and os.getpid() == self._owner:
                self._connection.close()
            self._connection = self._cursor = None
