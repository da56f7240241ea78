"""`hush verify`: whether a ledger's history is whole."""

from typing import Annotated

import typer

from hush.cli import ledgers
from hush.cli.codes import Code
from hush.cli.session import Debug, Json, Quiet, session


def verify(
    ledger: Annotated[
        str,
        typer.Argument(help="The ledger: a file, or an address such as sqlite:///…"),
    ],
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="The ledger is a rehearsal.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check every entry, sum and anchor of a LEDGER; name the first that is wrong.

    Example: hush verify trips.budget.db
    """
    with session("verify", as_json, quiet, debug) as out:
        opened = ledgers.existing(ledger, rehearsal=rehearsal, check=False)
        with opened, out.working("reading the history …"):
            found = opened.verify()
        out.show(f"{found}." if found else f"NOT WHOLE: {found}.")
        out.give(
            whole=bool(found),
            entries=found.entries,
            bad=found.bad,
            reason=found.reason,
            anchored=found.anchored,
        )
        if not found:
            raise typer.Exit(int(Code.FOUND))
