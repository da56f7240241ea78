"""A program: loss, model and optimizer, compiled to run many private steps at once."""

import hashlib
import math
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

from hush.learn.sgd import batches, gradient_noise, integers
from hush.learn.sgd.clipping import additions_per_square, in_memory, lattice_sums
from hush.learn.sgd.dp_sgd import Training
from hush.learn.sgd.per_example import Traced, constants, trace
from hush.noise import Source, permutation

Loss = Callable[[Any, Any], Any]
_NOISE = 1 << 21  # noise numbers drawn at once, while the device is at work
_AHEAD = 256  # steps of one compiled call, at most
_WIDEST = 4096  # rows that are differentiated together on a device
_WINDOWS = 1 << 23  # bytes of windows and kernels' gradients that are held at once
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
    def additions_per_square(self) -> int:
        """How many additions a square meets in a norm, at most."""
        return additions_per_square(self.traced, self.leaves)

    @cached_property
    def most_rows(self) -> int:
        """How many rows a pass may hold: fewer where their convolutions are large."""
        each = 1
        for tap in self.traced.taps:
            if tap.kind == "convolution":
                kernel = np.shape(self.leaves[tap.leaf])
                out_axis = tap.params["dimension_numbers"].rhs_spec[0]
                seen = math.prod(kernel) // kernel[out_axis]
                places = math.prod(tap.shape) // kernel[out_axis]
                each += 4 * (places * seen + math.prod(kernel))
        return max(1, min(_WIDEST, _WINDOWS // each)) * max(len(self.devices), 1)

    @cached_property
    def fingerprint(self) -> str:
        """A name for loss, model and optimizer, the same in every process.

        Settings of an optimizer are numbers in its equations, and arrays that a loss
        closes over are constants of its own.
        """
        memory = self.optimizer.init(self.params)
        update = jax.make_jaxpr(self.optimizer.update)
        found = hashlib.sha256(str(jax.tree.structure(memory)).encode())
        for closed in (self.traced.jaxpr, update(self.params, memory, self.params)):
            found.update(re.sub(r"0x[0-9a-f]+", "", str(closed)).encode())
            for constant in constants(closed):
                found.update(np.ascontiguousarray(constant).tobytes())
        for leaf in self.leaves + jax.tree.leaves(memory):
            found.update(np.ascontiguousarray(leaf).tobytes())
        return found.hexdigest()[:32]

    def start(self) -> State:
        """Return the state before the first step."""
        params = jax.tree.map(jnp.array, self.params)
        average = jax.tree.map(jnp.array, self.params)
        zero = jnp.zeros((), jnp.int32)
        return State(params, self.optimizer.init(params), average, zero)

    @cached_property
    def _mesh(self) -> Mesh | None:
        if len(self.devices) < 2:
            return None
        return Mesh(np.array(self.devices), ("rows",))

    def on_devices(self, tree: Any) -> Any:
        """Return arrays on the devices of this program, whole on each of them."""
        if self._mesh is None:
            return jax.device_put(tree)
        everywhere = NamedSharding(self._mesh, PartitionSpec())
        return jax.device_put(tree, everywhere)

    def sum(
        self, plan: Training, leaves: Sequence[Any], data: Sequence[Any], slots: Any
    ) -> list[integers.Whole]:
        """Return the clipped sum of one pass in lattice steps: private."""
        if self._mesh is not None:
            spread = NamedSharding(self._mesh, PartitionSpec("rows"))
            slots = lax.with_sharding_constraint(slots, spread)
        # Where nobody is in the data, all slots are empty, and there is still a row.
        data = [
            x if x.shape[0] else jnp.zeros((1, *x.shape[1:]), x.dtype) for x in data
        ]
        # Copied out, so that nothing after depends on how many rows there are.
        rows = [leaf[jnp.maximum(slots, 0)] for leaf in data]
        rows = in_memory(rows, rows)
        return lattice_sums(
            self.traced,
            leaves,
            rows,
            slots >= 0,
            clip=float(plan.clip),
            groups=plan.groups,
            inverse=float(1 / plan.grid.step),
            wide=plan.wide,
        )

    def noisy_gradient(
        self,
        plan: Training,
        params: Any,
        data: Any,
        slots: Any,
        passes: Any,
        noise: Any,
    ) -> Any:
        """Return the noisy mean gradient of one batch: its sum over `plan.batch`."""
        leaves = jax.tree.leaves(params)
        if slots.shape[0] == 1:
            total = self.sum(plan, leaves, data, slots[0])
        else:

            def more(i: Any, found: list[integers.Whole]) -> list[integers.Whole]:
                return self._add_pass(plan, params, data, slots[i], found)

            total = lax.fori_loop(0, passes, more, self._empty(plan))
        return self._add_noise(plan, params, total, noise)

    def _empty(self, plan: Training) -> list[integers.Whole]:
        return [integers.zeros(int(np.size(x)), wide=plan.wide) for x in self.leaves]

    def _add_pass(
        self,
        plan: Training,
        params: Any,
        data: Any,
        slots: Any,
        found: list[integers.Whole],
    ) -> list[integers.Whole]:
        fresh = self.sum(plan, jax.tree.leaves(params), data, slots)
        return [integers.add(a, b) for a, b in zip(found, fresh, strict=True)]

    def _add_noise(
        self, plan: Training, params: Any, total: list[integers.Whole], noise: Any
    ) -> Any:
        unit = float(plan.grid.step) * float(plan.clip) / plan.batch
        drawn = gradient_noise.decode(plan.deviation, noise)
        noisy = [
            integers.floats(integers.add_steps(each, steps), unit)
            for each, steps in zip(total, _pieces(drawn, params), strict=True)
        ]
        return _in_shapes_of(params, noisy)

    @staticmethod
    def as_parameters(flat: Any, params: Any) -> Any:
        """Return a flat vector in the shape of the parameters."""
        return _in_shapes_of(params, _pieces(flat, params))

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
        @partial(jax.jit, static_argnums=0, donate_argnums=1)
        def several(
            plan: Training,
            state: State,
            data: Any,
            slots: Any,
            passes: Any,
            noise: Any,
            count: Any,
        ) -> tuple[State, Any]:
            def one(i: Any, state: State) -> State:
                gradient = self.noisy_gradient(
                    plan, state.params, data, slots[i], passes[i], noise[i]
                )
                return self._advance(state, gradient)

            found: State = lax.fori_loop(0, count, one, state)
            return found, found.step + 0

        return several

    @cached_property
    def _convolves(self) -> bool:
        """XLA runs convolutions inside loops slower than outside."""
        return "conv_general_dilated" in str(self.traced.jaxpr)

    @cached_property
    def _pass(self) -> Any:
        return jax.jit(self._add_pass, static_argnums=0, donate_argnums=4)

    @cached_property
    def _finish(self) -> Any:
        @partial(jax.jit, static_argnums=0, donate_argnums=1)
        def finish(
            plan: Training, state: State, total: Any, noise: Any
        ) -> tuple[State, Any]:
            gradient = self._add_noise(plan, state.params, total, noise)
            found = self._advance(state, gradient)
            return found, found.step + 0

        return finish

    @cached_property
    def gradient(self) -> Any:
        """`noisy_gradient`, compiled."""
        return jax.jit(self.noisy_gradient, static_argnums=0)

    def steps_per_call(self, plan: Training) -> int:
        """Return how many steps one compiled call makes."""
        most = max(1, min(_AHEAD, _NOISE // self.dimension, plan.steps))
        calls = -(-plan.steps // most)
        return -(-plan.steps // max(calls, 1))

    def advance(
        self, plan: Training, state: State, rows: Sequence[Any], source: Source
    ) -> Iterator[State]:
        """Yield the state after every few steps; batches and noise are drawn ahead.

        A state is gone once the next one is asked for: its memory is used again.
        """
        ahead = self.steps_per_call(plan)
        places = batches.positions(plan.records, rows[0].shape[0])
        order = permutation(places, source=source).astype(np.int32)
        order[order >= rows[0].shape[0]] = -1  # nobody is there
        data = self.on_devices(list(rows))
        state = self.on_devices(jax.tree.map(jnp.array, state))
        done = int(state.step)
        # One pass is compiled otherwise than several: of a Poisson batch, which may
        # be of any size, never one.
        poisson = plan.sampling == "poisson"
        least = -(-plan.batch // plan.rows) + (1 if poisson else 0)
        run = self._run_stepwise if self._convolves else self._run_in_one_call
        rooms = [gradient_noise.code_buffer((ahead, self.dimension)) for _ in range(2)]
        read: list[Any] = [0, 0]  # something that is ready once a room has been read
        while done < plan.steps:
            count = min(ahead, plan.steps - done)
            slots, passes = _slots(plan, order, count, ahead, least, source)
            jax.block_until_ready(read[0])
            noise = gradient_noise.codes(plan.deviation, rooms[0], source)
            state, last = run(plan, state, data, slots, passes, noise, count)
            rooms, read = rooms[::-1], [read[1], last]
            done += count
            yield state
        jax.block_until_ready(read)

    def _run_in_one_call(
        self, plan: Training, state: State, data: Any, *given: Any
    ) -> tuple[State, Any]:
        """Make all steps in one call."""
        *arrays, count = given
        arrays.append(np.int32(count))
        if self._mesh is not None:  # else a call takes them itself, and faster
            arrays = self.on_devices(arrays)
        found: tuple[State, Any] = self._compiled(plan, state, data, *arrays)
        return found

    def _run_stepwise(
        self,
        plan: Training,
        state: State,
        data: Any,
        slots: Any,
        passes: Any,
        noise: Any,
        count: int,
    ) -> tuple[State, Any]:
        """Make every pass and every step a call of its own."""
        last = state.step
        for i in range(count):
            total = self.on_devices(self._empty(plan))
            for each in slots[i, : passes[i]]:
                place = self.on_devices(each)
                total = self._pass(plan, state.params, data, place, total)
            state, last = self._finish(plan, state, total, self.on_devices(noise[i]))
        return state, last


def _pieces(flat: Any, params: Any) -> list[Any]:
    """Return the pieces of a flat vector that belong to each parameter."""
    sizes = [int(np.size(leaf)) for leaf in jax.tree.leaves(params)]
    return [
        flat[end - size : end]
        for size, end in zip(sizes, np.cumsum(sizes), strict=True)
    ]


def _in_shapes_of(params: Any, pieces: Sequence[Any]) -> Any:
    """Return flat pieces in the shapes and types of the parameters."""
    leaves, tree = jax.tree.flatten(params)
    found = [
        piece.reshape(jnp.shape(leaf)).astype(jnp.result_type(leaf))
        for piece, leaf in zip(pieces, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, found)


def _slots(
    plan: Training, order: Any, count: int, ahead: int, least: int, source: Source
) -> tuple[Any, Any]:
    """Return slots of rows and the number of passes for each of `count` steps."""
    given = plan.sampling, plan.records, plan.batch
    every = batches.constant(*given, order.size)  # then each step takes the same rows
    drawn = [
        batches.draw(*given, source, order.size) for _ in range(1 if every else count)
    ]
    passes = np.ones(ahead, np.int32)
    passes[:count] = [max(1, -(-each.size // plan.rows)) for each in drawn]
    slots = batches.arranged([order[each] for each in drawn], plan.rows, least)
    padded = np.full((ahead, *slots.shape[1:]), -1, np.int32)
    padded[:count] = slots
    return padded, passes
