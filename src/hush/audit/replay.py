"""Record and replay: two runs that show whether noise is all that hides one person.

The first run, on D, records what every mechanism was given and what it said. The
second, on a neighbor D′, gets the recorded answers instead of fresh ones. If each input
moved by no more than was declared, and everything else came out the same, then the laws
of the two results are as close as the mechanisms promise. If anything differs, it is
something that no noise covers: a count used as if it were public, a clamp that was not
applied, a key, an error, a NaN. No statistics, no luck: two runs.
"""

import copy
import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from fractions import Fraction
from typing import Any, final

import numpy as np

from hush.audit.divergence import Call, Divergence, Replay
from hush.audit.metric import READS_DATA, distance
from hush.audit.schema import differences
from hush.audit.threads import Lane, followed, lane
from hush.errors import Stopped
from hush.mechanisms import DiscreteGaussian, Gaussian
from hush.mechanisms.exponential import Pieces
from hush.mechanisms.listening import declared, declaring, listening
from hush.mechanisms.query import Released

Run = Callable[[Any], Any]


class _Stop(Stopped):
    """Ends a replay that has no recorded answer to give; no `except` may keep it."""


@final
@dataclasses.dataclass(frozen=True)
class _Heard:
    """What was heard of one run: raw input and all, so it never leaves this file."""

    mechanism: Any
    value: Any
    sensitivity: Any
    output: Any

    @property
    def form(self) -> str:
        if isinstance(self.value, Pieces):
            return repr(self.value)  # where the pieces lie is up to the data
        return "data" if isinstance(self.mechanism, READS_DATA) else form(self.value)


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
    """Hears the outermost mechanism; a query and its mechanism count as two."""

    def __init__(self, bare: Any) -> None:
        self.lanes: dict[Lane, list[_Heard]] = {(): []}
        self._bare = bare
        self._talks: dict[int, tuple[Any, list[Any]]] = {}

    @property
    def heard(self) -> list[_Heard]:
        """What was heard in this thread so far."""
        return self.lanes.setdefault(lane(), [])

    @property
    def silent(self) -> bool:
        """Whether no mechanism ran in any thread."""
        return not any(self.lanes.values())

    def hear(self, mechanism: Any, value: Any, run: Run) -> Any:
        if isinstance(mechanism, Released):
            inner = mechanism.mechanism
            norm = 2 if isinstance(inner, (Gaussian, DiscreteGaussian)) else 1
            people = 1 if declared() is None else declared()
            with declaring(mechanism.query.sensitivity(norm) * people):  # type: ignore[arg-type]
                return run(value)
        given = value if isinstance(value, (Sized, numbers.Number)) else _listed(value)
        found = self.answer(mechanism, _kept(given), run)
        self.heard.append(found)
        return _kept(found.output)

    def turn(self, talk: Any, mechanism: Any, value: Any, run: Run) -> Any:
        """Hear the next turn; what counts is all that was said to `talk` so far.

        A conversation promises something about its whole input, so each turn is judged
        together with those before it.
        """
        _, said = self._talks.setdefault(id(talk), (talk, []))
        said.append(_kept(value))
        found = self.answer(mechanism, list(said), lambda given: run(given[-1]))
        self.heard.append(found)
        return _kept(found.output)

    @abstractmethod
    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        """Return what a mechanism says about a value, in its own way or another."""

    def sensitivity(self, mechanism: Any) -> Any:
        said = declared()
        if said is not None:
            return said
        if isinstance(self._bare, Sequence):
            at = len(self.heard)
            return self._bare[at] if at < len(self._bare) else None
        if self._bare is None and isinstance(mechanism, READS_DATA):
            return 1  # one person
        return self._bare


def _kept(value: Any) -> Any:
    """Return a copy, so that nobody changes what was heard; itself if it has none."""
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):  # a table of an engine, a handle
        return value


def _listed(value: Any) -> Any:
    return list(value) if hasattr(value, "__next__") else value


@final
class _Recorder(_Ear):
    """Lets every mechanism speak and keeps what it said."""

    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        with listening(None):
            output = run(_kept(value))
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
        self.divergences.append(Divergence(what, text, len(self.heard), seen))

    def answer(self, mechanism: Any, value: Any, run: Run) -> _Heard:
        at, recorded = len(self.heard), self.recorded.get(lane(), ())
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
        changed = _changed(old.mechanism, new.mechanism)
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
            self._within(old, new, apart)
        self.calls.append(
            Call(len(self.heard), repr(old.mechanism), old.form, old.sensitivity, apart)
        )

    def _within(self, old: _Heard, new: _Heard, apart: Any) -> None:
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


def _changed(first: Any, second: Any) -> list[str]:
    """Return the names of public fields that differ, in value or in type."""
    if not dataclasses.is_dataclass(first):
        return [] if repr(first) == repr(second) else ["repr"]
    names = [each.name for each in dataclasses.fields(first)]
    return [n for n in names if differences(getattr(first, n), getattr(second, n))]


def _heed(run: Run, data: Any, ear: _Ear) -> tuple[Any, BaseException | None]:
    try:
        with followed(), listening(ear):
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
    first, problem = _heed(lambda d: show(run(d)), data, recorder)
    if problem is not None:
        return Replay((), (_raised(problem, "the first"),))
    report = _again(run, neighbor, recorder, first, show, sensitivity)
    if any(each.what == "result" for each in report.divergences):
        same = _again(run, data, recorder, first, show, sensitivity)
        report = _without(report, {each.text for each in same.divergences})
    return report


def _again(
    run: Run, data: Any, recorder: _Recorder, first: Any, show: Run, bare: Any
) -> Replay:
    replayer = _Replayer(recorder.lanes, bare)
    second, problem = _heed(lambda d: show(run(d)), data, replayer)
    found = replayer.divergences
    if problem is not None:
        if not isinstance(problem, _Stop):
            found.append(_raised(problem, "the second"))
    else:
        if recorder.silent:
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


def _raised(problem: BaseException, which: str) -> Divergence:
    # The text of an error may hold data; its class is what an outsider surely sees.
    text = f"{type(problem).__name__} was raised on {which} data set"
    return Divergence("error", text, None, (str(problem), None))


def _without(report: Replay, noisy: set[str]) -> Replay:
    """Tell results that never repeat from those that show the data."""
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
