"""How far one person moves what every measurement hands to its noise, from outside.

The first run answers for every mechanism and keeps what it was given. The second, on a
neighboring table, gives the same answers and compares: the same mechanisms in the same
order, of the same shape, at the same charge, moved by no more than the charge says in
the mechanism's own norm. Distances are exact fractions. Nothing here knows how hush
works: it hears `(mechanism, value)` and asks what is charged.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hush import mechanisms as m
from hush.errors import DrawFailed, DrawInterrupted, HushError
from hush.mechanisms.mechanism import declared_sensitivity, listen_with

SUMS = m.Laplace, m.Geometric, m.CellQuantile, m.CellInterval, m.CellTop
ROOTS = m.Gaussian, m.DiscreteGaussian
SCORES = m.Exponential, m.NoisyMax, m.PermuteAndFlip, m.TopK
SELECTIONS = m.KeySelection, m.OptimalKeySelection


class Moved(AssertionError):
    """One person moved more than was charged, or something that no noise covers."""


@dataclass(frozen=True)
class Heard:
    """One measurement: what it is, how its input looks, its numbers, its charge."""

    mechanism: object
    form: tuple
    numbers: dict  # what is not there is zero
    charged: object


def exact(value):
    """A number as a fraction; None for NaN and infinities."""
    if isinstance(value, (int, np.integer, np.bool_)):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(float(value)) if math.isfinite(value) else None


def spelled(key):
    """A key as nobody takes it for another: its types and its very text."""
    return tuple((type(each).__name__, repr(each)) for each in key)


def taken_apart(value):
    """Return the public form of an input and its numbers by their place."""
    if hasattr(value, "votes"):
        keys = [spelled(key) for key in value.keys]
        assert len(set(keys)) == len(keys), "one key stands twice on a ballot"
        votes = zip(keys, np.asarray(value.votes).tolist(), strict=True)
        return ("votes",), {key: exact(each) for key, each in votes}
    if hasattr(value, "groups"):
        found = {}
        for at, group in enumerate(value.groups):
            pairs = zip(group.places.tolist(), group.weights.tolist(), strict=True)
            for place, weight in pairs:
                assert (at, place) not in found, "one cell stands twice"
                assert 0 <= place < value.size, "a cell that is not there"
                found[at, place] = exact(weight)
        return ("cells", int(value.size), len(value.groups)), found
    array = np.asarray(value)
    kind = "whole" if array.dtype.kind in "iub" else array.dtype.kind
    flat = array.ravel().tolist()
    return ("numbers", array.shape, kind), dict(enumerate(map(exact, flat)))


def moves(one, two):
    """The exact differences that are not zero; None where there is no difference."""
    found = []
    for place in one.keys() | two.keys():
        a, b = one.get(place, Fraction(0)), two.get(place, Fraction(0))
        if a is None or b is None:
            return None
        if a != b:
            found.append(a - b)
    return found


def within(mechanism, moved, charged):
    """Whether the moves are covered by the charge, in the mechanism's own norm."""
    selection = getattr(mechanism, "selection", mechanism)
    if isinstance(selection, SELECTIONS):
        return _votes(selection, moved, charged)
    limit = exact(charged)
    if isinstance(mechanism, SUMS):
        return sum(map(abs, moved)) <= limit
    if isinstance(mechanism, ROOTS):
        return sum(each * each for each in moved) <= limit * limit
    if isinstance(mechanism, SCORES):
        apart = not mechanism.monotone or not min(moved) < 0 < max(moved)
        return apart and max(map(abs, moved)) <= limit
    raise Moved(f"no norm is known for {type(mechanism).__name__}")


def _votes(selection, moved, charged):
    """One person holds few keys; all their votes together are at most a whole one."""
    people = charged * (2 if str(selection.neighbors) == "replace-one" else 1)
    few = len(moved) <= people * selection.keys_per_person
    if isinstance(selection, m.OptimalKeySelection):
        return few and max(map(abs, moved)) <= charged
    whole = Fraction(selection.whole)
    return few and sum(each * each for each in moved) <= people * whole * whole


def judged(at, old, new):
    """Return what sets two measurements apart beyond their charge, or None."""
    name = f"{at}: {type(old.mechanism).__name__}"
    if type(old.mechanism) is not type(new.mechanism):
        return f"{name} became {type(new.mechanism).__name__}"
    if repr(old.mechanism) != repr(new.mechanism):
        return f"{name} has other parameters"
    if old.form != new.form:
        return f"{name} is given {new.form}, before {old.form}"
    if old.charged is None or old.charged != new.charged:
        return f"{name} is charged {old.charged} and {new.charged}"
    moved = moves(old.numbers, new.numbers)
    if moved is None:
        return f"{name} is given no number"
    if moved and not within(old.mechanism, moved, old.charged):
        return f"{name} moved by {list(map(float, moved))} for {old.charged}"
    return None


@dataclass
class Recorder:
    """Answers for every mechanism: noise is nothing, and every key is named."""

    heard: list = field(default_factory=list)
    answers: list = field(default_factory=list)

    def on_run(self, mechanism, value, run):
        form, numbers = taken_apart(value)
        self.heard.append(Heard(mechanism, form, numbers, declared_sensitivity()))
        self.answers.append(self.answer(mechanism, value, run))
        return self.answers[-1]

    def answer(self, mechanism, value, run):
        if isinstance(mechanism, (*SUMS[:2], *ROOTS)):
            return value
        if hasattr(value, "votes"):
            return sorted((tuple(key) for key in value.keys), key=spelled)
        with listen_with(None):
            return run(value)


@dataclass
class Replayer(Recorder):
    """Gives the recorded answers again, and notes what differs."""

    first: Recorder = None
    faults: list = field(default_factory=list)

    def answer(self, mechanism, value, run):
        at = len(self.heard) - 1
        if at >= len(self.first.heard):
            self.faults.append(f"{at}: {type(mechanism).__name__} ran on one side only")
            return super().answer(mechanism, value, run)
        fault = judged(at, self.first.heard[at], self.heard[at])
        if fault is not None:
            self.faults.append(fault)
        return self.first.answers[at]


def shown(answer):
    """What the outside sees of an answer: keys, values, and their exact types."""
    answer = getattr(answer, "answer", answer)
    values = {name: np.asarray(each).tolist() for name, each in answer.values.items()}
    return repr((answer.keys, values))


def left(data):
    return repr(data.budget)


def outcome(make, ear):
    """Ask, and return what the outside sees: an answer, or a refusal that is free.

    `make()` returns a data set and how it is asked. A failure that was paid for is
    told apart: no table may bring one about.
    """
    data, before = None, None
    try:
        data, release = make()
        before = left(data)
        with listen_with(ear):
            return "answered", shown(release())
    except (DrawFailed, DrawInterrupted) as problem:
        return "paid for nothing", f"{type(problem).__name__}: {problem}"
    except HushError as problem:
        free = data is None or left(data) == before
        kind = "refused" if free else "paid for nothing"
        return kind, f"{type(problem).__name__}: {problem}"


def recorded(make):
    """Run on a table; return what was heard and what was seen."""
    ear = Recorder()
    seen = outcome(make, ear)
    if seen[0] == "paid for nothing":
        raise Moved(f"{seen[0]}: {seen[1]}")
    if seen[0] == "answered" and not ear.heard:
        raise Moved("answered without a mechanism")
    return ear, seen


def compare(first, make):
    """Run on a neighbor of a recorded table; raise `Moved` unless noise covers it all.

    Return whether it was answered; if not, it was refused alike.
    """
    ear, seen = first
    again = Replayer(first=ear)
    told = outcome(make, again)
    faults = list(again.faults)
    if len(again.heard) < len(ear.heard):
        name = type(ear.heard[len(again.heard)].mechanism).__name__
        faults.append(f"{len(again.heard)}: {name} ran on one side only")
    if told != seen:
        faults.append(f"{seen} became {told}")
    if faults:
        raise Moved("; ".join(faults))
    return seen[0] == "answered"


def price(ear):
    """The sum of what the mechanisms heard cost at their charges, where all is pure."""
    pure = [each.mechanism.curve(each.charged).epsilon_at(0.0) for each in ear.heard]
    return math.fsum(pure)
