"""The auditor: learn what tells two data sets apart, then test it on fresh runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.audit.event import Event, choose
from hush.audit.evidence import Guesses, Point, counted, points
from hush.audit.finding import Audit, Verdict
from hush.audit.neighbors import Pair
from hush.audit.outputs import Floats, Raised, Reader
from hush.audit.sampling import Many, joined, many
from hush.errors import InvalidArgument
from hush.noise import SECURE, Source, integers
from hush.privacy.curve import Curve

_TRAINING = 3  # one run in so many is spent on training
_LEAST = 40  # training runs of every pair


@final
@dataclass(frozen=True)
class _Trained:
    """A pair of data sets and the event that training found for it."""

    pair: Pair
    reader: Reader
    event: Event


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
    A third of the `samples` trains: results are looked at from all sides (values, NaN,
    lowest bits, keys, lengths, errors) and the most telling event is kept. The rest
    tests it: a coin chooses the data set, the event guesses the coin. `pairs` are more
    pairs to choose from, such as `neighbors_of(data)` returns. `batch(data, count)`
    returns many independent results faster than single runs do. `timing` also looks at
    how long a run takes, which no guarantee of hush covers.

    Guarantee: if the claim holds, the verdict is "violated" with chance at most
    1 - `level`, whatever was learned: training and test runs are independent.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import Seeded
        >>> from hush.privacy import Pure
        >>> found = audit(Laplace(1.0), 0, 1, claim=Pure(0.5), source=Seeded(1))
        >>> found.verdict, 0.9 < found.epsilon_lower < 1.05
        (<Verdict.VIOLATED: 'violated'>, True)

    Reference: guessing with abstention [SNJ23]; betting [WR23]; events as in [DWWZK18].
    """
    if not isinstance(claim, Curve):
        raise InvalidArgument(f"claim must be a curve; got {claim!r}. Use Pure(1.0).")
    checks.whole("samples", samples, at_least=400)
    checks.real("level", level, above=0, below=1)
    tried = _pairs(data, neighbor, pairs)
    draw, offered = many(run, batch, source, timing=timing), points(claim)
    each = max(_LEAST, samples // _TRAINING // len(tried))
    trained = [_train(draw, pair, each, offered) for pair in tried]
    best = max(trained, key=lambda found: found.event.promise)
    left = max(samples - each * len(tried), samples // 2)
    guesses, scores, side = _test(draw, best, left, level, source)
    return _found(best, claim, level, guesses, _roc(scores, side), each * len(tried))


def _pairs(data: Any, neighbor: Any, pairs: Iterable[Any]) -> list[Pair]:
    given = [] if data is None and neighbor is None else [Pair("given", data, neighbor)]
    for i, each in enumerate(pairs):
        given.append(each if isinstance(each, Pair) else Pair(f"pair {i}", *each))
    if not given:
        raise InvalidArgument("give data and neighbor, or pairs.")
    return given


def _train(draw: Many, pair: Pair, runs: int, offered: list[Point]) -> _Trained:
    side = np.arange(runs) // 2 % 2 == 1  # both halves of training see both sides
    outputs = _drawn(draw, pair, side)
    _refuse_failures(outputs)
    reader = Reader(outputs)
    return _Trained(pair, reader, choose(reader.read(outputs), side, offered))


def _drawn(draw: Many, pair: Pair, side: NDArray[np.bool_]) -> Any:
    near = int(side.sum())
    first = draw(pair.data, len(side) - near)
    return joined(first, draw(pair.neighbor, near), side)


def _refuse_failures(outputs: Any) -> None:
    if isinstance(outputs, np.ndarray):
        return
    names = {each.name for each in outputs if isinstance(each, Raised)}
    if len(names) == 1 and all(isinstance(each, Raised) for each in outputs):
        raise InvalidArgument(
            f"run must answer; every run raised {names.pop()} on both data sets."
        )


def _test(
    draw: Many, best: _Trained, runs: int, level: float, source: Source
) -> tuple[Guesses, Floats, NDArray[np.bool_]]:
    """Run on fresh coins; bets may stop as soon as the claim is refuted."""
    betting = best.event.point.kind == "betting"
    chunk = max(500, runs // 8) if betting else runs
    made: list[Any] = []
    left = runs
    while left > 0:
        count = min(chunk, left)
        left -= count
        side = np.asarray(integers(2, count, source=source)) == 1
        table = best.reader.read(_drawn(draw, best.pair, side))
        made.append((*best.event.guess(table, side), side))
        guesses = np.concatenate([each[0] for each in made])
        event = best.event
        if betting and (
            event.point.p_value(guesses, event.stake, event.sides) <= 1 - level
        ):
            break
    scores, sides = (np.concatenate([each[i] for each in made]) for i in (1, 2))
    return guesses, scores, sides


def _found(
    best: _Trained, claim: Curve, level: float, guesses: Guesses, roc: Any, spent: int
) -> Audit:
    event, point = best.event, best.event.point
    p_value = point.p_value(guesses, event.stake, event.sides)
    right, made = counted(guesses)
    lower = point.epsilon_lower(guesses, event.stake, level, event.sides)
    return Audit(
        verdict=Verdict.VIOLATED if p_value <= 1 - level else Verdict.NOT_REFUTED,
        claim=claim,
        level=level,
        p_value=p_value,
        epsilon_lower=lower,
        delta=point.delta if point.kind == "betting" else 0.0,
        event=str(event),
        pair=best.pair.how,
        samples=len(guesses) + spent,
        guesses=made,
        right=right,
        catches=point.caught(guesses, level, event.sides),
        point=(point.epsilon, point.delta),
        roc=roc,
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
