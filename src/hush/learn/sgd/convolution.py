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
    places = _places(given.shape[:-1], shape, params)
    flat = given.reshape(-1, given.shape[-1])
    found = flat.at[places.ravel()].get(mode="promise_in_bounds")
    return found.reshape(places.shape[0], -1)


def _places(
    padded: tuple[int, ...], shape: tuple[int, ...], params: dict[str, Any]
) -> Any:
    """Return where in the padded input each window looks, (outputs, kernel places)."""
    spatial = [shape[i] for i in params["dimension_numbers"].rhs_spec[2:]]
    starts, offsets = [np.arange(padded[0])], [np.arange(1)]
    for size, width, stride, dilation in zip(
        padded[1:],
        spatial,
        params["window_strides"],
        params["rhs_dilation"],
        strict=True,
    ):
        count = (size - (width - 1) * dilation - 1) // stride + 1
        starts.append(np.arange(count) * stride)
        offsets.append(np.arange(width) * dilation)
    steps = [math.prod(padded[i + 1 :]) for i in range(len(padded))]

    def total(axes: list[Any]) -> Any:
        return np.array(
            [
                sum(a * b for a, b in zip(at, steps, strict=True))
                for at in itertools.product(*axes)
            ],
            np.int32,
        )

    return total(starts)[:, None] + total(offsets)[None, :]


def product(values: Any, kernel: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Return the convolution and the windows from which it was made.

    The gradient reaches the input, not the kernel: who needs that takes the windows.
    """
    numbers = params["dimension_numbers"]
    out_axis, in_axis, *spatial = numbers.rhs_spec
    seen = windows(lax.stop_gradient(values), kernel.shape, params)
    matrix = jnp.transpose(kernel, (*spatial, in_axis, out_axis))
    matrix = matrix.reshape(-1, kernel.shape[out_axis])

    @jax.custom_vjp
    def convolved(values: Any, seen: Any) -> Any:
        shape = jax.eval_shape(partial(_convolved, params=params), values, kernel).shape
        image, channel, *positions = numbers.out_spec
        axes = (image, *positions, channel)
        found = jnp.matmul(seen, lax.stop_gradient(matrix))
        found = found.reshape([shape[i] for i in axes])
        return jnp.transpose(found, np.argsort(axes))

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
    found = jnp.einsum("bto,bti->boi", slopes, seen, precision=lax.Precision.HIGHEST)
    out_axis, in_axis, *spatial = numbers.rhs_spec
    found = found.reshape(
        seen.shape[0], shape[out_axis], *(shape[i] for i in spatial), shape[in_axis]
    )
    # From (examples, out, *spatial, in) to the kernel's own order.
    order = [0] * len(shape)
    order[out_axis], order[in_axis] = 1, len(shape)
    for i, axis in enumerate(spatial):
        order[axis] = i + 2
    return jnp.transpose(found, (0, *order))
