"""Gradient clipping: norms from taps, weights from norms, and one contraction.

No per-example gradient of a tapped product is ever formed: its norm is the product of
two lengths, and the clipped sum is one product of weighted matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hush.learn.sgd import integers, rounding_slack
from hush.learn.sgd.convolution_layers import kernel_gradients
from hush.learn.sgd.per_example import Tap, Traced

_LARGE = 1 << 15  # entries of a weight for which XLA's products are fast as they are


def _exact() -> lax.Precision | None:
    """Return what makes products float32: the default on a CPU, asked for elsewhere."""
    return None if jax.default_backend() == "cpu" else lax.Precision.HIGHEST


def in_memory(tree: Any, rows: Sequence[Any]) -> Any:
    """Return the same arrays, held in memory: every reader gets the same bits.

    Left alone, the compiler computes a cheap expression anew for each of its readers,
    and x·y - z with one rounding for one and with two for another. Where it cancels,
    the sum would add a long row that the norm saw as short. XLA drops its own barriers
    before it joins loops; what a loop of its own carries it cannot look through. This
    one never turns, which the compiler, without the `rows`, does not know.
    """
    told = [each for each in rows if each.size]
    if not told:  # then no row can tell anything
        return tree
    some = min(told, key=lambda each: int(each.size))
    turns = jnp.max(jnp.real(some)) < jnp.min(jnp.real(some))
    found, _ = lax.while_loop(
        lambda carried: carried[1],
        lambda carried: (jax.tree.map(jnp.zeros_like, carried[0]), jnp.bool_(0)),
        (tree, turns),
    )
    return found


def _squares(values: jax.Array) -> jax.Array:
    """Return Σ x² of each row; long sums in blocks, which bounds their error."""
    flat = values.reshape(values.shape[0], -1)
    size = flat.shape[1]
    if size <= rounding_slack.BLOCK:
        return jnp.sum(flat * flat, axis=1)
    padded = jnp.pad(flat, ((0, 0), (0, -size % rounding_slack.BLOCK)))
    blocks = padded.reshape(flat.shape[0], -1, rounding_slack.BLOCK)
    # The barrier keeps the compiler from joining the two sums into one long one.
    first = lax.optimization_barrier(jnp.sum(blocks * blocks, axis=2))
    return jnp.sum(first, axis=1)


def _contracted(left: jax.Array, right: jax.Array) -> jax.Array:
    """Return Σ_m left[..., m, i]·right[..., m, j].

    XLA is slow at products of a transposed matrix with a narrow one. Then the narrower
    of the two is turned in memory, which the barriers ask for.
    """
    if left.shape[-1] * right.shape[-1] > _LARGE:
        return jnp.einsum("...mi,...mj->...ij", left, right, precision=_exact())
    if left.shape[-1] > right.shape[-1]:
        return jnp.swapaxes(_contracted(right, left), -1, -2)
    turned = lax.optimization_barrier(jnp.swapaxes(left, -1, -2))
    product = jnp.matmul(turned, right, precision=_exact())
    found: jax.Array = lax.optimization_barrier(product)
    return found


def _finite_rows(rows: jax.Array, kept: jax.Array) -> jax.Array:
    """Return finite rows: where any is not, those that are not kept become zero.

    All rows are nearly always finite. A loop that runs once or never spares the copy
    that a plain `where` would make; one product follows, so that its order is the same.
    """
    spoilt = ~jnp.all(jnp.isfinite(_squares(rows)))
    found, _ = lax.while_loop(
        lambda carried: carried[1],
        lambda carried: (jnp.where(kept[:, None], carried[0], 0.0), jnp.bool_(0)),
        (rows, spoilt),
    )
    return found


@final
@dataclass(frozen=True)
class Product:
    """The gradient of a matrix used once: an outer product per example."""

    inputs: jax.Array
    outputs: jax.Array
    rows_first: bool

    def squares(self, clip: float) -> jax.Array:
        """Return ‖a‖²‖g‖²; infinity where one is tiny and the other huge.

        Squares of entries below 2^-63 vanish. What they hide matters only there.
        """
        a, g = _squares(self.inputs), _squares(self.outputs)
        far, near = (rounding_slack.HUGE * clip) ** 2, rounding_slack.HUGE**-2
        hidden = ((a < near) & (g > far)) | ((g < near) & (a > far))
        return jnp.where(hidden, jnp.inf, a * g)

    def sums(self, weights: jax.Array, kept: jax.Array, groups: int) -> jax.Array:
        """Return the weighted sums of each group, flat; 0·NaN never arises."""
        a = _finite_rows(self.inputs, kept)
        g = jnp.where(kept[:, None], self.outputs, 0.0) * weights[:, None]
        left, right = (a, g) if self.rows_first else (g, a)
        if groups == 1:  # a product of matrices, faster than a batch of one
            return _contracted(left, right).reshape(1, -1)
        found = _contracted(
            left.reshape(groups, -1, left.shape[1]),
            right.reshape(groups, -1, right.shape[1]),
        )
        return found.reshape(groups, -1)


@final
@dataclass(frozen=True)
class Formed:
    """Per-example gradients of a parameter, formed one by one."""

    gradients: jax.Array

    def squares(self, clip: float) -> jax.Array:
        """Return the squared norms."""
        return _squares(self.gradients)

    def sums(self, weights: jax.Array, kept: jax.Array, groups: int) -> jax.Array:
        """Return the weighted sums of each group, flat."""
        flat = self.gradients.reshape(weights.shape[0], -1)
        if (
            flat.shape[1] <= rounding_slack.BLOCK
        ):  # a bias shares this with its layer's product
            scaled = jnp.where(kept[:, None], flat, 0.0) * weights[:, None]
            return jnp.sum(scaled.reshape(groups, -1, flat.shape[1]), axis=1)
        flat = _finite_rows(flat, kept)
        return jnp.einsum(
            "km,kmi->ki",
            weights.reshape(groups, -1),
            flat.reshape(groups, -1, flat.shape[1]),
            precision=_exact(),
        )


def _single(values: jax.Array) -> jax.Array:
    return values.astype(jnp.float32)


def gradients(
    traced: Traced, leaves: Sequence[Any], rows: Sequence[Any]
) -> list[Product | Formed]:
    """Return the per-example gradients of each parameter, as factors where possible."""
    taps, tapped = traced.taps, traced.tapped
    others = [i for i in range(traced.leaves) if i not in tapped]

    def loss(zeros: Any, free: Any, example: Any) -> Any:
        given = list(leaves)
        for i, value in zip(others, free, strict=True):
            given[i] = value
        return traced.value(zeros, given, example)

    zeros = [jnp.zeros(tap.shape, tap.dtype) for tap in taps]
    free = [leaves[i] for i in others]
    slope = jax.grad(loss, argnums=(0, 1), has_aux=True)
    (at_taps, at_others), inputs = jax.vmap(slope, in_axes=(None, None, 0))(
        zeros, free, rows
    )
    at_taps, at_others, inputs = in_memory((at_taps, at_others, inputs), rows)
    found: dict[int, Product | Formed] = {}
    for tap, g, a in zip(taps, at_taps, inputs, strict=True):
        found[tap.leaf] = _from_tap(tap, a, g, np.shape(leaves[tap.leaf]))
    for i, g in zip(others, at_others, strict=True):
        found[i] = Formed(_single(g))
    return [found[i] for i in range(traced.leaves)]


def _from_tap(
    tap: Tap, inputs: Any, outputs: Any, shape: tuple[int, ...]
) -> Product | Formed:
    if tap.kind == "product":
        return Product(_single(inputs), _single(outputs), tap.rows_first)
    return Formed(
        kernel_gradients(_single(inputs), _single(outputs), shape, tap.params)
    )


def weights(
    parts: Sequence[Product | Formed], valid: jax.Array, clip: float
) -> tuple[jax.Array, jax.Array]:
    """Return weights that clip to norm 1, in clips, and which rows are kept.

    A row whose gradient is NaN, infinite or so long that its square is, counts as zero.
    """
    total = parts[0].squares(clip)
    for part in parts[1:]:
        total = total + part.squares(clip)
    kept = valid & jnp.isfinite(total)
    # Should another reader of `kept` round the other way at the edge of infinity, a
    # row that it keeps is still as short as all others.
    length = jnp.sqrt(jnp.where(kept, total, jnp.finfo(jnp.float32).max))
    ratio = jnp.float32(clip) / length
    scaled = jnp.minimum(1.0, ratio) / jnp.float32(clip)
    return jnp.where(kept, scaled, 0.0), kept


def group_sums(
    parts: Sequence[Product | Formed], valid: jax.Array, clip: float, groups: int
) -> list[jax.Array]:
    """Return the clipped float32 sums of each group, in clips, one array per leaf."""
    weight, kept = weights(parts, valid, clip)
    return [part.sums(weight, kept, groups) for part in parts]


def lattice_sums(
    traced: Traced,
    leaves: Sequence[Any],
    rows: Sequence[Any],
    valid: jax.Array,
    *,
    clip: float,
    groups: int,
    inverse: float,
    wide: bool,
) -> list[integers.Whole]:
    """Return the clipped sum of each leaf in whole lattice steps, flat.

    Groups are rounded, then added exactly.
    """
    parts = gradients(traced, leaves, rows)
    sums = group_sums(parts, valid, clip, groups)
    return [integers.rounded_sum(each, inverse, wide=wide) for each in sums]


def additions_per_square(traced: Traced, leaves: Sequence[Any]) -> int:
    """Return how many additions a square meets in a norm, at most."""
    found = [rounding_slack.depth(int(np.prod(np.shape(leaf)))) for leaf in leaves]
    for tap in traced.taps:
        if tap.kind == "product":
            rows, columns = np.shape(leaves[tap.leaf])
            found[tap.leaf] = (
                rounding_slack.depth(rows) + rounding_slack.depth(columns) + 1
            )
    return max(found) + len(found)
