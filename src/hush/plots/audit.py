"""What an audit reached, against what the claim allows."""

from typing import Any

from hush.plots.style import new


def audit(found: Any, *, axes: Any = None) -> Any:
    """Draw the ROC of an audit below the power that its claim allows.

    Example:
        >>> from hush.audit import audit as run
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import Seeded
        >>> from hush.privacy import Pure
        >>> found = run(Laplace(1.0), 0, 1, claim=Pure(1.0), samples=400,
        ...             source=Seeded(1))
        >>> audit(found).get_ylabel()
        'true positives (power)'
    """
    return found.plot(new(axes, wide=4.8, high=4.4))
