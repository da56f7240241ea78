"""Sizes as NumPy understands them, filled block by block in bounded memory."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks

Size = int | tuple[int, ...] | None

# Large enough to amortise the calls, small enough to stay near the caches.
BLOCK = 1 << 17


def shaped(size: Size, dtype: Any, fill: Callable[[int], NDArray[Any]]) -> Any:
    """Return `fill` in the shape of `size`: a plain Python value when it is None."""
    if size is None:
        return fill(1)[0].item()
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(checks.whole("size", each, at_least=0) for each in sizes)
    total = math.prod(shape)
    if total <= BLOCK:
        return fill(total).reshape(shape)
    result = np.empty(total, dtype=dtype)
    for start in range(0, total, BLOCK):
        stop = min(start + BLOCK, total)
        result[start:stop] = fill(stop - start)
    return result.reshape(shape)
