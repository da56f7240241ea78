"""Training with differential privacy: plan, charge, then read the data."""

import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hush import called, checks
from hush.errors import InvalidArgument
from hush.learn.payment import released
from hush.learn.rows import kind
from hush.learn.sgd import defaults
from hush.learn.sgd.checkpoint import Checkpoint
from hush.learn.sgd.data import described, leaves
from hush.learn.sgd.program import Program, State
from hush.learn.sgd.progress import progress
from hush.learn.sgd.trained import Trained
from hush.learn.sgd.training import Training
from hush.ledger.payer import check_payer
from hush.noise import SECURE, Source
from hush.noise.source import sourced

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


@called.answering(called.TRAIN)
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
    batch = defaults.batch(records) if batch is None else batch
    batch = checks.whole("batch", batch, at_least=1, at_most=records)
    steps = defaults.steps(records, batch) if steps is None else steps
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
        "longest": program.longest,
        "devices": max(len(devices), 1),
        "widest": program.widest,
    }
    if std is None:
        std = defaults.noise(public, epsilon, delta)
    run = Training(std=std, **public)
    if optimizer is None:
        program = replace(program, optimizer=defaults.optimizer(run))
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
        return {"params": _flat(state.params), "average": _flat(state.average)}

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


def _done(saved: Checkpoint, program: Program, source: Source) -> int:
    """Return how many steps a checkpoint holds, if `source` may add to them."""
    done = int(saved.load(program.start()).step)
    if done and source.seeded:
        raise InvalidArgument(
            f"source={source!r} cannot resume a checkpoint: it would repeat the noise "
            "of the first steps for other batches."
        )
    return done


def _flat(tree: Any) -> Any:
    leaves = [np.asarray(leaf, np.float32).ravel() for leaf in jax.tree.leaves(tree)]
    return np.concatenate(leaves)


@called.answering(called.TRAIN)
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
    sourced(source)
    check_payer(ledger, key)
    program, run = plan(
        loss, params, data, std=std, clip=clip, batch=batch, steps=steps,
        sampling=sampling, epsilon=epsilon, delta=delta, records=records,
        optimizer=optimizer, devices=devices,
    )  # fmt: skip
    saved = None
    if checkpoint is not None:
        saved = Checkpoint.open(checkpoint, repr(run), program.start(), version)
    shown_at = defaults.delta(run.records) if delta is None else delta
    session = Session(program, saved, max(1, run.steps // 20), shown_at, progress)
    with nullcontext() if saved is None else saved.alone():
        done = 0 if saved is None else _done(saved, program, source)
        if done == run.steps:
            warnings.warn(_FINISHED.format(checkpoint), stacklevel=3)
        release, values = released(
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
        params=program.shaped(np.asarray(values["params"]), program.params),
        average=program.shaped(np.asarray(values["average"]), program.params),
        training=run,
        seeded=bool(source.seeded),
        release=release,
        resumed_from=done,
        delta=shown_at,
    )
