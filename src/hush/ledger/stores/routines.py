"""The two writes of a release as functions of PostgreSQL: one round trip each.

A function does the ordinary case and nothing else: a new key that fits, a first answer.
Anything else changes nothing, returns nulls, and is decided by `hush.ledger.protocol`,
which can explain. Names end in a version: two versions of hush may share a database.
"""

from hush.ledger.stores.schema import RARE

LOCK = 0x6875736C65646765  # names the chain among a database's advisory locks

# Every statement of a function sees what was committed before it began, so what is read
# after the lock is the latest. An assignment is cheaper than a query; remote_apply
# equals a local flush where there are no synchronous replicas.
ALONE = f"pg_advisory_xact_lock({LOCK})"
_BEGIN = f"""
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := {ALONE};
    mark := NULL;"""

# The hash of `hush.ledger.entry.digest`: each field preceded by its length.
_FIELDS = ("(h.seq + 1)::text", "what", "place", "name", "moment", "content", "h.hash")
_LINE = ", ".join(f"length({field}), ':', {field}" for field in _FIELDS)
_DIGEST = f"encode(sha256(convert_to(concat({_LINE}), 'UTF8')), 'hex')"

_APPEND = f"""
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, {_DIGEST}
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h"""
_RETURN = "RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;"

# A charge that does not fit may follow one that did: an error takes both back.
REFUSED = "HU001"

_CHARGE = f"""CREATE OR REPLACE FUNCTION hush_charge_1(
    what text, place text, name text, moment text, content text,
    payers text, accounts text, units text, most text,
    OUT sequence bigint, OUT before text, OUT mark text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    who text[] := string_to_array(accounts, E'\\n');
    cost bigint[] := string_to_array(units, ' ');
BEGIN{_BEGIN}
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
    FOR i IN 1 .. cardinality(who) LOOP
        UPDATE hush_account a SET
            spent1 = a.spent1 + cost[2 * i - 1], spent2 = a.spent2 + cost[2 * i]
        WHERE a.name = who[i] AND a.spent1 + cost[2 * i - 1] <= a.limit1
            AND a.spent2 + cost[2 * i] <= a.limit2;
        IF NOT FOUND AND i = 1 THEN RETURN; END IF;
        IF NOT FOUND THEN RAISE SQLSTATE '{REFUSED}'; END IF;
    END LOOP;{_APPEND}
    {_RETURN}
END $$"""

_ANSWER = f"""CREATE OR REPLACE FUNCTION hush_answer_1(
    what text, place text, name text, moment text, content text,
    OUT sequence bigint, OUT before text, OUT mark text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN{_BEGIN}{_APPEND}
    WHERE 1 = (SELECT sum(CASE WHEN o.kind IN ('reserve', 'hold') THEN 1
            WHEN o.kind = 'start' THEN 0 ELSE 9 END)
        FROM hush_entry o WHERE o.scope = place AND o.key = name)
    {_RETURN}
END $$"""

NAMES = frozenset({"hush_charge_1", "hush_answer_1"})


def functions() -> tuple[str, ...]:
    """Return the statements that make the functions."""
    return _CHARGE, _ANSWER
