"""`hush query`: a private table with error bars, charged to a ledger on disk."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, final

import typer

from hush import checks
from hush.cli import config, ledgers, released, remarks, schema, stored
from hush.cli.asking import FOUND, Delta, Level, Sql, Where, planned
from hush.cli.session import Debug, Json, Quiet, plain, session
from hush.errors import InvalidArgument
from hush.ledger import Remaining

_Found = tuple[Any, Remaining, float]  # the answer, what is left, entries before it


@final
@dataclass(frozen=True)
class _Asked:
    """A statement, who asks it, and under which key."""

    text: str
    key: str | None
    analyst: str | None

    def now(self, about: config.Config, epsilon: float, delta: float) -> _Found:
        with ledgers.paying(about, self.analyst) as ledger:
            before = len(ledger.history())
            data = about.opened(ledger)
            answer = data.sql(self.text, epsilon, delta, key=self.key, **about.known)
            return answer, ledger.remaining(), before

    def again(self, about: config.Config) -> _Found:
        if self.key is None:
            raise InvalidArgument("--stored shows the answer of a --key: name it.")
        with ledgers.existing(about.ledger, dataset=about.name) as ledger:
            answer = stored.answer(about, ledger, self.text, self.key)
            return answer, ledger.remaining(), math.inf


def _drawn(plan: Any, level: float) -> None:
    """Refuse a level at which a quantile would have no interval, before it is paid."""
    asked = {} if plan is None else plan.query.aggregates
    for name, each in asked.items():
        if level > getattr(each, "level", level):
            raise InvalidArgument(
                f"{name} is a quantile, whose interval is drawn at {each.level:.0%}: "
                f"at --level {level:g} it has none. Leave --level out, or ask in "
                "Python, by hush.quantile(..., level=...)."
            )


def query(
    text: Sql,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="ε to spend; --stored spends nothing."),
    ] = None,
    delta: Delta = 0.0,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this request: the same again costs nothing."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--stored", help="Show the answer of --key; the data is not read."
        ),
    ] = False,
    analyst: Annotated[
        str | None,
        typer.Option(help="Who asks: pays from that account as well."),
    ] = None,
    level: Level = 0.95,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with all digits.")
    ] = False,
    where: Where = FOUND,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Release the answer to SQL, with intervals, and charge it to the ledger.

    The budget is charged first, then the data is read, then noise is added; a refusal
    costs nothing. With a --key the stored answer is shown again for free, and with
    --stored even after the data changed.

    Example: hush query "SELECT region, COUNT(*) AS n FROM trips GROUP BY region" -e 0.5
    """
    if epsilon is None and not again:
        raise typer.BadParameter(
            "say what to spend, as in -e 0.5; only --stored needs none.",
            param_hint="--epsilon",
        )
    with session("query", as_json, quiet, debug) as out:
        checks.real("level", level, above=0, below=1)  # before anything is paid
        if as_csv and as_json:
            raise InvalidArgument("give --csv or --json, not both.")
        about = config.read(where)
        if epsilon is not None:  # refused before anything is opened
            _drawn(planned(about, text, epsilon, delta), level)
        asked = _Asked(text, key, analyst)
        with out.working("asking the data …"):
            answer, remaining, before = (
                asked.again(about)
                if again or epsilon is None
                else asked.now(about, epsilon, delta)
            )
        found = answer.to_dict(level)
        columns = {n: plain(v) for n, v in found.items()}
        receipt = answer.receipt
        if as_csv:
            typer.echo(released.as_csv(columns, answer.labels), nl=False)
        else:
            out.table(released.shown(columns, answer.labels, set(answer.counts)))
        out.note(
            "",
            *remarks.protection(about, answer, epsilon),
            f"Intervals hold at {level:.0%} each. They cover the noise, not what "
            "bounds and rows cut off.",
            *remarks.empty(
                answer.says_nothing(found), untyped=schema.untyped(about.source)
            ),
            remarks.paid(receipt, before),
            f"Left: {remaining}",
        )
        out.give(
            columns=list(columns),
            rows=[
                dict(zip(columns, row, strict=True))
                for row in zip(*columns.values(), strict=True)
            ],
            level=level,
            unit=receipt.unit,
            neighbors=receipt.neighbors,
            receipt=receipt.to_dict(),
            left=ledgers.left(remaining),
        )
