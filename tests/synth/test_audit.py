"""A black-box audit on a tiny domain: what is released, told apart by experiment."""

import numpy as np
import pytest

from hush.audit import audit
from hush.noise import Seeded
from hush.privacy import Pure
from hush.synth import TreeSynthesizer
from hush.synth.rows import private_counts

DOMAIN = {"a": [0, 1], "b": [0, 1]}
LESS = {"a": [0, 1], "b": [0, 1]}
MORE = {"a": [0, 1, 1], "b": [0, 1, 1]}
LEVEL = 1 - 1e-5  # a right claim is refuted with probability 1e-5


def released(epsilon, source):
    """Return a function that draws all answers of a synthesis as one vector."""
    plan = TreeSynthesizer(DOMAIN, epsilon).plan()

    def run(data):
        columns, place, last = plan.draw(private_counts(plan.domain, data), source)
        return np.concatenate([columns, [place], last, [0] * (4 - len(last))])

    return run


def found(epsilon, samples):
    source = Seeded(11)
    return audit(
        released(epsilon, source),
        LESS,
        MORE,
        claim=Pure(1.0),
        samples=samples,
        level=LEVEL,
        source=source,
    )


@pytest.mark.statistical
def test_a_synthesis_with_an_eighth_of_the_noise_is_caught():
    # At ε = 8 the claim of 1 is refuted; p was below 1e-20 with this seed.
    assert found(8.0, samples=600).p_value < 1e-5


@pytest.mark.slow
@pytest.mark.statistical
def test_a_synthesis_is_as_private_as_it_says():
    told = found(1.0, samples=10_000)
    assert told.p_value > 1e-5
    assert told.epsilon_lower <= 1.0
