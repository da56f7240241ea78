"""Options as people expect them: flags shown as flags, others' names answered."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hush.cli import config
from hush.cli.config import refusal_with_place
from hush.errors import InvalidArgument, Unsupported

_CALLED = {
    "--noise-multiplier": "--sigma",
    "--std": "--gaussian",
    "--sample-rate": "--rate",
    "--sampling-rate": "--rate",
    "--num-steps": "--steps",
    "--eps": "--epsilon",
    "--user": "--unit",
    "--user-id": "--unit",
}


def _plain(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command of hush."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _plain(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; one that others call differently is answered with ours."""
        known = {name for each in self.params for name in each.opts}
        for name in (each.partition("=")[0] for each in args):
            if name not in known and _CALLED.get(name) in known:
                ctx.fail(f"No such option: {name}. Write {_CALLED[name]}.")
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _plain(super().get_params(ctx))


# -- Options and steps that `query`, `plan` and `plot error` share ---------------------

Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")]
Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="ε to spend.")]
Delta = Annotated[float, typer.Option("--delta", "-d", help="δ to spend.")]
Level = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Where = Annotated[
    Path, typer.Option("--config", "-c", help="The description of the data.")
]
FOUND = Path(config.NAME)


def query_of(data: Any, about: config.Config, text: str) -> Any:
    """Return the query that a statement asks of a data set, or refuse it."""
    from hush.tables.sql import select

    try:
        return select.query(data, text, **about.known)
    except (InvalidArgument, Unsupported) as problem:
        raise type(problem)(
            refusal_with_place(str(problem), about), code=problem.code
        ) from None


def plan_of(about: config.Config, text: str, epsilon: float, delta: float) -> Any:
    """Return cost and expected error of a statement, from public numbers alone.

    None where the bounds are themselves found in the data: then only the cost is known.
    """
    from hush.tables.queries.private_bounds import PrivateBoundsQuery

    query = query_of(about.unread(), about, text)
    return None if isinstance(query, PrivateBoundsQuery) else query.plan(epsilon, delta)
