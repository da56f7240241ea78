"""How far two inputs of a mechanism are apart, exactly, in the mechanism's own metric.

The metric is the mechanism's: see `hush.mechanisms.metrics`. A mechanism of your own
says its own by an attribute `metric`, or joins by `distance.register`.
"""

from functools import singledispatch
from typing import Any

from hush.mechanisms.mechanism import metric_of
from hush.mechanisms.metrics import (
    NONE,
    Distance,
    lp,
    nonzero_differences,
    records,
)

__all__ = ["NONE", "Distance", "distance", "lp", "nonzero_differences", "records"]


@singledispatch
def distance(_mechanism: Any, _first: Any, _second: Any) -> Distance | None:
    """Return the distance of two inputs; None where the metric is not known.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> float(distance(Laplace(scale=1.0), [0, 1], [1, 0]))
        2.0
    """
    return metric_of(_mechanism).distance(_first, _second)
