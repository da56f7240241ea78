"""`hush account`: compose what is named, read ε for δ and back, calibrate DP-SGD."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from hush.cli import curve_options
from hush.cli.session import Debug, Json, Quiet, Session, session
from hush.errors import InvalidArgument

if TYPE_CHECKING:
    from hush.privacy import Curve


DIGITS = 6  # of what is printed; --json has all of them
_SIGMA = 8  # digits of a noise multiplier
_SMALL = Decimal("0.0001")
_ASSUMED = "Assumed: Poisson sampling, and neighbors by one person added or removed."


def _rounded_up(value: float, digits: int = DIGITS) -> str:
    """Return an upper bound in some digits, rounded up."""
    return _digits(value, Context(prec=digits, rounding=ROUND_CEILING))


def _rounded_down(value: float) -> str:
    """Return a lower bound in six digits, rounded down."""
    return _digits(value, Context(prec=DIGITS, rounding=ROUND_FLOOR))


def _digits(value: float, context: Context) -> str:
    number = context.create_decimal(Decimal(value)).normalize()
    # A δ of 2.9e-6 is hard to read off its zeros.
    return f"{number:e}" if 0 < number < _SMALL else f"{number:f}"


def _composed(
    named: curve_options.Named,
    sigma: float | None,
    rate: float | None,
    steps: int | None,
    times: int,
) -> "Curve":
    from hush.privacy import compose, poisson, repeat

    parts = [curve for _, curve in named.curves]
    if sigma is not None:
        if rate is None or steps is None:
            raise InvalidArgument("--sigma describes DP-SGD: add --rate and --steps.")
        parts.append(curve_options.sgd(sigma, rate, steps))
    elif rate is not None:
        parts = [poisson(each, rate=rate) for each in parts]
    if not parts:
        raise InvalidArgument(
            "name what is run, as in --gaussian 1.0 or --sigma 1.1 --rate 0.004 "
            "--steps 14000."
        )
    return repeat(compose(*parts), times=times)


def _bracketed(out: Session, curve: "Curve", name: str, at: float) -> dict[str, Any]:
    """Show ε at a δ, or δ at an ε, between its two bounds."""
    asked = "delta" if name == "epsilon" else "epsilon"
    upper = float(getattr(curve, f"{name}_at")(at))
    lower = float(getattr(curve, f"{name}_at_lower")(at))
    table = Table(box=None, pad_edge=False, show_header=False)
    most = (_rounded_up(upper), "never more: charge this")
    if math.isinf(upper):
        most = ("unbounded", f"no {name} is proven: read it at a larger {asked}")
    least = (_rounded_down(lower), "never less")
    if math.isinf(lower):
        least = ("unbounded", f"and no {name} holds")
    table.add_row(f"{name} at {asked} {at:g}", *most)
    table.add_row("", *least)
    out.show(table)
    return {"at": {asked: at}, name: {"upper": upper, "lower": lower}}


def _calibrate_sigma(
    out: Session,
    rate: float | None,
    steps: int | None,
    target: tuple[float | None, float | None],
) -> None:
    from hush.privacy import Approx, calibrate

    epsilon, delta = target
    if rate is None or steps is None or epsilon is None or delta is None:
        raise InvalidArgument(
            "--calibrate finds the sigma of DP-SGD: give --rate, --steps, --epsilon "
            "and --delta."
        )
    least = calibrate(
        lambda std: curve_options.sgd(std, rate, steps), target=Approx(epsilon, delta)
    )
    # The one that is printed, and whose epsilon is shown: a little more noise
    # pays for the last digits in which ε at a δ and δ at an ε are rounded differently.
    shown = _rounded_up(least, _SIGMA)
    sigma = float(shown)
    reached = curve_options.sgd(sigma, rate, steps)
    out.show(
        f"sigma {shown} is the least noise multiplier for epsilon "
        f"{epsilon:g} at delta {delta:g}, in {_SIGMA} digits."
    )
    upper, lower = reached.epsilon_at(delta), reached.epsilon_at_lower(delta)
    if reached.delta_at(epsilon) <= delta:  # a proof of its own
        upper = min(upper, epsilon)
    out.show(
        f"With it epsilon is between {_rounded_down(lower)} and {_rounded_up(upper)}."
    )
    out.show(_ASSUMED)
    bracket = {"upper": upper, "lower": lower}
    out.print_json(sigma=sigma, at={"delta": delta}, epsilon=bracket)


def account(
    gaussian: curve_options.Gaussian = None,
    laplace: curve_options.Laplace = None,
    pure: curve_options.Pure = None,
    approx: curve_options.Approx = None,
    rho: curve_options.Rho = None,
    mu: curve_options.Mu = None,
    sigma: curve_options.Sigma = None,
    rate: curve_options.Rate = None,
    steps: curve_options.Steps = None,
    times: Annotated[int, typer.Option(min=1, help="Run all of it so often.")] = 1,
    delta: Annotated[
        float | None, typer.Option("--delta", "-d", help="Read ε at this δ.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="Read δ at this ε.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Find sigma for --epsilon and --delta.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say what several releases reveal together, between two proven bounds.

    The upper number is a guarantee. The lower one says how much better any accounting
    of the same releases could be. A --rate means Poisson sampling, and one person added
    or removed.

    Example: hush account --gaussian 4.0 --laplace 10 --times 10 --delta 1e-6

    Example: hush account --sigma 1.1 --rate 256/60000 --steps 14062 --delta 1e-5

    Example: hush account --calibrate --rate 0.004 --steps 14000 -e 2 -d 1e-5
    """
    with session("account", as_json, quiet, debug) as out, out.working("composing …"):
        if calibrate:
            _calibrate_sigma(out, rate, steps, (epsilon, delta))
            return
        named = curve_options.Named.of(gaussian, laplace, pure, approx, rho, mu)
        curve = _composed(named, sigma, rate, steps, times)
        if delta is None and epsilon is None:
            raise InvalidArgument("say what to read: --delta 1e-6, or --epsilon 1.")
        found: dict[str, Any] = {}
        if delta is not None:
            found |= _bracketed(out, curve, "epsilon", delta)
        if epsilon is not None:
            second = _bracketed(out, curve, "delta", epsilon)
            second["at"] |= found.get("at", {})
            found |= second
        if rate is not None:
            out.show(_ASSUMED)
        out.print_json(curve=repr(curve), **found)
