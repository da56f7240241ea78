"""Training with differential privacy: plan, charge, then read the data."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.learn.features import kind
from hush.learn.payment import release_values
from hush.learn.sgd import dp_sgd
from hush.learn.sgd.batches import described, leaves
from hush.learn.sgd.checkpoint import Checkpoint
from hush.learn.sgd.dp_sgd import Training
from hush.learn.sgd.program import Program, State
from hush.learn.sgd.result import Trained
from hush.ledger.accounts import check_payer
from hush.noise import SECURE, Source
from hush.noise.source import checked_source
from hush.privacy.rules.composition import repeat

Loss = Callable[[Any, Any], Any]
_FINISHED = (
    "checkpoint {} holds a finished run: its result is returned, nothing is trained "
    "and the data are not looked at. Name another file to train again."
)


def _example(data: Any) -> tuple[Any, int]:
    """Return the shapes and types of one row, and the number of rows; no values."""
    found = described(data)

    def one(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)

    return jax.tree.map(one, found), jax.tree.leaves(found)[0].shape[0]


def _floats(params: Any) -> Any:
    try:
        found = jax.tree.map(jnp.asarray, params)
    except (TypeError, ValueError):  # they may be the data, by mistake: quote nothing
        found = None
    given = jax.tree.leaves(found)
    if not given or not all(jnp.issubdtype(x.dtype, jnp.floating) for x in given):
        raise InvalidArgument(
            "params must be arrays of floats (or a tuple, list or dict of them); close "
            "over whatever is not trained."
        )
    return found


def _check_optimizer(given: Any) -> None:
    if given is not None and not (hasattr(given, "init") and hasattr(given, "update")):
        raise InvalidArgument(
            f"optimizer must be one of Optax, as optax.adam(1e-3); got {kind(given)}."
        )


@suggestions.with_argument_hints(suggestions.TRAIN)
def plan(
    loss: Loss,
    params: Any,
    data: Any,
    *,
    std: float | None = None,
    clip: float = 1.0,
    batch: int | None = None,
    steps: int | None = None,
    sampling: str = "poisson",
    epsilon: float | None = None,
    delta: float | None = None,
    records: int | None = None,
    optimizer: optax.GradientTransformation | None = None,
    devices: tuple[Any, ...] = (),
) -> tuple[Program, Training]:
    """Return what `train` would run, from shapes alone: a program and its mechanism."""
    example, rows = _example(data)
    # A stated number is never compared with the rows: it may be what hides them.
    records = checks.whole(
        "records", max(rows, 1) if records is None else records, at_least=1
    )
    given = _floats(params)
    if (std is None) == (epsilon is None):
        raise InvalidArgument("give either std, the noise in clips, or epsilon.")
    if std is None:
        checks.real("epsilon", epsilon, above=0)
    if delta is not None:
        checks.real("delta", delta, above=0, below=1)
    batch = dp_sgd.default_batch(records) if batch is None else batch
    batch = checks.whole("batch", batch, at_least=1, at_most=records)
    steps = dp_sgd.default_steps(records, batch) if steps is None else steps
    steps = checks.whole("steps", steps, at_least=1)
    _check_optimizer(optimizer)
    program = Program(loss, given, optimizer or optax.identity(), example, devices)
    public: dict[str, Any] = {
        "clip": clip,
        "batch": batch,
        "records": records,
        "steps": steps,
        "sampling": sampling,
        "dimension": program.dimension,
        "longest": program.additions_per_square,
        "devices": max(len(devices), 1),
        "widest": program.most_rows,
    }
    if std is None:
        std = dp_sgd.default_noise(public, epsilon, delta)
    run = Training(std=std, **public)
    if optimizer is None:
        program = replace(program, optimizer=dp_sgd.optimizer(run))
    return program, replace(run, model=program.fingerprint)


@final
@dataclass(frozen=True, eq=False)
class Session:
    """One run of a program: where it is saved, how often, and whether it is shown."""

    program: Program
    checkpoint: Checkpoint | None
    every: int
    delta: float
    shown: bool

    def run(self, plan: Training, data: Any, source: Source) -> dict[str, Any]:
        """Return the final parameters and their mean as flat vectors."""
        rows = leaves(data)
        state = self.program.start()
        if self.checkpoint is not None:
            state = self.checkpoint.load(state)
        with progress(plan, self.delta, shown=self.shown) as show:
            state = self._advance(plan, state, rows, source, show)
        return {
            "params": _flat_leaves(state.params),
            "average": _flat_leaves(state.average),
        }

    def _advance(
        self, plan: Training, state: State, rows: Any, source: Source, show: Any
    ) -> State:
        saved = int(state.step)
        show(saved)
        for found in self.program.advance(plan, state, rows, source):
            state = found
            done = int(state.step) if self.checkpoint or self.shown else 0
            if self.checkpoint is not None and done - saved >= self.every:
                self.checkpoint.save(state)
                saved = done
            show(done)
        if self.checkpoint is not None and saved < plan.steps:
            self.checkpoint.save(state)
        return state


def _steps_done(saved: Checkpoint, program: Program, source: Source) -> int:
    """Return how many steps a checkpoint holds, if `source` may add to them."""
    done = int(saved.load(program.start()).step)
    if done and source.seeded:
        raise InvalidArgument(
            f"source={source!r} cannot resume a checkpoint: it would repeat the noise "
            "of the first steps for other batches."
        )
    return done


def _flat_leaves(tree: Any) -> Any:
    leaves = [np.asarray(leaf, np.float32).ravel() for leaf in jax.tree.leaves(tree)]
    return np.concatenate(leaves)


@suggestions.with_argument_hints(suggestions.TRAIN)
def train(
    loss: Loss,
    params: Any,
    data: Any,
    *,
    std: float | None = None,
    clip: float = 1.0,
    batch: int | None = None,
    steps: int | None = None,
    sampling: str = "poisson",
    epsilon: float | None = None,
    delta: float | None = None,
    records: int | None = None,
    optimizer: optax.GradientTransformation | None = None,
    ledger: Any = None,
    key: str | None = None,
    version: str = "",
    unit: str = "row",
    checkpoint: str | os.PathLike[str] | None = None,
    source: Source = SECURE,
    progress: bool = False,
    devices: tuple[Any, ...] = (),
) -> Trained:
    """Train any JAX model by private stochastic gradient descent.

    `loss(params, example)` is the loss of one row of `data`, a tree of arrays whose
    first axis is the person. `std` is the noise on a sum of gradients, in units of
    `clip`; or give `epsilon` and `delta`, and the least noise is found. A `delta` that
    is left out is 1e-5, or a tenth of one over the rows if that is less. What is left
    out (`batch`, `steps`, `optimizer`) is chosen from public numbers. The number of
    rows is public unless you state a public one, `records`, in its place: a bound,
    as sums of many more rows overflow. Nothing tells whether there are more.

    A `ledger` is charged for the whole run before a row is read. What is protected is
    one row: `unit` says so in the charge, and an account that counts people refuses it.
    Pass unit="person" where no two rows are of one person. With a `checkpoint`
    the run is saved on the way and resumes there, under the same charge: at most one
    noisy sum of each step is ever seen. A finished one gives its result again, with a
    warning and without a look at the data. `version` names the data: neither `key` nor
    `checkpoint` serves those of another version.

    Rows with a NaN or infinite gradient count as absent. Nothing about the data is
    shown on the way, not even the training loss.

    Guarantee: `result.curve`, for one row added or removed (Poisson batches) or
    replaced (fixed-size batches); clipping, float rounding and lattice noise included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 500, dtype=np.float32)
        >>> loss = lambda slope, example: (slope * example[0] - example[1]) ** 2
        >>> found = train(loss, np.float32(0), (x, 2 * x), epsilon=3.0, delta=1e-5)
        >>> bool(abs(found.average - 2) < 1), found.curve.epsilon_at(1e-5) <= 3
        (True, True)

    Reference: [ACGMMTZ16]; N11.A7; docs/proofs/sgd.md.
    """
    checked_source(source)
    check_payer(ledger, key)
    program, run = plan(
        loss, params, data, std=std, clip=clip, batch=batch, steps=steps,
        sampling=sampling, epsilon=epsilon, delta=delta, records=records,
        optimizer=optimizer, devices=devices,
    )  # fmt: skip
    saved = None
    if checkpoint is not None:
        saved = Checkpoint.open(checkpoint, repr(run), program.start(), version)
    shown_at = dp_sgd.delta(run.records) if delta is None else delta
    session = Session(program, saved, max(1, run.steps // 20), shown_at, progress)
    with nullcontext() if saved is None else saved.exclusive():
        done = 0 if saved is None else _steps_done(saved, program, source)
        if done == run.steps:
            warnings.warn(_FINISHED.format(checkpoint), stacklevel=3)
        release, values = release_values(
            run,
            (session, data),
            source,
            ledger=ledger,
            key=f"sgd {saved.name}" if key is None and saved is not None else key,
            version=version,
            unit=unit,
            delta=shown_at if epsilon is not None else delta,
            notes={} if saved is None else {"checkpoint": saved.name},
        )
    return Trained(
        params=program.as_parameters(np.asarray(values["params"]), program.params),
        average=program.as_parameters(np.asarray(values["average"]), program.params),
        training=run,
        seeded=bool(source.seeded),
        release=release,
        resumed_from=done,
        delta=shown_at,
    )


# --------------------------------------------------------------------------------------
# A progress bar that shows what has been spent; nothing it shows depends on data.


class Bar(Protocol):
    """A progress display that receives the number of steps done."""

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
