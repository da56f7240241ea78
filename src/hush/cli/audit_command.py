"""`hush audit`: try to refute a claimed guarantee."""

import ast
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hush.cli.session import Code, Debug, Json, Quiet, session
from hush.errors import InvalidArgument

if TYPE_CHECKING:
    from hush.privacy import Curve


def _value(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise InvalidArgument(f"{name} must be JSON, as in 3 or [1, 0, 1].") from None


def _claim(run: Any, epsilon: float | None, delta: float, mu: float | None) -> "Curve":
    from hush.privacy import GDP, Approx, Curve, Pure

    if (epsilon is not None) and (mu is not None):
        raise InvalidArgument("claim --epsilon or --mu, not both.")
    if mu is not None:
        return GDP(mu=mu)
    if epsilon is not None:
        return Approx(epsilon, delta) if delta else Pure(epsilon)
    if not hasattr(run, "curve"):
        raise InvalidArgument(
            "a function makes no claim of its own: add --epsilon (and --delta) or --mu."
        )
    own: Curve = run.curve()
    return own


def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="'Laplace(scale=1.0)', or a function 'module:name'."
        ),
    ],
    data: Annotated[str, typer.Option(help="What it runs on, as JSON.")] = "0",
    neighbor: Annotated[str, typer.Option(help="The same without a person.")] = "1",
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The claim: ε.")
    ] = None,
    delta: Annotated[float, typer.Option("--delta", "-d", help="The claim: δ.")] = 0.0,
    mu: Annotated[float | None, typer.Option(help="The claim: μ-GDP.")] = None,
    samples: Annotated[int, typer.Option(min=400, help="Runs in all.")] = 20_000,
    level: Annotated[float, typer.Option(help="Confidence of the verdict.")] = 0.95,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what was reached to this file.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run TARGET on two neighboring inputs and try to refute its guarantee.

    Without a claim a mechanism is held to its own. Ends with 6 if it is refuted.

    Example: hush audit "Laplace(scale=1.0)" --epsilon 0.5
    """
    with session("audit", as_json, quiet, debug) as out:
        from hush.audit import audit as audited

        run = target(what)
        claim = _claim(run, epsilon, delta, mu)
        pair = _value("--data", data), _value("--neighbor", neighbor)
        with out.working(f"running {samples:,} times …"):
            found = audited(run, *pair, claim=claim, samples=samples, level=level)
        if plot is not None:
            from hush.cli.plot_command import save_plot
            from hush.plots import audit as drawn

            save_plot(lambda: drawn(found), plot)
        out.show(str(found))
        out.print_json(**json.loads(found.to_json()))
        if found.violated:
            raise typer.Exit(int(Code.FOUND))


# --------------------------------------------------------------------------------------
# What `hush audit` runs: a mechanism written as in Python, or a function by name.


def target(text: str) -> Any:
    """Return the mechanism `Laplace(scale=1.0)`, or the function `module:name`.

    A mechanism is read, not evaluated: its fields must be plain numbers and texts.

    Example:
        >>> target("Laplace(scale=2.0)")
        Laplace(scale=2.0)
    """
    module, colon, name = text.partition(":")
    if colon and module.replace(".", "").isidentifier() and name.isidentifier():
        return _function(module, name)
    return _mechanism(text)


def _function(module: str, name: str) -> Any:
    sys.path.insert(0, os.getcwd())  # a script beside the user, as with `python -m`
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        found = None
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise InvalidArgument(
            f"there is no function {name!r} in a module {module!r}. Run the command "
            "in the folder that holds the module."
        )
    return found


def _mechanism(text: str) -> Any:
    from hush import mechanisms

    refused = InvalidArgument(
        f"{text!r} is neither a mechanism, as in 'Laplace(scale=1.0)', nor a function, "
        "as in 'module:name'."
    )
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        raise refused from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise refused
    kind = getattr(mechanisms, call.func.id, None)
    if not (isinstance(kind, type) and issubclass(kind, mechanisms.Mechanism)):
        raise refused
    try:
        given = [ast.literal_eval(each) for each in call.args]
        named = {e.arg: ast.literal_eval(e.value) for e in call.keywords if e.arg}
        return kind(*given, **named)
    except (ValueError, TypeError) as problem:
        if isinstance(problem, InvalidArgument):
            raise
        raise refused from None
