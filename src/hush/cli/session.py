"""What all commands share: where output goes, and how an error ends a command.

The result goes to standard output, as a table, as CSV or as one JSON object; remarks,
progress and errors go to standard error. No text of another library's error is ever
printed where data is involved: it could quote a value.
"""

import json
import math
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any, final

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hush import errors
from hush.errors import HushError

if TYPE_CHECKING:
    from hush.cli.config import Config

from pathlib import Path

from typer.core import TyperCommand, TyperGroup

from hush.cli import config
from hush.cli.config import refusal_with_place
from hush.errors import InvalidArgument, Unsupported

# -- Exit codes: what a script can tell from the number a command ends with ------------


class Code(IntEnum):
    """How a command ended."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    SPENT = 3
    LEDGER = 4
    FAILED = 5
    FOUND = 6
    INTERNAL = 70
    STOPPED = 130


MEANING = {
    Code.OK: "Done.",
    Code.REFUSED: "Refused: a file, a column, the SQL or a number is not as it must "
    "be. Nothing was charged.",
    Code.USAGE: "The command line itself cannot be read. Nothing was charged.",
    Code.SPENT: "The charge does not fit into what is left. Nothing was charged.",
    Code.LEDGER: "The ledger cannot be reached or trusted, is for other data, or the "
    "key was used for another request. Nothing was released.",
    Code.FAILED: "The draw failed after it was charged. The charge stands and the "
    "reason is not told, because it may depend on the data.",
    Code.FOUND: "A check found what it looks for: `verify` an altered ledger, `audit` "
    "a guarantee that does not hold.",
    Code.INTERNAL: "An error of hush itself; `--debug` shows where.",
    Code.STOPPED: "Interrupted. A charge without an answer is resumed by the same "
    "`--key`.",
}

# The first class that fits decides.
_OF_ERROR: tuple[tuple[type[BaseException], Code], ...] = (
    (errors.BudgetExceeded, Code.SPENT),
    (errors.LedgerError, Code.LEDGER),
    (errors.KeyConflict, Code.LEDGER),
    (errors.LockedOut, Code.LEDGER),
    (errors.DrawFailed, Code.FAILED),
    (errors.HushError, Code.REFUSED),
    (KeyboardInterrupt, Code.STOPPED),
)


class Foreign(StrEnum):
    """The stable codes of errors that are not hush's own; see docs/errors.md."""

    FILE = "unreadable-file"
    STOPPED = "interrupted"
    INTERNAL = "internal-error"


def stable_code(problem: BaseException) -> str:
    """Return the stable code of an error, the one that Python sees in `error.code`.

    Example:
        >>> stable_code(errors.BudgetExceeded("no"))
        'budget-exceeded'
    """
    if isinstance(problem, HushError):
        return problem.code
    if isinstance(problem, KeyboardInterrupt):
        return Foreign.STOPPED
    unread = isinstance(problem, OSError) and bool(problem.filename)
    return Foreign.FILE if unread else Foreign.INTERNAL


def code_of(problem: BaseException) -> Code:
    """Return the exit code of an error.

    Example:
        >>> code_of(errors.BudgetExceeded("no"))
        <Code.SPENT: 3>
    """
    if isinstance(problem, OSError) and problem.filename:
        return Code.REFUSED
    for kind, code in _OF_ERROR:
        if isinstance(problem, kind):
            return code
    return Code.INTERNAL


# --------------------------------------------------------------------------------------
# Advice in the words of a shell: what an error says for Python, said for commands.
#
# Errors come from the library, so their way out is a call. Here it becomes the option
# or the line of hush.toml that does the same; what depends on the columns of a data
# set is in `advice`. A text that is not known stays as it is.

_TABLE: tuple[tuple[str, str], ...] = (
    (r"open the file with types=", "give the column its type in hush.toml"),
    (
        r"give types=, as in types=\{.*?\}",
        'declare them in hush.toml, as in type = "number" under [columns.fare]',
    ),
    (
        r"keys=\"private\": release\(epsilon=1, delta=1e-6\)",
        'keys = "private": add -d 1e-6',
    ),
    (r"bounds=\(lower, upper\)", "bounds = [lower, upper] in hush.toml"),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), dataset=.*?\) or, with the new "
        r"one in hush\.toml, `hush budget --raise`",
        "write the larger one under [budget] in hush.toml, then `hush budget --raise`",
    ),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), analyst=(['\"])(.*?)\1\)",
        r"`hush budget --raise --grant \2 -e ...`",
    ),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), unit=(['\"])(.*?)\1\)",
        r"`hush budget --raise --link \2 -e ...`",
    ),
    (
        r"ledger\.grant\(hush\.Budget\(epsilon=\.\.\.\), analyst=(['\"])(.*?)\1\)",
        r"`hush budget --grant \2 -e ...`",
    ),
    (r"Use more noise, that is a smaller \w+(?=, or enlarge)", "Give a smaller -e"),
    (r"use less of it, or a mechanism that needs none", "give a smaller -d, or none"),
    (r"plan for groups of more rows by cell=", "plan for larger groups with --cell"),
    (
        r"(data version .*? differ\.) Use a new key, or read what this one released: "
        r"query\.stored\(key\), ledger\.stored\(key\)",
        r"\1 Use a new key for a new answer; --stored shows the old answer",
    ),
    (
        r"Pass tables=\{(['\"])(.*?)\1: \.\.\.\} with a public frame or a data set",
        r'If it is public, write \2 = "\2.csv" under [tables] in hush.toml; private '
        "tables are joined in Python",
    ),
    (r"by tables= and JOIN", "by [tables] in hush.toml and JOIN"),
    (r"use less of both", "give a smaller -e and a smaller -d"),
    (
        r"Leave budget out to go on with it, or use raise_budget to enlarge it",
        "Leave --open out to go on with it, or enlarge it with `hush budget --raise`",
    ),
    (r"Open it with admin=Admin\.from_pem\(\.\.\.\)", "Name the key with --admin"),
    (
        r"Name the file with anchor=\.\.\., or give the anchor up with "
        r"renew_anchor=True",
        "No command takes an anchor of its own: in Python, name the file with "
        "hush.Ledger.open(url, anchor=...)",
    ),
    (
        r"start a new one with renew_anchor=True",
        "decide to begin a new one, in Python: hush.Ledger.open(url, "
        "renew_anchor=True)",
    ),
    (
        r"it was opened with rehearsal=False\. Open it with rehearsal=True",
        "of the commands only `hush verify --rehearsal` opens it",
    ),
    (
        r"it was opened with rehearsal=True\. Open it with rehearsal=False",
        "leave --rehearsal out",
    ),
)
_KNOWN = tuple((re.compile(pattern), change) for pattern, change in _TABLE)


def in_shell_words(text: str) -> str:
    """Return a message with its advice in the words of a shell.

    Example:
        >>> in_shell_words("Use more noise, that is a smaller epsilon, or enlarge it.")
        'Give a smaller -e, or enlarge it.'
    """
    for pattern, change in _KNOWN:
        text = pattern.sub(change, text)
    return text


# -- Tables as text in which nothing is shortened, however narrow the terminal is ------

_GAP = "  "


@final
@dataclass(frozen=True)
class Column:
    """A heading and its cells, one for each row."""

    name: str
    cells: Sequence[str]
    right: bool = False  # where numbers stand

    @property
    def lines(self) -> list[str]:
        """Heading and cells, all of one width."""
        texts = [_line(each) for each in (self.name, *self.cells)]
        widest = max(map(cell_len, texts))
        return [self._pad(each, widest - cell_len(each)) for each in texts]

    def _pad(self, text: str, missing: int) -> str:
        return " " * missing + text if self.right else text + " " * missing


def _line(text: str) -> str:
    """Return a text that stays on one line."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def width() -> int | None:
    """Return how wide the terminal is; None where output goes to a file or a pipe."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


def table(columns: Sequence[Column], most: int | None) -> Text:
    """Return rows under headings; a block for each row where they do not fit.

    Example:
        >>> listed = [Column("region", ["Hills"]), Column("trips", ["1,204"], True)]
        >>> print(table(listed, 80))
        region  trips
        Hills   1,204
        >>> print(table(listed, 10))
        region  Hills
        trips   1,204
    """
    if not fits(columns, most):
        return _blocks(columns)
    head, *rest = lines(columns)
    return Text("\n").join([Text(head, "bold"), *map(Text, rest)])


def fits(columns: Sequence[Column], most: int | None) -> bool:
    """Whether no row is wider than `most`; None is endless."""
    return most is None or max(map(cell_len, lines(columns))) <= most


def lines(columns: Sequence[Column]) -> list[str]:
    """Return the headings and the rows, one line each."""
    rows = zip(*(each.lines for each in columns), strict=True)
    return [_GAP.join(row).rstrip() for row in rows]


def _blocks(columns: Sequence[Column]) -> Text:
    names = Column("", [each.name for each in columns]).lines[1:]
    rows = zip(*(each.cells for each in columns), strict=True)
    blocks = (
        "\n".join(
            f"{name}{_GAP}{_line(cell)}" for name, cell in zip(names, row, strict=True)
        )
        for row in rows
    )
    return Text("\n\n".join(blocks))


# -- What all commands share: where output goes, and how an error ends a command -------

# Commands that read no data, and errors of theirs whose text is therefore shown. A plan
# reads the names of columns; only an error in its numbers is shown.
_TOLD: Mapping[str, type[Exception]] = {
    "account": Exception,
    "plot tradeoff": Exception,
    "plot profile": Exception,
    "plan": ArithmeticError,
    "plot error": ArithmeticError,
}
_ENDLESS = 1 << 20  # columns of a file: no line of it is broken
SCHEMA = 1  # of the JSON; a field is never renamed or removed under one number

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the result only: no remarks.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="On an internal error, show where it was.")
]


@final
@dataclass(frozen=True)
class Session:
    """One run of one command."""

    command: str
    as_json: bool
    quiet: bool

    @property
    def _console(self) -> Console:
        return Console(highlight=False, width=width() or _ENDLESS)

    def show(self, *things: Any) -> None:
        """Print the result for people: texts and tables."""
        if not self.as_json:
            for each in things:
                self._console.print(Text(each) if isinstance(each, str) else each)

    def table(self, columns: Sequence[Column]) -> None:
        """Print a table of which nothing is cut off."""
        self.show(table(columns, width()))

    def note(self, *texts: str) -> None:
        """Print remarks that are not part of the result."""
        if not self.as_json and not self.quiet:
            for each in texts:
                typer.echo(each, err=True)

    def print_json(self, **fields: Any) -> None:
        """Print the result for programs."""
        if self.as_json:
            self._object(fields)

    def _object(self, fields: Mapping[str, Any]) -> None:
        shown = {"hush": self.command, "schema": SCHEMA, **fields}
        typer.echo(json.dumps(json_value(shown), allow_nan=False))

    @contextmanager
    def working(self, words: str) -> Iterator[None]:
        """Show that work goes on, if the output is a terminal."""
        console = Console(stderr=True)
        if self.quiet or self.as_json or not console.is_terminal:
            yield
            return
        with console.status(words):
            yield

    def report_error(self, problem: BaseException, *, debug: bool) -> Code:
        """Print what is wrong and the way out, and return the exit code."""
        told = isinstance(problem, _TOLD.get(self.command, ()))
        code, text = code_of(problem), error_line(problem, told=told)
        if debug:
            # Frames only: the text of a foreign error may hold a value of the data.
            frames = traceback.format_tb(problem.__traceback__)
            typer.echo("".join(frames) + type(problem).__name__, err=True)
        if self.as_json:
            kind, name = type(problem).__name__, stable_code(problem)
            shown = {"kind": kind, "code": name, "message": text, "exit": code}
            self._object({"error": shown})
        typer.echo(f"hush: {text}", err=True)
        return code


def error_line(problem: BaseException, *, told: bool = False) -> str:
    """Return an error in one line without anything that may come from the data.

    A foreign text is `told` where no data was read.
    """
    if isinstance(problem, HushError):
        return in_shell_words(" ".join(str(problem).split()))
    if isinstance(problem, OSError) and problem.filename:
        return f"{problem.filename!r}: {problem.strerror}."
    if isinstance(problem, KeyboardInterrupt):
        return (
            "interrupted. `hush budget` shows a charge without an answer; ask again "
            "with its key to get it."
        )
    if told:
        text = " ".join(str(problem).split()) or "no more is known"
        return f"internal error ({type(problem).__name__}): {text}. Try other numbers."
    return (
        f"internal error ({type(problem).__name__}); its text is withheld, because it "
        "may quote the data. Run again with --debug to see where it was."
    )


def json_value(value: Any) -> Any:
    """Return a value as JSON types; NaN and infinities become null."""
    if isinstance(value, Mapping):
        return {str(name): json_value(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # NumPy
        return json_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_value(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    return value


@contextmanager
def session(command: str, as_json: bool, quiet: bool, debug: bool) -> Iterator[Session]:
    """Run a command; whatever it raises becomes a line and an exit code."""
    running = Session(command, as_json, quiet)
    try:
        yield running
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except (Exception, KeyboardInterrupt) as problem:
        code = running.report_error(problem, debug=debug)
        raise typer.Exit(int(code)) from None


# -- What is to be known beside an answer: who is protected, what is cut off, the cost.

HARDLY = 10.0  # above it, e^ε is over 20,000: no promise to speak of
_RELATIONS = {
    "add-remove": "one person more or less",
    "replace-one": "one person exchanged for another",
}


def _aggregates_of(answer: Any, *kinds: type) -> list[str]:
    """Return the aggregates of an answer that are of some kinds."""
    from hush.tables.queries.answer import Presented

    # Before HAVING, ORDER BY and LIMIT.
    whole = answer.answer if isinstance(answer, Presented) else answer
    return [n for n, each in whole.query.aggregates.items() if isinstance(each, kinds)]


def protection(about: "Config", answer: Any, epsilon: float | None) -> list[str]:
    """Return who is protected, and what that costs the answer."""
    who = protected_by(about, answer.receipt)
    if about.person is None:
        return [who, *weak_epsilon(epsilon)]
    return [
        who,
        *_shortfall_remarks(about, answer, most_rows(about)),
        *weak_epsilon(epsilon),
    ]


def protected_by(about: "Config", receipt: Any) -> str:
    """Return who is protected, by what a receipt says."""
    relation = f"{receipt.neighbors} ({_RELATIONS[receipt.neighbors]})"
    if about.person is None:
        return f"Protected: one row, {relation}."
    return f"Protected: one {receipt.unit} with at most {most_rows(about)}, {relation}."


def most_rows(about: "Config") -> str:
    """Return how many rows one person counts for."""
    return "1 row" if about.rows == 1 else f"{about.rows} rows"


def _shortfall_remarks(about: "Config", answer: Any, most: str) -> list[str]:
    """Return by what counts and sums fall short; an interval does not cover it."""
    from hush.tables.aggregates.aggregate import Count, Sum
    from hush.tables.aggregates.histogram_aggregates import Histogram

    names = _aggregates_of(answer, Count, Histogram, Sum)
    if not names:
        return []
    return [
        f"A person with more than {most} counted as {about.rows}: if there are such "
        f"people, {', '.join(names)} fell short. Set rows in {about.path.name}."
    ]


def weak_epsilon(epsilon: float | None) -> list[str]:
    """Return the warning about an ε that is too large to protect.

    Example:
        >>> weak_epsilon(12)
        ['At epsilon 12 one person hardly has any protection.']
        >>> weak_epsilon(1)
        []
    """
    if epsilon is None or not epsilon > HARDLY:
        return []
    return [f"At epsilon {epsilon:g} one person hardly has any protection."]


def uninformative(found: Any, *, untyped: bool = False) -> list[str]:
    """Return the warning about a plan or answer whose interval carries no information.

    Of a file without types, values may be missing because they were not understood.

    Example:
        >>> uninformative(True)[0][:34]
        'An interval as wide as its bounds '
        >>> uninformative(False)
        []
    """
    if not found:
        return []
    said = [
        "An interval as wide as its bounds says nothing: take more epsilon, or coarser "
        "groups."
    ]
    if untyped:
        said.append(
            "Or the file spells its values in another way than the types of hush.toml: "
            "AVG(x IS NULL) says what share of a column was not understood."
        )
    return said


def payment(receipt: Any, before: float) -> str:
    """Return what was paid; `before` counts the entries that stood already."""
    if receipt.sequence < before:
        where = f"entry {receipt.sequence} ({receipt.hash[:12]}…)"
        return f"Stored answer of {where}; nothing was paid now."
    return f"Paid: {receipt}"


# -- Options as people expect them: flags shown as flags, others' names answered.

_CALLED = {
    "--noise-multiplier": "--sigma",
    "--std": "--gaussian",
    "--sample-rate": "--rate",
    "--sampling-rate": "--rate",
    "--num-steps": "--steps",
    "--eps": "--epsilon",
    "--user": "--unit",
    "--user-id": "--unit",
}


def _without_flag_values(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command of hush."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _without_flag_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; one that others call differently is answered with ours."""
        known = {name for each in self.params for name in each.opts}
        for name in (each.partition("=")[0] for each in args):
            if name not in known and _CALLED.get(name) in known:
                ctx.fail(f"No such option: {name}. Write {_CALLED[name]}.")
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _without_flag_values(super().get_params(ctx))


# -- Options and steps that `query`, `plan` and `plot error` share ---------------------

Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")]
Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="ε to spend.")]
Delta = Annotated[float, typer.Option("--delta", "-d", help="δ to spend.")]
Level = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Where = Annotated[
    Path, typer.Option("--config", "-c", help="The description of the data.")
]
FOUND = Path(config.NAME)


def query_of(data: Any, about: config.Config, text: str) -> Any:
    """Return the query that a statement asks of a data set, or refuse it."""
    from hush.tables.sql import select

    try:
        return select.query(data, text, **about.public_tables)
    except (InvalidArgument, Unsupported) as problem:
        raise type(problem)(
            refusal_with_place(str(problem), about), code=problem.code
        ) from None


def plan_of(about: config.Config, text: str, epsilon: float, delta: float) -> Any:
    """Return cost and expected error of a statement, from public numbers alone.

    None where the bounds are themselves found in the data: then only the cost is known.
    """
    from hush.tables.queries.private_bounds import PrivateBoundsQuery

    query = query_of(about.dataset_without_data(), about, text)
    return None if isinstance(query, PrivateBoundsQuery) else query.plan(epsilon, delta)
