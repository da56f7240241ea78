"""Which nodes of a parse tree somebody has read: what nobody read is refused.

A parser knows more clauses than hush does. Each node of a statement carries a mark; who
uses a node marks it as read. When the query is built, a node without the mark would be
a clause that was read and dropped, and another question than the one that was asked.
"""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar, final

import sqlglot
from sqlglot import expressions as sql
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from hush.errors import Unsupported

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
        _mark(node)
        for value in node.args.values() if isinstance(node, sql.Expression) else ():
            if isinstance(value, sql.Identifier):
                _mark(value)


def read_whole(*nodes: Any) -> None:
    """Mark nodes, and all that is below them, as read."""
    for node in nodes:
        for each in node.walk() if isinstance(node, sql.Expression) else ():
            _mark(each)


def first_unread(root: sql.Expression) -> Any:
    """Return the first node that nobody has read, None where all have been."""
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


def _mark(node: Any) -> None:
    if isinstance(node, sql.Expression):
        mark = node.meta.get(_MARK)
        if mark is not None:
            mark.read = True
