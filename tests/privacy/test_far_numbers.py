"""Numbers at the ends of the floats: a bound comes back, or a refusal; never NaN."""

import math
import warnings

import pytest

from hush import mechanisms as m
from hush.errors import HushError, InvalidArgument
from hush.privacy import (
    GDP,
    ZCDP,
    Pair,
    Pure,
    fixed_size,
    group,
    poisson,
    repeat,
    replace_one,
)

FAR = [0.0, 5e-324, 1e-300, 1e-160, 1e-20, 1.0, 1e3, 1e10, 1e160, 1e300, 1.7e308]
MADE = {
    "Pure": Pure,
    "GDP": GDP,
    "ZCDP": ZCDP,
    "Laplace pair": lambda v: Pair.laplace(scale=v),
    "Geometric": lambda v: m.Geometric(v).curve(1),
    "Geometric far": lambda v: m.Geometric(3).curve(int(v)),
    "DiscreteGaussian": lambda v: m.DiscreteGaussian(v).curve(1),
    "DiscreteGaussian far": lambda v: m.DiscreteGaussian(2).curve(v),
    "Gaussian": lambda v: m.Gaussian(v).curve(1),
    "Gaussian far": lambda v: m.Gaussian(1.0).curve(v),
    "Laplace far": lambda v: m.Laplace(1.0).curve(v),
    "Exponential": lambda v: m.Exponential(v).curve(1),
    "Exponential far": lambda v: m.Exponential(1.0).curve(v),
    "poisson": lambda v: poisson(GDP(v), rate=0.01),
    "fixed size": lambda v: fixed_size(GDP(v), batch=10, records=1000),
    "group": lambda v: group(GDP(v), size=3),
    "replace one": lambda v: replace_one(GDP(v)),
    "repeat": lambda v: repeat(Pure(v), times=3),
}
# Those whose answers take seconds at some points are asked for δ only.
QUICK = {"Pure", "GDP", "Geometric far", "Laplace far", "Exponential far", "repeat"}


def answers(curve, name):
    """Yield what the curve says at far points, by the name of the question."""
    for at in FAR:
        yield f"delta_at({at})", lambda at=at: curve.delta_at(at)
        yield f"delta_at_lower({at})", lambda at=at: curve.delta_at_lower(at)
        if name in QUICK and at >= 1:
            yield f"renyi_at({at})", lambda at=at: curve.renyi_at(at)
            yield f"renyi_at_lower({at})", lambda at=at: curve.renyi_at_lower(at)
    yield "rho", lambda: curve.rho
    yield "mu", lambda: curve.mu


@pytest.mark.thin(3)
@pytest.mark.parametrize("value", FAR)
@pytest.mark.parametrize("name", MADE)
def test_far_numbers_give_a_bound_or_a_refusal(name, value):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            curve = MADE[name](value)
    except HushError:
        return
    for question, ask in answers(curve, name):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ask()
        except HushError:
            continue
        assert not math.isnan(found), question


@pytest.mark.parametrize("mu", [1e-300, 1e-160, 1e-20, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-20, 1e-3, 1.0, 100.0, 1e100])
def test_a_gaussian_curve_brackets_the_truth_at_far_numbers(mu, epsilon):
    import mpmath

    with mpmath.workdps(400):
        # Φ(-x) by erfc: tails of 1e-323 and below keep their digits.
        def tail(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        u, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a = e / u - u / 2
        # Beyond 10^6 it is below exp(-10^12 / 2).
        far = a > 10**6
        truth = mpmath.mpf(0) if far else tail(a) - mpmath.exp(e) * tail(a + u)
        assert GDP(mu).delta_at_lower(epsilon) <= truth <= GDP(mu).delta_at(epsilon)
        if truth > 1e-300:
            assert GDP(mu).delta_at(epsilon) <= truth * (1 + 1e-9)


@pytest.mark.parametrize("many", [1 << 64, 10**400])
def test_more_runs_or_people_than_there_can_be_are_refused(many):
    for call in (
        lambda: repeat(GDP(1), times=many),
        lambda: group(Pure(1), size=many),
    ):
        with pytest.raises(InvalidArgument, match="at most"):
            call()


@pytest.mark.parametrize(
    "epsilon", [5e-324, 1e-300, 1e-170, 1e-17, 1e-10, 1e-4, 0.1, 1.0]
)
def test_the_parameters_of_a_pure_curve_keep_their_digits(epsilon):
    import mpmath

    with mpmath.workdps(700):
        e = mpmath.mpf(epsilon)
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(e / 2))
        rho = e * mpmath.tanh(e / 2)
        found = Pure(epsilon)
        for claimed, truth in ((found.mu, mu), (found.rho, rho)):
            assert truth <= claimed <= truth * (1 + 1e-12) + 2e-323


@pytest.mark.parametrize("sensitivity", [5e-324, 1e-300, 1e-170, 1e-30])
def test_a_tiny_move_is_never_free(sensitivity):
    for noise in (m.Gaussian(1.0), m.Gaussian(5000.0), m.Laplace(3.0)):
        curve = noise.curve(sensitivity)
        assert curve.rho > 0
        assert curve.mu > 0
