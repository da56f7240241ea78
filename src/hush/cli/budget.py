"""`hush budget`: what was spent, on what, and what is left."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hush.cli import config, ledgers
from hush.cli.asking import FOUND, Where
from hush.cli.session import Debug, Json, Quiet, session
from hush.errors import InvalidArgument
from hush.ledger import Admin, Ledger, Record
from hush.ledger.account import cost_text
from hush.ledger.receipt import spent

PASSWORD = "HUSH_ADMIN_PASSWORD"
OTHERS = (
    "Only charges are listed; the other entries are answers and changes of accounts."
)
_KEY = 32  # letters of a key that hush made
_CHARGED = ("charge", "reserve", "hold")


def _rows(history: tuple[Record, ...], account: str) -> list[dict[str, Any]]:
    """Return the charges to an account, oldest first."""
    found = []
    for each in history:
        if each.kind in _CHARGED and account in each.content["costs"]:
            notion, amounts = spent(each.content)[account]
            found.append(
                {
                    "entry": each.sequence,
                    "at": each.at,
                    "state": each.state,
                    "key": each.key,
                    "cost": cost_text(notion, amounts),
                    "amount": float(amounts[0]),
                    "delta": float(amounts[1]),
                    "mechanism": each.content["facts"].get("mechanism", ""),
                }
            )
    return found


def _table(rows: list[dict[str, Any]], last: int) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("entry", justify="right", no_wrap=True)
    made.add_column("when (UTC)", no_wrap=True)
    made.add_column("state", no_wrap=True)
    made.add_column("cost", overflow="fold")
    # A key is there to be copied: the costs wrap first, and no part of it is cut off.
    longest = max(len(each["key"]) for each in rows[-last:])
    width = longest if longest <= _KEY else None
    made.add_column("key", overflow="fold", width=width)
    for each in rows[-last:]:
        made.add_row(
            str(each["entry"]),
            each["at"][:16].replace("T", " "),
            each["state"],
            each["cost"],
            each["key"],
        )
    return made


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
        rows = _rows(history, f"dataset:{about.name}")
        out.show(_table(rows, last) if rows else "Nothing was spent yet.")
        out.show(*((OTHERS, "") if rows else ("",)))
        for each in remaining.accounts:
            out.show(str(each))
            promise = each.total.epsilon_at(1e-6)
            if each.notion != "epsilon":
                out.show(f"All of it together is epsilon {promise:.4g} at delta 1e-06.")
        out.give(accounts=ledgers.left(remaining), charges=rows)
