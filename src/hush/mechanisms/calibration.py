"""From a target to the noise that meets it: the least, or the most."""

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any, TypeVar

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.zcdp import ZCDP

M = TypeVar("M")

_CLOSE = 1 + 2.0**-46  # searches stop here; no noise is a power of two this exact
_LOWEST, _HIGHEST = 2.0**-300, 2.0**300


def positive_sensitivity(sensitivity: Any) -> Fraction:
    """Return a sensitivity above zero: a constant answer needs no noise.

    Example:
        >>> positive_sensitivity(0.5)
        Fraction(1, 2)
    """
    if callable(sensitivity):
        raise InvalidArgument("sensitivity must be a number: query.sensitivity().")
    checks.real("sensitivity", sensitivity, above=0)
    return checks.distance(sensitivity)


def check_names(kind: Any, public: dict[str, Any]) -> None:
    """Refuse names that a mechanism does not have, and say those that it needs.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> check_names(Laplace, {"step": 1})
    """
    made: Any = kind  # a mechanism from outside of hush may be no dataclass
    if not is_dataclass(made):
        return
    known = [each for each in fields(made) if each.name != kind.noise]
    names = [each.name for each in known]
    if len(known) == len(fields(made)) and not hasattr(kind, kind.noise):
        raise InvalidArgument(
            f"{kind.__name__} has no field {kind.noise!r}. Name in its class the one "
            f'that grows with its noise, as in noise = "{(names or ["std"])[0]}".'
        )
    for each in public:
        if each not in names:
            raise InvalidArgument(
                f"{kind.__name__} has no {each!r}; beside its noise it takes "
                f"{', '.join(names) or 'nothing'}."
            )
    for field in known:
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in public:
            raise InvalidArgument(
                f"{kind.__name__} needs {field.name}; give it by name, {field.name}=..."
            )


def is_as_private(curve: Curve, target: Curve) -> bool:
    """Return whether `curve` is proven to be at least as private as `target`."""
    if isinstance(target, Pure):
        return bool(curve.epsilon_at(0.0) <= target.epsilon)
    if isinstance(target, Approx):
        return bool(curve.delta_at(float(target.epsilon)) <= target.delta)
    if isinstance(target, ZCDP):
        return bool(curve.rho <= target.rho)
    if isinstance(target, GDP):
        return bool(curve.mu <= target.mu)
    raise InvalidArgument(
        f"target must be Pure, Approx, ZCDP or GDP; got {type(target).__name__}. "
        "Read the numbers you need from it and name one of these."
    )


def _search(make: Callable[[float], M], good: Callable[[M], bool], *, up: bool) -> M:
    """Return the noise at which `good` begins (or ends), on the good side."""
    grow = 4.0 if up else 0.25
    found = 1.0
    if good(_mechanism_at(make, found)):
        while good(_mechanism_at(make, found / grow)):
            found /= grow
            if not _LOWEST < found < _HIGHEST:
                raise _unreachable()
        bad = found / grow
    else:
        bad = found
        while not good(_mechanism_at(make, found := bad * grow)):
            bad = found
            if not _LOWEST < found < _HIGHEST:
                raise _unreachable()
    while max(found / bad, bad / found) > _CLOSE:
        middle = math.sqrt(found * bad)
        if good(make(middle)):
            found = middle
        else:
            bad = middle
    return make(found)


def _unreachable() -> NoBound:
    return NoBound(
        "no amount of noise meets this target. A mechanism with unbounded noise needs "
        "delta > 0; an accuracy below the lattice step cannot be met."
    )


def _mechanism_at(make: Callable[[float], M], noise: float) -> M:
    """Return a mechanism with so much noise; what cannot be drawn ends a search."""
    try:
        return make(noise)
    except InvalidArgument:
        if noise == 1.0:  # nothing to do with the noise
            raise
        raise _unreachable() from None


def smallest(make: Callable[[float], M], good: Callable[[M], bool]) -> M:
    """Return the mechanism with the least noise for which `good` holds."""
    return _search(make, good, up=True)


def largest(make: Callable[[float], M], good: Callable[[M], bool]) -> M:
    """Return the mechanism with the most noise for which `good` holds."""
    return _search(make, good, up=False)
