"""Draw the figures of docs/privacy.md: `python docs/figures/draw.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from hush.law import DiscreteLaplace
from hush.privacy import GDP, Pair, Pure, poisson, repeat

HERE = Path(__file__).parent
STYLE = {"svg.hashsalt": "hush", "font.size": 9, "svg.fonttype": "none"}


def tradeoff() -> None:
    """Type II against type I error of five mechanisms."""
    curves = {
        "randomized response, ε = 1": Pure(epsilon=1.0),
        "Gaussian, σ = 1": GDP(mu=1.0),
        "continuous Laplace, b = 1": Pair.laplace(scale=1.0),
        "integer Laplace, b = 2, Δ = 2": Pair.shift(DiscreteLaplace(2), by=2),
        "10 responses, ε = 0.3": repeat(Pure(epsilon=0.3), times=10),
    }
    alpha = np.linspace(0, 1, 101)
    figure, axes = plt.subplots(figsize=(4.4, 4.2))
    for name, curve in curves.items():
        axes.plot(alpha, curve.tradeoff_at(alpha), label=name, linewidth=1.2)
    axes.plot([0, 1], [1, 0], color="0.6", linewidth=0.8, linestyle=":")
    axes.set(xlabel="type I error", ylabel="type II error", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(HERE / "tradeoff.svg", metadata={"Date": None})


def directions() -> None:
    """Add against remove for a Poisson-sampled Gaussian."""
    step = poisson(GDP(mu=1.0), rate=0.05)
    epsilon = np.linspace(0, 0.6, 121)
    figure, axes = plt.subplots(figsize=(4.4, 3.2))
    for side, name in ((step.remove, "remove"), (step.add, "add")):
        value = np.asarray(side.delta_at(epsilon))
        axes.semilogy(epsilon, np.maximum(value, 1e-12), label=name, linewidth=1.2)
    axes.set(xlabel="ε", ylabel="δ", ylim=(1e-8, 0.1), xlim=(0, 0.6))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(HERE / "directions.svg", metadata={"Date": None})


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        tradeoff()
        directions()
