"""A claim as an assertion, for other people's tests: with a stated false-alarm rate."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from hush import checks
from hush.audit.auditor import Many, audit
from hush.audit.finding import p_text
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve


def assert_private(
    run: Any,
    data: Any = None,
    neighbor: Any = None,
    claim: Curve | None = None,
    *,
    false_alarm: float = 1e-6,
    samples: int = 20_000,
    pairs: Iterable[Any] = (),
    batch: Many | None = None,
    timing: bool = False,
    source: Source = SECURE,
) -> None:
    """Raise AssertionError if an audit, and a second one on fresh runs, refute `claim`.

    A refutation has to happen twice, each time at level √false_alarm, so that a test
    that passes costs one audit. A mechanism without a claim is held to `curve()`.

    Guarantee: a claim that holds fails with chance at most `false_alarm`.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.privacy import Pure
        >>> assert_private(Laplace(1.0), 0, 1, Pure(1.0), samples=4000)
        >>> assert_private(Laplace(1.0), 0, 1, Pure(0.5), samples=4000)
        Traceback (most recent call last):
        ...
        AssertionError: violated: Pure(epsilon=0.5), p = ...
    """
    checks.real("false_alarm", false_alarm, above=0, below=1)
    if claim is None and hasattr(run, "curve"):
        claim = run.curve()
    several, found, alone = list(pairs), [], math.sqrt(false_alarm)
    for _ in range(2):
        again = audit(
            run,
            data,
            neighbor,
            claim=claim,  # type: ignore[arg-type]  # refused there if it is None
            samples=samples,
            level=1 - alone,
            pairs=several,
            batch=batch,
            timing=timing,
            source=source,
        )
        if not again.violated:
            return
        found.append(again)
    first, second = (p_text(each.p_value) for each in found)
    raise AssertionError(
        f"{again}\n"
        f"refuted twice on runs of their own, {first} and then {second}, both at "
        f"most {alone:.3g}: a claim that holds fails so with chance at most "
        f"{false_alarm:.3g}"
    )


def holm(p_values: Sequence[float], family: float) -> list[bool]:
    """Return which of several audits are violations, all errors together in `family`.

    Guarantee: with chance at most `family` is any claim that holds among them, however
    the audits depend on each other.

    Example:
        >>> holm([0.0001, 0.04, 0.03], family=0.05)
        [True, False, False]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    refuted = [False] * len(p_values)
    for rank, i in enumerate(order):
        if p_values[i] > family / (len(order) - rank):
            break
        refuted[i] = True
    return refuted
