"""The reference page and the README's transcript are what the commands say."""

import importlib.util
import json
import re
import tomllib

import pytest

from shop import BY, COUNT


@pytest.fixture(scope="module")
def pages(root):
    found = importlib.util.spec_from_file_location(
        "cli_pages", root / "docs" / "cli.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def shape(text: str) -> str:
    """Return a text without what noise and time change: numbers, hashes, spacing."""
    text = re.sub(r"[0-9a-f]{12,}…?", "#", text)
    text = re.sub(r"-?\d[\d,.:T-]*(e-?\d+)?", "#", text)
    return re.sub(r"\s+", " ", text)


def test_the_reference_page_is_that_of_the_commands(root, pages):
    assert (root / "docs" / "cli.md").read_text() == pages.page(), "run docs/cli.py"


def test_the_transcript_of_the_readme_is_what_the_commands_print(root, pages):
    kept = pages.written((root / "README.md").read_text())
    assert kept
    assert shape(kept) == shape(pages.transcript()), "run docs/cli.py"


def test_the_shape_of_a_transcript_keeps_its_words():
    assert shape("Bronx 12,507.2  to 3") == shape("Bronx   -7 to 12.25")
    assert shape("Bronx 1") != shape("Kings 1")


def test_every_command_has_an_example_and_the_common_options(pages):
    for name, command in pages.commands():
        assert "Example: hush " + name in command.help.replace("\n", " "), name
        flags = {flag for each in command.params for flag in each.opts}
        assert {"--json", "--quiet", "--debug"} <= flags, name


def test_the_json_of_every_command_has_the_documented_fields(shop, pages):
    text = shop.run("query", BY, "-e", 0.5, "--json").stdout
    (shop.folder / "answer.json").write_text(text)
    given = {
        "account": ("--gaussian", 1, "-d", 1e-6, "-e", 1),
        "attack reconstruct": ("--people", 16),
        "attack membership": ("--samples", 400),
        "audit": ("Laplace(scale=1.0)", "--samples", 400),
        "init": ("trips.parquet", "--force", "-o", "new.toml"),
        "plan": (COUNT, "-e", 1),
        "plot error": (COUNT,),
        "plot profile": ("--pure", 1),
        "plot release": ("answer.json",),
        "plot tradeoff": ("--pure", 1),
        "query": (COUNT, "-e", 0.5),
        "synth": ("-e", 0.2),
        "verify": ("trips.budget.db",),
    }
    for name, _ in pages.commands():
        if name == "audit":  # a true claim may be refuted once in twenty
            done = shop.run(*name.split(), *given[name], "--json")
            shown = json.loads(done.stdout)
        else:
            shown = shop.json(*name.split(), *given.get(name, ()))
        assert shown.pop("hush") == name
        assert shown.pop("schema") == 1
        assert set(shown) == set(pages.FIELDS[name].partition(" (")[0].split()), name


def test_the_console_script_is_this_program(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"hush": "hush.cli:main"}
