"""Per-example gradients of a convolution's kernel, as one product per example."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def kernel_gradients(
    inputs: jax.Array,
    outputs: jax.Array,
    shape: tuple[int, ...],
    params: dict[str, Any],
) -> jax.Array:
    """Return ∂/∂kernel for each example, (examples, *shape).

    `inputs` and `outputs` are the convolution's input and the gradient at its output,
    with a leading axis of examples. Each place of the kernel sees one strided window of
    the input; a product over all output positions with these windows is the gradient.
    """
    numbers = params["dimension_numbers"]
    examples = inputs.shape[0]
    # To (examples, images, *positions, channels).
    left = _ordered(inputs, numbers.lhs_spec)
    right = _ordered(outputs, numbers.out_spec)
    edges = [
        (0, 0, 0),
        (0, 0, 0),
        *((a, b, 0) for a, b in params["padding"]),
        (0, 0, 0),
    ]
    left = lax.pad(left, jnp.float32(0), edges)
    spatial = [shape[i] for i in numbers.rhs_spec[2:]]
    places = right.shape[2:-1]
    windows = []
    for offset in itertools.product(*map(range, spatial)):
        start = [
            0,
            0,
            *(o * d for o, d in zip(offset, params["rhs_dilation"], strict=True)),
            0,
        ]
        stop = [
            left.shape[0],
            left.shape[1],
            *(
                s + (n - 1) * step + 1
                for s, n, step in zip(
                    start[2:-1], places, params["window_strides"], strict=True
                )
            ),
            left.shape[-1],
        ]
        strides = [1, 1, *params["window_strides"], 1]
        windows.append(lax.slice(left, start, stop, strides))
    stacked = jnp.stack(windows, axis=-2)  # (..., kernel places, channels)
    count = math.prod(right.shape[1:-1])
    a = stacked.reshape(examples, count, -1)
    g = right.reshape(examples, count, -1)
    found = jnp.einsum("bti,bto->bio", a, g, precision=lax.Precision.HIGHEST)
    found = found.reshape(examples, *spatial, left.shape[-1], right.shape[-1])
    # From (examples, *spatial, in, out) to the kernel's own order.
    axes = [0] * len(shape)
    out_axis, in_axis, *rest = numbers.rhs_spec
    axes[out_axis], axes[in_axis] = len(shape), len(shape) - 1
    for i, axis in enumerate(rest):
        axes[axis] = i + 1
    return jnp.transpose(found, (0, *axes))


def _ordered(values: jax.Array, spec: Any) -> jax.Array:
    """Return (examples, images, *positions, channels), whatever the layout was."""
    image, channel, *positions = spec
    return jnp.transpose(
        values, (0, image + 1, *(p + 1 for p in positions), channel + 1)
    )
