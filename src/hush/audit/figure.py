"""A figure of reconstruction; matplotlib is loaded when it is drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hush.audit.reconstruction import reconstruct
from hush.mechanisms import Laplace
from hush.noise import SECURE, Source, integers


def recovered_figure(
    people: int = 400,
    questions: tuple[int, ...] = (1, 2, 4),
    *,
    axes: Any = None,
    source: Source = SECURE,
) -> Any:
    """Draw the share of secret bits that random questions recover, against their error.

    One line per number of questions, in multiples of `people`; errors are uniform. The
    dots are Laplace answers to the largest number of questions under one total ε.
    """
    from hush.plots.style import COLORS, INK, new

    axes = new(axes, wide=5.2, high=4.2)
    secret = np.asarray(integers(2, people, source=source)) == 1
    sizes, root = np.geomspace(0.02, 200, 17), np.sqrt(people)
    for shade, count in zip(
        np.linspace(0.35, 1, len(questions)), questions, strict=True
    ):
        shares = [
            _recovered(secret, count, _uniform(size * root, source), source)
            for size in sizes
        ]
        label = f"{count * people} questions"
        axes.semilogx(sizes, shares, color=COLORS[1], alpha=shade, label=label)
    most = max(questions)
    for epsilon in (1.0, 10.0, 100.0, 1000.0, 10_000.0):
        noise = Laplace(scale=most * people / epsilon)
        share = _recovered(secret, most, _drawn(noise, source), source)
        # A uniform error of ±e has standard deviation e/√3.
        place = noise.error.std * np.sqrt(3) / root
        axes.plot(place, share, "o", color=COLORS[0])
        axes.annotate(f"ε = {epsilon:g}", (place, share), fontsize=8, xytext=(4, 4),
                      textcoords="offset points")  # fmt: skip
    axes.axvline(1, color=INK, linestyle=":", label="error √n")
    axes.set(
        xlabel="largest error of an answer, in units of √n",
        ylabel="share of secret bits recovered",
        ylim=(0.45, 1.06),
    )
    axes.legend(loc="lower left", frameon=False, fontsize=8.5, labelcolor=INK)
    return axes


def _uniform(size: float, source: Source) -> Callable[[int], Any]:
    def draw(count: int) -> Any:
        return (source.integers(count, bits=30) / 2**29 - 1) * size

    return draw


def _drawn(mechanism: Laplace, source: Source) -> Callable[[int], Any]:
    return lambda count: mechanism.run(np.zeros(count), source=source)


def _recovered(
    secret: Any, count: int, errors: Callable[[int], Any], source: Source
) -> float:
    def batch(asked: Any) -> Any:
        exact = asked.astype(np.float32) @ secret.astype(np.float32)
        return exact + errors(len(asked))

    people = len(secret)
    found = reconstruct(
        batch, people, queries=count * people, batch=batch, source=source
    )
    return found.recovered(secret)
