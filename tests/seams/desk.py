"""Runs the same questions on a table and its neighbors, and compares what left."""

import itertools
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hush
from seams import canary, escape_questions
from seams.escaping import Channels, Step, Tape, differing, gathered
from seams.neighbors import GIVEN, NEIGHBORS, ROWS, TYPES, Row, arrow, postgres_table

BUDGET = hush.Budget(epsilon=1e4, delta=0.5)


class Desk:
    """Each run has a new folder, whose name is masked."""

    def __init__(
        self,
        folder: Path,
        held: Callable[[Path, list[Row]], Any],
        questions: Iterable[str] = escape_questions.FEW,
        engine: Callable[[Any], Iterator[Step]] | None = None,
    ) -> None:
        self.folder, self.held, self.questions = folder, held, tuple(questions)
        self.engine = engine
        self.tape, self.number = Tape(), itertools.count(100)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def settle(self, monkeypatch: Any) -> None:
        """Let temporary files go where they are looked at."""
        monkeypatch.setattr(tempfile, "tempdir", str(self.temporary))
        monkeypatch.setenv("TMPDIR", str(self.temporary))
        hush.open({"u": [1]}, budget=BUDGET)  # begins the folder for spilling

    def leaving(self, rows: list[Row]) -> Channels:
        """Return the channels of all questions about `rows`."""
        place = self.folder / f"r{next(self.number)}"
        place.mkdir()
        given = self.held(place, rows)
        back = os.getcwd()
        os.chdir(place)
        try:
            found = gathered(
                lambda: self._steps(given),
                self.tape,
                folders=(place, self.temporary),
                but=GIVEN,
                own=(given,),
            )
        finally:
            os.chdir(back)
            if hasattr(given, "get_backend"):  # a connection of the user's
                given.get_backend().disconnect()
        return {n: text.replace(str(place), "<folder>") for n, text in found.items()}

    def _steps(self, given: Any) -> Iterator[Step]:
        kept: list[Any] = []
        more = {"types": TYPES} if str(given).endswith(".csv") else {}

        def begin() -> str:
            found = hush.open(
                given, unit="u", rows=3, budget=BUDGET, name="data", **more
            )
            kept.append(found)
            return "opened"

        yield "open", begin
        if not kept:
            return
        for name in self.questions:
            yield from escape_questions.told(kept[0], name)
        yield from escape_questions.books(kept[0])
        if self.engine is not None:
            yield from self.engine(given)


def compared(desk: Desk, names: Iterable[str]) -> tuple[dict[Any, str], int]:
    """Return what tells neighbors apart, and how many channels were compared."""
    first, again = desk.leaving(ROWS), desk.leaving(ROWS)
    found: dict[Any, str] = {}
    cases = 0
    for name in names:
        other = desk.leaving(NEIGHBORS[name])
        cases += len(other)
        for channel, apart in differing(first, again, other).items():
            found[name, channel] = apart
        if name == "canary":
            for channel, text in other.items():
                if canary.hits(text):
                    found["found", channel] = str(canary.hits(text))
    return found, cases


def _users_duckdb(address: str | None) -> Callable[[Path, list[Row]], Any]:
    def held(_: Path, rows: list[Row]) -> Any:
        import ibis

        connection = ibis.duckdb.connect()
        table = connection.create_table("data", arrow(rows))
        connection.con.execute("CALL enable_logging('QueryLog')")
        return table

    return held


def _users_postgres(address: str | None) -> Callable[[Path, list[Row]], Any]:
    def held(_: Path, rows: list[Row]) -> Any:
        import ibis

        assert address is not None
        postgres_table(address, rows)
        connection = ibis.connect(address.replace("postgresql://", "postgres://"))
        connection.con.execute("SET log_statement = 'all'")
        connection.con.commit()
        return connection.table("data")

    return held


def _postgres(address: str | None) -> Callable[[Path, list[Row]], Any]:
    assert address is not None
    return lambda _, rows: postgres_table(address, rows)


# A table by its address, and tables of a connection of the user's, which can be asked.
databases = {
    "postgres": _postgres,
    "a user's duckdb": _users_duckdb,
    "a user's postgres": _users_postgres,
}
_ASKED = {
    "duckdb": (
        "SELECT * FROM duckdb_temporary_files()",
        "SELECT table_name, temporary FROM duckdb_tables() ORDER BY ALL",
        "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "SELECT * FROM duckdb_prepared_statements() ORDER BY ALL",
        "SELECT * FROM duckdb_secrets() ORDER BY ALL",
    ),
    "postgres": (
        "SELECT name, statement, parameter_types::text FROM pg_prepared_statements "
        "ORDER BY 1",
        "SELECT name, statement FROM pg_cursors ORDER BY 1",
        "SELECT relname, relkind FROM pg_class "
        "WHERE relnamespace = pg_my_temp_schema() ORDER BY 1",
        "SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY 1",
        "SELECT application_name, state FROM pg_stat_activity "
        "WHERE pid = pg_backend_pid()",
    ),
}


def engine_state(given: Any) -> Iterator[Step]:
    """Yield what a user's own connection still knows: statements, tables, settings."""
    if isinstance(given, str):
        return
    backend = given.get_backend()

    def asked(text: str) -> str:
        found = backend.con.execute(text).fetchall()
        if backend.name == "postgres":
            backend.con.rollback()
        return repr(found)

    yield "engine: statements", lambda: _statements(backend)
    for text in _ASKED[backend.name]:
        yield f"engine: {text}", lambda text=text: asked(text)


# Rows are handed over in one of two forms, by how far units are apart: the one thing
# that a log may show of them (docs/sharp_edges.md). No value is in either.
_FORMS = re.compile(r"CAST\(_unit - .{,40} AS _unit|_unit, CAST\(hash.{,60} AS _slot")


def _statements(backend: Any) -> str:
    """Return what the engine was sent, as its own log has it."""
    if backend.name == "duckdb":
        rows = backend.con.execute("SELECT message FROM duckdb_logs").fetchall()
        return "\n".join(_FORMS.sub("PERSON", text) for (text,) in rows)
    [(number,)] = backend.con.execute("SELECT pg_backend_pid()").fetchall()
    backend.con.rollback()
    log = Path(backend.con.info.host) / "log"
    return _logged(log.read_text(), f"[{number}]")


def _logged(text: str, session: str) -> str:
    """Return the entries of one session; lines that begin with a blank go on."""
    found, ours = [], False
    for line in text.splitlines():
        if not line.startswith(("\t", " ")):
            ours = session in line
        if ours:
            found.append(line.partition(session)[2] or line)
    return "\n".join(found)
