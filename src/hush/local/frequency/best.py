"""Which oracle to use: the one with the least expected error."""

from typing import Any

from hush import checks
from hush.errors import InvalidArgument
from hush.local.frequency.generalized_randomized_response import RandomizedResponse
from hush.local.frequency.hadamard import HadamardResponse
from hush.local.frequency.local_hashing import LocalHashing
from hush.local.frequency.oracle import Oracle
from hush.local.frequency.subset_selection import SubsetSelection
from hush.local.frequency.unary_encoding import UnaryEncoding
from hush.local.randomizer import count_of

_ORACLES: tuple[Any, ...] = (
    RandomizedResponse,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
)


def best(*, size: int, epsilon: float, people: int, width: int | None = None) -> Oracle:
    """Return the oracle whose sum of squared errors is expected to be least.

    `width` caps the bytes of a report. Errors all fall as 1/people, so the choice is
    the same for any number of them; it is made in exact arithmetic, the same on every
    machine, and ties go to the shorter report.

    Example:
        >>> best(size=4, epsilon=1.0, people=10_000)
        RandomizedResponse(epsilon=1.0, size=4)
        >>> best(size=1000, epsilon=1.0, people=10_000)
        SubsetSelection(epsilon=1.0, size=1000)
        >>> best(size=1000, epsilon=1.0, people=10_000, width=8)
        LocalHashing(epsilon=1.0, size=1000)
    """
    count_of(people)
    oracles: list[Oracle] = [make(epsilon, size) for make in _ORACLES]
    if width is not None:
        width = checks.whole("width", width, at_least=1)
        oracles = [each for each in oracles if each.width <= width]
    if not oracles:
        raise InvalidArgument(
            f"width must leave room for a report; {width} bytes do not hold one of "
            f"{size} categories."
        )
    return min(oracles, key=lambda each: (each.unit_error, each.width))
