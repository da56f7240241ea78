"""One class against all others, for each class in turn, from one budget."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.learn.features import Rows
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.targets import Classes
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged
from hush.units import Neighbors


@final
@tagged("learn.one_versus_rest/1")
@dataclass(frozen=True, repr=False)
class OneVersusRest(Mechanism):
    """One binary mechanism per class, all on the same rows.

    Guarantee: one row replaced moves all of them, so their ε and δ are added.

    Reference: N6.1; docs/proofs/learn_objective.md.
    """

    parts: tuple[ObjectivePerturbation, ...]
    epsilon: float
    delta: float
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    @classmethod
    def plan(
        cls, epsilon: float, *, delta: float, targets: Classes, **public: Any
    ) -> Self:
        """Return the mechanism that gives each class the same share."""
        count = len(targets.names)
        checks.real("epsilon", epsilon, above=0)
        checks.real("delta", delta, at_least=0, below=1)
        share = epsilon / count * (1 - 2.0**-50)
        parts = tuple(
            ObjectivePerturbation.plan(
                share,
                delta=delta / count * (1 - 2.0**-50),
                targets=Classes(targets.names, place),
                **public,
            )
            for place in range(count)
        )
        return cls(parts, share, delta)

    @property
    def rows(self) -> Rows:
        """The rule for rows, the same for all."""
        return self.parts[0].rows

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        curves = [part.curve(sensitivity) for part in self.parts]
        if self.delta == 0 or sensitivity == 0:
            return Pure(epsilon=at_least(sum(_exact(c) for c in curves)))
        delta = sum(curve.delta_at(self.epsilon) for curve in curves)
        count = len(self.parts)
        return Approx(at_least(count * checks.rational("epsilon", self.epsilon)), delta)

    @property
    def error(self) -> tuple[Any, ...]:
        """Bounds on the distances to the minima without noise, one per class."""
        return tuple(part.error for part in self.parts)

    @property
    def perturbation(self) -> tuple[Any, ...]:
        """The laws of the noise, one per class."""
        return tuple(part.perturbation for part in self.parts)

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one row of coefficients per class."""
        return np.array([part.run(value, source=source) for part in self.parts])


def _exact(curve: Curve) -> Any:
    return checks.rational("epsilon", curve.epsilon_at(0.0), above=None)
