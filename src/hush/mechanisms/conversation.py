"""A conversation with a mechanism: one question at a time, and never copied."""

import threading
from typing import Any, NoReturn

from hush.errors import InvalidArgument
from hush.process import Owner


class OneAtATime:
    """Secret noise and a count that questions share.

    Guarantee: two threads never use the same hit, and no copy begins with the count or
    the noise of the original: none is made, and one that a fork made answers nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = Owner("a conversation")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidArgument(
            "a conversation is never copied or pickled: its copy could be asked once "
            "more with the same noise. Start a new one."
        )
