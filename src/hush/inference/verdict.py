"""The result of a test: a statistic, a p-value, and what it was tested against."""

from dataclasses import dataclass
from typing import final

from hush import checks


@final
@dataclass(frozen=True)
class Test:
    """A p-value from released values alone.

    Example:
        >>> Test(statistic=3.2, p_value=0.03, alternative="greater").rejects(0.05)
        True
        >>> print(Test(statistic=3.2, p_value=0.03, alternative="greater"))
        statistic 3.2, p = 0.03 (greater)
    """

    __test__ = False  # pytest collects classes by this name

    statistic: float
    p_value: float
    alternative: str

    def __str__(self) -> str:
        against = f"({self.alternative})"
        return f"statistic {self.statistic:.4g}, p = {self.p_value:.3g} {against}"

    def rejects(self, alpha: float = 0.05) -> bool:
        """Return whether the null is rejected, with chance `alpha` of a false alarm."""
        return self.p_value <= checks.real("alpha", alpha, above=0, below=1)
