"""Fork safety: the process that made a live object; a forked copy answers nothing.

A conversation counts what it may still say, and keeps secret noise. A fork copies both:
each copy would answer as often as the original, with the same noise.
"""

import os
from typing import final

from hush.errors import InvalidArgument

# Another object in every process. The number of a process is used again after its end,
# so it does not suffice; it is compared too, for forks that Python does not notice.
_mark = object()


def _new_mark() -> None:
    global _mark
    _mark = object()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_new_mark)


@final
class Owner:
    """The process in which this was made.

    Guarantee: `check` passes in that process and raises in every other.

    Example:
        >>> Owner("a holdout").check()
    """

    def __init__(self, what: str) -> None:
        self._what, self._mark, self._number = what, _mark, os.getpid()

    def check(self) -> None:
        """Refuse a copy that a fork made; call it before a lock, too, is taken.

        Code of the caller may fork: check again after it ran, and before a draw.
        """
        if self._mark is not _mark or self._number != os.getpid():
            raise InvalidArgument(
                f"{self._what} answers only in the process that made it: a forked copy "
                "would answer the same questions again, with the same noise. Ask "
                "there, or use threads (n_jobs=1, a ThreadPool) in place of processes."
            )
