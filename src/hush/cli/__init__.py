"""The `hush` command; one file per sub-command."""

import typer

from hush import __version__
from hush.cli import (
    account_command,
    attack_command,
    audit_command,
    budget_command,
    demo,
    init_command,
    plan_command,
    plot_command,
    query_command,
    synth_command,
    verify_command,
)
from hush.cli.session import Command, Group

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
app.command("init", cls=Command)(init_command.init)
app.command("plan", cls=Command)(plan_command.plan)
app.command("query", cls=Command)(query_command.query)
app.command("synth", cls=Command)(synth_command.synth)
app.command("budget", cls=Command)(budget_command.budget)
app.command("account", cls=Command)(account_command.account)
app.command("audit", cls=Command)(audit_command.audit)
app.add_typer(attack_command.app, name="attack")
app.add_typer(plot_command.app, name="plot")
app.command("verify", cls=Command)(verify_command.verify)


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
