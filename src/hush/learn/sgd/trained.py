"""What training returns: a model that knows what it cost."""

from dataclasses import dataclass
from typing import Any, final

from hush.learn.sgd.training import Training
from hush.privacy.curve import Curve


@final
@dataclass(frozen=True)
class Trained:
    """Public results of one run: noisy parameters, their mean, and the guarantee.

    `average` is the mean of the iterates, the later the heavier: usually the better
    model, and free. `release` and its receipt are there when a ledger paid.
    """

    params: Any
    average: Any
    training: Training
    seeded: bool
    release: Any = None

    @property
    def curve(self) -> Curve:
        """The guarantee of the whole run."""
        return self.training.curve()

    @property
    def steps(self) -> int:
        """How many noisy steps were made."""
        return self.training.steps

    @property
    def std(self) -> float:
        """The noise on a clipped sum, in clips."""
        return self.training.std

    @property
    def receipt(self) -> Any:
        """The receipt of the ledger, or None."""
        return None if self.release is None else self.release.receipt

    def __repr__(self) -> str:
        return f"Trained({self.training!r})"
