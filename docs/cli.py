"""Write docs/cli.md and the README's transcript from the commands themselves.

`python docs/cli.py` rewrites both; tests/cli/test_pages.py compares them.
"""

import os
import re
import tempfile
import textwrap
from pathlib import Path
from unittest import mock

import typer
from typer.testing import CliRunner

from hush.cli import app, session
from hush.cli.session import MEANING

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 88

HEAD = """\
# The command line

A private table from a sensitive file, without writing Python:

1. `hush init trips.parquet --unit person` writes `hush.toml` from the schema alone. Fill
   in what it marks with `<--`: for how many rows one person counts, and the public bounds
   and keys.
2. `hush plan "SELECT …" -e 0.5` says how wrong the answer would be. It costs nothing.
3. `hush query "SELECT …" -e 0.5` charges the ledger, then reads, then adds noise.
4. `hush budget` says what is left, `hush verify` that nobody changed the books.
5. `hush synth -e 1 -d 1e-6` writes a [synthetic table](synth.md), where rows are needed
   and not answers.

`hush demo` shows all of it on a town that does not exist, and leaves its table in
`demo/trips.parquet` to try the commands on. `hush --install-completion`
teaches your shell the commands. This page is written by `python docs/cli.py`.

## What is printed

Results go to standard output; remarks, such as who is protected and what was paid, and
errors go to standard error. `--quiet` drops progress and remarks. An error is one line
that says what is wrong and the way out. It never holds a value of the data, and no
traceback is shown; `--debug` adds where it was, without foreign texts.

Nothing is shortened. A file or a pipe gets a line for each row, however long; a terminal
that is too narrow gets a block for each row. A released column has as many decimals as
its intervals leave meaning: two digits of the half-width, and no decimals for a count
within more than 5. The ends of an interval are rounded outwards.

`hush query --csv` prints all digits instead: a column for each group, and for each
aggregate its value, `_low` and `_high`. Dates are as in 2026-11-16, and what is unknown
or infinite is empty. The numbers of a histogram have a column each.

`--json` prints one object: `hush` is the command, `schema` the number {schema}, and the
rest is listed with each command. Fields may be added under a number, never renamed or
removed. A failure prints `error` with `kind`, `code`, `message` and `exit` instead; the
codes are those of [refusals](errors.md). Infinities are null.

## Exit codes

| code | meaning |
|---|---|
{codes}

## hush.toml

| setting | meaning |
|---|---|
| `[data] source` | a file, a folder or an address; a path starts at the folder of `hush.toml` |
| `[data] name` | the name of the table in SQL, and of its account in the ledger |
| `[data] unit` | the column that tells people apart, or `"row"` |
| `[data] rows` | for how many rows one person counts at most; of people with more, counts and sums fall short |
| `[data] neighbors` | `"add-remove"` or `"replace-one"` |
| `[budget]` | `epsilon` and `delta`, or `rho`, or `mu` |
| `[ledger] url` | `"sqlite:///file"`, from the folder of `hush.toml`, or `"postgresql://…"` |
| `[columns.NAME] type` | `number`, `text`, `date` or `boolean`; needed for CSV only, where all else is text |
| `[columns.NAME] bounds` | public bounds, as in `[0, 80]`; or `"private"`, which costs a quarter of ε |
| `[columns.NAME] keys` | public values for GROUP BY, or `"private"` |
| `[columns.NAME] bins` | for `hush synth`: into how many bins the bounds are cut, 10 unless said |
| `[columns.NAME] whole`, `missing` | for `hush synth`: numbers are whole; NULL may occur, and is drawn too |
| `[keys]` | public values of what SELECT names and of columns of public tables, as in `year = [2025, 2026]`; and tuples for several columns at once: `"region, year" = [["north", 2026]]` |
| `[tables]` | public tables that JOIN may name: `zones = "zones.parquet"`; a CSV file may have types: `zones = {{source = "zones.csv", types = {{population = "number"}}}}` |

The first query begins the ledger. A ledger that exists is never given a new account by
accident: `hush budget --open` adds the data set to it, `hush budget --raise` enlarges the
budget to what `hush.toml` says.

## Commands
"""

FIELDS = {
    "account": "curve at epsilon delta (with --calibrate: sigma at epsilon)",
    "attack difference": "people epsilon secret exact private",
    "attack membership": "epsilon advantage advantage_bound within_claim samples",
    "attack reconstruct": "people questions epsilon recovered",
    "audit": "audit claim level p_value epsilon_lower delta point event pair samples "
    "guesses right catches roc",
    "budget": "accounts charges",
    "demo": "answers refused ledger report",
    "init": "file columns",
    "plan": "epsilon delta level cell error noise mechanisms",
    "plot budget": "file",
    "plot error": "file",
    "plot profile": "file",
    "plot release": "file",
    "plot tradeoff": "file",
    "query": "columns rows level unit neighbors receipt left",
    "synth": "file rows columns left_out measured level unit neighbors receipt left "
    "(with --plan: level within columns mechanisms)",
    "verify": "whole entries bad reason anchored",
}


def commands():
    """Yield every command with its full name."""
    for name, command in typer.main.get_command(app).commands.items():
        if hasattr(command, "commands"):
            for inner, each in command.commands.items():
                yield f"{name} {inner}", each
        else:
            yield name, command


def _default(parameter) -> str:
    value = parameter.default
    if parameter.required:
        return "needed"
    if value is None or value is False or callable(value) or value == "":
        return ""
    return f"`{value}`"


def _row(parameter) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        names = ", ".join(f"`{each}`" for each in parameter.opts)
    words = (parameter.help or "").replace("|", "\\|")
    return f"| {names} | {words} | {_default(parameter)} |"


def _command(name: str, command) -> str:
    paragraphs = [p.replace("\n", " ") for p in command.help.split("\n\n")]
    words = "\n\n".join(p for p in paragraphs if not p.startswith("Example:"))
    examples = [p.removeprefix("Example: ") for p in paragraphs if "Example: " in p]
    rows = "\n".join(_row(each) for each in command.params if each.name != "help")
    fields = ", ".join(f"`{each}`" for each in FIELDS[name].partition(" (")[0].split())
    more = FIELDS[name].partition(" (")[2].rstrip(")")
    more = f" ({more})" if more else ""
    return (
        f"### hush {name}\n\n{words}\n\n```\n" + "\n".join(examples) + "\n```\n\n"
        f"| option | meaning | default |\n|---|---|---|\n{rows}\n\n"
        f"JSON: {fields}{more}.\n"
    )


def page() -> str:
    """Return docs/cli.md."""
    from hush.cli.session import SCHEMA

    codes = "\n".join(f"| {int(code)} | {words} |" for code, words in MEANING.items())
    head = HEAD.format(schema=SCHEMA, codes=codes)
    return head + "\n" + "\n".join(_command(*each) for each in commands())


# -- the transcript of the README -------------------------------------------------------

QUESTION = (
    "SELECT region, COUNT(*) AS trips, AVG(fare) AS fare FROM trips GROUP BY region"
)
TABLE = "demo/trips.parquet"
STEPS = (
    (f"init {TABLE} --unit person", ("init", TABLE, "--unit", "person")),
    """\
# Fill in what is public. In hush.toml, under [data]: rows = 20; under [columns."fare"]:
# bounds = [0, 80]; and under [columns."region"]:
# keys = ["Airport", "Centre", "Harbour", "Hills", "Lakes", "Woods"]""",
    (
        f'plan "{QUESTION}" -e 0.5 --cell 20000',
        ("plan", QUESTION, "-e", "0.5", "--cell", "20000"),
    ),
    (f'query "{QUESTION}" -e 0.5', ("query", QUESTION, "-e", "0.5")),
    ("budget", ("budget",)),
)
MARKS = "<!-- transcript: python docs/cli.py -->\n", "<!-- end of transcript -->\n"


def _trips() -> None:
    from hush.cli.demo.town import Town

    Path("demo").mkdir()
    Town.built().write(Path(TABLE))


def _fill_in() -> None:
    from hush.cli.demo.town import REGIONS

    text = Path("hush.toml").read_text()
    keys = ", ".join(f'"{each}"' for each in REGIONS)
    text = re.sub(r'(?m)^# keys = \["a".*$', f"keys = [{keys}]", text)
    text = re.sub(r"(?m)^rows = .*$", "rows = 20", text)
    Path("hush.toml").write_text(re.sub("(?m)^# bounds.*$", "bounds = [0, 80]", text))


def _as_seen(output: str) -> list[str]:
    """Return results and remarks as a terminal of this width shows them."""
    lines = (line.rstrip() for line in output.splitlines())
    return [part for line in lines for part in textwrap.wrap(line, WIDTH) or [""]]


def transcript() -> str:
    """Return what a first session looks like; the noise differs every time."""
    runner, before = CliRunner(), os.getcwd()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _trips()
            for step in STEPS:
                if isinstance(step, str):
                    _fill_in()
                    lines.append(step)
                    continue
                words, arguments = step
                with mock.patch.object(session, "width", return_value=WIDTH):
                    done = runner.invoke(app, arguments)
                if done.exit_code:
                    raise SystemExit(done.output)
                lines += [f"$ hush {words}", *_as_seen(done.output), ""]
        finally:
            os.chdir(before)
    return "```\n" + "\n".join(lines).rstrip() + "\n```\n"


def written(readme: str) -> str:
    """Return the transcript that a README holds."""
    return readme.partition(MARKS[0])[2].partition(MARKS[1])[0]


if __name__ == "__main__":
    (ROOT / "docs" / "cli.md").write_text(page())
    readme = (ROOT / "README.md").read_text()
    new = readme.replace(MARKS[0] + written(readme), MARKS[0] + transcript())
    (ROOT / "README.md").write_text(new)
