"""Options and steps that `query`, `plan` and `plot error` share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hush.cli import config
from hush.cli.advice import placed
from hush.errors import InvalidArgument, Unsupported

Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")]
Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="ε to spend.")]
Delta = Annotated[float, typer.Option("--delta", "-d", help="δ to spend.")]
Level = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Where = Annotated[
    Path, typer.Option("--config", "-c", help="The description of the data.")
]
FOUND = Path(config.NAME)


def asked(data: Any, about: config.Config, text: str) -> Any:
    """Return the query that a statement asks of a data set, or refuse it."""
    from hush.tables import select

    try:
        return select.query(data, text, **about.known)
    except (InvalidArgument, Unsupported) as problem:
        raise type(problem)(placed(str(problem), about)) from None


def planned(about: config.Config, text: str, epsilon: float, delta: float) -> Any:
    """Return cost and expected error of a statement, from public numbers alone.

    None where the bounds are themselves found in the data: then only the cost is known.
    """
    from hush.tables.ranges import Seeking

    query = asked(about.unread(), about, text)
    return None if isinstance(query, Seeking) else query.plan(epsilon, delta)
