"""A progress bar that shows what has been spent; nothing it shows depends on data."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, final

from hush.learn.sgd.training import Training
from hush.privacy.compose import repeat


class Bar(Protocol):
    """Something that is told how many steps are done."""

    def __call__(self, done: int) -> None:
        """Show that `done` steps are done."""


@final
class _Shown:
    def __init__(self, bar: Any, plan: Training, delta: float) -> None:
        self._bar, self._plan, self._delta = bar, plan, delta
        self._step = plan.step_curve()
        self._task = bar.add_task("training", total=plan.steps, spent="0")

    def __call__(self, done: int) -> None:
        spent = repeat(self._step, times=done).epsilon_at(self._delta) if done else 0.0
        self._bar.update(self._task, completed=done, spent=f"{spent:.3g}")


def _silent(done: int) -> None:
    """Show nothing."""


@contextmanager
def progress(plan: Training, delta: float, *, shown: bool) -> Iterator[Bar]:
    """Show steps and ε so far at `delta` while the block runs."""
    if not shown:
        yield _silent
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"ε = {{task.fields[spent]}} at δ = {delta:.3g}"),
    )
    with Progress(*columns) as bar:
        yield _Shown(bar, plan, delta)
