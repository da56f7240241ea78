"""`hush verify`: whether a ledger's history is whole."""

from pathlib import Path
from typing import Annotated

import typer

from hush.cli import config, ledgers
from hush.cli.session import FOUND, Code, Debug, Json, Quiet, Where, session
from hush.errors import InvalidArgument


def _ledger_address(ledger: str | None, where: Path) -> str:
    if ledger is not None:
        return ledger
    if not where.is_file():
        raise InvalidArgument(
            f"there is no {str(where)!r} that says where the ledger is. Name it, as in "
            "`hush verify trips.budget.db`."
        )
    return config.read(where).ledger


def verify(
    ledger: Annotated[
        str | None,
        typer.Argument(
            help="The ledger: a file, or an address such as sqlite:///…; without it, "
            "the one that hush.toml names."
        ),
    ] = None,
    where: Where = FOUND,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="The ledger is a rehearsal.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check every entry, sum and anchor of a LEDGER; name the first that is wrong.

    Example: hush verify

    Example: hush verify trips.budget.db
    """
    with session("verify", as_json, quiet, debug) as out:
        opened = ledgers.open_existing(
            _ledger_address(ledger, where), rehearsal=rehearsal, check=False
        )
        with opened, out.working("reading the history …"):
            found = opened.verify()
        out.show(f"{found}." if found else f"NOT WHOLE: {found}.")
        out.print_json(
            whole=bool(found),
            entries=found.entries,
            bad=found.bad,
            reason=found.reason,
            anchored=found.anchored,
        )
        if not found:
            raise typer.Exit(int(Code.FOUND))
