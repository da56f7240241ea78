"""The tree synthesizer: one person more, who makes two columns agree or not."""

from typing import Any

import numpy as np
from suite import Subject

from hush.noise import Source
from hush.synth import TreeSynthesizer
from hush.synth.rows import private_counts

_DOMAIN = {"a": [0, 1], "b": [0, 1]}
_LESS = {"a": [0, 1], "b": [0, 1]}
_MORE = {"a": [0, 1, 1], "b": [0, 1, 1]}
_BUDGETS: dict[str, Any] = {
    "synth tree, pure": {"epsilon": 1.0},
    "synth tree, gaussian": {"epsilon": 1.0, "delta": 1e-3},
}


def _draws(budget: dict[str, Any]) -> Any:
    def draws(factor: float, source: Source) -> Any:
        # Gaussian noise has four steps at least, so a twin cannot be quieter: it counts
        # the person 1/factor times, which tells as much.
        plan, times = TreeSynthesizer(_DOMAIN, **budget).plan(), round(1 / factor)

        def once(data: Any) -> Any:
            rows = {name: [*of[:2], *of[2:] * times] for name, of in data.items()}
            columns, place, last = plan.steps.draw(
                private_counts(plan.domain, rows), source
            )
            # The pair has four counts; a column in its place has two.
            return np.concatenate([columns, [place], last, [0] * (4 - len(last))])

        return lambda data, count: [once(data) for _ in range(count)]

    return draws


def subjects() -> list[Subject]:
    """Return one subject for every kind of noise."""
    return [
        Subject(
            name,
            ("synth.TreeSynthesizer",),
            (_LESS, _MORE),
            lambda budget=budget: TreeSynthesizer(_DOMAIN, **budget).plan().curve,
            _draws(budget),
            factor=0.25,
            samples=4_000,
        )
        for name, budget in _BUDGETS.items()
    ]
