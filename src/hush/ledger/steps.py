"""The steps of one release, by name, so that a fault can be planted between any two.

reserve → reserved → draw → drawn → seal → sealed → anchored → release. Nothing here
acts in production: `at` calls a hook that only tests install.
"""

from collections.abc import Callable
from typing import Final

STEPS: Final = (
    "reserve",
    "commit-reserve",
    "reserved",
    "draw",
    "drawn",
    "seal",
    "commit-seal",
    "sealed",
    "anchored",
)

_hook: Callable[[str], None] | None = None


def at(step: str) -> None:
    """Mark that the protocol has reached `step`."""
    if _hook is not None:
        _hook(step)


def plant(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every step; None removes it."""
    global _hook
    _hook = hook
