"""`import hush` is light, and nothing draws from a weak generator."""

import re
import subprocess
import sys
import tomllib

import pytest

HEAVY = {
    "jax",
    "ibis",
    "duckdb",
    "matplotlib",
    "fastapi",
    "sklearn",
    "pandas",
    "pyarrow",
}


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


# SciPy's parts load where a function of theirs is called: `import scipy` alone.
PARTS = {f"scipy.{each}" for each in ("special", "stats", "optimize", "integrate")}
CORE = "hush.noise, hush.privacy, hush.mechanisms, hush.bounds"
LIGHT = {
    "hush": HEAVY,
    CORE: HEAVY | PARTS | {"mpmath"},
    "hush.local": {"hush.privacy", "ibis", "matplotlib", "pandas"}
    | {"scipy.optimize", "scipy.stats"},
    "hush.learn": {"jax", "optax"},
    "hush.cli": {"ibis", "duckdb", "matplotlib", "pandas", "pyarrow", "jax"}
    | {"scipy.stats"},
}


@pytest.mark.parametrize("what", LIGHT)
def test_an_import_is_light(what):
    code = f"import {what}, sys; print(sorted({LIGHT[what]!r} & set(sys.modules)))"
    assert run_python(code) == "[]"


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        ("sklearn", "import hush.learn", "learn"),
        ("jax", "from hush.learn import sgd", "sgd"),
        ("sklearn", "from hush.learn import sgd", "sgd"),
    ],
)
def test_a_missing_extra_is_named(missing, code, extra):
    hide = (
        "import importlib.util as u; find = u.find_spec;"
        f"u.find_spec = lambda n, *a: None if n == {missing!r} else find(n, *a)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}\n{code}"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install 'hush[" in done.stderr
    assert f"'hush[{extra}]'" in done.stderr


def test_a_package_without_its_extra_says_so_and_spoils_nothing_else():
    code = (
        "import importlib.util as u, pydoc; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'sklearn' else find(n, *a)\n"
        "import hush\n"
        "try: hush.learn\n"
        "except AttributeError as problem: print(problem)\n"
        "print(len(pydoc.render_doc(hush)) > 1000)"
    )
    said, whole = run_python(code).splitlines()
    assert "pip install 'hush[learn]'" in said
    assert whole == "True"


def test_the_extra_of_sgd_includes_that_of_learn(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert "hush[learn]" in project["optional-dependencies"]["sgd"]


def unused(root, extras):
    """Return the extras none of whose own packages the source ever names."""
    text = "\n".join(p.read_text() for p in (root / "src").rglob("*.py"))
    names = {"scikit-learn": "sklearn", "hush": "nothing of its own"}
    modules = {
        extra: {names.get(n := re.split(r"[\[<>=~]", w)[0], n) for w in wanted}
        for extra, wanted in extras.items()
    }
    return {
        extra
        for extra, wanted in modules.items()
        if not any(re.search(rf"\b{m}\b", text) for m in wanted)
    }


def test_every_extra_serves_something(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert unused(root, extras) == {"all"}
    assert unused(root, {"server": ["uvicorn>=0.32"]}) == {"server"}


def test_nothing_in_the_package_uses_a_weak_generator(root):
    weak = re.compile(
        r"np\.random|numpy\.random|^\s*(import random|from random import)"
    )
    found = [
        f"{path.name}:{number}"
        for path in (root / "src").rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if weak.search(line)
    ]
    assert found == []
