"""The two tables of a ledger, and the triggers that keep its history append-only."""

# `entry` is the truth: a chain that only grows. `account` holds running sums that
# `verify` recomputes from it; its CHECKs are a second lock behind the first.

_TABLES = (
    """CREATE TABLE IF NOT EXISTS hush_entry (
        seq {integer} NOT NULL PRIMARY KEY CHECK (seq >= 0),
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
        notion TEXT NOT NULL CHECK (notion IN ('epsilon', 'rho', 'mu')),
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
    """CREATE INDEX IF NOT EXISTS hush_link ON hush_entry (scope)
        WHERE kind = 'link'""",
    """CREATE INDEX IF NOT EXISTS hush_fail ON hush_entry (scope, seq)
        WHERE kind = 'fail'""",
    """CREATE INDEX IF NOT EXISTS hush_unlock ON hush_entry (scope, seq)
        WHERE kind = 'unlock'""",
)

# When a trigger fires, what makes it fire, and what it says.
_RULES = (
    ("entry", "DELETE", "TRUE", "history is append-only"),
    ("entry", "UPDATE", "TRUE", "history is append-only"),
    ("account", "DELETE", "TRUE", "an account cannot be removed"),
    (
        "account",
        "UPDATE",
        "NEW.name <> OLD.name OR NEW.notion <> OLD.notion OR NEW.power1 <> OLD.power1 "
        "OR NEW.power2 <> OLD.power2 OR NEW.delta <> OLD.delta "
        "OR NEW.limit1 < OLD.limit1 OR NEW.limit2 < OLD.limit2",
        "a grant cannot be cut or changed",
    ),
)


_INDEXES = ("hush_key", "hush_link", "hush_fail", "hush_unlock")

# What must be there; when something is missing, everything is made that is not.
NAMES = frozenset(
    {"hush_entry", "hush_account", *_INDEXES}
    | {f"hush_{table}_{event.lower()}" for table, event, _, _ in _RULES}
)


def sqlite() -> tuple[str, ...]:
    """Return the statements that make the tables in SQLite."""
    tables = tuple(each.format(integer="INTEGER", strict=" STRICT") for each in _TABLES)
    return tables + tuple(
        f"CREATE TRIGGER IF NOT EXISTS hush_{table}_{event.lower()} BEFORE {event} "
        f"ON hush_{table} WHEN {when} BEGIN SELECT RAISE(ABORT, '{says}'); END"
        for table, event, when, says in _RULES
    )


def postgres() -> tuple[str, ...]:
    """Return the statements that make the tables in PostgreSQL."""
    tables = tuple(each.format(integer="BIGINT", strict="") for each in _TABLES)
    refuse = (
        "CREATE OR REPLACE FUNCTION hush_refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$"
    )
    rows = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_{event.lower()} BEFORE {event} "
        f"ON hush_{table} FOR EACH ROW WHEN ({when}) "
        f"EXECUTE FUNCTION hush_refuse('{says}')"
        for table, event, when, says in _RULES
    )
    tables_whole = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_truncate BEFORE TRUNCATE "
        f"ON hush_{table} EXECUTE FUNCTION hush_refuse('history is append-only')"
        for table in ("entry", "account")
    )
    return (*tables, refuse, *rows, *tables_whole)
