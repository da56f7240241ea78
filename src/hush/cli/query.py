"""`hush query`: a private table with error bars, charged to a ledger on disk."""

from typing import Annotated, Any

import typer
from rich.table import Table

from hush import checks
from hush.cli import config, ledgers
from hush.cli.asking import FOUND, Delta, Epsilon, Level, Sql, Where, planned
from hush.cli.session import Debug, Json, Quiet, plain, session


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, list):
        return ", ".join(map(_number, value))
    return str(value)


def _table(columns: dict[str, list[Any]]) -> Table:
    """Return the released table; interval ends share one column."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    ends = {f"{name}_{end}" for name in columns for end in ("low", "high")}
    shown = [name for name in columns if name not in ends]
    cells = []
    for name in shown:
        values = columns[name]
        made.add_column(name, justify="left" if _texts(values) else "right")
        cells.append([_number(each) for each in values])
        if f"{name}_low" in columns:
            made.add_column("interval", justify="left")
            low, high = columns[f"{name}_low"], columns[f"{name}_high"]
            pairs = zip(low, high, strict=True)
            cells.append([f"{_number(a)} to {_number(b)}" for a, b in pairs])
    for row in zip(*cells, strict=True):
        made.add_row(*row)
    return made


def _texts(values: list[Any]) -> bool:
    return any(isinstance(each, str) for each in values)


def query(
    text: Sql,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this request: the same again costs nothing."),
    ] = None,
    level: Level = 0.95,
    where: Where = FOUND,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Release the answer to SQL, with intervals, and charge it to the ledger.

    The budget is charged first, then the data is read, then noise is added; a refusal
    costs nothing. With a --key the stored answer is shown again for free.

    Example: hush query "SELECT region, COUNT(*) AS n FROM trips GROUP BY region" -e 0.5
    """
    with session("query", as_json, quiet, debug) as out:
        checks.real("level", level, above=0, below=1)  # before anything is paid
        about = config.read(where)
        planned(about, text, epsilon, delta)  # refused before anything is opened
        with out.working("asking the data …"), ledgers.paying(about) as ledger:
            data = about.opened(ledger)
            answer = data.sql(text, epsilon, delta, key=key, **about.known)
            columns = {n: plain(v) for n, v in answer.to_dict(level).items()}
            remaining = ledger.remaining()
        receipt = answer.receipt
        out.show(_table(columns), "")
        out.show(
            f"Protected: one {receipt.unit} with at most {about.rows} rows, "
            f"{receipt.neighbors}.",
            f"Intervals hold at {level:.0%} each. They cover the noise, not what "
            "bounds and rows cut off.",
            f"Paid: {receipt}",
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
