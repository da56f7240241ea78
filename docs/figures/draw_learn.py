"""Draw the figure of docs/learn.md: `python docs/figures/draw_learn.py`.

Every point is the root mean squared distance, over real runs, between a private answer
and the answer without privacy on the same data; lines have the slopes of the theory.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from hush.learn import LinearRegression, LogisticRegression, SubsampleAggregate
from hush.noise import Seeded

HERE = Path(__file__).parent
STYLE = {"svg.hashsalt": "hush", "font.size": 9, "svg.fonttype": "none"}
SIZES = [500, 1000, 2000, 4000, 8000, 16_000]
RUNS = 40
EPSILON = 2.0
SLOPES = np.array([0.3, 0.1])


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A slope and an intercept, rows in [-1, 1]."""
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n, 1))
    return x, np.clip(SLOPES[0] * x[:, 0] + SLOPES[1] + 0.2 * rng.normal(size=n), -1, 1)


def spread(model: Any, x: np.ndarray, y: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared distance of private answers from one without privacy."""
    mechanism = model.plan(*x.shape)
    found = [mechanism.run((x, y), source=Seeded(i)) for i in range(RUNS)]
    return float(np.sqrt(np.mean([np.sum((f - truth) ** 2) for f in found])))


def least_squares(method: str) -> Callable[[int], float]:
    """N7.12 and N7.10: K-norm gradient and exponential mechanism on squares."""

    def error(n: int) -> float:
        x, y = rows(n)
        z = np.column_stack([x, np.ones(n)])
        truth = np.linalg.lstsq(z, y, rcond=None)[0]
        box = {"bounds": (-1, 1), "y_bounds": (-1, 1)}
        return spread(LinearRegression(EPSILON, method=method, **box), x, y, truth)

    return error


def logistic(n: int) -> float:
    """N6.2: objective perturbation, its noise around a nearly noiseless answer."""
    x, y = rows(n)
    labels = (y > 0).astype(int)
    plain = LogisticRegression(EPSILON, bounds=(-1, 1), tail=5.0, classes=(0, 1))
    quiet = LogisticRegression(900.0, bounds=(-1, 1), tail=5.0, classes=(0, 1))
    truth = np.mean(
        [quiet.plan(n, 1).run((x, labels), source=Seeded(i)) for i in range(8)], axis=0
    )
    return spread(plain, x, labels, truth)


def blocks(n: int) -> float:
    """N8: subsample and aggregate a mean, about n^0.6 blocks."""
    y = rows(n)[1]
    count = round(n**0.6)
    model = SubsampleAggregate(
        lambda x, _: x.mean(), epsilon=EPSILON, bounds=(-1, 1), blocks=count
    )
    return spread(model, y[:, None], y, np.array([y.mean()]))


PANELS = {
    "objective perturbation: 1/n": (logistic, -1.0),
    "K-norm gradient: 1/n": (least_squares("kng"), -1.0),
    "exponential mechanism: 1/√n": (least_squares("exponential"), -0.5),
    "subsample and aggregate: below 1/√n": (blocks, -0.56),
}

if __name__ == "__main__":
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.2, 3.8))
        people = np.array(SIZES, dtype=float)
        for place, (name, (error, power)) in enumerate(PANELS.items()):
            found = np.array([error(n) for n in SIZES])
            line = people**power
            line *= np.exp(np.mean(np.log(found / line)))
            axes.loglog(people, line, color=f"C{place}", linewidth=1)
            axes.loglog(people, found, "os^D"[place], color=f"C{place}", label=name)
            slope = np.polyfit(np.log(people), np.log(found), 1)[0]
            print(f"{name}: slope {slope:.2f}")
        axes.set(xlabel="rows", ylabel="error due to privacy", title=f"ε = {EPSILON:g}")
        axes.legend(frameon=False, fontsize=8)
        figure.tight_layout()
        figure.savefig(HERE / "learn.svg", metadata={"Date": None})
