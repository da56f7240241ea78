"""Equality of Ibis expressions, for threads that share them.

Ibis remembers which expressions are equal, by their addresses, and forgets a pair when
one of them is deleted. It also takes away the row of the other where that is empty, in
which another thread may be writing at that moment. What is written then is never
forgotten: a later expression at the same address has the equality of a dead one, and
the wrong SQL. Here a row goes when its own expression goes, and not before.
"""

from typing import Any

from ibis.common.bases import Comparable


def _forget(self: Any) -> None:
    """Take every pair of a dying expression out of the memory.

    Nobody compares what is dying. So its row no longer grows, and no row of another
    gets a pair with it.
    """
    known: dict[int, dict[int, bool]] = self.__cache__  # there at the very end, too
    mine = id(self)
    for other in tuple(known.pop(mine, ())):
        row = known.get(other)
        if row is not None:
            row.pop(mine, None)


def keep_apart() -> None:
    """Let Ibis forget equalities so that threads do not meet each other's."""
    Comparable.__del__ = _forget
