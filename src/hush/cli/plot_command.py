"""`hush plot`: the pictures of `hush.plots`, written to a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hush.cli import config, curve_options, ledgers
from hush.cli.session import (
    FOUND,
    Command,
    Debug,
    Delta,
    Group,
    Json,
    Level,
    Quiet,
    Sql,
    Where,
    query_of,
    session,
)
from hush.errors import InvalidArgument

app = typer.Typer(
    cls=Group,
    help="Draw guarantees, budgets, errors and answers; needs the extra `plots`.",
    no_args_is_help=True,
)

Output = Annotated[
    Path, typer.Option("--output", "-o", help="A .png, .svg or .pdf file.")
]


def save_plot(draw: Callable[[], Any], output: Path) -> None:
    """Draw and write; the name is checked before anything is worked out."""
    from hush.plots.style import FORMATS, save

    if output.suffix not in FORMATS:
        raise InvalidArgument(
            f"--output must end in one of {', '.join(FORMATS)}; got {output.name!r}."
        )
    save(draw(), output)


def _curves(name: str, named: curve_options.Named) -> Callable[[], Any]:
    def draw() -> Any:
        from hush import plots

        if not named.curves:
            raise InvalidArgument("name a curve, as in --gaussian 1.0 --pure 1.0.")
        labels, listed = zip(*named.curves, strict=True)
        return getattr(plots, name)(*listed, labels=labels)

    return draw


@app.command("tradeoff", cls=Command)
def tradeoff(
    gaussian: curve_options.Gaussian = None,
    laplace: curve_options.Laplace = None,
    pure: curve_options.Pure = None,
    approx: curve_options.Approx = None,
    rho: curve_options.Rho = None,
    mu: curve_options.Mu = None,
    output: Output = Path("tradeoff.svg"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw tradeoff curves: the errors of any test that looks for one person.

    Example: hush plot tradeoff --gaussian 1.0 --pure 1.0 -o tradeoff.svg
    """
    with session("plot tradeoff", as_json, quiet, debug) as out:
        named = curve_options.Named.of(gaussian, laplace, pure, approx, rho, mu)
        save_plot(_curves("tradeoff", named), output)
        out.show(f"Wrote {output}.")
        out.print_json(file=str(output))


@app.command("profile", cls=Command)
def profile(
    gaussian: curve_options.Gaussian = None,
    laplace: curve_options.Laplace = None,
    pure: curve_options.Pure = None,
    approx: curve_options.Approx = None,
    rho: curve_options.Rho = None,
    mu: curve_options.Mu = None,
    output: Output = Path("profile.svg"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw privacy profiles: δ against ε.

    Example: hush plot profile --gaussian 1.0 --laplace 1.0
    """
    with session("plot profile", as_json, quiet, debug) as out:
        named = curve_options.Named.of(gaussian, laplace, pure, approx, rho, mu)
        save_plot(_curves("profile", named), output)
        out.show(f"Wrote {output}.")
        out.print_json(file=str(output))


@app.command("budget", cls=Command)
def budget(
    where: Where = FOUND,
    output: Output = Path("budget.svg"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw what was left of the budget after every charge.

    Example: hush plot budget -o budget.png
    """
    with session("plot budget", as_json, quiet, debug) as out:
        from hush import plots

        about = config.read(where)
        with ledgers.open_existing(about.ledger, dataset=about.name) as ledger:
            save_plot(lambda: plots.budget(ledger), output)
        out.show(f"Wrote {output}.")
        out.print_json(file=str(output))


@app.command("error", cls=Command)
def error(
    text: Sql,
    delta: Delta = 0.0,
    cell: Annotated[float, typer.Option(help="Rows of a group to plan for.")] = 1000,
    level: Level = 0.95,
    where: Where = FOUND,
    output: Output = Path("error.svg"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw the expected error of SQL against ε; nothing is read or spent.

    Example: hush plot error "SELECT AVG(fare) AS fare FROM trips" --cell 4000
    """
    with session("plot error", as_json, quiet, debug) as out:
        from hush import plots

        about = config.read(where)
        query = query_of(about.dataset_without_data(), about, text)
        with out.working("planning …"):
            save_plot(
                lambda: plots.error(query, delta=delta, level=level, cell=cell), output
            )
        out.show(f"Wrote {output}.")
        out.print_json(file=str(output))


def _stored_plot(path: Path, name: str | None) -> Callable[[], Any]:
    """Return how to draw one column of what `hush query --json` printed."""
    refused = InvalidArgument(
        f"{str(path)!r} is not what `hush query --json` prints. Write it with: "
        'hush query "SELECT …" -e 0.5 --json > answer.json'
    )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        columns, rows, level = found["columns"], found["rows"], found["level"]
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError):
        raise refused from None
    ends = {f"{each}_{end}" for each in columns for end in ("low", "high")}
    drawn = [each for each in columns if f"{each}_low" in columns]
    by = [each for each in columns if each not in ends and each not in drawn]
    chosen = name or next(iter(drawn), None)
    if chosen not in drawn:
        raise InvalidArgument(f"--name must be one of {', '.join(drawn)}.")

    def draw() -> Any:
        from hush import plots

        labels = [", ".join(str(row[each]) for each in by) or chosen for row in rows]
        values, low, high = (
            [row[each] for row in rows]
            for each in (chosen, f"{chosen}_low", f"{chosen}_high")
        )
        words = f"{chosen}, with {level:.0%} intervals"
        return plots.bars(labels, values, low, high, name=words)

    return draw


@app.command("release", cls=Command)
def release(
    answer: Annotated[Path, typer.Argument(help="A file of `hush query --json`.")],
    name: Annotated[str | None, typer.Option(help="The column to draw.")] = None,
    output: Output = Path("release.svg"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw released values with their intervals, from what `hush query --json` printed.

    Example: hush plot release answer.json -o answer.png
    """
    with session("plot release", as_json, quiet, debug) as out:
        save_plot(_stored_plot(answer, name), output)
        out.show(f"Wrote {output}.")
        out.print_json(file=str(output))
