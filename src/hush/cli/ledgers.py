"""The ledger of a command: opened, never begun by accident, never on other data."""

import contextlib
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hush.cli.session import Column
from hush.errors import InvalidArgument, LedgerError
from hush.ledger import Budget, Ledger, Record, Remaining
from hush.ledger.budget import cost_text, readable
from hush.ledger.release import amounts_paid

if TYPE_CHECKING:
    from hush.cli.config import Config


WAIT = 60.0  # seconds to wait for a program that holds the file
_SQLITE = "sqlite:///"


def address(given: str) -> str:
    """Return the address of a ledger that is given as a path or as an address."""
    return given if "://" in given else f"{_SQLITE}{given}"


def is_present(url: str) -> bool:
    """Whether a ledger is there; refuse a file that is something else.

    Opening would make one where there is none, even inside somebody's other database.
    """
    if not url.startswith(_SQLITE):
        return True
    path = Path(url.removeprefix(_SQLITE))
    if not path.exists():
        return False
    refused = LedgerError(
        f"{str(path)!r} is not a ledger. Name the file that hush.toml says under "
        "[ledger]."
    )
    link = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(link, uri=True, timeout=WAIT)) as file:
            rows = file.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.OperationalError as problem:
        name = getattr(problem, "sqlite_errorname", type(problem).__name__)
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be read ({name}); nothing was released. "
            "If another program holds it, wait and try again.",
            code="ledger-unreachable",
        ) from None
    except sqlite3.DatabaseError:
        raise refused from None
    if "hush_entry" not in {row[0] for row in rows}:
        raise refused
    return True


def open_existing(given: str, **more: Any) -> Ledger:
    """Open a ledger that must be there already."""
    url = address(given)
    if not is_present(url):
        raise LedgerError(
            f"there is no ledger at {url.removeprefix(_SQLITE)!r}. The first "
            "`hush query` makes it."
        )
    return Ledger.open(url, **more)


def account_names(ledger: Ledger) -> list[str]:
    """Return the accounts that a ledger has, by name."""
    found = (each.accounts for each in ledger.history() if each.kind == "grant")
    return list(dict.fromkeys(found))


def has_account(about: "Config") -> bool:
    """Whether a data set of this name has an account already, in a file of ours."""
    if not about.ledger.startswith(_SQLITE) or not is_present(about.ledger):
        return False
    with open_existing(about.ledger) as ledger:
        return f"dataset:{about.name}" in account_names(ledger)


def paying_ledger(config: "Config", analyst: str | None = None) -> Ledger:
    """Open the ledger of a data set, for an analyst who has an account in it.

    A new ledger is made if its file is not there yet; no analyst has an account in it.
    """
    if analyst is None and not is_present(config.ledger):
        return Ledger.open(config.ledger, budget=config.budget, dataset=config.name)
    ledger = open_existing(config.ledger, dataset=config.name, analyst=analyst)
    try:
        if f"dataset:{config.name}" not in account_names(ledger):
            kinds = [each.partition(":") for each in account_names(ledger)]
            others = ", ".join(name for kind, _, name in kinds if kind == "dataset")
            raise LedgerError(
                f"this ledger is of other data ({others or 'none yet'}), not of "
                f"{config.name!r}. Name another in {config.path.name}, or add this "
                "data set to it with `hush budget --open`: a budget of its own. If the "
                "same people are in both, count them together: `hush budget --link "
                "people -e 2` where the other data set is, `hush budget --open --link "
                "people` here."
            )
        _agree(ledger, config)
        ledger.remaining()  # refuses an analyst without an account
    except BaseException:
        ledger.close()
        raise
    return ledger


def _agree(ledger: Ledger, config: "Config") -> None:
    try:
        ledger.grant(config.budget, dataset=config.name)
    except InvalidArgument:
        own = ledger.accounts()[f"dataset:{config.name}"]
        limit = str(own).partition(" left of ")[2]
        raise InvalidArgument(
            f"{config.path.name} says {config.budget!r}, the ledger {limit}. Write "
            "what the ledger has, or enlarge that with `hush budget --raise`.",
            code="budget-differs",
        ) from None


def open_grant(ledger: Ledger, analyst: str, share: Budget) -> None:
    """Open an analyst's account, or find that it has this share already."""
    try:
        ledger.grant(share, analyst=analyst)
    except InvalidArgument:
        known = [each.account for each in ledger.accounts().accounts]
        if f"analyst:{analyst}" not in known:
            raise
        has = ledger.accounts()[f"analyst:{analyst}"]
        raise InvalidArgument(
            f"{has}; got {share!r}. A share can be enlarged, with `hush budget --raise "
            f"--grant {analyst} -e ...`, and never made smaller.",
            code="budget-differs",
        ) from None


def open_link(ledger: Ledger, name: str, people: str, budget: Budget | None) -> None:
    """Tie a data set to its people, or find that their account has this budget."""
    known = [each.account for each in ledger.accounts().accounts]
    if f"unit:{people}" not in known and budget is None:
        shared = [each for each in known if each.startswith("unit:")]
        others = f"; it has {', '.join(map(readable, shared))}" if shared else ""
        raise InvalidArgument(
            f"{people!r} has no account in this ledger{others}. Open it with a budget "
            f"for all data sets about these people: --link {people} -e ..."
        )
    if f"unit:{people}" in known and budget is not None:
        _check_same_budget(ledger, people, budget)
    ledger.link(name, people, budget)


def _check_same_budget(ledger: Ledger, people: str, budget: Budget) -> None:
    try:
        ledger.grant(budget, unit=people)
    except InvalidArgument:
        raise InvalidArgument(
            f"{ledger.accounts()[f'unit:{people}']}; got {budget!r}. Leave -e and -d "
            f"out, or enlarge it with `hush budget --raise --link {people} -e ...`.",
            code="budget-differs",
        ) from None


def balances(ledger: Ledger) -> Remaining:
    """Return what is left to the data set and its people, and then to each analyst."""
    all_ = ledger.accounts().accounts
    analysts = (each for each in all_ if each.account.startswith("analyst:"))
    return Remaining((*ledger.remaining().accounts, *analysts))


def balance(remaining: Remaining) -> list[dict[str, Any]]:
    """Return what is left, as JSON types."""
    return [
        {
            "account": each.account,
            # Squares of mu add up, so that is what the amounts are.
            "notion": "mu squared" if each.notion == "mu" else each.notion,
            "left": float(each.left_exact[0]),
            "limit": float(each.limits[0]),
            "spent": float(each.spent_exact[0]),
            "delta_left": float(each.left_exact[1]),
            "delta_limit": float(each.limits[1]),
        }
        for each in remaining.accounts
    ]


# -- The charges of an account, in a line each: when, how much, and for what -----------

_CHARGED = ("charge", "reserve", "hold")
_LONGEST = 60  # letters of a text that was not made for one line
_QUOTED = r"(?P<{0}>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
# Expressions, as the parts of a query name them in a receipt.
_EXPRESSION = re.compile(
    rf"\({_QUOTED.format('a')}, Grid\(|\b(?:text|expression)={_QUOTED.format('b')}"
)
_ROWS = "form=<Form.ROWS: "


def charges(history: Sequence[Record], account: str) -> list[dict[str, Any]]:
    """Return the charges to an account as JSON types, oldest first."""
    found = []
    for each in history:
        if each.kind in _CHARGED and account in each.content["costs"]:
            notion, amounts = amounts_paid(each.content)[account]
            facts = each.content["facts"]
            found.append(
                {
                    "entry": each.sequence,
                    "at": each.at,
                    "state": each.state,
                    "key": each.key,
                    "cost": cost_text(notion, amounts),
                    "amount": float(amounts[0]),
                    "delta": float(amounts[1]),
                    "what": purpose(facts),
                    "analyst": _analyst(each.content["costs"]),
                    "mechanism": facts.get("mechanism", ""),
                }
            )
    return found


def _analyst(costs: Mapping[str, Any]) -> str | None:
    """Return who paid beside the data set, where analysts have accounts.

    Example:
        >>> _analyst({"dataset:visits": [], "analyst:ana": []})
        'ana'
    """
    named = (each.partition(":") for each in costs)
    return next((name for kind, _, name in named if kind == "analyst"), None)


def purpose(facts: Mapping[str, Any]) -> str:
    """Return what a charge was for: rows and columns, groups, and which rows.

    Example:
        >>> part = "Asked(part=Counts(expression='fare'))"
        >>> notes = {"by": ["zone"], "steps": ["where a > 3"]}
        >>> purpose({"query": part, "notes": notes})
        'fare by zone, where a > 3'
    """
    query, notes = str(facts.get("query") or ""), facts.get("notes") or {}
    if "by" not in notes:  # not a table's
        text = " ".join((query or str(facts.get("mechanism") or "")).split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    columns = [(a or b)[1:-1] for a, b in _EXPRESSION.findall(query)]
    named = dict.fromkeys([*(["rows"] if _ROWS in query else []), *columns])
    by = f" by {', '.join(notes['by'])}" if notes["by"] else ""
    return ", ".join([f"{', '.join(named) or 'rows'}{by}", *notes.get("steps", ())])


def columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the charges for people; keys, which are long, stand last."""
    who = Column("analyst", [each["analyst"] or "" for each in rows])
    return [
        Column("entry", [str(each["entry"]) for each in rows], right=True),
        Column("when (UTC)", [e["at"][:16].replace("T", " ") for e in rows]),
        Column("state", [each["state"] for each in rows]),
        Column("cost", [each["cost"] for each in rows]),
        *([who] if any(each["analyst"] for each in rows) else []),
        Column("what", [each["what"] for each in rows]),
        Column("key", [each["key"] for each in rows]),
    ]
