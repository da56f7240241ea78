"""The tree synthesizer: one person more, who makes two columns agree or not."""

from typing import Any

import numpy as np
from suite import Subject

from hush.noise import Source
from hush.synth import TreeSynthesizer

_DOMAIN = {"a": [0, 1], "b": [0, 1]}
_LESS = {"a": [0, 1], "b": [0, 1]}
_MORE = {"a": [0, 1, 1], "b": [0, 1, 1]}
_BUDGETS: dict[str, Any] = {
    "synth tree, pure": {"epsilon": 1.0},
    "synth tree, gaussian": {"epsilon": 1.0, "delta": 1e-3},
}


def _draws(budget: dict[str, Any]) -> Any:
    def draws(factor: float, source: Source) -> Any:
        loud = {**budget, "epsilon": budget["epsilon"] / factor}
        maker = TreeSynthesizer(_DOMAIN, **loud)

        def once(data: Any) -> Any:
            model = maker.fit(data, source=source)
            # Both columns, then the pair if it was measured and else zeros.
            counts = [table.counts.ravel() for table in model.tables[:2]]
            pair = model.tables[2].counts if model.pairs else np.zeros((2, 2))
            return np.concatenate([*counts, pair.ravel(), [len(model.pairs)]])

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
