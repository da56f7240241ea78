"""Per-example gradients by taps: where a loss uses a weight once, and how.

The loss of one example is traced to equations. Where a parameter is used exactly once,
as the matrix of a product with a vector or as the kernel of a convolution, a *tap* (a
zero) is added to that equation's output: the gradient at the tap and the equation's
other input give the weight's gradient, without forming it. Every other parameter
(tied, transformed, inside a loop) is differentiated as usual, for each example.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var

from hush.errors import InvalidArgument
from hush.learn.sgd.convolution_layers import product

Path = tuple[int, ...]
_INLINED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr"}


@final
@dataclass(frozen=True)
class Tap:
    """One equation that uses a weight: its place, its other input, its output."""

    leaf: int
    path: Path
    kind: str  # "product" or "convolution"
    operand: int  # which input of the equation is not the weight
    rows_first: bool  # the weight is indexed (input, output), not (output, input)
    shape: tuple[int, ...]  # of the output
    dtype: Any
    params: dict[str, Any]


@final
@dataclass
class _Uses:
    """What happens to each parameter, gathered while walking over the equations."""

    taps: dict[int, list[Tap]] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)


Bound = tuple[int, bool]  # a parameter, and whether it is transposed


def _inner(eqn: Any) -> Jaxpr | None:
    name = _INLINED.get(eqn.primitive.name)
    closed = eqn.params.get(name) if name else None
    return closed.jaxpr if isinstance(closed, ClosedJaxpr) else None


def _tap(eqn: Any, place: int, bound: Bound, path: Path) -> Tap | None:
    """Return the tap of an equation that uses a weight, if there is a rule for it."""
    leaf, transposed = bound
    weight, out = eqn.invars[place].aval, eqn.outvars[0].aval
    if weight.dtype != jnp.float32 or not jnp.issubdtype(out.dtype, jnp.floating):
        return None
    name, operand, first = eqn.primitive.name, 1 - place, True
    if name == "dot_general":
        (left, right), (batch, _) = eqn.params["dimension_numbers"]
        dims = (left, right)[place]
        vector = eqn.invars[operand].aval.ndim == 1
        if batch or weight.ndim != 2 or len(dims) != 1 or not vector:
            return None
        kind, first = "product", (dims[0] == 0) != transposed
    elif name == "conv_general_dilated":
        plain = (
            eqn.params["feature_group_count"] == eqn.params["batch_group_count"] == 1
        )
        if (
            place != 1
            or transposed
            or not plain
            or set(eqn.params["lhs_dilation"]) > {1}
        ):
            return None
        kind = "convolution"
    else:
        return None
    return Tap(leaf, path, kind, operand, first, out.shape, out.dtype, eqn.params)


def _swaps(eqn: Any) -> bool:
    name = str(eqn.primitive.name)
    return name == "transpose" and tuple(eqn.params["permutation"]) == (1, 0)


def _walk(jaxpr: Jaxpr, bound: dict[Var, Bound], path: Path, uses: _Uses) -> None:
    for index, eqn in enumerate(jaxpr.eqns):
        here = (*path, index)
        places = [
            (place, bound[var])
            for place, var in enumerate(eqn.invars)
            if isinstance(var, Var) and var in bound
        ]
        if not places:
            continue
        inner = _inner(eqn)
        if inner is not None:
            given = {inner.invars[place]: which for place, which in places}
            _walk(inner, given, here, uses)
            for outer, var in zip(eqn.outvars, inner.outvars, strict=True):
                if isinstance(var, Var) and var in given:
                    bound[outer] = given[var]
        elif _swaps(eqn):
            leaf, transposed = places[0][1]
            bound[eqn.outvars[0]] = leaf, not transposed
        else:
            for place, which in places:
                found = _tap(eqn, place, which, here)
                if found is None or len(places) > 1:
                    uses.others.add(which[0])
                else:
                    uses.taps.setdefault(which[0], []).append(found)


@final
@dataclass(frozen=True)
class Traced:
    """A per-example loss as equations, and the taps that its parameters allow."""

    jaxpr: ClosedJaxpr
    leaves: int
    taps: tuple[Tap, ...]

    @property
    def tapped(self) -> frozenset[int]:
        """The parameters whose gradients follow from taps."""
        return frozenset(tap.leaf for tap in self.taps)

    def value(
        self, taps: Sequence[Any], leaves: Sequence[Any], example: Sequence[Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the loss with taps added, and the other input of each tapped place."""
        wanted = {
            tap.path: (tap, value) for tap, value in zip(self.taps, taps, strict=True)
        }
        seen: dict[Path, Any] = {}
        args = [*leaves, *example]
        (loss,) = _evaluate(self.jaxpr.jaxpr, self.jaxpr.consts, args, (), wanted, seen)
        return loss, tuple(seen[tap.path] for tap in self.taps)


def constants(closed: ClosedJaxpr) -> Iterator[Any]:
    """Yield the arrays that equations hold on to, also those inside of others."""
    yield from closed.consts
    for eqn in closed.jaxpr.eqns:
        for inner in jax.tree.leaves(list(eqn.params.values()), is_leaf=_closed):
            if _closed(inner):
                yield from constants(inner)


def _closed(value: Any) -> bool:
    return isinstance(value, ClosedJaxpr)


def _refuse_meetings(jaxpr: Jaxpr) -> None:
    """Refuse equations through which rows could mix, or leave, unclipped.

    They are known by their names, before any row is read.
    """
    for eqn in jaxpr.eqns:
        name = str(eqn.primitive.name)
        if name == "custom_vmap_call" or "callback" in name or name == "debug_print":
            raise InvalidArgument(
                f"loss must be a function of one example; this one has {name}, which "
                "sees the rows of a batch together, or shows them, or fails for one of "
                "them. Leave out callbacks, prints, checks of values and custom_vmap; "
                "try a loss with them on public rows by jax.vmap."
            )
        for inner in jax.tree.leaves(
            list(eqn.params.values()),
            is_leaf=lambda each: isinstance(each, (Jaxpr, ClosedJaxpr)),
        ):
            if isinstance(inner, ClosedJaxpr):
                _refuse_meetings(inner.jaxpr)
            elif isinstance(inner, Jaxpr):
                _refuse_meetings(inner)


def trace(loss: Callable[[Any, Any], Any], params: Any, example: Any) -> Traced:
    """Return the equations of `loss(params, example)` and its taps."""
    try:
        closed = jax.make_jaxpr(loss)(params, example)
    except Exception as error:  # made of shapes alone: what it says is public
        one = jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", example)
        error.add_note(
            "loss(params, example) is given one row of data, without a batch axis, and "
            f"returns its loss. Here example is {one}."
        )
        raise
    _refuse_meetings(closed.jaxpr)
    outs = [var.aval for var in closed.jaxpr.outvars]
    if (
        len(outs) != 1
        or outs[0].shape
        or not jnp.issubdtype(outs[0].dtype, jnp.floating)
    ):
        raise InvalidArgument(
            "loss(params, example) must return one float, the loss of one example; got "
            f"{', '.join(str(each) for each in outs)}."
        )
    count = len(jax.tree.leaves(params))
    bound: dict[Var, Bound] = {
        var: (i, False) for i, var in enumerate(closed.jaxpr.invars[:count])
    }
    uses = _Uses()
    _walk(closed.jaxpr, bound, (), uses)
    taps = tuple(
        found[0]
        for leaf, found in sorted(uses.taps.items())
        if len(found) == 1 and leaf not in uses.others
    )
    return Traced(closed, count, taps)


def _evaluate(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    args: Sequence[Any],
    path: Path,
    wanted: dict[Path, tuple[Tap, Any]],
    seen: dict[Path, Any],
) -> list[Any]:
    """Evaluate equations one by one, looking into those that hold a tap."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, args, strict=True))

    def read(var: Any) -> Any:
        return var.val if isinstance(var, Literal) else known[var]

    for index, eqn in enumerate(jaxpr.eqns):
        here = (*path, index)
        values = [read(var) for var in eqn.invars]
        inside = any(each[: len(here)] == here for each in wanted)
        inner = _inner(eqn) if inside else None
        tap, zero = wanted.get(here, (None, None))
        if tap is not None and tap.kind == "convolution":
            image, kernel = values
            found, seen[here] = product(image, kernel, tap.params)
            found = [found + zero]
        elif inner is not None:
            consts = eqn.params[_INLINED[eqn.primitive.name]].consts
            found = _evaluate(inner, consts, values, here, wanted, seen)
        else:
            found = _apply(eqn, values)
        if tap is not None and tap.kind == "product":
            seen[here] = values[tap.operand]
            found = [found[0] + zero]
        known.update(zip(eqn.outvars, found, strict=True))
    return [read(var) for var in jaxpr.outvars]


def _apply(eqn: Any, values: Sequence[Any]) -> Any:
    """Return the outputs of one equation, as `jax.core.eval_jaxpr` would."""
    options = eqn.primitive.get_bind_params(eqn.params)
    functions: Sequence[Any] = ()
    if isinstance(options, tuple):  # JAX before 0.8 keeps functions apart
        functions, options = options
    found = eqn.primitive.bind(*functions, *values, **options)
    return found if eqn.primitive.multiple_results else [found]
