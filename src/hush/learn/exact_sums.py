"""Rows and targets on a lattice so coarse that their products and sums are exact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.learn.features import Box
from hush.learn.targets import Targets

Floats = NDArray[np.float64]
BITS = 14  # entries are multiples of 2^-14, so a product of two fits in 28 bits
MOST = 1 << 24  # rows: n·2^28 stays below 2^53


def exact_rows(
    rows: Box, targets: Targets, size: int, value: Any
) -> tuple[Floats, Floats]:
    """Return rows and targets in [-1, 1], each a multiple of 2^-14: private.

    Guarantee: each row is a function of one record; one without a target is zero.
    """
    features, answers = value
    mapped = rows.map(features)
    y, without = targets.map(answers)
    columns = len(rows.lower)
    if mapped.shape != (size, rows.dimension(columns)) or y.shape != (size,):
        raise InvalidArgument(
            f"data must be {size} rows of {columns} columns and as many targets; got "
            f"shapes {np.shape(features)} and {np.shape(answers)}."
        )
    mapped[without] = 0.0
    x, y = (np.ldexp(np.rint(np.ldexp(each, BITS)), -BITS) for each in (mapped, y))
    return x, y
