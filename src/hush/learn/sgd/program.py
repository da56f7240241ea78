"""A program: loss, model and optimizer, compiled to run many private steps at once."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hush.learn.sgd import batches, draws, whole
from hush.learn.sgd.clipping import lattice_sums, longest
from hush.learn.sgd.taps import Traced, trace
from hush.learn.sgd.training import Training
from hush.noise import Source, permutation

Loss = Callable[[Any, Any], Any]
_NOISE = 1 << 20  # noise numbers drawn at once, while the device is at work
_AHEAD = 256  # steps of one compiled call, at most
_MEMORY = 9.0  # averages forget like t^-9: the last fifth of the run counts


class State(NamedTuple):
    """Where a run is: parameters, what the optimizer remembers, the running mean."""

    params: Any
    memory: Any
    average: Any
    step: Any


@final
@dataclass(frozen=True, eq=False)
class Program:
    """What is trained and how; everything here is public."""

    loss: Loss
    params: Any
    optimizer: optax.GradientTransformation
    example: Any  # shapes and types of one row
    devices: tuple[Any, ...] = ()

    @cached_property
    def traced(self) -> Traced:
        """The loss as equations."""
        return trace(self.loss, self.params, self.example)

    @cached_property
    def leaves(self) -> list[Any]:
        """The parameters, flat."""
        return jax.tree.leaves(self.params)

    @cached_property
    def dimension(self) -> int:
        """How many numbers the model has."""
        return sum(int(np.size(leaf)) for leaf in self.leaves)

    @cached_property
    def longest(self) -> int:
        """How many additions a square meets in a norm, at most."""
        return longest(self.traced, self.leaves)

    @cached_property
    def fingerprint(self) -> str:
        """A name for loss, model and optimizer, the same in every process."""
        text = re.sub(r"0x[0-9a-f]+", "", str(self.traced.jaxpr))
        memory = jax.tree.structure(self.optimizer.init(self.params))
        found = hashlib.sha256(f"{text}{memory}".encode())
        for leaf in self.leaves:
            found.update(np.ascontiguousarray(leaf).tobytes())
        return found.hexdigest()[:32]

    def start(self) -> State:
        """Return the state before the first step."""
        params = jax.tree.map(jnp.array, self.params)
        zero = jnp.zeros((), jnp.int32)
        return State(params, self.optimizer.init(params), params, zero)

    @cached_property
    def _mesh(self) -> Mesh | None:
        if len(self.devices) < 2:
            return None
        return Mesh(np.array(self.devices), ("rows",))

    def placed(self, tree: Any) -> Any:
        """Return arrays on the devices of this program, whole on each of them."""
        if self._mesh is None:
            return jax.tree.map(jnp.asarray, tree)
        everywhere = NamedSharding(self._mesh, PartitionSpec())
        return jax.device_put(tree, everywhere)

    def sum(
        self, plan: Training, leaves: Sequence[Any], data: Sequence[Any], slots: Any
    ) -> list[whole.Whole]:
        """Return the clipped sum of one pass in lattice steps: private."""
        if self._mesh is not None:
            spread = NamedSharding(self._mesh, PartitionSpec("rows"))
            slots = lax.with_sharding_constraint(slots, spread)
        rows = [leaf[jnp.maximum(slots, 0)] for leaf in data]
        return lattice_sums(
            self.traced,
            leaves,
            rows,
            slots >= 0,
            clip=float(plan.clip),
            groups=plan.groups,
            inverse=float(1 / plan.grid.step),
        )

    def noisy(
        self,
        plan: Training,
        params: Any,
        data: Any,
        slots: Any,
        passes: Any,
        noise: Any,
    ) -> Any:
        """Return the noisy mean gradient of one batch: its sum over `plan.batch`."""
        leaves, tree = jax.tree.flatten(params)
        sizes = [int(np.size(leaf)) for leaf in leaves]
        if slots.shape[0] == 1:
            total = self.sum(plan, leaves, data, slots[0])
        else:

            def more(i: Any, found: list[whole.Whole]) -> list[whole.Whole]:
                fresh = self.sum(plan, leaves, data, slots[i])
                return [whole.add(a, b) for a, b in zip(found, fresh, strict=True)]

            empty = [whole.zeros(size) for size in sizes]
            total = lax.fori_loop(0, passes, more, empty)
        unit = float(plan.grid.step) * float(plan.clip) / plan.batch
        ends = np.cumsum(sizes)
        found = [
            whole.floats(whole.add_steps(each, noise[end - size : end]), unit)
            .reshape(jnp.shape(leaf))
            .astype(jnp.result_type(leaf))
            for each, leaf, size, end in zip(total, leaves, sizes, ends, strict=True)
        ]
        return jax.tree.unflatten(tree, found)

    @staticmethod
    def shaped(flat: Any, params: Any) -> Any:
        """Return a flat vector in the shape of the parameters."""
        leaves, tree = jax.tree.flatten(params)
        ends = np.cumsum([int(np.size(leaf)) for leaf in leaves])
        pieces = [
            flat[end - int(np.size(leaf)) : end]
            .reshape(jnp.shape(leaf))
            .astype(jnp.result_type(leaf))
            for leaf, end in zip(leaves, ends, strict=True)
        ]
        return jax.tree.unflatten(tree, pieces)

    def _advance(self, state: State, gradient: Any) -> State:
        updates, memory = self.optimizer.update(gradient, state.memory, state.params)
        params = optax.apply_updates(state.params, updates)
        step = state.step + 1
        share = (_MEMORY + 1) / (step.astype(jnp.float32) + _MEMORY)
        average = jax.tree.map(
            lambda mean, new: mean + (share * (new - mean)).astype(new.dtype),
            state.average,
            params,
        )
        return State(params, memory, average, step)

    @cached_property
    def _compiled(self) -> Any:
        @partial(jax.jit, static_argnums=0)
        def several(
            plan: Training,
            state: State,
            data: Any,
            slots: Any,
            passes: Any,
            noise: Any,
            count: Any,
        ) -> State:
            def one(i: Any, state: State) -> State:
                gradient = self.noisy(
                    plan, state.params, data, slots[i], passes[i], noise[i]
                )
                return self._advance(state, gradient)

            found: State = lax.fori_loop(0, count, one, state)
            return found

        return several

    @cached_property
    def _convolves(self) -> bool:
        """XLA runs convolutions inside loops many times slower than outside."""
        return "conv_general_dilated" in str(self.traced.jaxpr)

    @cached_property
    def _single(self) -> Any:
        @partial(jax.jit, static_argnums=0)
        def single(plan: Training, state: State, *given: Any) -> State:
            return self._advance(state, self.noisy(plan, state.params, *given))

        return single

    @cached_property
    def gradient(self) -> Any:
        """`noisy`, compiled."""
        return jax.jit(self.noisy, static_argnums=0)

    def ahead(self, plan: Training) -> int:
        """Return how many steps one compiled call makes."""
        most = max(1, min(_AHEAD, _NOISE // self.dimension, plan.steps))
        calls = -(-plan.steps // most)
        return -(-plan.steps // max(calls, 1))

    def advance(
        self, plan: Training, state: State, rows: Sequence[Any], source: Source
    ) -> Iterator[State]:
        """Yield the state after every few steps; batches and noise are drawn ahead."""
        ahead = self.ahead(plan)
        order = permutation(plan.records, source=source).astype(np.int32)
        order[order >= rows[0].shape[0]] = -1  # nobody is there
        data = self.placed(list(rows))
        state = self.placed(state)
        done = int(state.step)
        small = plan.batch == plan.records or plan.sampling == "fixed-size"
        least = -(-plan.batch // plan.rows) + (0 if small else 1)
        while done < plan.steps:
            count = min(ahead, plan.steps - done)
            slots, passes = _slots(plan, order, count, ahead, least, source)
            noise = np.zeros((ahead, self.dimension), np.int32)
            noise[:count] = draws.steps(plan.deviation, (count, self.dimension), source)
            if self._convolves:
                for i in range(count):
                    given = self.placed((slots[i, : passes[i]], passes[i], noise[i]))
                    state = self._single(plan, state, data, *given)
            else:
                given = self.placed((slots, passes, noise, np.int32(count)))
                state = self._compiled(plan, state, data, *given)
            done += count
            yield state


def _slots(
    plan: Training, order: Any, count: int, ahead: int, least: int, source: Source
) -> tuple[Any, Any]:
    """Return slots of rows and the number of passes for each of `count` steps."""
    drawn = [
        batches.draw(plan.sampling, plan.records, plan.batch, source)
        for _ in range(count)
    ]
    passes = np.ones(ahead, np.int32)
    passes[:count] = [max(1, -(-each.size // plan.rows)) for each in drawn]
    slots = batches.arranged([order[each] for each in drawn], plan.rows, least)
    padded = np.full((ahead, *slots.shape[1:]), -1, np.int32)
    padded[:count] = slots
    return padded, passes
