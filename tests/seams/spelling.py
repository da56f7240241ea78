"""The SQL text of an expression, with all parentheses or with those SQL needs."""

import datetime
from collections.abc import Callable
from typing import Any

from seams.rowwise import (
    Between,
    Call,
    Case,
    Cast,
    Column,
    Infix,
    Is,
    Like,
    Literal,
    Member,
    Node,
    Prefix,
)

# How tightly a form binds, loosest first; operands of a test (=, IS, IN, ...) bind more
# tightly than tests, because databases differ on `a = b IS NULL`.
OR, AND, NOT, TEST, SUM, PRODUCT, SIGN, ATOM = range(1, 9)
LEVELS = {"OR": OR, "AND": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(value: Any) -> str:
    """Return a literal as SQL writes it; a number below zero has its sign in front."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return quoted(value)
    text = repr(value).replace("e+", "e")
    return text.removesuffix(".0")


def item(value: Any) -> str:
    """Return a literal in a list, where a date is written as a text."""
    return literal(value.isoformat() if isinstance(value, datetime.date) else value)


def level(node: Node) -> int:
    """Return how tightly the text of a node binds."""
    match node:
        case Infix(_, operator, _, _):
            return LEVELS.get(operator, TEST)
        case Prefix(_, operator, _):
            return NOT if operator == "NOT" else SIGN
        case Is() | Between() | Member() | Like():
            return TEST
        case Literal(_, value):
            signed = isinstance(value, (int, float)) and literal(value)[0] == "-"
            return SIGN if signed else ATOM
        case _:
            return ATOM


class Speller:
    """Writes expressions; `full` puts parentheses around everything that has parts."""

    def __init__(self, *, full: bool) -> None:
        self.full = full

    def inside(self, node: Node, least: int) -> str:
        """Return the text of a part that must bind at least as tightly as `least`."""
        text = self.write(node)
        if level(node) < least or (self.full and level(node) < ATOM):
            return f"({text})"
        return text

    def write(self, node: Node) -> str:
        """Return the text of a node by itself."""
        match node:
            case Column(_, name):
                return name
            case Literal(_, value):
                return literal(value)
            case Call(_, name, arguments, options):
                return self.call(name, arguments, options)
            case Infix(_, operator, left, right):
                own = level(node)
                tight = own + 1 if own >= TEST else own
                one = self.inside(left, tight if own == TEST else own)
                return f"{one} {operator} {self.inside(right, tight)}"
            case Prefix(_, "NOT", inner):
                return f"NOT {self.inside(inner, NOT)}"
            case Prefix(_, _, inner):
                return f"- {self.inside(inner, SIGN)}"
            case Is(_, inner, what):
                return f"{self.inside(inner, SUM)} IS {what}"
            case Cast(_, inner, to):
                return f"CAST({self.write(inner)} AS {to})"
            case _:
                return self.test(node)

    def test(self, node: Node) -> str:
        """Return the text of what tests ranges, lists and patterns, and of CASE."""
        match node:
            case Between(_, inner, low, high, negated):
                ends = f"{self.inside(low, SUM)} AND {self.inside(high, SUM)}"
                verb = "NOT BETWEEN" if negated else "BETWEEN"
                return f"{self.inside(inner, SUM)} {verb} {ends}"
            case Member(_, inner, values, negated):
                items = ", ".join(item(each.value) for each in values)
                verb = "NOT IN" if negated else "IN"
                return f"{self.inside(inner, SUM)} {verb} ({items})"
            case Like(_, inner, pattern, negated):
                verb = "NOT LIKE" if negated else "LIKE"
                return f"{self.inside(inner, SUM)} {verb} {quoted(pattern)}"
            case Case(_, branches, default):
                parts = [
                    f"WHEN {self.write(condition)} THEN {self.write(result)}"
                    for condition, result in branches
                ]
                if default is not None:
                    parts.append(f"ELSE {self.write(default)}")
                return f"CASE {' '.join(parts)} END"
            case _:
                raise TypeError(type(node).__name__)

    def call(self, name: str, arguments: tuple[Node, ...], options: Any) -> str:
        """Return the text of a function; a unit of time stands first."""
        parts = [self.write(each) for each in arguments]
        if name == "DATE_TRUNC":
            return f"DATE_TRUNC('{options[0]}', {parts[0]})"
        if name == "DATE_DIFF":
            return f"DATE_DIFF('day', {', '.join(parts)})"
        return f"{name}({', '.join([*parts, *map(literal, options)])})"


Spell = Callable[[Node], str]
