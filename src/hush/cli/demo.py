"""`hush demo`: private answers about a made-up town, with error bars and a budget."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import hush
from hush.errors import BudgetExceeded
from hush.noise import Seeded, integers

PEOPLE, VISITS = 2_000, 6_000
REGIONS = ("north", "south", "east", "west")


@dataclass(frozen=True)
class Line:
    """One released number, its interval and, the data being made up, the truth."""

    question: str
    answer: float
    low: float
    high: float
    truth: float


def _town() -> dict[str, Any]:
    """Visits of people who do not exist, the same in every run."""
    source = Seeded(2024)
    return {
        "person": integers(PEOPLE, size=VISITS, source=source),
        "region": np.array(REGIONS)[integers(4, size=VISITS, source=source)],
        "minutes": integers(31, size=(VISITS, 3), source=source).sum(axis=1),
    }


def _lines(answer: Any, truths: dict[str, list[float]], label: str) -> list[Line]:
    found = []
    ends = answer.interval(0.95)
    for name, values in answer.values.items():
        for i, key in enumerate(answer.query.keys):
            where = f" ({key[0]})" if key else ""
            low, high = ends[name][0][i], ends[name][1][i]
            found.append(
                Line(f"{label}{name}{where}", values[i], low, high, truths[name][i])
            )
    return found


def _visit() -> tuple[list[Line], str, str]:
    """Ask twice within the budget, and once too often."""
    import pyarrow

    town = _town()
    data = hush.open(
        pyarrow.table(town), unit="person", rows=10, budget=hush.Budget(epsilon=1)
    )
    visits = hush.count()
    minutes = hush.mean("minutes", bounds=(0, 90))
    whole = data.agg(visits=visits, minutes=minutes)
    by_region = data.group_by("region", keys=REGIONS).agg(visits=visits)
    lines = _lines(
        whole.release(epsilon=0.5),
        {"visits": [float(VISITS)], "minutes": [float(town["minutes"].mean())]},
        "",
    )
    here = [float((town["region"] == name).sum()) for name in REGIONS]
    lines += _lines(by_region.release(epsilon=0.4), {"visits": here}, "")
    left = str(data.budget)
    try:
        whole.release(epsilon=0.5)
        refused = ""
    except BudgetExceeded as problem:
        refused = str(problem)
    return lines, left, refused


def demo(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.")
    ] = False,
) -> None:
    """Ask about 6,000 visits of 2,000 people who do not exist, privately."""
    lines, left, refused = _visit()
    if as_json:
        shown = {"answers": [asdict(line) for line in lines]}
        typer.echo(json.dumps({**shown, "budget": left, "refused": refused}))
        return
    table = Table(title="Private answers about 2,000 people who do not exist")
    table.add_column("question")
    for heading in ("private answer", "95 % interval", "truth"):
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(
            line.question,
            f"{line.answer:,.1f}",
            f"{line.low:,.1f} to {line.high:,.1f}",
            f"{line.truth:,.1f}",
        )
    console = Console()
    console.print(table)
    console.print(
        "Cost: ε = 0.5 for the first two answers, 0.4 for the four after them; what is "
        "protected is one person with all their visits (add or remove), counted at "
        "most 10 times."
    )
    console.print(f"Budget: {left}")
    console.print(f"One question too many: {refused}")
    console.print(
        "Intervals cover the noise. The truth is shown only because this data is made "
        "up; the noise is real, so run it again and the answers move."
    )
