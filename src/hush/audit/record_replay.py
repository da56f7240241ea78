"""Record and replay: two runs that show whether noise is all that hides one person.

The first run, on D, records what every mechanism was given and what it said. The
second, on a neighbor D′, gets the recorded answers instead of fresh ones. If each input
moved by no more than was declared, and everything else came out the same, then the laws
of the two results are as close as the mechanisms promise. If anything differs, it is
something that no noise covers: a count used as if it were public, a clamp that was not
applied, a key, an error, a NaN. No statistics, no luck: two runs.
"""

import contextvars
import copy
import dataclasses
import functools
import numbers
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from hush.audit.metric import Distance, distance
from hush.errors import Stopped
from hush.mechanisms.mechanism import (
    declare_sensitivity,
    declared_sensitivity,
    has_listener,
    listen_with,
    metric_of,
)
from hush.mechanisms.metrics import Records
from hush.mechanisms.selection.exponential import Pieces

# -- Where two results differ: in their form, or only in their values ------------------
#
# A result may show the form of the data as clearly as a number does: a key that is
# there or not, the length of a list, the type of a cell. Both are compared to the
# last bit.

_DEEP = 8
_PLAIN = (str, bytes, bool, type(None), numbers.Number, np.generic)
Difference = tuple[str, str]  # ("form" or "value", where)


def differences(first: Any, second: Any, where: str = "result") -> list[Difference]:
    """Return every place where two results differ.

    Example:
        >>> differences({"n": 3, "mean": 0.5}, {"n": 4, "mean": 0.5})
        [('value', "result['n']")]
        >>> differences([1, 2], [1, 2, 3])
        [('form', 'result')]
    """
    return list(_walk(first, second, where, _DEEP))


def _walk(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    if type(a) is not type(b):
        yield "form", where
    elif isinstance(a, _PLAIN):
        if not _equal(a, b):
            yield "value", where
    elif isinstance(a, np.ndarray):
        yield from _arrays(a, b, where, deep)
    elif isinstance(a, (set, frozenset)):
        if a != b:
            yield "form", where
    elif a is not b and deep:
        yield from _parts(a, b, where, deep - 1)


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) or bool(a != a and b != b)  # NaN is NaN


def _arrays(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    if a.shape != b.shape or a.dtype != b.dtype:
        yield "form", where
    elif a.dtype.kind == "O":
        yield from _walk(a.tolist(), b.tolist(), where, deep)
    elif not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        yield "value", where


def _parts(a: Any, b: Any, where: str, deep: int) -> Iterator[Difference]:
    left, right = _named_parts(a, where), _named_parts(b, where)
    if list(left) != list(right):
        yield "form", where
        return
    for name, part in left.items():
        yield from _walk(part, right[name], name, deep)


def _named_parts(value: Any, where: str) -> dict[str, Any]:
    """Return the parts of a result by the words that lead to them."""
    if isinstance(value, Mapping):
        return {f"{where}[{key!r}]": part for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return {f"{where}[{i}]": part for i, part in enumerate(value)}
    if hasattr(value, "to_pydict"):  # an Arrow table
        return _named_parts(value.to_pydict(), where)
    if hasattr(value, "columns") and hasattr(value, "__getitem__"):  # a data frame
        return _named_parts({c: np.asarray(value[c]) for c in value.columns}, where)
    if hasattr(value, "values") and not callable(value.values):  # a release
        return {f"{where}.values": value.values}
    if dataclasses.is_dataclass(value):
        named = (each.name for each in dataclasses.fields(value))
        return {f"{where}.{name}": getattr(value, name) for name in named}
    if callable(value):
        return {}
    public = getattr(value, "__dict__", {})
    return {f"{where}.{name}": part for name, part in public.items()}


# --------------------------------------------------------------------------------------
# Threads that an observed run starts are observed as well, each in its own lane.
#
# A listener belongs to one context, and a new thread begins with an empty one. While
# a replay runs, work that is handed to a thread or to a pool of threads from a
# context that is observed takes a copy of that context along. Which thread runs first
# is chance, so that calls are kept by lanes: the order in which work was handed
# over, not done.

Lane = tuple[int, ...]  # () for the caller; a number for each hand-over after that

_LANE: contextvars.ContextVar[Lane] = contextvars.ContextVar("lane", default=())
_BEGUN: contextvars.ContextVar[dict[Lane, int] | None] = contextvars.ContextVar(
    "begun", default=None
)
_COUNTING, _PATCHING = threading.Lock(), threading.RLock()


def lane() -> Lane:
    """Return the lane of the current context."""
    return _LANE.get()


def _in_own_lane(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the work, to be done in a copy of this context and a lane of its own."""
    begun = _BEGUN.get()
    if begun is None or not has_listener():
        return work
    with _COUNTING:
        here = lane()
        number = begun[here] = begun.get(here, 0) + 1
    context = contextvars.copy_context()
    context.run(_LANE.set, (*here, number))
    return functools.partial(context.run, work)


def _run_quietly(work: Callable[[], Any]) -> None:
    """Do the work of a thread; a replay that was stopped ends it silently."""
    with suppress(SystemExit):
        work()


@contextmanager
def follow_threads() -> Iterator[None]:
    """Follow threads and pools of threads that the code inside starts.

    Only `threading.Thread` and `ThreadPoolExecutor` are followed, and what builds on
    them (`asyncio.to_thread`); other processes and threads of an engine are not.
    """
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def start_followed(self: threading.Thread) -> None:
        self.run = functools.partial(_run_quietly, _in_own_lane(self.run))  # type: ignore[method-assign]
        start(self)

    def submit_followed(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **named: Any
    ) -> "Future[Any]":
        work = _in_own_lane(fn)
        with without_lanes():  # the pool's own threads belong to no run
            return submit(self, work, *args, **named)

    token = _BEGUN.set({})
    with _PATCHING:  # one replay at a time
        threading.Thread.start = start_followed  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = submit_followed  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]
            ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
            _BEGUN.reset(token)


@contextmanager
def without_lanes() -> Iterator[None]:
    """Start no lane in here."""
    token = _BEGUN.set(None)
    try:
        yield
    finally:
        _BEGUN.reset(token)


# -- What a replay found: the calls that were heard, and where two runs diverged -------


@final
@dataclass(frozen=True)
class Call:
    """One run of a mechanism: public parameters and form, never the input itself."""

    index: int
    mechanism: str
    form: str
    sensitivity: Any
    distance: Distance | None = field(default=None, repr=False)  # depends on the data

    def __str__(self) -> str:
        said = "undeclared" if self.sensitivity is None else self.sensitivity
        return f"call {self.index}: {self.mechanism} on {self.form}, sensitivity {said}"


@final
@dataclass(frozen=True)
class Divergence:
    """One way in which the run showed which of two data sets it read.

    `what` is one of "silence", "sequence", "parameters", "form", "sensitivity",
    "metric", "distance", "error", "result" and "noise". Neither `str` nor `repr` shows
    a value from the data; `reveal()` does.
    """

    what: str
    text: str
    call: int | None = None
    seen: tuple[Any, Any] = field(default=(None, None), repr=False, compare=False)

    def __str__(self) -> str:
        at = "" if self.call is None else f"call {self.call}: "
        return f"{self.what}: {at}{self.text}"

    def reveal(self) -> str:
        """Return the finding with what was seen on either data set: private."""
        return f"{self} [{self.seen[0]!r} against {self.seen[1]!r}]"


@final
@dataclass(frozen=True)
class Replay:
    """The report of `replay`: it passed, or here is how the runs diverged.

    Example:
        >>> Replay(calls=(), divergences=()).passed
        True
    """

    calls: tuple[Call, ...]
    divergences: tuple[Divergence, ...]

    @property
    def passed(self) -> bool:
        """Whether the second data set could not be told from the first."""
        return not self.divergences

    def reveal(self) -> str:
        """Return all findings with the values behind them: private."""
        return "\n".join(each.reveal() for each in self.divergences)

    def __str__(self) -> str:
        runs = "run" if len(self.calls) == 1 else "runs"
        heard = f"{len(self.calls)} mechanism {runs} heard"
        if self.passed:
            return f"replayed: {heard}, no divergence"
        lines = "\n".join(f"  {each}" for each in self.divergences)
        return f"diverged ({heard}):\n{lines}"


# --------------------------------------------------------------------------------------
# Record and replay: two runs that show whether noise is all that hides one person.

Run = Callable[[Any], Any]


class _Stop(Stopped):
    """Ends a replay that has no recorded answer to give; no `except` may keep it."""


def _lists_records(mechanism: Any) -> bool:
    """Whether a mechanism reads a plain list of records."""
    metric = metric_of(mechanism)
    return isinstance(metric, Records) and metric.listed


@final
@dataclasses.dataclass(frozen=True)
class _Heard:
    """The record of one run, raw input included, so it never leaves this file."""

    mechanism: Any
    value: Any
    sensitivity: Any
    output: Any

    @property
    def form(self) -> str:
        if isinstance(self.value, Pieces):
            return repr(self.value)  # where the pieces lie is up to the data
        return "data" if _lists_records(self.mechanism) else form(self.value)


def form(value: Any) -> str:
    """Return the public form of an input: its shape, and whole, fraction or float.

    Example:
        >>> form(3), form([0.5, 1.5]), form(np.zeros((2, 3), dtype=int))
        ('one whole number', '2 floats', '2x3 whole numbers')
    """
    if isinstance(value, (list, tuple)) and any(isinstance(v, Fraction) for v in value):
        return f"{len(value)} fractions"
    if isinstance(value, Fraction):
        return "one fraction"
    array = np.asarray(value)
    kinds = {"b": "truth value", "i": "whole number", "u": "whole number", "f": "float"}
    kind = kinds.get(array.dtype.kind)
    if kind is None and isinstance(value, numbers.Integral):
        kind = "whole number"  # beyond 64 bits
    kind = kind or type(value).__name__
    if array.ndim == 0:
        return f"one {kind}"
    return f"{'x'.join(map(str, array.shape))} {kind}s"


class _Ear(ABC):
    """Observes the outermost mechanism; a query and its mechanism count as two."""

    def __init__(self, bare: Any) -> None:
        self.lanes: dict[Lane, list[_Heard]] = {(): []}
        self._bare = bare
        self._talks: dict[int, tuple[Any, list[Any]]] = {}

    @property
    def records(self) -> list[_Heard]:
        """The runs recorded in this thread so far."""
        return self.lanes.setdefault(lane(), [])

    @property
    def is_empty(self) -> bool:
        """Whether no mechanism ran in any thread."""
        return not any(self.lanes.values())

    def on_run(self, mechanism: Any, value: Any, run: Run) -> Any:
        moved = mechanism.inner_move(
            1 if declared_sensitivity() is None else declared_sensitivity()
        )
        if moved is not None:
            with declare_sensitivity(moved):
                return run(value)
        given = (
            value
            if isinstance(value, (Sized, numbers.Number))
            else _list_of_iterator(value)
        )
        found = self.answer(mechanism, _copy(given), run)
        self.records.append(found)
        return _copy(found.output)

    def on_turn(self, talk: Any, mechanism: Any, value: Any, run: Run) -> Any:
        """Observe the next turn, together with all earlier inputs of `talk`.

        A conversation promises something about its whole input, so each turn is judged
        together with those before it.
        """
        _, said = self._talks.setdefault(id(talk), (talk, []))
        said.append(_copy(value))
        found = self.answer(mechanism, list(said), lambda given: run(given[-1]))
        self.records.append(found)
        return _copy(found.output)

    @abstractmethod
    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        """Return the record of a run: the mechanism's own answer, or a recorded one."""

    def sensitivity(self, mechanism: Any) -> Any:
        said = declared_sensitivity()
        if said is not None:
            return said
        if isinstance(self._bare, Sequence):
            at = len(self.records)
            return self._bare[at] if at < len(self._bare) else None
        if self._bare is None and _lists_records(mechanism):
            return 1  # one person
        return self._bare


def _copy(value: Any) -> Any:
    """Return a copy, so that a record cannot change; the value if it has none."""
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):  # a table of an engine, a handle
        return value


def _list_of_iterator(value: Any) -> Any:
    return list(value) if hasattr(value, "__next__") else value


@final
class _Recorder(_Ear):
    """Runs every mechanism and records its answer."""

    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        with listen_with(None):
            output = run(_copy(value))
        return _Heard(mechanism, value, self.sensitivity(mechanism), output)


@final
class _Replayer(_Ear):
    """Gives the recorded answers, and notes what differs."""

    def __init__(self, recorded: Mapping[Lane, Sequence[_Heard]], bare: Any) -> None:
        super().__init__(bare)
        self.recorded = recorded
        self.divergences: list[Divergence] = []
        self.calls: list[Call] = []

    def note(self, what: str, text: str, seen: tuple[Any, Any] = (None, None)) -> None:
        self.divergences.append(Divergence(what, text, len(self.records), seen))

    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        at, recorded = len(self.records), self.recorded.get(lane(), ())
        if at >= len(recorded):
            self.note("sequence", f"{type(mechanism).__name__} ran on one side only")
            raise _Stop
        old = recorded[at]
        if type(mechanism) is not type(old.mechanism):
            names = type(old.mechanism).__name__, type(mechanism).__name__
            self.note("sequence", "another mechanism ran", names)
            raise _Stop
        new = _Heard(mechanism, value, self.sensitivity(mechanism), old.output)
        self._compare(old, new)
        return new

    def _compare(self, old: _Heard, new: _Heard) -> None:
        name = type(old.mechanism).__name__
        changed = _changed_fields(old.mechanism, new.mechanism)
        if changed:
            text = f"{name} has other parameters: {', '.join(changed)}"
            self.note("parameters", text, (old.mechanism, new.mechanism))
        apart = None
        if old.form != new.form:
            text = f"the input of {name} has another shape or type"
            self.note("form", text, (old.form, new.form))
        elif old.sensitivity != new.sensitivity:
            seen = old.sensitivity, new.sensitivity
            self.note("sensitivity", f"{name} is charged at another sensitivity", seen)
        else:
            apart = distance(old.mechanism, old.value, new.value)
            self._check_distance(old, new, apart)
        self.calls.append(
            Call(
                len(self.records), repr(old.mechanism), old.form, old.sensitivity, apart
            )
        )

    def _check_distance(self, old: _Heard, new: _Heard, apart: Any) -> None:
        name = type(old.mechanism).__name__
        if apart is None:
            text = f"no metric is known for {name}; register one with distance.register"
            self.note("metric", text)
        elif old.sensitivity is None:
            text = f"{name} ran without a query; say sensitivity= what it is charged at"
            self.note("sensitivity", text)
        elif not apart.within(old.sensitivity):
            text = f"the input of {name} moved by more than {old.sensitivity}"
            self.note("distance", text, (old.value, new.value))


def _changed_fields(first: Any, second: Any) -> list[str]:
    """Return the names of public fields that differ, in value or in type."""
    if not dataclasses.is_dataclass(first):
        return [] if repr(first) == repr(second) else ["repr"]
    names = [each.name for each in dataclasses.fields(first)]
    return [n for n in names if differences(getattr(first, n), getattr(second, n))]


def _run_with(run: Run, data: Any, ear: _Ear) -> tuple[Any, BaseException | None]:
    try:
        with follow_threads(), listen_with(ear):
            return run(data), None
    except (Exception, _Stop) as problem:
        return None, problem


def replay(
    run: Run,
    data: Any,
    neighbor: Any,
    *,
    sensitivity: Any = None,
    released: Callable[[Any], Any] | None = None,
) -> Replay:
    """Run on `data`, replay on `neighbor`, and report every divergence.

    `run(data)` may use any mechanisms of hush, by itself, through queries or through a
    ledger. `sensitivity` is what mechanisms that run without a query are charged at:
    one number, or one per call (of a thread). `released` picks what the outside sees of
    the result, where it also holds a clock or an identity; of a `Release` only the
    values count.

    Guarantee: a report that passed, for every pair of neighbors, means that the result
    satisfies the composition of the curves of the calls heard at their sensitivities,
    on the path of answers that was recorded; all turns of one conversation (`start`)
    count as one call. Threads and pools of threads that the run starts are heard, other
    processes are not.

    Example:
        >>> from hush.mechanisms import Laplace, sum
        >>> total = sum(bounds=(0, 10)) >> Laplace(scale=10.0)
        >>> print(replay(total.run, [3, 4], [3, 4, 9]))
        replayed: 1 mechanism run heard, no divergence
        >>> print(replay(lambda d: total.run(d) + len(d), [3, 4], [3, 4, 9]))
        diverged (1 mechanism run heard):
          result: result has another value

    Reference: the recipe is due to [CEDBF26].
    """
    show = released or (lambda result: result)
    recorder = _Recorder(sensitivity)
    first, problem = _run_with(lambda d: show(run(d)), data, recorder)
    if problem is not None:
        return Replay((), (_error_divergence(problem, "the first"),))
    report = _replay_on(run, neighbor, recorder, first, show, sensitivity)
    if any(each.what == "result" for each in report.divergences):
        same = _replay_on(run, data, recorder, first, show, sensitivity)
        report = _with_noise_marked(report, {each.text for each in same.divergences})
    return report


def _replay_on(
    run: Run, data: Any, recorder: _Recorder, first: Any, show: Run, bare: Any
) -> Replay:
    replayer = _Replayer(recorder.lanes, bare)
    second, problem = _run_with(lambda d: show(run(d)), data, replayer)
    found = replayer.divergences
    if problem is not None:
        if not isinstance(problem, _Stop):
            found.append(_error_divergence(problem, "the second"))
    else:
        if recorder.is_empty:
            text = "no mechanism of hush was heard, so nothing was checked"
            found.append(Divergence("silence", text))
        for place, recorded in sorted(recorder.lanes.items()):
            more = len(replayer.lanes.get(place, ()))
            if more < len(recorded):
                left = type(recorded[more].mechanism).__name__
                text = f"{left} ran on one side only"
                found.append(Divergence("sequence", text, more))
        for kind, where in differences(first, second):
            text = f"{where} has another {kind}"
            found.append(Divergence("result", text, None, (first, second)))
    return Replay(tuple(replayer.calls), tuple(found))


def _error_divergence(problem: BaseException, which: str) -> Divergence:
    # The text of an error may hold data; its class is what an outsider surely sees.
    text = f"{type(problem).__name__} was raised on {which} data set"
    return Divergence("error", text, None, (str(problem), None))


def _with_noise_marked(report: Replay, noisy: set[str]) -> Replay:
    """Return the report with results that never repeat marked as noise."""
    found = tuple(
        dataclasses.replace(
            each,
            what="noise",
            text=f"{each.text}, also on the same data: noise from outside a "
            "mechanism's run, a clock or an identity (say released=)",
        )
        if each.what == "result" and each.text in noisy
        else each
        for each in report.divergences
    )
    return dataclasses.replace(report, divergences=found)


def assert_replays(
    run: Run,
    data: Any,
    neighbor: Any,
    *,
    sensitivity: Any = None,
    released: Callable[[Any], Any] | None = None,
) -> None:
    """Raise AssertionError, without a data value in it, unless `replay` passes.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> noisy = Laplace(scale=1.0).run
        >>> assert_replays(lambda d: noisy(len(d)), [1, 2], [1], sensitivity=1)
    """
    report = replay(run, data, neighbor, sensitivity=sensitivity, released=released)
    if not report.passed:
        raise AssertionError(str(report))
