"""`hush plot` writes pictures, or says why not."""

import builtins

import pytest

from shop import BY, COUNT

PICTURES = {
    "tradeoff": ("tradeoff", "--gaussian", "1", "--pure", "1", "--laplace", "2"),
    "profile": ("profile", "--rho", "0.1", "--mu", "1", "--approx", "1,1e-6"),
    "budget": ("budget",),
    "error": ("error", BY),
    "release": ("release", "answer.json", "--name", "fare"),
}


EACH = [(name, "svg") for name in PICTURES] + [("tradeoff", "png"), ("budget", "pdf")]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("name", "kind"), EACH)
def test_every_picture_is_written(shop, name, kind):
    text = shop.run("query", BY, "-e", 0.5, "--json").stdout
    (shop.folder / "answer.json").write_text(text)
    shown = shop.json("plot", *PICTURES[name], "-o", f"out.{kind}")
    assert shown["file"] == f"out.{kind}"
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert (shop.folder / f"out.{kind}").read_bytes().startswith(start)


def test_a_picture_of_errors_costs_nothing(shop):
    assert shop.run("plot", "error", COUNT).exit_code == 0
    assert not (shop.folder / "trips.budget.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("tradeoff",), 1, "name a curve"),
        (("tradeoff", "--pure", "1", "-o", "x.gif"), 1, ".png, .svg, .pdf"),
        (("tradeoff", "--pure", "1", "-o", "no/x.png"), 1, "No such file"),
        (("budget",), 4, "there is no ledger"),
        (("error", "SELECT"), 1, ""),
        (("release", "none.json"), 1, "No such file"),
        (("release", "hush.toml"), 1, "hush query --json"),
    ],
)
def test_bad_input_is_refused(shop, arguments, code, words):
    done = shop.run("plot", *arguments)
    assert done.exit_code == code, done.output
    assert words in done.stderr


def test_without_matplotlib_the_way_out_is_told(shop, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    done = shop.run("plot", "tradeoff", "--pure", "1")
    assert done.exit_code == 1
    assert "pip install 'hush[plots]'" in done.stderr
