"""`hush demo`: a first private release of a table made up on the spot."""

import json
from fractions import Fraction
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hush.law import DiscreteLaplace
from hush.noise import Seeded, discrete_laplace, integers

PEOPLE, OLDEST = 2_000, 100
EPSILON = Fraction(1, 2)  # for each of the two answers


def _ages() -> NDArray[np.int64]:
    """Ages of people who do not exist, the same in every run."""
    rolls: NDArray[np.int64] = integers(34, size=(PEOPLE, 3), source=Seeded(2024))
    total: NDArray[np.int64] = rolls.sum(axis=1)
    return total


def _answers() -> list[dict[str, float | str]]:
    """Count and total of ages, each with integer Laplace noise and its 95 % bar.

    Adding or removing one person moves the count by 1 and the total of ages, clamped
    to 0..100, by at most 100; scale = sensitivity/ε makes each answer ε-private.
    """
    ages = np.clip(_ages(), 0, OLDEST)
    count_scale, total_scale = 1 / EPSILON, OLDEST / EPSILON
    count = ages.size + discrete_laplace(count_scale)
    total = int(ages.sum()) + discrete_laplace(total_scale)
    count_bar = DiscreteLaplace(count_scale).quantile(0.975)
    # For the mean both bars hold together with probability 95 % (half the risk each).
    wide_count = DiscreteLaplace(count_scale).quantile(1 - 0.0125)
    wide_total = DiscreteLaplace(total_scale).quantile(1 - 0.0125)
    low = (total - wide_total) / (count + wide_count)
    high = (total + wide_total) / (count - wide_count)
    return [
        {
            "question": "How many people?",
            "answer": float(count),
            "low": float(count - count_bar),
            "high": float(count + count_bar),
            "truth": float(ages.size),
            "epsilon": float(EPSILON),
        },
        {
            "question": "Mean age?",
            "answer": total / count,
            "low": low,
            "high": high,
            "truth": float(ages.mean()),
            "epsilon": float(EPSILON),
        },
    ]


def demo(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.")
    ] = False,
) -> None:
    """Ask two questions of a made-up table of 2,000 people, privately."""
    answers = _answers()
    if as_json:
        typer.echo(json.dumps({"answers": answers}))
        return
    table = Table(title="Two private answers about 2,000 people who do not exist")
    for heading in ("question", "private answer", "95 % interval", "truth", "cost (ε)"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    for each in answers:
        table.add_row(
            str(each["question"]),
            f"{each['answer']:,.1f}",
            f"{each['low']:,.1f} to {each['high']:,.1f}",
            f"{each['truth']:,.1f}",
            f"{each['epsilon']:g}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"Total cost: ε = {float(2 * EPSILON):g} for adding or removing one person. "
        "The truth is shown only because this data is made up. The noise is real: "
        "run it again and the answers move."
    )
