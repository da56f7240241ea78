"""Draw the figures of docs/holdout.md: `python docs/figures/draw_holdout.py`."""

import math
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from hush.holdout import Holdout, generalization
from hush.holdout.analysts import Booster, PlainBoard
from hush.noise import Seeded, integers

HERE = Path(__file__).parent
STYLE = {"svg.hashsalt": "hush", "font.size": 9, "svg.fonttype": "none"}


def boosting() -> None:
    """Reported accuracy of the boosting attack where nothing can be predicted."""
    people, counts = 10_000, [30, 100, 300, 1000, 2000]
    labels = integers(2, people, source=Seeded(1))
    plain, private, radii = [], [], []
    for count in counts:
        board = PlainBoard(labels)
        plain.append(Booster(count, Seeded(2)).attack(board.submit, people).reported)
        holdout = Holdout(labels, queries=count, source=Seeded(3))
        claim = Booster(count, Seeded(2)).attack(holdout.submit, people)
        private.append(float(claim.reported))
        radii.append(holdout.plan.radius)
    at = np.array(private)
    figure, axes = plt.subplots(figsize=(4.8, 3.4))
    axes.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":")
    # What a plain holdout would claim: Hoeffding and Bonferroni, as if nobody adapted.
    claimed = [math.sqrt(math.log(2 * k / 0.05) / (2 * people)) for k in counts]
    axes.errorbar(counts, plain, claimed, fmt="o-", label="plain holdout", capsize=2)
    axes.semilogx(counts, at, "s-", color="C1", label="Holdout")
    axes.fill_between(counts, at - radii, at + radii, color="C1", alpha=0.15, lw=0)
    axes.set(xlabel="submissions", ylabel="reported accuracy (truth: 1/2)")
    axes.legend(frameon=False, loc="upper left")
    figure.tight_layout()
    figure.savefig(HERE / "boosting.svg", metadata={"Date": None})


def radii() -> None:
    """Radius against the number of questions for 10 000 people, 95 %."""
    people = 10_000
    counts = np.unique(np.geomspace(1, 2000, 25).astype(int)).tolist()
    kinds = {
        "Jung et al. 2020": generalization.published_radius,
        "split": lambda n, k: generalization.split(n, k).radius,
        "rounded (not private)": generalization.rounded_radius,
        "transfer (hush)": lambda n, k: generalization.gaussian(n, k).radius,
        "fixed in advance": lambda n, k: generalization.fixed(n, k).radius,
    }
    figure, axes = plt.subplots(figsize=(4.8, 3.4))
    for name, radius in kinds.items():
        values = [radius(people, k) for k in counts]
        axes.loglog(counts, values, label=name, linewidth=1.2)
    axes.set(xlabel="questions", ylabel="radius", ylim=(0.01, 1))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(HERE / "radii.svg", metadata={"Date": None})


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        boosting()
        radii()
