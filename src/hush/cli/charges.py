"""The charges of an account, in a line each: when, how much, and for what."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hush.cli.layout import Column
from hush.ledger import Record
from hush.ledger.account import cost_text
from hush.ledger.receipt import spent

_CHARGED = ("charge", "reserve", "hold")
_LONGEST = 60  # letters of a text that was not made for one line
_QUOTED = r"(?P<{0}>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
# Expressions, as the parts of a query name them in a receipt.
_EXPRESSION = re.compile(
    rf"\({_QUOTED.format('a')}, Grid\(|\b(?:text|expression)={_QUOTED.format('b')}"
)
_ROWS = "form=<Form.ROWS: "


def listed(history: Sequence[Record], account: str) -> list[dict[str, Any]]:
    """Return the charges to an account as JSON types, oldest first."""
    found = []
    for each in history:
        if each.kind in _CHARGED and account in each.content["costs"]:
            notion, amounts = spent(each.content)[account]
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
                    "what": what(facts),
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


def what(facts: Mapping[str, Any]) -> str:
    """Return what a charge was for: rows and columns, groups, and which rows.

    Example:
        >>> part = "Asked(part=Counts(expression='fare'))"
        >>> what({"query": part, "notes": {"by": ["zone"], "steps": ["where a > 3"]}})
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
