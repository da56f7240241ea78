"""Losses of many shapes, each with parameters and rows, for comparison with vmap."""

import jax
import jax.numpy as jnp
import numpy as np


def floats(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype(np.float32)


LABELS = np.arange(12) % 3


def mlp(p, row):
    x, y = row
    h = jax.nn.relu(x @ p["a"] + p["b"])
    return -jax.nn.log_softmax(p["c"] @ h + p["d"])[y]


def transposed(p, row):
    return jnp.sum(jnp.tanh(row @ p["w"].T) ** 2)


def tied(p, row):
    return jnp.sum(jnp.tanh(jnp.tanh(row @ p["w"]) @ p["w"].T) * row)


def twice(p, row):
    return jnp.sum(jnp.sin(row @ p["w"])) + 0.1 * jnp.sum(p["w"] ** 2)


def unused(p, row):
    return jnp.sum(jnp.sin(row @ p["w"]))


def conv(p, row):
    x, y = row
    h = jax.lax.conv_general_dilated(
        x[None],
        p["k"],
        (2, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        rhs_dilation=(1, 2),
    )
    h = jax.nn.relu(h + p["b"]).reshape(-1)
    return -jax.nn.log_softmax(h @ p["w"])[y]


def channels_first(p, row):
    h = jax.lax.conv_general_dilated(row[None], p["k"], (1, 2), "VALID")
    return jnp.sum(jnp.tanh(h))


def one_dimensional(p, row):
    h = jax.lax.conv_general_dilated(
        row[None], p["k"], (1,), [(2, 0)], dimension_numbers=("NWC", "WIO", "NWC")
    )
    return jnp.sum(jnp.tanh(h) ** 2)


def grouped(p, row):
    h = jax.lax.conv_general_dilated(
        row[None],
        p["k"],
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    )
    return jnp.sum(jnp.tanh(h))


def norms(p, row):
    h = row @ p["w"]
    h = (h - h.mean()) / jnp.sqrt(h.var() + 1e-5) * p["gain"] + p["shift"]
    return jnp.sum(jnp.tanh(h) ** 2)


def attention(p, row):
    q, k, v = (row @ p[name] for name in "qkv")
    mixed = jax.nn.softmax(q @ k.T / 2.0) @ v
    return jnp.sum(jnp.tanh(mixed.mean(0) @ p["o"]) ** 2)


def recurrent(p, row):
    def cell(h, x):
        return jnp.tanh(h @ p["h"] + x @ p["x"]), None

    last, _ = jax.lax.scan(cell, jnp.zeros(5), row)
    return jnp.sum(last @ p["o"])


def embedding(p, row):
    words, y = row
    return -jax.nn.log_softmax(p["e"][words].mean(0) @ p["w"])[y]


def branches(p, row):
    h = jax.lax.cond(row[0] > 0, lambda w: row @ w, lambda w: -(row @ w), p["w"])
    return jnp.sum(jnp.tanh(h))


def nested(p, row):
    @jax.jit
    def layer(w, x):
        return jnp.tanh(x @ w)

    return jnp.sum(layer(p["a"], layer(p["b"], row)))


def remat(p, row):
    layer = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))
    return jnp.sum(layer(p["a"], row))


def scalar(p, row):
    return (p * row[0] - row[1]) ** 2


MODELS = {
    "mlp": (
        mlp,
        {
            "a": floats(1, 4, 5),
            "b": floats(2, 5),
            "c": floats(3, 3, 5),
            "d": floats(4, 3),
        },
        (floats(5, 12, 4), LABELS),
        {"product"},
    ),
    "transposed": (transposed, {"w": floats(1, 3, 4)}, floats(2, 12, 4), {"product"}),
    "tied": (tied, {"w": floats(1, 4, 3)}, floats(2, 12, 4), set()),
    "twice": (twice, {"w": floats(1, 4, 3)}, floats(2, 12, 4), set()),
    "unused": (
        unused,
        {"w": floats(1, 4, 3), "z": floats(3, 2)},
        floats(2, 12, 4),
        {"product"},
    ),
    "conv": (
        conv,
        {"k": floats(1, 3, 3, 2, 4), "b": floats(2, 4), "w": floats(3, 96, 3)},
        (floats(4, 12, 8, 6, 2), LABELS),
        {"convolution", "product"},
    ),
    "channels first": (
        channels_first,
        {"k": floats(1, 4, 2, 3, 3)},
        floats(2, 12, 2, 7, 8),
        {"convolution"},
    ),
    "one-dimensional": (
        one_dimensional,
        {"k": floats(1, 3, 2, 4)},
        floats(2, 12, 9, 2),
        {"convolution"},
    ),
    "grouped": (grouped, {"k": floats(1, 3, 3, 1, 4)}, floats(2, 12, 5, 5, 2), set()),
    "norms": (
        norms,
        {"w": floats(1, 4, 5), "gain": floats(2, 5), "shift": floats(3, 5)},
        floats(4, 12, 4),
        {"product"},
    ),
    "attention": (
        attention,
        {**{n: floats(i, 4, 4) for i, n in enumerate("qkv")}, "o": floats(9, 4, 2)},
        floats(4, 12, 6, 4),
        {"product"},
    ),
    "recurrent": (
        recurrent,
        {"h": floats(1, 5, 5) / 2, "x": floats(2, 3, 5), "o": floats(3, 5, 2)},
        floats(4, 12, 6, 3),
        {"product"},
    ),
    "embedding": (
        embedding,
        {"e": floats(1, 7, 4), "w": floats(2, 4, 3)},
        (np.arange(36).reshape(12, 3) % 7, LABELS),
        {"product"},
    ),
    "branches": (branches, {"w": floats(1, 4, 3)}, floats(2, 12, 4), set()),
    "nested": (
        nested,
        {"a": floats(1, 4, 4), "b": floats(2, 4, 4)},
        floats(3, 12, 4),
        {"product"},
    ),
    "remat": (remat, {"a": floats(1, 4, 4)}, floats(3, 12, 4), set()),
    "scalar": (scalar, np.float32(0.5), floats(1, 12, 2), set()),
}
