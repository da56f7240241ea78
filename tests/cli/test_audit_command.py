"""`hush audit` and `hush attack`: hooks to the audit package."""

import pytest


def test_a_false_claim_is_refuted_and_a_true_one_is_not(shop):
    # At level 0.999999999 a true claim is refuted with probability below 1e-9.
    sure = ("--samples", 4000, "--level", 0.999999999)
    false = shop.json("audit", "Laplace(scale=1.0)", "-e", 0.3, *sure, code=6)
    assert false["audit"] == "violated"
    assert false["epsilon_lower"] > 0.3
    own = shop.json("audit", "Laplace(scale=1.0)", *sure)
    assert own["audit"] == "not refuted"
    assert (
        shop.json("audit", "Gaussian(std=2.0)", "--mu", 0.5, *sure)["hush"] == "audit"
    )


def test_a_function_of_ones_own_is_audited(shop):
    (shop.folder / "own.py").write_text("def leaky(data):\n    return data\n")
    done = shop.really("audit", "own:leaky", "-e", 1, "--samples", 400)
    assert done.returncode == 6, done.stderr
    assert done.stdout.startswith("violated")


def test_an_audit_can_be_drawn(shop):
    given = ("--samples", 400, "--plot", "roc.svg")
    assert shop.run("audit", "Laplace(scale=1.0)", *given).exit_code in (0, 6)
    assert (shop.folder / "roc.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "neither a mechanism"),
        (("Laplace",), "neither a mechanism"),
        (("open('x')",), "neither a mechanism"),
        (("Laplace(scale=__import__('os'))",), "neither a mechanism"),
        (("Laplace(scale=-1.0)",), "scale"),
        (("no_such:thing", "-e", 1), "no function"),
        (("math:sqrt",), "makes no claim"),
        (("Laplace(scale=1.0)", "--data", "{"), "JSON"),
        (("Laplace(scale=1.0)", "-e", 1, "--mu", 1), "not both"),
        (("Laplace(scale=1.0)", "--level", 2), "level"),
    ],
)
def test_bad_input_is_refused(shop, arguments, words):
    done = shop.run("audit", *arguments)
    assert done.exit_code == 1, done.output
    assert words in done.stderr


def test_reconstruction_succeeds_on_exact_answers_and_fails_on_private_ones(shop):
    found = shop.json("attack", "reconstruct", "--people", 64)["recovered"]
    assert found["exact"] == 1
    # 64 fair guesses are right 57 times with probability below 1e-9.
    assert found["private"] < 57 / 64


def test_difference_isolates_a_person_only_without_noise(shop):
    found = shop.json("attack", "difference", "--people", 50)
    assert found["exact"] == found["secret"]


def test_membership_stays_below_what_is_proven(shop):
    found = shop.json("attack", "membership", "--samples", 2000)
    assert found["within_claim"]
    assert found["advantage_bound"] == pytest.approx(0.4621, abs=1e-3)
    for name in ("reconstruct --people 16", "difference", "membership --samples 400"):
        assert shop.run("attack", *name.split()).exit_code == 0
