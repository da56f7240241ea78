"""The names of the design are there: documentation, examples and users rely on them."""

import importlib
import inspect
import subprocess
import sys
from importlib.resources import files

import pytest

import hush
from hush import errors, suggestions

CONTRACT = {
    "hush": """open Budget Ledger Release
        count count_distinct sum mean variance std median quantile quantiles min max
        histogram covariance correlation mode top_k""",
    "hush.privacy": """Pure Approx ZCDP RDP GDP Tradeoff Profile Pair Loss compose
        repeat advanced clt parallel group replace_one poisson fixed_size shuffle
        calibrate compare""",
    "hush.mechanisms": """RandomizedResponse Laplace Gaussian Geometric DiscreteGaussian
        Staircase Canonical Exponential NoisyMax PermuteAndFlip KNorm Quantile
        WinsorizedMean Histogram SparseVector TreeSum TopK""",
    "hush.noise": """SECURE Seeded discrete_laplace discrete_gaussian bernoulli
        bernoulli_exp categorical gumbel_argmax integers permutation subsample ball""",
    "hush.learn": """LinearRegression LogisticRegression QuantileRegression SelectModel
        SubsampleAggregate sgd""",
    "hush.inference": """mean_interval proportion_interval proportion_test
        difference_test bootstrap""",
    "hush.local": """RandomizedResponse UnaryEncoding LocalHashing HadamardResponse
        SubsetSelection LaplaceMean PiecewiseMean""",
    "hush.synth": "TreeSynthesizer TreeModel TreePlan Domain Categories Bins",
    "hush.audit": "audit reconstruct difference membership",
    "hush.holdout": "Holdout monitor generalization",
    "hush.bounds": """hoeffding chernoff from_privacy maximum subgaussian noisy_max_gap
        exponential_gap minimax_mean""",
    "hush.privacy.Curve": """delta_at delta_at_lower epsilon_at epsilon_at_lower
        tradeoff_at renyi_at rho mu total_variation kl divergence""",
    "hush.privacy.Pair": "laplace shift",
    "hush.mechanisms.Laplace": "curve error run for_epsilon for_accuracy",
    "hush.Ledger": "open charge release history remaining verify",
    "hush.tables.Dataset": "where group_by agg sql budget",
    "hush.tables.Query": "plan release",
    "hush.tables.Answer": """to_pandas to_polars to_arrow to_json plot interval
        receipt""",
    "hush.audit.Audit": "epsilon_lower verdict plot",
}
COMMANDS = "demo init query plan synth budget account audit attack plot"


def resolve(dotted: str):
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError:
        home, _, name = dotted.rpartition(".")
        return getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("home", CONTRACT)
def test_the_names_of_the_design_are_there(home):
    found = resolve(home)
    wanted = set(CONTRACT[home].split())
    fields = set(getattr(found, "__dataclass_fields__", ()))
    assert {n for n in wanted if not hasattr(found, n) and n not in fields} == set()
    if inspect.ismodule(found):
        assert wanted <= set(found.__all__)


def test_the_commands_of_the_design_are_there():
    from hush.cli import app

    given = {each.name for each in app.registered_commands}
    given |= {each.name for each in app.registered_groups}
    assert set(COMMANDS.split()) <= given


def test_all_is_sorted_and_true():
    for home in CONTRACT:
        found = resolve(home)
        if inspect.ismodule(found):
            assert len(set(found.__all__)) == len(found.__all__)
            assert [n for n in found.__all__ if not hasattr(found, n)] == []


@pytest.mark.parametrize(
    "package",
    [*(h for h in CONTRACT if h[5:].islower()), "hush.tables", "hush.ledger"],
)
def test_dir_shows_the_public_names_and_no_others(package):
    found = resolve(package)
    more = set(hush._PACKAGES) if package == "hush" else set()
    assert set(dir(found)) == {*found.__all__, *more}
    assert {n for n in dir(found) if inspect.isbuiltin(getattr(found, n))} == set()


def test_packages_are_there_without_an_import_of_their_own():
    code = "import hush; print(hush.privacy.Pure(epsilon=1.0), hush.units.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Pure(epsilon=1.0) hush.units\n"
    for name in hush._PACKAGES:
        assert inspect.ismodule(getattr(hush, name)), name


def test_every_public_package_is_named_at_the_top():
    homes = {h.split(".")[1] for h in CONTRACT if h[5:].islower() and "." in h}
    assert homes <= hush._PACKAGES


@pytest.mark.parametrize(
    ("name", "way"), [("avg", "mean"), ("stddev", "std"), ("read_csv", "open")]
)
def test_a_word_of_another_library_names_ours(name, way):
    with pytest.raises(AttributeError, match=rf"{name}'\. Write hush\.{way}"):
        getattr(hush, name)


def test_a_name_that_is_nowhere_is_refused_as_usual():
    assert not hasattr(hush, "nothing")


def test_every_word_that_is_offered_instead_is_there():
    for name, words in suggestions.PACKAGE.items():
        assert name not in hush.__all__
        found = words.removeprefix("Write hush.").split(",")[0].rstrip(".")
        assert callable(resolve(f"hush.{found}")), name


def test_the_package_says_that_it_is_typed():
    assert files("hush").joinpath("py.typed").is_file()


def test_a_program_of_a_user_passes_the_strict_type_checker(root):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            root / "tests" / "structure" / "user_script.py",
        ],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_a_program_of_a_user_runs(root):
    done = subprocess.run(
        [sys.executable, root / "tests" / "structure" / "user_script.py"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 5


def test_the_tree_of_errors_is_drawn_whole():
    found = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.HushError)
    }
    drawn = {
        line.strip("│├└─ ").split()[0]
        for line in (errors.__doc__ or "").splitlines()
        if "──" in line or line.startswith("    HushError")
    }
    assert drawn == found
    assert all(issubclass(getattr(errors, n), errors.HushError) for n in drawn)
