"""An answer that was released before, from the ledger alone: no data is read."""

from typing import TYPE_CHECKING, Any

from hush.errors import HushError, InvalidArgument, Unsupported
from hush.ledger import Ledger, Release

if TYPE_CHECKING:
    from hush.cli.config import Config


def answer(about: "Config", ledger: Ledger, text: str, key: str) -> Any:
    """Return what the statement was answered under a key, whatever became of the data.

    Guarantee: a function of the ledger; nothing is charged.
    """
    try:
        found = ledger.stored(key)
    except InvalidArgument:
        raise InvalidArgument(
            f"no answer is stored under --key {key!r}. `hush budget` lists the keys."
        ) from None
    return _read(about, text, key, found)


def _read(about: "Config", text: str, key: str, found: Release) -> Any:
    try:
        return about.unread().prepare(text, **about.known).answer(found)
    except Unsupported:
        raise Unsupported(
            'bounds = "private" cannot be read back: write the bounds that were found '
            f"into {about.path.name}; the receipt of the answer has them."
        ) from None
    except HushError:
        raise InvalidArgument(
            f"the answer under --key {key!r} is one to another statement, or "
            f"{about.path.name} had another unit, rows, bounds or keys then. Ask as it "
            "was asked."
        ) from None
