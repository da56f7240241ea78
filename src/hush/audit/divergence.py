"""What a replay found: the calls that were heard, and where two runs diverged."""

from dataclasses import dataclass, field
from typing import Any, final

from hush.audit.metric import Distance


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
