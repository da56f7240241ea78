"""How many rows one pass holds: few empty slots, few passes; from public numbers."""

import math

_EACH = 8  # what a pass costs besides its rows, in rows


def expected(rows: int, batch: int, spread: float) -> float:
    """Return how many passes of `rows` slots a batch needs on average.

    Sizes are taken as normal: this chooses a speed, and nothing depends on it.
    """
    if not spread:
        return float(max(1, math.ceil(batch / rows)))
    first = max(1, math.floor((batch - 6 * spread) / rows))
    last = math.ceil((batch + 6 * spread) / rows)
    more = (
        math.erfc((i * rows + 0.5 - batch) / (spread * math.sqrt(2))) / 2
        for i in range(first, last + 1)
    )
    return first + sum(more)


def cheapest(batch: int, spread: float, most: int) -> int:
    """Return the slots of a pass, `most` at most, that cost the least on average.

    Example:
        >>> cheapest(2048, 0.0, 256), cheapest(256, 16.0, 256)
        (256, 141)
    """
    least = max(1, min(most, batch) // 3)
    enough = min(most, math.ceil(batch + 4 * spread))
    stride = max(1, (enough - least) // 512)

    def cost(rows: int) -> float:
        return expected(rows, batch, spread) * (rows + _EACH)

    return min(range(enough, least - 1, -stride), key=cost)
