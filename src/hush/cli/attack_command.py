"""`hush attack`: what aggregates reveal without noise, and with it."""

import math
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.table import Table

from hush.cli.session import Command, Debug, Group, Json, Quiet, session
from hush.noise import SECURE, integers

app = typer.Typer(
    cls=Group,
    help="Attack made-up secrets: exact and rounded answers fall, private ones hold.",
    no_args_is_help=True,
)

Epsilon = Annotated[
    float, typer.Option("--epsilon", "-e", help="ε of all answers together.")
]


def _table(*headings: str) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(headings):
        made.add_column(name, justify="right" if i else "left", overflow="fold")
    return made


def _noisy(scale: float, exact: Callable[[Any], float]) -> Callable[[Any], Any]:
    """Return answers with Laplace noise."""
    from hush.mechanisms import Laplace

    noise = Laplace(scale=scale)
    return lambda asked: noise.run(float(exact(asked)))


@app.command("reconstruct", cls=Command)
def reconstruct(
    people: Annotated[int, typer.Option(min=8, max=2000, help="Secret bits.")] = 200,
    epsilon: Epsilon = 1.0,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Recover everybody's secret bit from counts of random subsets.

    Example: hush attack reconstruct --people 300 --epsilon 1
    """
    with session("attack reconstruct", as_json, quiet, debug) as out:
        from hush.audit import reconstruct as attacked

        secret = integers(2, people, source=SECURE) == 1
        questions = 4 * people

        def exact(asked: Any) -> float:
            return float(secret[asked].sum())

        answers = {
            "exact": exact,
            "rounded": lambda asked: round(exact(asked), -1),
            "private": _noisy(questions / epsilon, exact),
        }
        words = {
            "exact": "exact",
            "rounded": "rounded to tens",
            "private": f"epsilon {epsilon:g} in all",
        }
        found = {}
        with out.working("asking …"):
            for name, answer in answers.items():
                guess = attacked(answer, people, queries=questions)
                found[name] = guess.recovered(secret)
        table = _table(f"{questions:,} counts of subsets", "bits recovered")
        for name, share in found.items():
            table.add_row(words[name], f"{share:.1%}")
        out.show(table, "", "Half of the bits are recovered by guessing.")
        out.print_json(
            people=people, questions=questions, epsilon=epsilon, recovered=found
        )


@app.command("difference", cls=Command)
def difference(
    people: Annotated[int, typer.Option(min=2, max=10**6, help="People.")] = 1000,
    epsilon: Epsilon = 1.0,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Isolate one person's value by two sums that differ in that person.

    Example: hush attack difference --epsilon 0.5
    """
    with session("attack difference", as_json, quiet, debug) as out:
        from hush.audit import difference as attacked
        from hush.mechanisms import Laplace

        secret = integers(101, people, source=SECURE)

        def exact(asked: Any) -> float:
            return float(secret[asked].sum())

        scale = 2 * 100 / epsilon  # two sums, each moved by up to 100
        private = _noisy(scale, exact)
        truth = int(secret[0])
        plain = attacked(exact, people, 0).value
        noisy = attacked(private, people, 0).value
        table = _table("two sums", "what they say of one person")
        table.add_row("exact", f"{plain:,.0f}")
        table.add_row(f"epsilon {epsilon:g} in all", f"{noisy:,.0f}")
        # The difference of two answers has the noise of both.
        spread = math.sqrt(2) * Laplace(scale=scale).error.std
        out.show(
            table,
            "",
            f"The secret is {truth}, of values from 0 to 100; "
            f"the noise scatters by ± {spread:,.3g}.",
        )
        out.print_json(
            people=people, epsilon=epsilon, secret=truth, exact=plain, private=noisy
        )


@app.command("membership", cls=Command)
def membership(
    epsilon: Epsilon = 1.0,
    samples: Annotated[int, typer.Option(min=400, help="Runs.")] = 20_000,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Guess from a noisy count whether one person is in, and how well that can go.

    Example: hush attack membership --epsilon 0.5
    """
    with session("attack membership", as_json, quiet, debug) as out:
        from hush.audit import membership as attacked
        from hush.mechanisms import Laplace

        noise = Laplace.for_epsilon(epsilon=epsilon, sensitivity=1)
        with out.working(f"running {samples:,} times …"):
            found = attacked(noise, 0, 1, claim=noise.curve(1), samples=samples)
        table = _table("membership in a count", "true minus false alarms")
        table.add_row("exact count", "100.0%")
        # Each of the two rates may be off by the margin, whichever threshold is best.
        shown = f"{found.advantage:.1%} ± {2 * found.margin:.1%}"
        table.add_row(f"epsilon {epsilon:g}, measured", shown)
        table.add_row(f"epsilon {epsilon:g}, proven", f"{found.advantage_bound:.1%}")
        out.show(table)
        out.print_json(
            epsilon=epsilon,
            advantage=found.advantage,
            advantage_bound=found.advantage_bound,
            within_claim=found.within_claim,
            samples=found.samples,
        )
