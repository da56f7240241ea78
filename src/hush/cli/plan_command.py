"""`hush plan`: what a query would cost and how wrong it would be, without data."""

import math
from typing import Annotated

import typer

from hush.cli import config
from hush.cli.session import (
    FOUND,
    Column,
    Debug,
    Delta,
    Json,
    Level,
    Quiet,
    Sql,
    Where,
    query_of,
    session,
    uninformative,
    weak_epsilon,
)
from hush.errors import InvalidArgument, Unsupported

_SUPPOSED = (
    "Supposed: means of values that fill one half of their bounds, quantiles of values "
    "spread evenly over them, rows of weight 1."
)


def plan(
    text: Sql,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="ε to plan with.")
    ] = None,
    delta: Delta = 0.0,
    within: Annotated[
        float | None,
        typer.Option(help="Instead of ε: the error that no output shall exceed."),
    ] = None,
    cell: Annotated[float, typer.Option(help="Rows of a group to plan for.")] = 1000,
    level: Level = 0.95,
    where: Where = FOUND,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show cost and expected error of SQL; neither data nor ledger is touched.

    Example: hush plan "SELECT AVG(fare) AS fare FROM trips" --within 0.5 --cell 4000
    """
    with session("plan", as_json, quiet, debug) as out:
        if (epsilon is None) == (within is None):
            raise InvalidArgument("give -e EPSILON, or --within ERROR: one of the two.")
        about = config.read(where)
        query = query_of(about.dataset_without_data(), about, text)
        if not hasattr(query, "plan"):
            raise Unsupported(
                "bounds that are found in the data cannot be planned with. Give public "
                f"bounds in {about.path.name}."
            )
        found = query.plan(epsilon, delta, within=within, level=level, cell=cell)
        errors = [found.error.get(name, math.nan) for name in query.aggregates]
        texts = ["no interval" if math.isnan(e) else f"{e:,.4g}" for e in errors]
        out.table(
            [
                Column("output", list(query.aggregates)),
                Column(f"± at {level:.0%}", texts, right=True),
            ]
        )
        cost = f"epsilon {found.epsilon:.6g}" + (f", delta {delta:g}" if delta else "")
        groups = query.groups.keys
        out.show(
            "",
            f"Cost: {cost}, for "
            + ("groups found in the data" if groups is None else _groups(len(groups)))
            + f". Errors are of a group of {cell:,g} rows, by the noise alone.",
        )
        out.note(
            _SUPPOSED,
            *uninformative(found.says_nothing),
            *weak_epsilon(found.epsilon),
            "Nothing was read and nothing was spent.",
        )
        out.print_json(
            epsilon=found.epsilon,
            delta=delta,
            level=level,
            cell=cell,
            error={name: found.error.get(name) for name in query.aggregates},
            noise=dict(found.noise),
            mechanisms=[repr(each) for each in found.mechanisms],
        )


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"all {count} groups together"
