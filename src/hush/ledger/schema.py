"""The two tables of a ledger, and the triggers that keep its history append-only."""

# `entry` is the truth: a chain that only grows. `account` holds running sums that
# `verify` recomputes from it; its CHECKs are a second lock behind the first.

# Written out in every query that uses the index: SQLite asks for the very words.
RARE = "kind IN ('fail', 'link', 'unlock')"

# How many draws of a scope have failed since it was last unlocked.
FAILURES = (
    f"SELECT count(*) FROM hush_entry WHERE {RARE} AND kind = 'fail' AND scope = ? "
    "AND seq > (SELECT coalesce(max(seq), 0) FROM hush_entry "
    f"WHERE {RARE} AND kind = 'unlock' AND scope = ?)"
)

_TABLES = (
    """CREATE TABLE IF NOT EXISTS hush_entry (
        seq {integer} NOT NULL PRIMARY KEY,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        at TEXT NOT NULL,
        body TEXT NOT NULL,
        prev TEXT NOT NULL,
        hash TEXT NOT NULL
    ){strict}""",
    """CREATE TABLE IF NOT EXISTS hush_account (
        name TEXT NOT NULL PRIMARY KEY,
        notion TEXT NOT NULL,
        power1 {integer} NOT NULL,
        power2 {integer} NOT NULL,
        delta TEXT NOT NULL,
        limit1 {integer} NOT NULL,
        limit2 {integer} NOT NULL,
        spent1 {integer} NOT NULL DEFAULT 0 CHECK (spent1 BETWEEN 0 AND limit1),
        spent2 {integer} NOT NULL DEFAULT 0 CHECK (spent2 BETWEEN 0 AND limit2)
    ){strict}""",
    # A key is opened once and closed once.
    """CREATE UNIQUE INDEX IF NOT EXISTS hush_key ON hush_entry (scope, key, (CASE
        WHEN kind IN ('charge', 'reserve', 'hold') THEN 0
        WHEN kind IN ('seal', 'fail', 'void') THEN 2 ELSE 1 END))""",
    # The few entries that a charge has to look for; writing the others skips it.
    f"""CREATE INDEX IF NOT EXISTS hush_rare ON hush_entry (scope, kind, seq)
        WHERE {RARE}""",
)

_GRANT = ("name", "notion", "power1", "power2", "delta", "limit1", "limit2")
_CUT = " OR ".join(
    f"NEW.{each} {'<' if each.startswith('limit') else '<>'} OLD.{each}"
    for each in _GRANT
)

# When a trigger fires, what makes it fire, and what it says. A charge touches none of
# the columns of a grant, so that it does not even ask.
_RULES = (
    ("entry", "DELETE", "", "TRUE", "history is append-only"),
    ("entry", "UPDATE", "", "TRUE", "history is append-only"),
    ("account", "DELETE", "", "TRUE", "an account cannot be removed"),
    (
        "account",
        "UPDATE",
        f" OF {', '.join(_GRANT)}",
        _CUT,
        "a grant cannot be cut or changed",
    ),
)


# What must be there; when something is missing, everything is made that is not.
NAMES = frozenset(
    {"hush_entry", "hush_account", "hush_key", "hush_rare"}
    | {f"hush_{table}_{event.lower()}" for table, event, *_ in _RULES}
)


def sqlite() -> tuple[str, ...]:
    """Return the statements that make the tables in SQLite."""
    tables = tuple(each.format(integer="INTEGER", strict=" STRICT") for each in _TABLES)
    return tables + tuple(
        f"CREATE TRIGGER IF NOT EXISTS hush_{table}_{event.lower()} BEFORE "
        f"{event}{columns} ON hush_{table} WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
        for table, event, columns, when, says in _RULES
    )


def postgres() -> tuple[str, ...]:
    """Return the statements that make the tables in PostgreSQL."""
    tables = tuple(each.format(integer="BIGINT", strict="") for each in _TABLES)
    refuse = (
        "CREATE OR REPLACE FUNCTION hush_refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$"
    )
    rows = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_{event.lower()} BEFORE "
        f"{event}{columns} ON hush_{table} FOR EACH ROW WHEN ({when}) "
        f"EXECUTE FUNCTION hush_refuse('{says}')"
        for table, event, columns, when, says in _RULES
    )
    tables_whole = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_truncate BEFORE TRUNCATE "
        f"ON hush_{table} EXECUTE FUNCTION hush_refuse('history is append-only')"
        for table in ("entry", "account")
    )
    return (*tables, refuse, *rows, *tables_whole)
