"""Coefficients by DP-SGD: noisy gradients of the logistic loss over bounded rows."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import jax.numpy as jnp
import numpy as np
import optax
from jax.nn import softplus
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.features import Rows
from hush.learn.sgd import dp_sgd
from hush.learn.sgd.dp_sgd import Training
from hush.learn.sgd.program import Program
from hush.learn.sgd.train import Session, plan
from hush.learn.targets import Targets
from hush.mechanisms.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.serialization import tagged
from hush.units import Neighbors


def _loss(theta: Any, example: Any) -> Any:
    row, sign = example
    return softplus(-sign * (row @ theta))


@final
@tagged("sgd.descent/1")
@dataclass(frozen=True, repr=False)
class Descent(Mechanism):
    """Map every row into public bounds, then run `inner` on the logistic loss.

    Bad rows and rows without a target are zero, and so are their gradients.

    Guarantee: that of `inner`, DP-SGD on fixed-size batches, for one row replaced: a
    mapped row depends on its own record alone, and `inner` clips it again.

    Reference: [ACGMMTZ16]; N11.A7; docs/proofs/sgd.md.
    """

    inner: Training
    rows: Rows
    targets: Targets
    size: int
    columns: int
    penalty: float = 0.0
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.real("penalty", self.penalty, at_least=0, at_most=1e9)
        if self.inner.neighbors is not self.neighbors:
            raise InvalidArgument("inner must be for fixed-size batches.")

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        delta: float | None,
        rows: Rows,
        targets: Targets,
        size: int,
        columns: int,
        penalty: float,
    ) -> Self:
        """Return the run that is (ε, δ)-private, chosen from public numbers."""
        width = rows.dimension(columns)
        # Shapes without memory: the plan needs nothing else of the data.
        data = (
            np.broadcast_to(np.float32(0), (size, width)),
            np.broadcast_to(np.float32(0), (size,)),
        )
        _, inner = plan(
            _loss,
            jnp.zeros(width, jnp.float32),
            data,
            epsilon=epsilon,
            delta=delta,
            sampling="fixed-size",
        )
        return cls(inner, rows, targets, size, columns, penalty)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return self.inner.curve(sensitivity)

    @property
    def error(self) -> Any:
        """Law of the noise on one coefficient's gradient in one step, in clips."""
        return Gaussian(std=self.inner.std, step=self.inner.grid.step).error

    @property
    def program(self) -> Program:
        """Loss, first coefficients and optimizer: all public."""
        width = self.rows.dimension(self.columns)
        steps = dp_sgd.optimizer(self.inner)
        if self.penalty:
            steps = optax.chain(
                optax.add_decayed_weights(self.penalty / self.size), steps
            )
        start = jnp.zeros(width, jnp.float32)
        one = (jnp.zeros(width, jnp.float32), jnp.zeros((), jnp.float32))
        return Program(_loss, start, steps, one)

    @property
    def _unit(self) -> float:
        """What makes entries of the longest rows about 1: steps are chosen for such."""
        width = self.rows.dimension(self.columns)
        return math.sqrt(width) / self.rows.length(self.columns)

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.float64]:
        """Return the coefficients of the mapped rows: a mean of noisy iterates."""
        features, answers = value
        mapped = self.rows.map(features)
        signs, without = self.targets.map(answers)
        wanted = (self.size, self.rows.dimension(self.columns))
        if mapped.shape != wanted or signs.shape != (self.size,):
            raise InvalidArgument(
                f"data must be {self.size} rows of {self.columns} columns and as many "
                f"labels; got shapes {np.shape(features)} and {np.shape(answers)}."
            )
        mapped[without] = 0.0
        data = ((mapped * self._unit).astype(np.float32), signs.astype(np.float32))
        session = Session(self.program, None, self.inner.steps, 0.0, shown=False)
        found = self.inner.run((session, data), source=source)["average"]
        return np.asarray(found, np.float64) * self._unit
