"""Budgets that cannot be overspent, lost or forged."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.ledger.accounts import Admin
from hush.ledger.budget import Budget, Left, Remaining
from hush.ledger.ledger import Ledger
from hush.ledger.release import Receipt, Record, Release
from hush.ledger.verify import Verdict

__all__ = [
    "Admin",
    "Budget",
    "Ledger",
    "Left",
    "Receipt",
    "Record",
    "Release",
    "Remaining",
    "Verdict",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
