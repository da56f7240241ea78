"""Random expressions of hush's SQL, typed so that most of them are legal."""

import datetime
import random
from collections.abc import Callable

from seams.rows import COLUMNS
from seams.rowwise import (
    DATE,
    NUMBER,
    TEXT,
    TIME,
    TRUTH,
    Between,
    Call,
    Case,
    Cast,
    Infix,
    Is,
    Like,
    Literal,
    Member,
    Node,
    Prefix,
)

NUMBERS = [0, 1, 2, 3, -1, 7, 0.5, 2.5, -2.5, 0.1, 100, 1e300, 1e-300]
TEXTS = ["a", "A", "", "a ", "é", "e\u0301", "12", "x", "it's", "b", "%"]
DAYS = [(2024, 2, 29), (1, 1, 1), (9999, 12, 31), (1970, 1, 1), (2024, 3, 1)]
PATTERNS = ["a%", "%a", "%a%", "a%a", "%", "", "a", "é%", "%'%", "%b", "A%", "% "]
BINS = [(-3, 3, 6), (-3, 3, 12), (0, 8, 4), (0, 1, 4), (-4, 12, 2), (0, 100, 1)]
PARTS = ["YEAR", "QUARTER", "MONTH", "DAY", "ISODOW"]
TESTS = ["=", "<>", "<", "<=", ">", ">="]
KINDS = [NUMBER, TEXT, DATE, TRUTH]


class Generator:
    """Makes expressions by a seed; `plain` ones mean the same in every database."""

    def __init__(self, seed: int | str, *, plain: bool = False) -> None:
        self.pick = random.Random(seed)
        self.plain = plain

    def any(self, kind: str, depth: int) -> Node:
        makers = {NUMBER: self.number, TEXT: self.text, TRUTH: self.truth}
        return makers.get(kind, self.date)(depth)

    def column(self, kind: str) -> Node:
        wild = "xynfpvwz" if self.plain else ""
        fit = [
            each
            for each in COLUMNS.values()
            if each.kind == kind and each.name not in wild
        ]
        return self.pick.choice(fit)

    def literal(self, kind: str) -> Literal:
        if kind == NUMBER:
            small = [each for each in NUMBERS if abs(each) in (0, 1, 2, 3, 7, 100)]
            return Literal(kind, self.pick.choice(small if self.plain else NUMBERS))
        if kind == TEXT:
            return Literal(kind, self.pick.choice(TEXTS))
        if kind == TRUTH:
            return Literal(kind, self.pick.random() < 0.5)
        return Literal(DATE, datetime.date(*self.pick.choice(DAYS)))

    def leaf(self, kind: str) -> Node:
        odds = 0.05 if kind == TRUTH else 0.25
        return self.literal(kind) if self.pick.random() < odds else self.column(kind)

    def general(self, kind: str, depth: int) -> Node:
        """COALESCE, NULLIF, CASE and IF, which take every kind."""
        one, two = self.any(kind, depth), self.any(kind, depth)
        test = self.truth(depth)
        choices: list[Callable[[], Node]] = [
            lambda: Call(kind, "COALESCE", (one, two)),
            lambda: Call(kind, "NULLIF", (one, two)),
            lambda: Case(kind, ((test, one),), two),
            lambda: Case(kind, ((test, one),), None),
            lambda: Case(kind, ((test, one), (self.truth(depth), two)), one),
        ]
        if not self.plain:
            choices.append(lambda: Call(kind, "IF", (test, one, two)))
        return self.pick.choice(choices)()

    def number(self, depth: int) -> Node:
        if depth <= 0:
            return self.leaf(NUMBER)
        sub = self.number
        choices: list[Callable[[], Node]] = [
            lambda: self.arithmetic(depth - 1),
            lambda: self.arithmetic(depth - 1),
            lambda: Prefix(NUMBER, "-", sub(depth - 1)),
            lambda: self.general(NUMBER, depth - 1),
            lambda: Call(NUMBER, self.pick.choice(["ABS", "SIGN"]), (sub(depth - 1),)),
            lambda: Call(NUMBER, "LENGTH", (self.text(depth - 1),)),
            lambda: Cast(NUMBER, self.truth(depth - 1), "INTEGER"),
            lambda: Call(NUMBER, self.pick.choice(PARTS), (self.date(depth - 1),)),
        ]
        if not self.plain:
            choices += [lambda: self.function(depth - 1)] * 4
            choices.append(lambda: self.cast(depth - 1))
            choices.append(lambda: self.difference(depth - 1))
        return self.pick.choice(choices)()

    def arithmetic(self, depth: int) -> Node:
        operator = self.pick.choice("+-*" if self.plain else "+-*/")
        return Infix(NUMBER, operator, self.number(depth), self.number(depth))

    def function(self, depth: int) -> Node:
        """Return functions of numbers whose values are exact."""
        name = self.pick.choice(
            [
                "FLOOR",
                "CEIL",
                "ROUND",
                "SQRT",
                "LEAST",
                "GREATEST",
                "BIN",
                "WIDTH_BUCKET",
            ]
        )
        arguments = (self.number(depth),)
        if name in ("LEAST", "GREATEST"):
            return Call(NUMBER, name, (*arguments, self.number(depth)))
        if name in ("BIN", "WIDTH_BUCKET"):
            return Call(NUMBER, name, arguments, self.pick.choice(BINS))
        return Call(NUMBER, name, arguments)

    def inexact(self, depth: int) -> Node:
        """Return functions that engines know to the last digit or so."""
        name = self.pick.choice(["LN", "LOG2", "LOG10", "EXP", "POWER"])
        options = (self.pick.randint(-4, 4),) if name == "POWER" else ()
        return Call(NUMBER, name, (self.number(depth),), options)

    def cast(self, depth: int) -> Node:
        to = self.pick.choice(["DOUBLE", "INTEGER"])
        if self.pick.random() < 0.5:
            return Cast(NUMBER, self.pick.choice([COLUMNS["v"], self.text(depth)]), to)
        return Cast(NUMBER, self.number(depth), "INTEGER")

    def difference(self, depth: int) -> Node:
        return Call(NUMBER, "DATE_DIFF", (self.moment(depth), self.date(depth)))

    def moment(self, depth: int) -> Node:
        """A date, or at times a timestamp."""
        if self.pick.random() < 0.2 and not self.plain:
            return self.column(TIME)
        return self.date(depth)

    def text(self, depth: int) -> Node:
        if depth <= 0:
            return self.leaf(TEXT)
        pick = self.pick
        choices: list[Callable[[], Node]] = [
            lambda: Call(TEXT, "TRIM", (self.text(depth - 1),)),
            lambda: Call(
                TEXT,
                "SUBSTRING",
                (self.text(depth - 1),),
                (pick.randint(1, 3), pick.randint(0, 3)),
            ),
            lambda: Call(TEXT, "LEFT", (self.text(depth - 1),), (pick.randint(0, 3),)),
            lambda: Call(TEXT, pick.choice(["LOWER", "UPPER"]), (COLUMNS["a"],)),
            lambda: self.general(TEXT, depth - 1),
        ]
        return pick.choice(choices)()

    def date(self, depth: int) -> Node:
        if depth <= 0:
            return self.leaf(DATE)
        units = ["day", "week", "month", "quarter", "year"]
        choices: list[Callable[[], Node]] = [lambda: self.general(DATE, depth - 1)]
        if not self.plain:
            choices += [
                lambda: Cast(DATE, COLUMNS["w"], "DATE"),
                lambda: Cast(DATE, self.moment(depth - 1), "DATE"),
                lambda: Call(
                    DATE,
                    "DATE_TRUNC",
                    (self.moment(depth - 1),),
                    (self.pick.choice(units),),
                ),
            ]
        return self.pick.choice(choices)()

    def truth(self, depth: int) -> Node:
        if depth <= 0:
            return self.leaf(TRUTH)
        sub = self.truth
        choices: list[Callable[[], Node]] = [
            lambda: Infix(TRUTH, "AND", sub(depth - 1), sub(depth - 1)),
            lambda: Infix(TRUTH, "OR", sub(depth - 1), sub(depth - 1)),
            lambda: Prefix(TRUTH, "NOT", sub(depth - 1)),
            lambda: Prefix(TRUTH, "NOT", sub(depth - 1)),
            lambda: self.comparison(depth - 1),
            lambda: self.comparison(depth - 1),
            lambda: self.null_test(depth - 1),
            lambda: self.range_test(depth - 1),
            lambda: self.list_test(depth - 1),
            lambda: Like(
                TRUTH,
                self.text(depth - 1),
                self.pick.choice(PATTERNS),
                self.pick.random() < 0.4,
            ),
            lambda: self.general(TRUTH, depth - 1),
        ]
        return self.pick.choice(choices)()

    def comparison(self, depth: int) -> Node:
        kind = self.pick.choice(KINDS)
        if kind == DATE:
            one, two = self.moment(depth), self.moment(depth)
        else:
            one, two = self.any(kind, depth), self.any(kind, depth)
        rare = ["IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
        operators = TESTS * 20 + rare
        return Infix(TRUTH, self.pick.choice(operators), one, two)

    def null_test(self, depth: int) -> Node:
        if self.pick.random() < 0.04:
            what = self.pick.choice(["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"])
            return Is(TRUTH, self.truth(depth), what)
        inner = self.any(self.pick.choice([*KINDS, TRUTH, TRUTH]), depth)
        return Is(TRUTH, inner, self.pick.choice(["NULL", "NOT NULL"]))

    def range_test(self, depth: int) -> Node:
        kind = self.pick.choice([NUMBER, NUMBER, DATE, TEXT])
        parts = [self.any(kind, depth) for _ in range(3)]
        return Between(TRUTH, *parts, self.pick.random() < 0.4)

    def list_test(self, depth: int) -> Node:
        kind = self.pick.choice([NUMBER, TEXT, DATE])
        values = tuple(self.literal(kind) for _ in range(self.pick.randint(1, 3)))
        return Member(TRUTH, self.any(kind, depth), values, self.pick.random() < 0.4)
