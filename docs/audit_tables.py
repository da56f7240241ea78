"""hush audits itself: `python docs/audit_tables.py` prints the tables of docs/audit.md.

Names of subjects may follow, to audit only those whose names start with one of them.
Seeds are fixed but for tables, whose ledger takes only the system's randomness.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "audit"))

import sabotages
import suite

from hush.noise import Seeded


def own(only: tuple[str, ...] = (), seed: int = 0) -> Iterator[str]:
    """Yield the table of everything at its claim, and with less noise."""
    yield "| what | runs | p at its claim | twin: noise × | p of the twin | caught |"
    yield "|---|---|---|---|---|---|"
    for place, subject in enumerate(suite.every()):
        if only and not subject.name.startswith(only):
            continue
        good, bad = subject.audit(seed + place), subject.twin(seed + place)
        caught = "yes" if bad.p_value <= suite.FAMILY else "**no**"
        yield (
            f"| {subject.name} | {good.samples:,} | {good.p_value:.2g} "
            f"| {subject.factor} | {suite.number(bad.p_value)} | {caught} |"
        )


def others(seed: int = 0) -> Iterator[str]:
    """Yield the table of sabotages that are made by hand."""
    yield "| sabotage | runs | p | epsilon at least | caught |"
    yield "|---|---|---|---|---|"
    for place, twin in enumerate(sabotages.twins(Seeded(99))):
        found = twin.audit(seed + place)
        caught = "yes" if found.p_value <= suite.FAMILY else "**no**"
        yield (
            f"| {twin.name} | {found.samples:,} | {suite.number(found.p_value)} "
            f"| {found.epsilon_lower:.2f} | {caught} |"
        )


if __name__ == "__main__":
    for line in own(tuple(sys.argv[1:])):
        print(line, flush=True)
    print()
    for line in others():
        print(line, flush=True)
