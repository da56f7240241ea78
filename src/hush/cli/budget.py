"""`hush budget`: what was spent, on what, and what is left."""

from typing import Annotated, Any

import typer
from rich.table import Table

from hush.cli import config, ledgers
from hush.cli.asking import FOUND, Where
from hush.cli.session import Debug, Json, Quiet, session
from hush.errors import InvalidArgument
from hush.ledger import Ledger, Record
from hush.ledger.account import amounts_text
from hush.ledger.receipt import spent

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
                    "cost": amounts_text(notion, amounts),
                    "amount": float(amounts[0]),
                    "delta": float(amounts[1]),
                    "mechanism": each.content["facts"].get("mechanism", ""),
                }
            )
    return found


def _table(rows: list[dict[str, Any]], last: int) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("entry", "when (UTC)", "state", "cost", "key"):
        made.add_column(name, justify="right" if name == "entry" else "left")
    for each in rows[-last:]:
        made.add_row(
            str(each["entry"]),
            each["at"][:19],
            each["state"],
            each["cost"],
            each["key"],
        )
    return made


def _administer(about: config.Config, opening: bool, raising: bool) -> Ledger:
    if opening and raising:
        raise InvalidArgument("give --open or --raise, not both.")
    if not opening and not raising:
        return ledgers.existing(about.ledger, dataset=about.name)
    if raising:
        ledger = ledgers.existing(about.ledger, dataset=about.name)
        ledger.raise_budget(about.budget, dataset=about.name)
        return ledger
    ledgers.present(about.ledger)
    return Ledger.open(about.ledger, budget=about.budget, dataset=about.name)


def budget(
    where: Where = FOUND,
    opening: Annotated[
        bool, typer.Option("--open", help="Open the account of this data set first.")
    ] = False,
    raising: Annotated[
        bool, typer.Option("--raise", help="First enlarge it to what hush.toml says.")
    ] = False,
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
        with _administer(about, opening, raising) as ledger:
            remaining, history = ledger.remaining(), ledger.history()
        rows = _rows(history, f"dataset:{about.name}")
        out.show(_table(rows, last) if rows else "Nothing was spent yet.", "")
        for each in remaining.accounts:
            out.show(str(each))
            promise = each.total.epsilon_at(1e-6)
            if each.notion != "epsilon":
                out.show(f"All of it together is epsilon {promise:.4g} at delta 1e-06.")
        out.give(accounts=ledgers.left(remaining), charges=rows)
