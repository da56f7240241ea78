"""What training returns: a model that knows what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, final

from hush import suggestions
from hush.learn.sgd.dp_sgd import Training
from hush.privacy.curve import Curve
from hush.units import Neighbors


@final
@dataclass(frozen=True)
class Trained(suggestions.Helpful):
    """Public results of one run: noisy parameters, their mean, and the guarantee.

    `epsilon` is what the run costs at `delta`: that of the call, or else the default.
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
    delta: float = 1e-5

    @property
    def _hints(self) -> Mapping[str, str]:
        return suggestions.TRAINED

    @property
    def curve(self) -> Curve:
        """The guarantee of the whole run."""
        return self.training.curve()

    @property
    def epsilon(self) -> float:
        """What the whole run costs at `delta`, rounded up."""
        found: float = self.curve.epsilon_at(self.delta)
        return found

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

    def __str__(self) -> str:
        """Return what was trained, for which unit, and what it cost."""
        epsilon = self._rounded_up()
        changed = {
            Neighbors.ADD_REMOVE: "added or removed",
            Neighbors.REPLACE_ONE: "replaced",
        }[self.training.neighbors]
        return (
            f"{self.steps} steps with noise of {self.std:.4g} clips: epsilon "
            f"{epsilon:f} at delta {self.delta:.3g}, for one row {changed}"
            + (" (seeded: a rehearsal)" if self.seeded else "")
        )

    def _rounded_up(self) -> Decimal:
        """Return ε in four digits, none of which understates it."""
        found, digits = self.epsilon, Context(prec=4, rounding=ROUND_CEILING)
        # A search for the noise leaves ε a hair above what was asked for, and proven.
        asked = digits.create_decimal(found * (1 - 1e-9))
        if self.curve.delta_at(float(asked)) > self.delta:
            asked = digits.create_decimal(found)
        return asked.normalize()

    def __repr__(self) -> str:
        resumed = f", resumed_from={self.resumed_from}" if self.resumed_from else ""
        return f"Trained({self.training!r}{resumed})"
