"""Draw the figure of docs/local.md: `python docs/figures/draw_local.py`.

Every point is the root mean squared error of real runs; lines are the theory.
"""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from hush.bounds import minimax_mean
from hush.local import DuchiMean, RandomizedResponse
from hush.mechanisms import Laplace
from hush.noise import Seeded

HERE = Path(__file__).parent
STYLE = {"svg.hashsalt": "hush", "font.size": 9, "svg.fonttype": "none"}
PEOPLE = [100, 400, 1600, 6400, 25600, 102400]
RUNS = 200


def root(errors: list[float]) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def proportions(axes: plt.Axes, epsilon: float = 0.5) -> None:
    """A share of 0.3: randomized response against one noisy count (N3.5ex)."""
    source = Seeded(1)
    oracle = RandomizedResponse(epsilon)
    noise = Laplace.for_epsilon(epsilon, sensitivity=1)
    local, central = [], []
    for n in PEOPLE:
        values = np.arange(n) < 0.3 * n
        truth = values.mean()
        reports = (oracle.encode(values, source=source) for _ in range(RUNS))
        local.append(root([oracle.estimate(r).value[1] - truth for r in reports]))
        drawn = (noise.run(int(values.sum()), source=source) for _ in range(RUNS))
        central.append(root([each / n - truth for each in drawn]))
    people, e = np.array(PEOPLE, dtype=float), np.exp(epsilon)
    axes.loglog(people, np.sqrt(e / people) / (e - 1), color="C0", linewidth=1)
    axes.loglog(people, np.sqrt(2) / (people * epsilon), color="C1", linewidth=1)
    axes.loglog(people, local, "o", color="C0", label="local: 1/(√n ε)")
    axes.loglog(people, central, "s", color="C1", label="central: 1/(nε)")
    axes.set(xlabel="people", ylabel="error of a share", title=f"ε = {epsilon}")


def means(axes: plt.Axes, epsilon: float = 1.0, moments: int = 2) -> None:
    """A mean with two moments, clamped where bias and noise balance (N4.T1, N4.T2)."""
    source = Seeded(2)
    found: dict[str, list[float]] = {"local": [], "central": []}
    for n in PEOPLE:
        for model in ("local", "central"):
            power = 1 / (2 * moments) if model == "local" else 1 / moments
            top = (n * (epsilon**2 if model == "local" else epsilon)) ** power
            generator = np.random.default_rng(n)
            errors = []
            for _ in range(RUNS):
                # 2·top with chance (2·top)^-k has E|X|^k = 1.
                chance = (2 * top) ** -moments
                values = 2 * top * (generator.random(n) < chance)
                errors.append(
                    answer(model, values, top, epsilon, source) - 2 * top * chance
                )
            found[model].append(root(errors))
    people = np.array(PEOPLE, dtype=float)
    for model, color, mark in (("local", "C0", "o"), ("central", "C1", "s")):
        rate = np.sqrt([minimax_mean(n, epsilon, moments, model=model) for n in PEOPLE])
        constant = np.exp(np.mean(np.log(np.array(found[model]) / rate)))
        axes.loglog(people, constant * rate, color=color, linewidth=1)
        axes.loglog(people, found[model], mark, color=color, label=model)
    axes.set(
        xlabel="people", ylabel="error of a mean", title=f"E|X|² ≤ 1, ε = {epsilon}"
    )


def answer(
    model: str, values: np.ndarray, top: float, epsilon: float, source: Seeded
) -> float:
    """One private mean of values clamped to ±top."""
    if model == "local":
        mean = DuchiMean(epsilon, (-top, top))
        return float(mean.estimate(mean.encode(values, source=source)).value)
    total = float(np.clip(values, -top, top).sum())
    noise = Laplace.for_epsilon(epsilon, sensitivity=2 * top)
    return float(noise.run(total, source=source)) / values.size


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4))
        proportions(left)
        means(right)
        for each in (left, right):
            each.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(HERE / "local.svg", metadata={"Date": None})
