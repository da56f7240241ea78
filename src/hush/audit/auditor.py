"""The auditor: learn what tells two data sets apart, then test it on fresh runs."""

import numbers
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.audit.distinguisher import Event, Goal, choose
from hush.audit.finding import Audit, Verdict
from hush.audit.hypothesis_tests import Point, Round, guess_counts, points
from hush.audit.neighbors import Pair
from hush.audit.outputs import Floats, Raised, Reader
from hush.errors import InvalidArgument
from hush.mechanisms import Mechanism
from hush.noise import SECURE, Source, integers
from hush.privacy.curve import Curve, checked_curve

# -- Many runs of the thing under test, at once where that is provably the same --------

Many = Callable[[Any, int], Any]  # data, count -> independent results


def draws_of(run: Any, batch: Many | None, source: Source, *, timing: bool) -> Many:
    """Return the way to draw many independent results.

    Guarantee: results have the law of single runs. Only mechanisms whose noise is
    independent per coordinate are run as one array; anything else runs in a loop.
    """
    if batch is not None:
        return batch
    if isinstance(run, Mechanism):
        mechanism = run
        single = _one_by_one(lambda d: mechanism.run(d, source=source), timing=timing)
        if mechanism.independent and not timing:
            return lambda d, n: _at_once(mechanism, d, n, source) or single(d, n)
        return single
    if not callable(run):
        raise InvalidArgument(
            f"run must be a mechanism or a function of data; got a "
            f"{type(run).__name__}."
        )
    return _one_by_one(run, timing=timing)


def _at_once(mechanism: Any, data: Any, count: int, source: Source) -> Any:
    number = isinstance(data, numbers.Real)
    if not number and not isinstance(data, (list, np.ndarray)):
        return None
    array = np.asarray(data)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        return None
    tiled = np.broadcast_to(array, (count, *array.shape)).copy()
    return Batch(np.asarray(mechanism.run(tiled, source=source)))


class Batch:
    """Results of many runs as one array, a row each."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows


def _one_by_one(run: Callable[[Any], Any], *, timing: bool) -> Many:
    def one(data: Any) -> Any:
        start = time.perf_counter()
        try:
            found = run(data)
        except Exception as problem:  # an error is an answer too
            found = Raised(type(problem).__name__)
        if not timing:
            return found
        spent = max(time.perf_counter() - start, 1e-9)
        return {"result": found, "time": round(2 * np.log2(spent)) / 2}

    return lambda data, count: [one(data) for _ in range(count)]


def in_coin_order(first: Any, second: Any, side: Any) -> Any:
    """Return the results of both data sets in the order of the coin."""
    if isinstance(first, Batch):
        first, second = first.rows, second.rows
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        both = np.empty((len(side), *first.shape[1:]), dtype=np.float64)
        both[~side], both[side] = first, second
        return both
    left, right = iter(first), iter(second)
    return [next(right) if each else next(left) for each in side]


# -- The auditor: learn what tells two data sets apart, then test it on fresh runs -----

_TRAINING = 8  # one run in so many is spent on training alone
_LEAST = 40  # training runs of every pair
_ROUNDS = (1, 2, 4)  # parts of the rest; each is tested with an event learned before it
_MOST = 60_000  # runs that an event is learned from


@final
@dataclass(frozen=True)
class _Trained:
    """A pair of data sets, the runs so far and the event that was learned from them."""

    pair: Pair
    outputs: Any
    side: NDArray[np.bool_]
    reader: Reader
    event: Event

    @classmethod
    def of(
        cls, pair: Pair, outputs: Any, side: NDArray[np.bool_], goal: Goal
    ) -> "_Trained":
        """Learn the most promising event of a pair."""
        outputs, side = outputs[-_MOST:], side[-_MOST:]
        reader = Reader(outputs)
        return cls(
            pair, outputs, side, reader, choose(reader.read(outputs), side, goal)
        )

    def with_more(
        self, outputs: Any, side: NDArray[np.bool_], goal: Goal
    ) -> "_Trained":
        """Learn again from more runs, for the same promise of the claim."""
        both = np.concatenate([self.side, side])
        if isinstance(outputs, np.ndarray) and isinstance(self.outputs, np.ndarray):
            seen: Any = np.concatenate([self.outputs, outputs])
        else:
            seen = [*self.outputs, *outputs]
        return _Trained.of(
            self.pair, seen, both, replace(goal, offered=[self.event.point])
        )


def audit(
    run: Any,
    data: Any = None,
    neighbor: Any = None,
    *,
    claim: Curve,
    samples: int = 20_000,
    level: float = 0.95,
    pairs: Iterable[Any] = (),
    batch: Many | None = None,
    timing: bool = False,
    source: Source = SECURE,
) -> Audit:
    """Try to refute a claimed guarantee by telling two data sets apart.

    `run` is a mechanism or any function of data; what it raises counts as its answer.
    An eighth of the `samples` trains: results are looked at from all sides (values,
    NaN, lowest bits, keys, lengths, errors) and the most telling event is kept. The
    rest tests, in three rounds, and each round trains the next: a coin chooses the data
    set, the event guesses the coin. `pairs` are more pairs to choose from, such as
    `neighbors_of(data)` returns. `batch(data, count)` returns many independent results
    faster than single runs do. `timing` also looks at how long a run takes, which no
    guarantee of hush covers.

    Guarantee: if the claim holds, the verdict is "violated" with chance at most
    1 - `level`, whatever was learned: an event is tested on later runs only, and every
    round is judged on its own (docs/proofs/audit.md).

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import Seeded
        >>> from hush.privacy import Pure
        >>> found = audit(Laplace(1.0, step=1), 0, 1, claim=Pure(0.5), source=Seeded(1))
        >>> found.verdict, 0.9 < found.epsilon_lower < 1.05
        (<Verdict.VIOLATED: 'violated'>, True)

    Reference: guessing with abstention [SNJ23]; betting [WR23]; events as in [DWWZK18].
    """
    checked_curve("claim", claim)
    checks.whole("samples", samples, at_least=400)
    checks.real("level", level, above=0, below=1)
    tried = _pairs(data, neighbor, pairs)
    draw = draws_of(run, batch, source, timing=timing)
    each = max(_LEAST, samples // _TRAINING // len(tried))
    left = max(samples - each * len(tried), samples // 2)
    goal = Goal(points(claim), left, 1 - level)
    trained = [_train(draw, pair, each, goal) for pair in tried]
    best = max(trained, key=lambda found: found.event.promise)
    tested, roc = _test(draw, best, goal, source)
    return _result_of(tested, claim, level, roc, each * len(tried))


def _pairs(data: Any, neighbor: Any, pairs: Iterable[Any]) -> list[Pair]:
    if data is not None and neighbor is None:
        # Code that fails on None would be accused of telling it from the data.
        raise InvalidArgument("neighbor must be given with data; use pairs for None.")
    given = [] if data is None and neighbor is None else [Pair("given", data, neighbor)]
    for i, each in enumerate(pairs):
        given.append(each if isinstance(each, Pair) else Pair(f"pair {i}", *each))
    if not given:
        raise InvalidArgument("give data and neighbor, or pairs.")
    return given


def _train(draw: Many, pair: Pair, runs: int, goal: Goal) -> _Trained:
    side = np.arange(runs) // 2 % 2 == 1  # every third of training sees both sides
    outputs = _draw_both(draw, pair, side)
    _refuse_failures(outputs)
    return _Trained.of(pair, outputs, side, goal)


def _draw_both(draw: Many, pair: Pair, side: NDArray[np.bool_]) -> Any:
    near = int(side.sum())
    first = draw(pair.data, len(side) - near)
    return in_coin_order(first, draw(pair.neighbor, near), side)


def _refuse_failures(outputs: Any) -> None:
    if isinstance(outputs, np.ndarray):
        return
    names = {each.name for each in outputs if isinstance(each, Raised)}
    if len(names) == 1 and all(isinstance(each, Raised) for each in outputs):
        raise InvalidArgument(
            f"run must answer; every run raised {names.pop()} on both data sets."
        )


@final
@dataclass(frozen=True)
class _Tested:
    """The last event and what all rounds said."""

    last: _Trained
    rounds: tuple[Round, ...]


def _test(
    draw: Many, trained: _Trained, goal: Goal, source: Source
) -> tuple[_Tested, Any]:
    """Run on fresh coins; bets may stop as soon as the claim is refuted."""
    rounds: tuple[Round, ...] = ()
    sizes = [goal.runs * part // sum(_ROUNDS) for part in _ROUNDS]
    sizes[-1] += goal.runs - sum(sizes)
    for size in sizes:
        event, luck = trained.event, _uniform(source)
        chunk = max(500, size // 4) if event.point.kind == "betting" else size
        parts: list[Any] = []
        while (made := sum(len(part[1]) for part in parts)) < size:
            parts.append(_guess_runs(draw, trained, min(chunk, size - made), source))
            guesses = np.concatenate([part[2] for part in parts])
            last = Round(guesses, event.stake, event.sides, luck)
            if _is_refuted(event.point, (*rounds, last), goal):
                break
        rounds = (*rounds, last)
        side, scores = (np.concatenate([part[i] for part in parts]) for i in (1, 3))
        if len(rounds) == len(sizes) or _is_refuted(event.point, rounds, goal):
            break
        trained = trained.with_more(_join_outputs([p[0] for p in parts]), side, goal)
    return _Tested(trained, rounds), _roc(scores, side)


def _guess_runs(draw: Many, trained: _Trained, count: int, source: Source) -> Any:
    """Return results, sides, guesses and scores of some fresh runs."""
    side = np.asarray(integers(2, count, source=source)) == 1
    outputs = _draw_both(draw, trained.pair, side)
    guesses, scores = trained.event.guess(trained.reader.read(outputs), side)
    return outputs, side, guesses, scores


def _is_refuted(point: Point, rounds: tuple[Round, ...], goal: Goal) -> bool:
    """Return whether bets have won; nothing else may stop early."""
    if point.kind != "betting":
        return False
    return point.p_value(rounds, 1 - goal.alpha) <= goal.alpha


def _join_outputs(outputs: list[Any]) -> Any:
    if all(isinstance(each, np.ndarray) for each in outputs):
        return np.concatenate(outputs)
    return [one for each in outputs for one in each]


def _uniform(source: Source) -> float:
    return (float(source.integers(1, bits=52)[0]) + 0.5) / 2**52


def _result_of(
    tested: _Tested, claim: Curve, level: float, roc: Any, spent: int
) -> Audit:
    event, point, rounds = tested.last.event, tested.last.event.point, tested.rounds
    p_value = point.p_value(rounds, level)
    counts = [guess_counts(each.guesses) for each in rounds]
    runs, made = sum(len(each.guesses) for each in rounds), sum(m for _, m in counts)
    sides = max(each.sides for each in rounds)
    return Audit(
        verdict=Verdict.VIOLATED if p_value <= 1 - level else Verdict.NOT_REFUTED,
        claim=claim,
        level=level,
        p_value=p_value,
        epsilon_lower=point.epsilon_lower(rounds, level),
        delta=point.delta if point.kind != "accuracy" else 0.0,
        event=str(event),
        pair=tested.last.pair.how,
        samples=runs + spent,
        guesses=made,
        right=sum(right for right, _ in counts),
        catches=point.caught_epsilon(rounds, level),
        point=(point.epsilon, point.delta),
        roc=roc,
        tested=len(rounds[-1].guesses),
        allowed=point.chance(point.epsilon, sides, made / runs),
    )


def _roc(scores: Floats, side: NDArray[np.bool_]) -> Any:
    """Return false and true positive rates at a hundred thresholds."""
    cuts = np.unique(np.quantile(scores, np.linspace(0, 1, 101), method="nearest"))
    near, far = np.sort(scores[side]), np.sort(scores[~side])
    rates = []
    for each in (far, near):
        above = 1 - np.searchsorted(each, cuts, side="left") / max(len(each), 1)
        rates.append((*above.tolist(), 0.0))
    return tuple(rates)
