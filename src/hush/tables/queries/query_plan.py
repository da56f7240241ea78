"""What a query will cost and how wrong it will be, from public numbers alone."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.tables.aggregates.aggregate import Estimate, Released
from hush.tables.queries.answer_display import WIDE

if TYPE_CHECKING:
    from hush.mechanisms.mechanism import Mechanism
    from hush.tables.queries.table_query import CompiledQuery, Query

_LEAST, _MOST = 1e-6, 1e6
_ALL = 0.99  # of the bounds: an interval that wide leaves nothing out


@final
@dataclass(frozen=True, eq=False)
class Planned:
    """Cost and error of a query that has not run.

    `noise` says what each noised number stays within; `error` what that makes of each
    aggregate in a group of `cell` rows.
    """

    compiled: "CompiledQuery"
    epsilon: float
    delta: float
    level: float
    cell: float

    @property
    def query(self) -> "Query":
        """What would be asked."""
        return self.compiled.query

    @property
    def mechanisms(self) -> "tuple[Mechanism, ...]":
        """What would draw it: the selection of private keys, then one for each part."""
        return self.compiled.mechanisms

    @cached_property
    def noise(self) -> dict[str, float]:
        """Half-width of each noised number at the level, in its own units."""
        pairs = self.compiled.mechanism_of.items()
        return {part.name: part.half_width(m, self.level) for part, m in pairs}

    @cached_property
    def error(self) -> dict[str, float]:
        """Expected half-width of each aggregate in a group of `cell` rows.

        Means and spreads are those of values that fill one half of their bounds, ranks
        those of values spread evenly over all of them; where values lie closer, a
        quantile's interval is shorter. Aggregates without an interval (modes, several
        quantiles) are left out.
        """
        compiled, noised = self.compiled, self.compiled.mechanism_of
        guesses = {
            p: np.asarray(p.typical_values(self.cell, m)) for p, m in noised.items()
        }
        found = {}
        for name, aggregate in compiled.query.aggregates.items():
            bars = compiled.half_widths(name, self.level)
            released = Released(guesses, bars, self.level, noised)
            width = half_width(aggregate.answer(compiled.limit, released))
            if not math.isnan(width):
                found[name] = width
        return found

    def __repr__(self) -> str:
        bars = self.error
        shown = ", ".join(
            f"{name} ± {bars[name]:,.4g}" if name in bars else f"{name} (no interval)"
            for name in self.query.aggregates
        )
        delta = f", delta {self.delta:g}" if self.delta else ""
        said = (
            f"epsilon {self.epsilon:g}{delta}: {shown} "
            f"({self.level:.0%}, groups of {self.cell:,g} rows)"
        )
        return f"{said}\n{WIDE}" if self.says_nothing else said

    @property
    def says_nothing(self) -> bool:
        """Whether an interval would be as wide as its bounds allow, or nearly."""
        return any(
            2 * self.error.get(name, 0.0) >= _ALL * (each.within[1] - each.within[0])
            for name, each in self.query.aggregates.items()
            if each.within is not None
        )


def half_width(found: Estimate) -> float:
    """Return half of the widest interval of an estimate, NaN where there is none."""
    if found.low is None:
        return math.nan
    return float(np.max(np.asarray(found.high) - np.asarray(found.low))) / 2


def least_epsilon(
    planned: Callable[[float], Planned], within: Any, names: tuple[str, ...]
) -> Planned:
    """Return the plan with the least ε whose errors are all `within` the wanted."""
    given = within if isinstance(within, Mapping) else dict.fromkeys(names, within)
    unknown = set(given) - set(names)
    if unknown or not given:
        raise InvalidArgument(
            f"within names {sorted(unknown)}; the aggregates are {', '.join(names)}."
        )
    wanted = {
        name: checks.real(f"within[{name!r}]", value, above=0)
        for name, value in given.items()
    }

    def meets_errors(plan: Planned) -> bool:
        return all(plan.error.get(name, 0) <= most for name, most in wanted.items())

    best = planned(_MOST)
    if not meets_errors(best):
        raise InvalidArgument(
            f"within={within!r} is not reached at any epsilon up to {_MOST:g}. Allow "
            "more, or plan for groups of more rows by cell=."
        )
    low, high = math.log(_LEAST), math.log(_MOST)
    while high - low > 1e-4:
        middle = (low + high) / 2
        try:
            plan = planned(math.exp(middle))
        except InvalidArgument:  # so little that 64 bits would not hold the noise
            low = middle
            continue
        if meets_errors(plan):
            best, high = plan, middle
        else:
            low = middle
    return best
