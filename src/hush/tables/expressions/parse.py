"""Relation SQL: parse, say where, and refuse what no rule has looked at."""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, final

import ibis.expr.types as ir
import sqlglot
from sqlglot import expressions as sql
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from hush.errors import Unsupported
from hush.tables.expressions import dates
from hush.tables.expressions.types import Kind, Typed, closed_truth, column

_KEYWORDS = {
    *("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "HAVING", "LIMIT", "OFFSET"),
    *("JOIN", "LEFT", "USING", "ON", "AS", "AND", "OR", "NOT", "IN", "BETWEEN"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "WITH", "DESC"),
}


DROPPED = (
    "a function or clause has more arguments than it takes, and nothing is dropped in "
    "silence."
)


def parse_select(text: str, columns: Iterable[str]) -> sql.Select:
    """Return the one SELECT that a text holds, or refuse it."""
    try:
        found = sqlglot.parse(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError) as problem:
        detail = (getattr(problem, "errors", None) or [{}])[0]
        refusal = _syntax_error_text(detail) + missing_quotes(text, columns)
    else:
        if len(found) == 1 and isinstance(found[0], sql.Select):
            if kept_whole(text, found, columns):
                refuse_mixed(found[0])
                return track(found[0])
            refusal = DROPPED
        else:
            refusal = (
                "write one SELECT statement and nothing else, as in SELECT COUNT(*) "
                "AS n FROM data."
            )
    raise Unsupported(refusal, code="unreadable-sql")


def _syntax_error_text(detail: Mapping[str, Any]) -> str:
    """Return where reading stopped, and which word before it may be misspelt.

    A parser takes a misspelt keyword for a name and stumbles over what follows.
    """
    if not detail.get("line"):
        return "cannot read the SQL. Is every quote closed?"
    at = f"at line {detail['line']}, column {detail['col']}"
    before = re.findall(r"[A-Za-z]+", detail["start_context"])[-2:]
    for word in reversed(before):
        meant = difflib.get_close_matches(word.upper(), _KEYWORDS, 1, 0.75)
        if meant and word.upper() not in _KEYWORDS:
            return f"cannot read the SQL {at}. Did you mean {meant[0]} by {word!r}?"
    return f"cannot read the SQL {at}, near {detail['highlight']!r}."


def missing_quotes(text: str, columns: Iterable[str]) -> str:
    """Return how a column is named in SQL, if quotes seem to be missing.

    Example:
        >>> missing_quotes("AVG(wait time)", ["wait time"])
        " In an expression, column 'wait time' is written in double quotes."
    """
    for name in columns:
        bare = name in text and f'"{name}"' not in text
        if bare and not name.isidentifier():
            return f" In an expression, column {name!r} is written in double quotes."
    return ""


def sql_text(node: Any) -> str:
    """Return the text that a node is read from again, or refuse what has none.

    Guarantee: what is read from the text is the node. Parentheses are put in where the
    writer leaves out those that it takes; all of the node counts as read.
    """
    text = node_text(node)
    whole = node_text(_in_parentheses(node))
    read_whole(node)
    return (
        text
        if _parsed_without_parentheses(text) == _parsed_without_parentheses(whole)
        else whole
    )


def node_text(node: Any) -> str:
    """Return a node as text for names and messages, or refuse what has none.

    Left to itself the writer would drop what it cannot say, such as a format of dates,
    and another question would be answered than the one that was asked.
    """
    try:
        return str(
            node.sql(dialect="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
        )
    except sqlglot.errors.UnsupportedError:
        from hush.tables.expressions import sql_suggestions

        inner = next(
            (each for each in node.walk() if sql_suggestions.advice_for_node(each, "")),
            node,
        )
    called = inner.sql_name() if isinstance(inner, sql.Func) else inner.key.upper()
    raise Unsupported(
        f"{called} is not supported here{place_of(node)}."
        f"{sql_suggestions.advice_for_node(inner, '')}"
    )


_OPERATORS = (sql.Binary, sql.Unary, sql.Between, sql.In, sql.Predicate)


def _in_parentheses(node: sql.Expression) -> sql.Expression:
    """Return a copy in which every operator inside of another is in parentheses."""
    found = node.copy()
    inner = [each for each in found.walk() if each is not found and _open(each)]
    for each in reversed(inner):  # the innermost first
        each.replace(sql.Paren(this=each.copy()))
    return found


def _open(node: Any) -> bool:
    """Whether a node is an operator in another one, and no sign of a number."""
    inside = isinstance(node, _OPERATORS) and isinstance(node.parent, _OPERATORS)
    closed = any(isinstance(each, (sql.Paren, sql.Dot)) for each in (node, node.parent))
    signed = isinstance(node, sql.Neg) and isinstance(node.this, sql.Literal)
    return inside and not closed and not signed


def _parsed_without_parentheses(text: str) -> Any:
    """Return what a text is read as, without parentheses; None if it cannot be read."""
    try:
        found = sqlglot.parse_one(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    if nested_test(found) is not None:  # no such text is read again
        return None
    for each in reversed(list(found.walk())):  # the innermost first
        if isinstance(each, sql.Paren) and each is not found:
            each.replace(each.this)
    return found.unnest()


def place_of(node: Any) -> str:
    """Return where a node begins, as far as the parser knows."""
    if isinstance(node, sql.Expression):
        for each in node.walk():
            if "line" in each.meta:
                first = each.meta["col"] - (each.meta["end"] - each.meta["start"])
                return f" (line {each.meta['line']}, column {first})"
    return ""


def refuse_other_parts(node: sql.Expression, allowed: str) -> None:
    """Refuse a node with a part that its rule does not look at; it counts as read."""
    extra = {name for name, value in node.args.items() if value} - set(allowed.split())
    if extra:
        names = ", ".join(sorted(each.strip("_").upper() for each in extra))
        raise Unsupported(
            f"{names} is not supported here{place_of(node)}: {node_text(node)!r}."
        )
    mark_read(node)


def with_columns_apart(node: sql.Expression, columns: Iterable[str]) -> sql.Expression:
    """Return an expression in which nothing but a column reads like a column's name.

    Texts are read as columns first; what SQL means by a - b is in parentheses then.
    """
    strange = {name for name in columns if not name.isidentifier()}

    def in_parentheses(part: sql.Expression) -> sql.Expression:
        named = isinstance(part, (sql.Column, sql.Identifier, sql.AggFunc))
        return part if named or node_text(part) not in strange else sql.Paren(this=part)

    return node.transform(in_parentheses) if strange else node


def without_table_names(node: sql.Expression, scope: set[str]) -> sql.Expression:
    """Return an expression without table names, each of which must be in scope.

    Joined tables share no names but those they are joined on, so none is lost.
    """
    found = node.copy()
    for each in found.find_all(sql.Column):
        if each.table:
            if each.table not in scope or each.args.get("db"):
                known = ", ".join(sorted(scope))
                raise Unsupported(
                    f"there is no table {each.table!r} here{place_of(each)}; there is "
                    f"{known}.",
                    code="unknown-table",
                )
            mark_read(each.args["table"])
            each.set("table", None)
    return found


# -- One node of an expression: checked against the list, then built by its rule.

Rule = Callable[[ir.Table, Any], Typed]
Rules = dict[type[sql.Expression], tuple[Rule, str]]

_RULES: Rules = {}
_OPERATOR_NAMES = (
    "columns, literals, arithmetic, comparisons, AND OR NOT IN BETWEEN LIKE IS NULL "
    "CASE COALESCE NULLIF CAST"
)
_FUNCTION_NAMES = (
    "ABS SIGN FLOOR CEIL ROUND SQRT LN LOG2 LOG10 EXP POWER LEAST GREATEST BIN "
    "WIDTH_BUCKET LOWER UPPER TRIM LENGTH SUBSTRING LEFT YEAR QUARTER MONTH DAY ISODOW "
    "EXTRACT DATE_TRUNC DATE_DIFF"
)
_ALLOWED = f"{_OPERATOR_NAMES}; and {_FUNCTION_NAMES}"


def learn(rules: Rules) -> None:
    """Add rules: the class of a node, what builds it, and the arguments it may have."""
    _RULES.update(rules)


def value_of_kind(found: Typed, kind: Kind, text: str) -> Any:
    """Return the value of an expression that must be of a kind."""
    if found.kind is not kind:
        hint = ""
        if found.kind is Kind.TEXT and kind in (Kind.NUMBER, Kind.DATE):
            name = {Kind.NUMBER: "DOUBLE", Kind.DATE: "DATE"}[kind]
            hint = (
                f" Write CAST({text} AS {name}), or open the file with types=, as in "
                f"types={{{text.strip(chr(34))!r}: {kind.value!r}}}."
            )
        if found.kind is Kind.DATE and kind is Kind.NUMBER:
            hint = (
                " Count days from a public one: DATE_DIFF('day', DATE '2020-01-01', "
                f"{text})."
            )
        raise Unsupported(f"{text!r} is a {found.kind}; a {kind} is needed here.{hint}")
    return found.value


def compile_node(table: ir.Table, node: sql.Expression) -> Typed:
    """Return the Ibis form of one allowed node."""
    known = _RULES.get(type(node))
    if known is None:
        from hush.tables.expressions import sql_suggestions

        advice = sql_suggestions.advice_for_node(node, _FUNCTION_NAMES)
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} is not allowed in an expression."
            f"{advice or f' Allowed are {_ALLOWED}.'}"
        )
    rule, allowed = known
    # An argument that a rule does not look at would change the meaning unseen.
    extra = {name for name, given in node.args.items() if given} - set(allowed.split())
    if extra:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} uses {', '.join(sorted(extra))}, which is "
            "not supported."
        )
    found = rule(table, node)
    if found.kind is not Kind.TRUTH or isinstance(node, sql.Column):
        return found
    return replace(found, value=closed_truth(found.value))


def value(table: ir.Table, node: sql.Expression, kind: Kind) -> Any:
    """Return the value of a node that must be of a kind."""
    return value_of_kind(compile_node(table, node), kind, node.sql(dialect="duckdb"))


def number(table: ir.Table, node: sql.Expression) -> Typed:
    """Return a node that must be a number."""
    found = compile_node(table, node)
    value_of_kind(found, Kind.NUMBER, node.sql(dialect="duckdb"))
    return found


def date(table: ir.Table, node: sql.Expression) -> Typed:
    """Return a node that must be a date; a text literal is read as one."""
    if isinstance(node, sql.Literal) and node.is_string:
        return dates.literal(node.this)
    found = compile_node(table, node)
    value_of_kind(found, Kind.DATE, node.sql(dialect="duckdb"))
    return found


def constant(node: sql.Expression | None, what: str) -> float:
    """Return the number that a literal stands for, or say what should have been one."""
    sign = 1.0
    mark_read(node)
    if isinstance(node, sql.Neg):
        node, sign = node.this, -1.0
    if not isinstance(node, sql.Literal) or node.is_string:
        raise Unsupported(f"{what} must be a literal number.")
    mark_read(node)
    return sign * float(node.this)


def whole_constant(node: sql.Expression | None, what: str) -> int:
    """Return the whole number that a literal stands for."""
    found = constant(node, what)
    if found != int(found):
        raise Unsupported(f"{what} must be a whole number; got {found!r}.")
    return int(found)


# -- Nodes of a parse tree that a rule has read: a node that no rule read is refused.

_MARK = "hush_mark"
_LITERALS = (TokenType.STRING, TokenType.NUMBER)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_TESTS = (
    *(sql.EQ, sql.NEQ, sql.GT, sql.GTE, sql.LT, sql.LTE, sql.Is, sql.In, sql.Between),
    *(sql.Like, sql.ILike, sql.NullSafeEQ, sql.NullSafeNEQ),
)
_OPERANDS = ("this", "expression", "low", "high")
Node = TypeVar("Node", bound=sql.Expression)


@final
class _Mark:
    """Whether a node has been read; one for a node and all copies of it."""

    def __init__(self) -> None:
        self.read = False

    def __deepcopy__(self, memo: Any) -> "_Mark":
        return self


def kept_whole(text: str, trees: Iterable[Any], columns: Iterable[str] = ()) -> bool:
    """Whether all literals of a text, and names of columns, are in what was read of it.

    The parser drops arguments that a function has too many of.
    """
    held: Counter[str] = Counter()
    for tree in trees:
        for node in tree.walk():
            given = (each for each in node.args.values() if isinstance(each, str))
            held.update(each.casefold() for each in given)
    known, wanted = set(columns), Counter[str]()
    tokens = sqlglot.tokenize(text, dialect="duckdb")
    for token, after in itertools.zip_longest(tokens, tokens[1:]):
        named = token.token_type in _NAMES and token.text in known
        function = after is not None and after.token_type is TokenType.L_PAREN
        if token.token_type in _LITERALS or (named and not function):
            wanted[token.text.casefold()] += 1
    return wanted <= held


def refuse_mixed(root: sql.Expression) -> None:
    """Refuse a test of a test without parentheses, as b = c IS NULL.

    Databases read it as (b = c) IS NULL, and this parser as b = (c IS NULL).
    """
    node = nested_test(root)
    if node is not None:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} has two tests side by side, which "
            "databases read in different orders. Put one of them in parentheses, as in "
            "(a = b) IS NULL."
        )


def nested_test(root: Any) -> Any:
    """Return the first test with a test as an operand, None where there is none."""
    for node in root.find_all(*_TESTS):
        operands = [node.args.get(name) for name in _OPERANDS]
        if any(isinstance(each, (*_TESTS, sql.Not)) for each in operands):
            return node
    return None


def track(root: Node) -> Node:
    """Return a tree in which every node is marked as not read yet."""
    for node in root.walk():
        node.meta[_MARK] = _Mark()
    return root


def mark_read(*nodes: Any) -> None:
    """Mark nodes as read, and nothing below them but the names they have."""
    for node in nodes:
        _mark_as_read(node)
        for value in node.args.values() if isinstance(node, sql.Expression) else ():
            if isinstance(value, sql.Identifier):
                _mark_as_read(value)


def read_whole(*nodes: Any) -> None:
    """Mark nodes, and all that is below them, as read."""
    for node in nodes:
        for each in node.walk() if isinstance(node, sql.Expression) else ():
            _mark_as_read(each)


def first_unread(root: sql.Expression) -> Any:
    """Return the first node that no rule has read, None where all have been."""
    for node in root.walk():
        mark = node.meta.get(_MARK)
        if mark is not None and not mark.read:
            return node
    return None


def refuse_unread(root: sql.Expression, place: Any) -> None:
    """Refuse a statement of which a part would be dropped; `place` says where."""
    left = first_unread(root)
    if left is not None:
        raise Unsupported(
            f"{left.sql(dialect='duckdb')!r} has no meaning here{place(left)}, and "
            "nothing is dropped in silence: leave it out."
        )


def _mark_as_read(node: Any) -> None:
    if isinstance(node, sql.Expression):
        mark = node.meta.get(_MARK)
        if mark is not None:
            mark.read = True


def column_rule(table: ir.Table, node: Any) -> Typed:
    """Return a column of the table that an expression is about."""
    if node.table:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} names the table {node.table!r}, and an "
            f"expression is about one row: write {node.name}."
        )
    if node.this.args.get("quoted") and node.name not in table.columns:
        raise Unsupported(
            f"there is no column {node.name!r}. Double quotes are for columns; a text "
            f"is in single ones: '{node.name}'.",
            code="unknown-column",
        )
    try:
        return column(table, node.name)
    except Unsupported as refusal:
        said = f"{refusal}{_unquoted(table, node)}"
        code = refusal.code
    raise Unsupported(said, code=code)


def _unquoted(table: ir.Table, node: Any) -> str:
    """Return how a text is written, where one seems to be compared with."""
    compared = isinstance(node.parent, (sql.EQ, sql.NEQ))
    if node.name in table.columns or not compared or node.parent.this is node:
        return ""
    return f" A text stands in single quotes: '{node.name}'."
