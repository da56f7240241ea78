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
    `resumed_from` is how many steps a checkpoint held already: all of them where it was
    finished, and then nothing was trained and the data were not looked at.
    """

    params: Any
    average: Any
    training: Training
    seeded: bool
    release: Any = None
    resumed_from: int = 0

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
        resumed = f", resumed_from={self.resumed_from}" if self.resumed_from else ""
        return f"Trained({self.training!r}{resumed})"
