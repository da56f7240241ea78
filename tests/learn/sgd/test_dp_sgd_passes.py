"""Passes: few empty slots, and sums that fit the integers they are added in."""

import numpy as np
import pytest
from scipy import stats

from hush.learn import sgd
from hush.learn.sgd import dp_sgd


@pytest.mark.parametrize(("batch", "spread"), [(40, 0.0), (40, 5.5), (300, 16.0)])
def test_expected_passes_are_those_of_binomial_batches(batch, spread):
    """A guide to speed: within 2 % of the sum over all sizes of a batch."""
    share = 1 - spread**2 / batch
    sizes = stats.binom(round(batch / share), share) if spread else None
    for rows in (1, 2, 7, 39, 40, 41, 60):
        if sizes is None:
            exact = -(-batch // rows)
        else:
            support = np.arange(round(batch / share) + 1)
            needed = np.maximum(1, -(-support // rows))
            exact = float(needed @ sizes.pmf(support))
        assert dp_sgd.expected_passes(rows, batch, spread) == pytest.approx(
            exact, rel=0.02
        )


@pytest.mark.parametrize("sampling", ["poisson", "fixed-size"])
@pytest.mark.parametrize("dimension", [1, 5000, 200_000, 10**8])
@pytest.mark.parametrize("devices", [1, 2])
def test_passes_fit_what_they_should(sampling, dimension, devices):
    for batch in (1, 3, 256, 2048, 10**5):
        plan = sgd.Training(
            1.0, clip=1.0, batch=batch, records=10**6, steps=1, sampling=sampling,
            dimension=dimension, devices=devices,
        )  # fmt: skip
        assert plan.groups % devices == 0
        assert 1 <= plan.group <= dp_sgd.GROUP
        most = 2**31 if not plan.wide else 2**47
        assert (batch + 64 * plan.std) / plan.grid.step <= most
        assert plan.grid.step * dimension**0.5 <= max(2.0**-9, 2.0**-22 * 10**4)
        spread = batch**0.5 if sampling == "poisson" else 0.0
        slots = plan.rows * dp_sgd.expected_passes(plan.rows, batch, spread)
        assert batch < 200 or slots < 1.2 * batch
