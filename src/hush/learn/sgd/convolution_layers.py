"""Convolutions of one example as products with windows of the input.

A kernel sees one window of the input at every place of the output. With the windows as
rows of a matrix the convolution is a product, and so is the kernel's gradient.
"""

import itertools
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _convolved(values: Any, kernel: Any, params: dict[str, Any]) -> Any:
    return lax.conv_general_dilated_p.bind(values, kernel, **params)


def windows(values: jax.Array, shape: tuple[int, ...], params: dict[str, Any]) -> Any:
    """Return the windows of an input, (places, kernel places · channels)."""
    numbers = params["dimension_numbers"]
    image, channel, *positions = numbers.lhs_spec
    given = jnp.transpose(values, (image, *positions, channel))
    edges = [(0, 0, 0), *((a, b, 0) for a, b in params["padding"]), (0, 0, 0)]
    given = lax.pad(given, jnp.zeros((), given.dtype), edges)
    spatial = [shape[i] for i in numbers.rhs_spec[2:]]
    strides, dilations = params["window_strides"], params["rhs_dilation"]
    ends = [
        (size - (width - 1) * dilation - 1) // stride * stride + 1
        for size, width, stride, dilation in zip(
            given.shape[1:-1], spatial, strides, dilations, strict=True
        )
    ]
    found = []
    for offset in itertools.product(*map(range, spatial)):
        start = [o * d for o, d in zip(offset, dilations, strict=True)]
        stop = [a + b for a, b in zip(start, ends, strict=True)]
        first, last = (0, *start, 0), (given.shape[0], *stop, given.shape[-1])
        found.append(lax.slice(given, first, last, (1, *strides, 1)))
    stacked = jnp.stack(found, axis=-2)  # (image, *places, kernel places, channels)
    return stacked.reshape(math.prod(found[0].shape[:-1]), -1)


def product(values: Any, kernel: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Return the convolution and the windows from which it was made.

    The gradient reaches the input, not the kernel: who needs that takes the windows.
    """
    numbers = params["dimension_numbers"]
    out_axis, in_axis, *spatial = numbers.rhs_spec
    seen = windows(lax.stop_gradient(values), kernel.shape, params)
    # Else the compiler looks windows up inside the product, one by one.
    seen = lax.optimization_barrier(seen)
    matrix = jnp.transpose(kernel, (*spatial, in_axis, out_axis))
    matrix = matrix.reshape(-1, kernel.shape[out_axis])

    @jax.custom_vjp
    def convolved(values: Any, seen: Any) -> Any:
        shape = jax.eval_shape(partial(_convolved, params=params), values, kernel).shape
        image, channel, *positions = numbers.out_spec
        axes = (image, *positions, channel)
        found = jnp.matmul(seen, lax.stop_gradient(matrix))
        found = found.reshape([shape[i] for i in axes])
        return jnp.transpose(found, tuple(map(int, np.argsort(axes))))

    def forward(values: Any, seen: Any) -> Any:
        return convolved(values, seen), (values, seen)

    def backward(kept: Any, slope: Any) -> Any:
        values, seen = kept
        back = jax.linear_transpose(
            lambda x: _convolved(x, lax.stop_gradient(kernel), params), values
        )
        return (*back(slope), jnp.zeros_like(seen))

    convolved.defvjp(forward, backward)
    return convolved(values, seen), seen


def kernel_gradients(
    seen: jax.Array, outputs: jax.Array, shape: tuple[int, ...], params: dict[str, Any]
) -> jax.Array:
    """Return ∂/∂kernel for each example, (examples, *shape).

    `seen` are the windows and `outputs` the gradient at the convolution's output, with
    a leading axis of examples.
    """
    numbers = params["dimension_numbers"]
    image, channel, *positions = numbers.out_spec
    axes = (0, image + 1, *(p + 1 for p in positions), channel + 1)
    slopes = jnp.transpose(outputs, axes)
    slopes = slopes.reshape(seen.shape[0], seen.shape[1], -1)
    found = jnp.einsum("bti,bto->bio", seen, slopes, precision=lax.Precision.HIGHEST)
    out_axis, in_axis, *spatial = numbers.rhs_spec
    found = found.reshape(
        seen.shape[0], *(shape[i] for i in spatial), shape[in_axis], shape[out_axis]
    )
    # From (examples, *spatial, in, out) to the kernel's own order.
    order = [0] * len(shape)
    order[in_axis], order[out_axis] = len(shape) - 1, len(shape)
    for i, axis in enumerate(spatial):
        order[axis] = i + 1
    return jnp.transpose(found, (0, *order))
