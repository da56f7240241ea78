"""Every clause of SQL is honoured or refused: nothing is read and then dropped."""

import pytest
import sqlglot

import hush
from hush.errors import HushError, InvalidArgument, Unsupported
from hush.tables.expressions import parse
from hush.tables.expressions.parse import parse_select, place_of
from seams.exact import opened

ROWS = {
    "who": [1, 2, 3, 4],
    "g": ["a", "b", "b", None],
    "x": [1.0, 2.0, 3.0, None],
    "b": [True, False, None, True],
}
BY = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
KEYS = {"g": ["a", "b", None], "h": ["a", "b", None]}


@pytest.fixture(scope="module")
def data():
    return opened(ROWS, unit="who", rows=1, name="t")


REFUSED = [
    f"{BY} LIMIT 50%",
    f"{BY} LIMIT 50 PERCENT",
    f"{BY} FETCH FIRST 1 ROWS WITH TIES",
    f"{BY} FETCH FIRST 10 PERCENT ROWS ONLY",
    f"{BY} ORDER BY ALL",
    f"{BY} ORDER BY g COLLATE nocase",
    f"{BY} QUALIFY n > 1",
    f"{BY} WINDOW w AS (PARTITION BY g)",
    f"{BY} FOR UPDATE",
    "SELECT g, g AS h, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT g AS h, g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT g, g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT LOWER(g), LOWER(g) AS h, COUNT(*) AS n FROM t GROUP BY LOWER(g)",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY ALL",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY ROLLUP(g)",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY CUBE(g)",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((g), ())",
    "SELECT g, COUNT(*) AS n INTO z FROM t GROUP BY g",
    "SELECT COUNT(*) AS n FROM t TABLESAMPLE 10%",
    "SELECT COUNT(*) AS n FROM t USING SAMPLE 10",
    "SELECT COUNT(*) AS n FROM ONLY t",
    "SELECT COUNT(*) AS n FROM t AS u(a, c)",
    "SELECT COUNT(*) AS n FROM (SELECT x FROM t) AS s(y)",
    "SELECT COUNT(*) AS n FROM (SELECT * EXCLUDE (g) FROM t)",
    "SELECT COUNT(*) AS n FROM (SELECT * REPLACE (1 AS x) FROM t)",
    "SELECT COUNT(*) AS n FROM (SELECT *, x + 1 AS x FROM t)",
    "SELECT COUNT(*) AS n FROM (SELECT x, g AS x FROM t)",
    "SELECT COUNT(*) AS n FROM (SELECT x FROM t ORDER BY x)",
    "SELECT COUNT(*) AS n FROM (SELECT x FROM t LIMIT 3)",
    "WITH w(a) AS (SELECT x FROM t) SELECT COUNT(*) AS n FROM w",
    "WITH w AS MATERIALIZED (SELECT x FROM t) SELECT COUNT(*) AS n FROM w",
    "WITH RECURSIVE w AS (SELECT x FROM t) SELECT COUNT(*) AS n FROM w",
    "SELECT COUNT(*) AS n FROM t NATURAL JOIN p",
    "SELECT COUNT(*) AS n FROM t ASOF JOIN p USING (g)",
    "SELECT COUNT(*) AS n FROM t SEMI JOIN p USING (g)",
    "SELECT COUNT(*) AS n FROM t JOIN p AS q(g, y) USING (g)",
    "SELECT COUNT(*) AS n FROM t JOIN p ON main.t.g = p.g",
    "SELECT COUNT(*) AS n FROM t JOIN p ON t.g = p.g AND t.g = p.g",
    "SELECT COUNT(*) OVER () AS n FROM t",
    "SELECT COUNT(x ORDER BY x) AS n FROM t",
    "SELECT COUNT(x) IGNORE NULLS AS n FROM t",
    "SELECT COUNT(* EXCLUDE (x)) AS n FROM t",
    "SELECT SUM(DISTINCT CLAMP(x, 0, 5)) AS n FROM t",
    "SELECT AVG(CLAMP(x, 0, 5) ORDER BY x) AS n FROM t",
    "SELECT MAX(CLAMP(x, 0, 5), 2) AS n FROM t",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY CLAMP(x, 0, 9) NULLS FIRST) "
    "AS n FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE CAST(x AS DECIMAL(3, 1)) = 1",
    "SELECT COUNT(*) AS n FROM t WHERE CAST(g AS VARCHAR(1)) = 'a'",
    "SELECT COUNT(*) AS n FROM t WHERE DATE_TRUNC('month', g, 'UTC') IS NULL",
    "SELECT COUNT(*) AS n FROM t WHERE ROUND(x, 2) = 1",
    "SELECT COUNT(*) AS n FROM t WHERE g LIKE 'a%' ESCAPE '!'",
    "SELECT TOP 1 COUNT(*) AS n FROM t",
    "SELECT COUNT(*) AS n FROM t LIMIT 1 BY g",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_clause_that_hush_does_not_honour_is_refused(data, text):
    before = data.budget.epsilon
    with pytest.raises((Unsupported, InvalidArgument)):
        data.prepare(text, keys=KEYS, tables={"p": {"g": ["a", "b"], "z": [1, 2]}})
    assert data.budget.epsilon == before


def ordered(data, clause):
    answer = data.sql(
        f"SELECT g, SUM(CLAMP(x, 0, 9)) AS n FROM t GROUP BY g {clause}",
        epsilon=1000,
        keys=KEYS,
    )
    return answer.to_dict()["g"]


def test_nulls_stand_where_they_are_told_to(data):
    assert ordered(data, "ORDER BY g NULLS FIRST") == [None, "a", "b"]
    assert ordered(data, "ORDER BY g NULLS LAST") == ["a", "b", None]
    assert ordered(data, "ORDER BY g") == ["a", "b", None]
    assert ordered(data, "ORDER BY g DESC NULLS FIRST") == [None, "b", "a"]
    assert ordered(data, "ORDER BY g DESC") == ["b", "a", None]
    assert ordered(data, "ORDER BY g FETCH FIRST 2 ROWS ONLY") == ["a", "b"]


def test_a_table_that_a_python_expression_names_is_refused():
    table = opened(ROWS, name="t")
    for text in ("u.x > 0", "t.x > 0"):
        with pytest.raises(Unsupported, match="write x"):
            table.where(text)


def test_a_part_per_person_that_nobody_reads_is_refused(data):
    for text in ("COUNT(* EXCLUDE (x))", "MAX(x, 2)", "COUNT(x) OVER ()"):
        with pytest.raises(HushError):
            data.per_person(n=text)


def test_a_node_that_nobody_read_is_found():
    """The mechanism itself: without its reader, a clause is named and refused."""
    tree = parse_select("SELECT COUNT(*) AS n FROM t ORDER BY n", ["g"])
    whole = tree.copy()
    for node in tree.walk():
        if not isinstance(node, sqlglot.exp.Ordered):
            parse.mark_read(node)
    left = parse.first_unread(whole)
    assert isinstance(left, sqlglot.exp.Ordered)
    with pytest.raises(Unsupported, match="nothing is dropped in silence"):
        parse.refuse_unread(whole, place_of)
    parse.mark_read(next(tree.find_all(sqlglot.exp.Ordered)))
    parse.refuse_unread(whole, place_of)


def test_groups_that_tell_their_keys_have_one_for_rows_without_a_value():
    days = ["2026-01-31", None, "2026-12-01"]
    table = opened({"day": [None, *days], "x": [5.0, None, 99.0, -1.0]}, name="t")
    table = table.select(d="CAST(day AS DATE)")
    for text, null in {
        "MONTH(d)": 2,
        "EXTRACT(QUARTER FROM d)": 2,
        "BIN(x, 0, 10, 2)": 3,
        "WIDTH_BUCKET(x, 0, 10, 2)": 1,
        "CASE WHEN x > 3 THEN 'high' END": 2,
        "CASE WHEN x > 3 THEN 'high' ELSE NULL END": 2,
        "x > 3": 1,
    }.items():
        asked = f"SELECT {text} AS k, COUNT(*) AS n FROM t GROUP BY k"
        answer = table.sql(asked, epsilon=1000).to_dict()
        counts = dict(zip(answer["k"], map(round, answer["n"]), strict=True))
        assert counts[None] == null, text
        assert sum(counts.values()) == 4, text
    told = "SELECT CASE WHEN x > 3 THEN 'a' ELSE 'b' END AS k, COUNT(*) AS n FROM t "
    assert table.sql(told + "GROUP BY k", epsilon=1000)["k"] == ["a", "b"]
    assert isinstance(table, hush.tables.Dataset)
