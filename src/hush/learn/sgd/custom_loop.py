"""Parts of DP-SGD for people with a loop of their own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hush import checks
from hush.learn.sgd import batches, clipping, gradient_noise
from hush.learn.sgd.batches import described
from hush.learn.sgd.batches import leaves as taken
from hush.learn.sgd.dp_sgd import Training
from hush.learn.sgd.per_example import trace
from hush.learn.sgd.program import Program
from hush.noise import SECURE, Source
from hush.noise.source import checked_source


def clipped_sum(
    loss: Callable[[Any, Any], Any], params: Any, rows: Any, *, clip: float = 1.0
) -> Any:
    """Return Σ clip(∇ loss(params, row)), in the shape of the parameters: private.

    Each gradient has norm `clip` at most; one that is not finite counts as zero. Works
    inside `jax.jit`. The sum is in float32 and without noise: it is what `step` adds
    noise to, not something to publish.

    Example:
        >>> rows = jnp.array([3.0, -0.5, jnp.nan])
        >>> loss = lambda slope, x: slope * x
        >>> float(clipped_sum(loss, jnp.float32(1), rows, clip=1.0))
        0.5
    """
    clip = checks.real("clip", clip, above=0)
    leaves = taken(rows)
    example = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), described(rows)
    )
    traced = trace(loss, params, example)
    parts = clipping.gradients(traced, jax.tree.leaves(params), leaves)
    valid = jnp.ones(jnp.shape(leaves[0])[0], bool)
    sums = clipping.group_sums(parts, valid, clip, 1)
    flat = jnp.concatenate([each[0] for each in sums]) * clip
    return Program.as_parameters(flat, params)


def noise(plan: Training, *, source: Source = SECURE) -> Any:
    """Return one noise vector of a plan, in whole lattice steps of `plan.grid`."""
    return gradient_noise.steps(plan.deviation, plan.dimension, checked_source(source))


def step(
    program: Program, plan: Training, params: Any, data: Any, *, source: Source = SECURE
) -> Any:
    """Return one noisy mean gradient: a fresh secret batch, clipped, summed, noised.

    `program` and `plan` come from `sgd.plan`; `params` may be anything you have made
    of earlier gradients. Keep `data` on the device (`jax.numpy.asarray`) between calls.

    Guarantee: `plan.step_curve()` for each call; `plan.curve()` for `plan.steps` calls.
    """
    checked_source(source)
    rows = [jnp.asarray(leaf) for leaf in taken(data)]
    # More rows than the plan knows of are no error: that would tell how many there are.
    places = batches.positions(plan.records, rows[0].shape[0])
    if plan.sampling == "poisson":
        found = batches.poisson_batch(places, plan.rate, source=source)
    else:
        found = batches.fixed_batch(places, plan.batch, source=source)
    found = np.where(found < rows[0].shape[0], found, -1)
    least = 2 if plan.sampling == "poisson" else 1  # as in Program.advance
    slots = batches.arranged([found], plan.rows, least)[0]
    given = program.on_devices(
        (slots, np.int32(slots.shape[0]), noise(plan, source=source))
    )
    return program.gradient(plan, params, rows, *given)
