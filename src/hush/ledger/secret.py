"""The ledger's secret: facts about data are named in receipts, and cannot be guessed.

A receipt is public. An unkeyed hash of what is known about a file would let anybody
try sizes until one fits. Keyed with a word that never leaves the ledger, it says no
more than whether two receipts speak of the same state.
"""

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hush.errors import LedgerError
from hush.ledger.stores import Store
from hush.ledger.two_phase import Transaction

if TYPE_CHECKING:
    from hush.ledger.ledger import Ledger

# Beside the history, not in it: what `history` shows may be published.
_TABLE = (
    "CREATE TABLE IF NOT EXISTS hush_secret (word TEXT NOT NULL PRIMARY KEY, "
    "place INTEGER NOT NULL UNIQUE CHECK (place = 0))"
)
_READ = "SELECT word FROM hush_secret"
_WRITE = (
    "INSERT INTO hush_secret (word, place) SELECT ?, 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM hush_secret)"
)
_DIGITS = 32

_known: WeakKeyDictionary[Store, bytes] = WeakKeyDictionary()


def marked(ledger: "Ledger", facts: str) -> str:
    """Return a name for facts: the same for the same facts, in this ledger alone.

    Guarantee: without the secret of the ledger, names of other facts look the same;
    the secret is neither in the history nor in a receipt.

    Example:
        >>> from hush.ledger import Ledger
        >>> one, two = Ledger.open("memory://"), Ledger.open("memory://")
        >>> marked(one, "a file") == marked(one, "a file")
        True
        >>> marked(one, "a file") == marked(two, "a file")
        False
    """
    word = _word(ledger._store)
    return hmac.new(word, facts.encode(), hashlib.sha256).hexdigest()[:_DIGITS]


def _word(store: Store) -> bytes:
    found = _known.get(store)
    if found is None:
        try:
            rows = store.read(lambda t: t.rows(_READ))
        except LedgerError:  # a ledger that was begun without one
            rows = []
        word = rows[0][0] if rows else store.run(_begun)
        found = _known[store] = str(word).encode()
    return found


def _begun(transaction: Transaction) -> str:
    """Write the secret, unless another process was first; return what is there."""
    new = (_TABLE, ()), (_WRITE, (secrets.token_hex(32),)), (_READ, ())
    return str(transaction.batch(new)[-1][0][0])
