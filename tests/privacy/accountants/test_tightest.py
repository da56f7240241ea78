"""Which accountant answers: few atoms are listed, an engine is loaded when asked."""

import subprocess
import sys

import pytest

ENGINES = {"characteristic_function", "convolution", "fft", "rare_events"}
LISTED = "repeat(Pair([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]), times=3)"
TRAINING = "repeat(poisson(GDP(1.0), rate=0.01), times=1000)"
HEAVY = "repeat(poisson(GDP(1 / 0.3), rate=1e-7), times=30)"
ASKED = """
import sys
from hush.privacy import GDP, Pair, poisson, repeat
{curve}.epsilon_at(1e-6)
print(*(name.rpartition(".")[2] for name in sys.modules if ".accountants." in name))
"""


def engines(curve: str) -> set[str]:
    """Return the engines that a new process has loaded when it knows an ε."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED.format(curve=curve)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split()) & ENGINES


@pytest.mark.parametrize(
    ("curve", "asked"),
    [
        (LISTED, set()),
        (TRAINING, {"characteristic_function"}),
        (HEAVY, {"characteristic_function", "convolution", "rare_events"}),
    ],
)
def test_an_engine_is_loaded_when_it_is_asked(curve, asked):
    # The last case is the twin: engines that were asked do show.
    assert engines(curve) == asked
