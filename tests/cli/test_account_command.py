"""`hush account`: brackets that hold, on the library's own numbers."""

import math

import pytest
from scipy.stats import norm


def test_dp_sgd_is_bracketed(shop):
    shown = shop.json(
        "account", "--sigma", 1.1, "--rate", 0.004, "--steps", 14000, "--delta", 1e-5
    )
    low, high = shown["epsilon"]["lower"], shown["epsilon"]["upper"]
    assert low <= high < low * (1 + 1e-6)
    assert shown["at"] == {"delta": 1e-5}
    assert 2.2 < high < 2.22


@pytest.mark.parametrize(
    ("theirs", "ours"), [("--noise-multiplier=1.1", "--sigma"), ("--eps", "--epsilon")]
)
def test_options_of_other_tools_are_answered_with_ours(shop, theirs, ours):
    done = shop.run("account", theirs, 1)
    assert done.exit_code == 2
    assert f"Write {ours}." in done.stderr


def test_gaussians_and_their_delta_in_closed_form(shop):
    shown = shop.json("account", "--gaussian", 2.0, "--times", 4, "--epsilon", 1)
    # Four of std 2 are one of std 1: δ(1) = Φ(-1/2) - e Φ(-3/2).
    exact = norm.cdf(-0.5) - math.e * norm.cdf(-1.5)
    assert shown["delta"]["lower"] <= exact * (1 + 1e-9)
    assert shown["delta"]["upper"] >= exact * (1 - 1e-9)
    assert shown["delta"]["upper"] == pytest.approx(exact, rel=1e-6)


def test_calibration_reaches_its_target_and_not_less(shop):
    options = ("--rate", 0.01, "--steps", 1000)
    found = shop.json("account", "--calibrate", *options, "-e", 2, "-d", 1e-5)
    sigma = found["sigma"]
    assert found["epsilon"]["upper"] == pytest.approx(2, rel=1e-6)
    less = shop.json("account", "--sigma", 0.999 * sigma, *options, "-d", 1e-5)
    assert less["epsilon"]["lower"] > 2


@pytest.mark.parametrize(
    ("rate", "steps", "epsilon"), [(0.01, 1000, 1), (0.004, 14000, 2), (0.5, 7, 0.3)]
)
def test_a_calibrated_epsilon_is_never_above_its_target(shop, rate, steps, epsilon):
    options = ("--rate", rate, "--steps", steps)
    given = ("account", "--calibrate", *options, "-e", epsilon, "-d", 1e-6)
    found = shop.json(*given)
    assert 0.999999 * epsilon < found["epsilon"]["lower"]
    assert found["epsilon"]["lower"] <= found["epsilon"]["upper"] <= epsilon
    text = shop.run(*given).stdout
    words = text.split()
    assert float(words[words.index("and") + 1].rstrip(".")) == epsilon
    # The noise that is printed is the noise that was accounted for.
    printed = words[words.index("sigma") + 1]
    assert float(printed) == found["sigma"]
    again = shop.run("account", "--sigma", printed, *options, "-d", 1e-6).stdout
    assert float(next(w for w in again.split()[4:] if w[0].isdigit())) == epsilon


def test_all_notions_compose(shop):
    one = shop.json(
        "account", "--pure", 0.1, "--approx", "0.1,1e-7", "--rho", 0.01, "--mu", 0.1,
        "--laplace", 10, "--laplace", 20, "--gaussian", 9, "-d", 1e-6, "-e", 1,
    )  # fmt: skip
    assert one["epsilon"]["lower"] <= one["epsilon"]["upper"] < 2
    assert set(one["at"]) == {"delta", "epsilon"}
    sampled = shop.json("account", "--gaussian", 1, "--rate", 0.1, "-d", 1e-6)
    whole = shop.json("account", "--gaussian", 1, "-d", 1e-6)
    assert sampled["epsilon"]["upper"] < whole["epsilon"]["lower"]


def test_the_printed_bounds_are_rounded_outwards(shop):
    given = ("account", "--gaussian", 1.7, "--times", 3, "-d", 1e-6)
    shown = shop.json(*given)["epsilon"]
    text = shop.run(*given).stdout
    above, below = (
        float(next(w for w in line.split() if "." in w)) for line in text.splitlines()
    )
    assert below <= shown["lower"] <= shown["upper"] <= above


def test_what_sampling_assumes_is_said(shop):
    step = ("--rate", 0.1, "--steps", 3)
    for given in (("--sigma", 2), ("--calibrate", "-e", 1)):
        text = shop.run("account", *given, *step, "-d", 1e-5).stdout
        assert "Poisson sampling" in text
        assert "added or removed" in text
    assert "Poisson" in shop.run("account", "--mu", 1, "--rate", 0.1, "-e", 1).stdout
    assert "Poisson" not in shop.run("account", "--mu", 1, "-e", 1).stdout


def test_an_epsilon_without_end_is_said_in_words(shop):
    text = shop.run(
        "account", "--sigma", 1.3, "--rate", 0.01, "--steps", 50, "-d", 0
    ).stdout
    assert "Infinity" not in text
    assert "unbounded  no epsilon is proven: read it at a larger delta" in text
    assert "charge this" not in text
    assert "never less" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name what is run"),
        (("--gaussian", 1), "say what to read"),
        (("--sigma", 1, "-d", 1e-5), "--rate and --steps"),
        (("--calibrate", "-e", 1), "--rate, --steps"),
        (("--approx", "1", "-d", 1e-5), "EPSILON,DELTA"),
        (("--gaussian", -1, "-d", 1e-5), "std"),
        (("--pure", "nan", "-d", 1e-5), "epsilon"),
        (("--gaussian", 1, "-d", 2), "delta"),
        (("--sigma", 0, "--rate", 0.1, "--steps", 3, "-d", 1e-5), "sigma"),
        (("--sigma", 1, "--rate", 2, "--steps", 3, "-d", 1e-5), "rate"),
    ],
)
def test_bad_input_is_refused(shop, arguments, words):
    done = shop.run("account", *arguments)
    assert done.exit_code == 1, done.output
    assert words in done.stderr


def test_a_rate_may_be_a_batch_of_the_records(shop):
    run = ("account", "--sigma", 1.1, "--steps", 14062, "-d", 1e-5)
    said = shop.json(*run, "--rate", "256/60000")
    assert said == shop.json(*run, "--rate", 256 / 60000)
    assert said["epsilon"]["upper"] == pytest.approx(2.381597, abs=1e-6)
    for wrong in ("256/0", "much"):
        refused = shop.run(*run, "--rate", wrong)
        assert refused.exit_code == 2
        assert "256/60000" in refused.stderr


def test_a_small_delta_is_shown_without_its_zeros(shop):
    assert "2.92428e-6" in shop.run("account", "--gaussian", 4, "-e", 1).stdout
