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
    verify,
)

app = typer.Typer(
    name="hush",
    help="Learn about a population, and prove that nobody in it was exposed.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,  # a traceback with local values could show data
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("plan")(plan.plan)
app.command("query")(query.query)
app.command("budget")(budget.budget)
app.command("account")(account.account)
app.command("audit")(audit.audit)
app.add_typer(attack.app, name="attack")
app.add_typer(plot.app, name="plot")
app.command("verify")(verify.verify)


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
