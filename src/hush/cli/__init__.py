"""The `hush` command; one file per sub-command."""

import typer

from hush import __version__
from hush.cli import (
    account,
    attack,
    audit,
    budget,
    demo,
    init,
    plan,
    plot,
    query,
    synth,
    verify,
)
from hush.cli.flags import Command, Group

app = typer.Typer(
    name="hush",
    cls=Group,
    help="Learn about a population, and prove that nobody in it was exposed.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,  # a traceback with local values could show data
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command)(demo.demo)
app.command("init", cls=Command)(init.init)
app.command("plan", cls=Command)(plan.plan)
app.command("query", cls=Command)(query.query)
app.command("synth", cls=Command)(synth.synth)
app.command("budget", cls=Command)(budget.budget)
app.command("account", cls=Command)(account.account)
app.command("audit", cls=Command)(audit.audit)
app.add_typer(attack.app, name="attack")
app.add_typer(plot.app, name="plot")
app.command("verify", cls=Command)(verify.verify)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hush {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_version,
        is_eager=True,
        help="Print the version and stop.",
    ),
) -> None:
    """Differential privacy for tables, models and people."""


def main() -> None:
    """Run the command line."""
    app()
