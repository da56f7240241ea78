"""Asks hush with its noise switched off, and compares with what the rows say."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

import hush
from hush.errors import DrawFailed, HushError
from hush.mechanisms.mechanism import listen_with
from hush.mechanisms.partition_selection import Selected
from seams.rows import ROWS
from seams.rowwise import CROSSINGS, Row
from seams.statements import Aggregate, Answers, Statement, answers


class Silence:
    """A listener that answers every mechanism with what it was given.

    A rank is drawn all the same, at an epsilon so large that it cannot be missed; every
    key with a vote is named.
    """

    def on_run(self, mechanism: Any, value: Any, run: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return run(value)
        if type(mechanism).__name__.endswith("KeySelection"):
            places = np.flatnonzero(value > 0)
            return Selected(places, value[places])
        return value

    def on_turn(self, _talk: Any, _mechanism: Any, value: Any, run: Any) -> Any:
        return run(value)


@dataclass
class Refused:
    """Hush would not answer; nothing was spent."""

    reason: str


class Broken(AssertionError):
    """An answer that failed after it was paid for, or an error hush does not make."""


class Asker:
    """One opened table and what it says without noise."""

    def __init__(self, table: Any, *, rows: int = ROWS, unit: str | None = "u") -> None:
        self.name = table.get_name().split(".")[-1]
        budget = hush.Budget(epsilon=1e15, delta=0.5)
        self.data = hush.open(table, unit=unit, rows=rows, budget=budget)

    def spent(self) -> Any:
        left = self.data.budget
        return left.epsilon, left.delta

    def quietly(self, call: Any) -> Any:
        """Return what `call` releases without noise, or that it was refused."""
        before = self.spent()
        try:
            with listen_with(Silence()):
                return call()
        except DrawFailed as error:
            cause = error.__cause__ or error.__context__
            raise Broken(f"paid and failed: {type(cause).__name__}") from error
        except HushError as error:
            if self.spent() != before:
                raise Broken("refused after payment") from error
            return Refused(str(error))
        except Exception as error:
            raise Broken(f"raw {type(error).__name__}: {error}") from error

    def ask(self, statement: Statement, keys: Any = None) -> Any:
        """Return the answer to a statement, as lists by name."""
        private = {"delta": 1e-3} if keys == "private" else {}
        return self.quietly(
            lambda: self.data.sql(
                statement.text(self.name), epsilon=1e4, keys=keys, **private
            ).to_dict()
        )


def plain(value: Any) -> Any:
    """Return a key as a plain Python value: numbers are doubles, -0.0 is 0.0."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value) + 0.0
    if isinstance(value, datetime.datetime) and value == value.replace(
        hour=0, minute=0, second=0, microsecond=0
    ):
        return value.date()
    return value


@dataclass(frozen=True)
class Difference:
    """Where an answer is not what the rows say; `place` is that of its aggregate."""

    place: int
    words: str


def differences(
    statement: Statement,
    got: Mapping[str, Sequence[Any]],
    rows: Sequence[Row],
    keys: Any,
) -> list[Difference]:
    """Return where an answer is not what the rows say; no key may be left out."""
    wanted: Answers = answers(statement, rows)
    names = [f"g{i}" for i in range(len(statement.by))]
    count = len(next(iter(got.values())))
    found = [tuple(plain(got[name][i]) for name in names) for i in range(count)]
    by_key = {tuple(map(plain, key)): each for key, each in wanted.groups.items()}
    wrong = []
    if keys is None or keys == "private":
        lost = [key for key in by_key if key not in found]
        wrong += [Difference(0, f"group {key!r} is missing") for key in lost]
    for place, key in enumerate(found):
        for i, each in enumerate(by_key.get(key, wanted.empty)):
            value = got[f"a{i}"][place]
            if not each.admits(value):
                middle = (each.low + each.high) / 2
                words = f"{key!r}: got {float(value)!r}, expected {middle!r}"
                wrong.append(Difference(i, words))
    return wrong


@dataclass
class Verdict:
    """What came of one aggregate: right, refused or wrong, and in which words."""

    outcome: str
    text: str
    words: str = ""


def excused(statement: Statement, part: Aggregate, rows: Sequence[Row]) -> str:
    """Return "excused" where the documentation leaves the answer open, else "wrong".

    A result beyond 10^±70 that enters another step of arithmetic is held there if that
    step could otherwise leave the range of doubles, by limits that are not documented.
    """
    CROSSINGS.clear()
    answers(replace(statement, aggregates=(part,)), rows)
    return "excused" if CROSSINGS else "wrong"


# A minimum falls below all values of a group now and then, by documented chance: once
# in twenty groups at most, at any epsilon; six times in a row less than once in 10^7.
EXTREMES = ("MIN", "MAX")
AGAIN = 5


def _extreme_is_right(
    asker: Asker, statement: Statement, rows: Sequence[Row], keys: Any
) -> bool:
    """Whether one of several more answers is what the rows say, group by group."""
    still: set[str] | None = None
    for _ in range(AGAIN):
        got = asker.ask(statement, keys)
        if isinstance(got, Refused):
            return False
        found = differences(statement, got, rows, keys)
        wrong = {each.words.partition(": got")[0] for each in found}
        still = wrong if still is None else still & wrong
        if not still:
            return True
    return False


def judged(
    asker: Asker, statement: Statement, rows: Sequence[Row], keys: Any
) -> list[Verdict]:
    """Return what came of every aggregate; what is refused together is asked apart."""
    parts = statement.aggregates
    alone = replace(statement, aggregates=parts[:1]).text(asker.name)
    try:
        got = asker.ask(statement, keys)
    except Broken as error:
        if len(parts) == 1:
            return [Verdict("broken", alone, str(error))]
        got = None
    if got is None or (isinstance(got, Refused) and len(parts) > 1):
        half = len(parts) // 2
        return [
            verdict
            for some in (parts[:half], parts[half:])
            for verdict in judged(
                asker, replace(statement, aggregates=some), rows, keys
            )
        ]
    if isinstance(got, Refused):
        return [Verdict("refused", alone, got.reason)]
    wrong: dict[int, list[str]] = {}
    for each in differences(statement, got, rows, keys):
        wrong.setdefault(each.place, []).append(each.words)
    for i in [i for i in wrong if parts[i].name in EXTREMES]:
        if _extreme_is_right(
            asker, replace(statement, aggregates=parts[i : i + 1]), rows, keys
        ):
            del wrong[i]
    return [
        Verdict(
            excused(statement, part, rows) if i in wrong else "right",
            replace(statement, aggregates=(part,)).text(asker.name),
            "; ".join(wrong.get(i, [])[:3]),
        )
        for i, part in enumerate(parts)
    ]
