"""Print the table of canaries in docs/audit.md: the strongest claims that can fall.

A trainer that publishes its coins is as bad as can be. For each number of canaries the
table says which claims it breaks at level 0.95: up to which μ of Gaussian privacy and
up to which ε of pure privacy, with one canary per person and with one of many.

Run with `python docs/audit_canaries.py`; a test compares the page.
"""

from collections.abc import Callable

from hush.audit.one_run import game_of
from hush.privacy import GDP, Curve, Pure

CANARIES = (100, 400, 2_000, 10_000)
ROWS: tuple[tuple[str, Callable[[float], Curve], int], ...] = (
    ("μ, one canary per person", GDP, 1),
    ("μ, one of 10", GDP, 10),
    ("μ, one of 100", GDP, 100),
    ("μ, one of 1 000", GDP, 1_000),
    ("ε, one canary per person", Pure, 1),
    ("ε, one of 100", Pure, 100),
)


def strongest(make: Callable[[float], Curve], canaries: int, choices: int) -> float:
    """Return the largest parameter, in steps of 0.1, that so many canaries refute."""
    steps = 1
    while game_of(canaries, make(steps / 10), choices=choices).can_refute:
        steps += 1
    return (steps - 1) / 10


def table() -> list[str]:
    """Return the lines of the table."""
    lines = ["| canaries | " + " | ".join(f"{m:,}" for m in CANARIES) + " |"]
    lines.append("|---" * (len(CANARIES) + 1) + "|")
    for name, make, choices in ROWS:
        told = [f"{strongest(make, m, choices):.1f}" for m in CANARIES]
        lines.append(f"| {name} | " + " | ".join(told) + " |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
