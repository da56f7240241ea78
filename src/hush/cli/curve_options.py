"""Curves named on the command line: one mechanism, or notion, per option."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, final

import typer

from hush.errors import InvalidArgument

if TYPE_CHECKING:
    from hush.privacy import Curve

_GROUP = "Mechanisms and guarantees (each may be given several times)"


def _number_option(
    flag: str, help: str, metavar: str = "NUMBER"
) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(
        flag, help=help, metavar=metavar, rich_help_panel=_GROUP
    )
    return found


Gaussian = Annotated[
    list[float] | None,
    _number_option("--gaussian", "Gaussian noise of this std, on sensitivity 1."),
]
Laplace = Annotated[
    list[float] | None,
    _number_option("--laplace", "Laplace noise of this scale, on sensitivity 1."),
]
Pure = Annotated[list[float] | None, _number_option("--pure", "ε-privacy.")]
Approx = Annotated[
    list[str] | None, _number_option("--approx", "(ε, δ)-privacy.", "EPSILON,DELTA")
]
Rho = Annotated[list[float] | None, _number_option("--rho", "ρ-zCDP.")]
Mu = Annotated[list[float] | None, _number_option("--mu", "μ-GDP.")]
Sigma = Annotated[
    float | None,
    typer.Option(
        help="Noise multiplier of DP-SGD: std per clipping norm.",
        rich_help_panel="DP-SGD",
    ),
]


def _share(text: str) -> float:
    """Return a share that is written as a number, or as a batch of the records."""
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{text!r} is no number. Write 0.004, or batch/records as in 256/60000."
        ) from None


Rate = Annotated[
    float | None,
    typer.Option(
        parser=_share,
        metavar="FLOAT",
        help="Share of the records in a batch: 0.004, or 256/60000.",
        rich_help_panel="DP-SGD",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(min=1, help="Number of steps.", rich_help_panel="DP-SGD"),
]


@final
@dataclass(frozen=True)
class Named:
    """The curves that a command was given, each with the words for it."""

    curves: tuple[tuple[str, "Curve"], ...]

    @classmethod
    def of(
        cls,
        gaussian: list[float] | None,
        laplace: list[float] | None,
        pure: list[float] | None,
        approx: list[str] | None,
        rho: list[float] | None,
        mu: list[float] | None,
    ) -> "Named":
        """Return the curves in the order of the options."""
        from hush import mechanisms, privacy

        found: list[tuple[str, Curve]] = []
        for std in gaussian or ():
            curve = mechanisms.Gaussian(std=std).curve(1)
            found.append((f"Gaussian, std {std:g}", curve))
        for scale in laplace or ():
            curve = mechanisms.Laplace(scale=scale).curve(1)
            found.append((f"Laplace, scale {scale:g}", curve))
        found += [(f"ε = {e:g}", privacy.Pure(epsilon=e)) for e in pure or ()]
        for each in approx or ():
            epsilon, delta = _pair(each)
            words = f"ε = {epsilon:g}, δ = {delta:g}"
            found.append((words, privacy.Approx(epsilon=epsilon, delta=delta)))
        found += [(f"ρ = {r:g} (zCDP)", privacy.ZCDP(rho=r)) for r in rho or ()]
        found += [(f"μ = {m:g} (GDP)", privacy.GDP(mu=m)) for m in mu or ()]
        return cls(tuple(found))


def _pair(text: str) -> tuple[float, float]:
    first, comma, second = text.partition(",")
    try:
        if comma:
            return float(first), float(second)
    except ValueError:
        pass
    raise InvalidArgument(f"--approx must be EPSILON,DELTA as in 1,1e-6; got {text!r}.")


def sgd(sigma: float, rate: float, steps: int) -> "Curve":
    """Return the guarantee of DP-SGD with Poisson batches and Gaussian noise."""
    from hush import checks
    from hush.privacy import GDP, poisson, repeat

    checks.real("sigma", sigma, above=0)
    return repeat(poisson(GDP(mu=1 / sigma), rate=rate), times=steps)
