"""`hush budget`: what was spent, on what, and what is left."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hush.cli import charges, config, layout, ledgers
from hush.cli.asking import FOUND, Where
from hush.cli.session import Debug, Json, Quiet, Session, session
from hush.errors import InvalidArgument
from hush.ledger import Admin, Ledger

PASSWORD = "HUSH_ADMIN_PASSWORD"
OTHERS = (
    "Only charges are listed; the other entries are answers and changes of accounts."
)


def _show(out: Session, rows: list[dict[str, Any]]) -> None:
    """Print the charges; on a narrow terminal what it was for stands below."""
    columns = charges.columns(rows)
    if layout.fits(columns, layout.width()):
        out.table(columns)
        return
    *short, what, key = columns
    head, *lines = layout.lines(short)
    out.show(head)
    for line, words, name in zip(lines, what.cells, key.cells, strict=True):
        out.show(line, f"       {words}", f"       key {name}")


def _admin(path: Path | None) -> Admin | None:
    """Read the administrator's private key; it is used for this command only."""
    if path is None:
        return None
    try:
        pem = path.read_bytes()
    except OSError as problem:
        raise InvalidArgument(
            f"--admin {str(path)!r} cannot be read ({problem.strerror}). Name a file "
            "with an Ed25519 private key in PEM."
        ) from None
    password = os.environ.get(PASSWORD)
    return Admin.from_pem(path.stem, pem, password.encode() if password else None)


def _administer(
    about: config.Config, opening: bool, raising: bool, admin: Admin | None
) -> Ledger:
    if opening and raising:
        raise InvalidArgument("give --open or --raise, not both.")
    if opening:
        ledgers.present(about.ledger)
        return Ledger.open(
            about.ledger, budget=about.budget, dataset=about.name, admin=admin
        )
    ledger = ledgers.existing(about.ledger, dataset=about.name, admin=admin)
    if raising:
        try:
            ledger.raise_budget(about.budget, dataset=about.name)
        except BaseException:
            ledger.close()
            raise
    return ledger


def budget(
    where: Where = FOUND,
    opening: Annotated[
        bool, typer.Option("--open", help="Open the account of this data set first.")
    ] = False,
    raising: Annotated[
        bool, typer.Option("--raise", help="First enlarge it to what hush.toml says.")
    ] = False,
    admin: Annotated[
        Path | None,
        typer.Option(help=f"Key that signs --open or --raise ({PASSWORD} opens it)."),
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="Charges to show.")] = 20,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what was spent on what, and what is left.

    Example: hush budget --last 5
    """
    with session("budget", as_json, quiet, debug) as out:
        about = config.read(where)
        with _administer(about, opening, raising, _admin(admin)) as ledger:
            remaining, history = ledger.remaining(), ledger.history()
        rows = charges.listed(history, f"dataset:{about.name}")
        if rows:
            _show(out, rows[-last:])
            out.note(OTHERS)
        else:
            out.show("Nothing was spent yet.")
        out.show("")
        for each in remaining.accounts:
            out.show(str(each))
            promise = each.total.epsilon_at(1e-6)
            if each.notion != "epsilon":
                out.show(f"All of it together is epsilon {promise:.4g} at delta 1e-06.")
        out.give(accounts=ledgers.left(remaining), charges=rows)
