"""DP-SGD: any JAX model, per-example clipping, exact noise, honest batches."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.learn.sgd.batches import fixed_batch, poisson_batch
from hush.learn.sgd.custom_loop import clipped_sum, noise, step
from hush.learn.sgd.dp_sgd import Training
from hush.learn.sgd.result import Trained
from hush.learn.sgd.train import plan, train

__all__ = [
    "Trained",
    "Training",
    "clipped_sum",
    "fixed_batch",
    "noise",
    "plan",
    "poisson_batch",
    "step",
    "train",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
