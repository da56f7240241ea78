from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hush.errors import InvalidArgument, NoBound
from hush.privacy.pld import gaussian_loss, mixture_loss
from hush.privacy.pld.discrete_loss import AtomsLoss
from hush.privacy.pld.gaussian_loss import GaussianLoss, SubsampledGaussianLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss
from hush.privacy.pld.loss_distribution import SampledLoss
from privacy.accountants.oracles import DIGITS, Mixture, enumerate_delta, gaussian_delta

BIASED = AtomsLoss.of([0.75, 0.25], [0.25, 0.75])


def assert_contains(bracket, truth, relative):
    lower, upper = float(bracket[0]), float(bracket[1])
    assert lower <= truth <= upper
    assert upper - lower <= relative * truth + 1e-300


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 0.49, 0.5, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("score", [-3.0, -0.1, 0.0, 0.3, 1.0, 2.9, 3.1, 5.9, 6.1, 20.0])
def test_gaussian_curve_matches_high_precision(mu, score):
    epsilon = mu * score + mu * mu / 2
    bracket = gaussian_loss.gaussian_delta(epsilon, mu)
    assert_contains(bracket, gaussian_delta(epsilon, mu), 1e-10)


@pytest.mark.thin(5)
@pytest.mark.parametrize("std", [0.3, 1.1, 7.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.7])
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("epsilon", [-0.005, 1e-7, 0.02])
def test_subsampled_curve_matches_quadrature(std, rate, direction, epsilon):
    truth = Mixture(std, rate, direction).delta(epsilon)
    lower, upper = SubsampledGaussianLoss(std, rate, direction).delta(epsilon)
    assert lower <= truth * (1 + mp.mpf(10) ** -20)
    assert truth * (1 - mp.mpf(10) ** -20) <= upper
    assert upper - lower <= 1e-9 * float(truth) + 1e-300


@pytest.mark.parametrize("epsilon", [-1.0, -0.5, -0.2, 0.0, 0.25, 0.49, 0.6])
def test_laplace_curve_matches_quadrature(epsilon):
    with mp.workdps(DIGITS):
        scale, level = mp.mpf(2), mp.exp(mp.mpf(epsilon))
        kink = (1 - scale * mp.mpf(epsilon)) / 2
        cuts = sorted({mp.mpf(-400), mp.mpf(0), min(max(kink, 0), 1), mp.mpf(1), 400})

        def gap(x):
            first = mp.exp(-abs(x) / scale)
            return max(first - level * mp.exp(-abs(x - 1) / scale), 0) / (2 * scale)

        truth = mp.quad(gap, cuts)
    lower, upper = LaplaceLoss(2.0).delta(epsilon)
    assert lower - mp.mpf("1e-40") <= truth <= upper + mp.mpf("1e-40")
    assert upper - lower <= 1e-12


def test_integer_tables_are_exact():
    p, q = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 3)] * 3
    for epsilon in (-0.3, 0.0, 0.2, 0.5):
        truth = enumerate_delta([(p, q)], epsilon)
        assert_contains(AtomsLoss.of(p, q).delta(epsilon), truth, 1e-12)


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("epsilon", [-0.1, 0.0, 0.05, 0.2])
def test_sampled_tables_are_mixed_outcome_by_outcome(direction, epsilon):
    p = [Fraction(3, 4), Fraction(1, 4), Fraction(0)]
    q = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    rate = Fraction(1, 8)
    mixed = [rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True)]
    pair = (mixed, q) if direction == "remove" else (q, mixed)
    truth = enumerate_delta([pair], epsilon)
    law = AtomsLoss.of(p, q)
    assert_contains(law.sampled(0.125, direction).delta(epsilon), truth, 1e-12)
    assert_contains(SampledLoss(law, 0.125, direction).delta(epsilon), truth, 1e-10)


@pytest.mark.parametrize(
    "law",
    [
        GaussianLoss(0.7),
        SubsampledGaussianLoss(0.8, 0.2, "add"),
        LaplaceLoss(1.5, 0.3, "remove"),
        BIASED,
        SampledLoss(BIASED, 0.5, "add"),
    ],
    ids=repr,
)
def test_reversal_obeys_the_symmetry_of_hockey_sticks(law):
    # H(Q|P)(-ε) = e^-ε H(P|Q)(ε) + 1 - e^-ε for laws without infinite losses.
    for epsilon in (0.05, 0.3, 1.0):
        there = float(law.delta(epsilon)[1])
        back = float(law.reversed().delta(-epsilon)[1])
        assert back == pytest.approx(
            np.exp(-epsilon) * there - np.expm1(-epsilon), rel=1e-9
        )


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(
    ("std", "rate", "z"),
    [(1.0, 0.01, 3 + 40j), (0.5, 0.2, 0.7 + 5j), (4.0, 1e-4, 200 + 9000j)],
)
def test_rules_hold_what_they_promise(std, rate, z, direction):
    law = SubsampledGaussianLoss(std, rate, direction)
    rule = law.rule(z.real, abs(z.imag), -40.0, -60.0)
    truth = Mixture(std, rate, direction).transform(z)
    value = np.exp(rule.log_weight + z * rule.loss).sum()
    rounding = (np.exp(rule.log_weight + z.real * rule.loss) * rule.weight_error).sum()
    promised = rule.quadrature(z.real, abs(z.imag)) + rule.missing
    assert abs(complex(truth) - value) <= promised + 20 * rounding
    assert promised < 1e-12


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(("std", "rate"), [(1.0, 0.01), (0.5, 0.3), (4.0, 0.1)])
def test_decay_bounds_the_transform_and_never_rises(std, rate, direction):
    law, tilt = SubsampledGaussianLoss(std, rate, direction), 2.0
    rule = law.rule(tilt, 300.0, -25.0, -40.0)
    weight = np.exp(rule.log_weight + tilt * rule.loss)
    decay = law.decay(tilt, float(np.log(weight.sum())), -40.0)
    last = 0.0
    for t in np.geomspace(0.5, 300, 40):
        truth = abs((weight * np.exp(1j * t * rule.loss)).sum()) / weight.sum()
        for patient in (False, True):
            bound = decay.log_bound(float(t), patient=patient)
            unresolved = rule.quadrature(tilt, float(t)) / weight.sum()
            assert truth <= np.exp(bound) + 1e-12 + unresolved
        assert bound <= last + 1e-12
        last = bound
    assert last < np.log(0.5)


def test_panel_nodes_integrate_polynomials_exactly():
    for degree in range(0, 47, 2):
        total = float(mixture_loss.WEIGHTS @ mixture_loss.NODES**degree)
        assert total == pytest.approx(2 / (degree + 1), rel=1e-14)


@pytest.mark.parametrize(
    "build",
    [
        lambda: GaussianLoss(0.0),
        lambda: SubsampledGaussianLoss(1.0, 1.5, "add"),
        lambda: SubsampledGaussianLoss(1.0, 0.5, "sideways"),
        lambda: LaplaceLoss(float("nan")),
        lambda: AtomsLoss.of([0.5, 0.6], [0.5, 0.5]),
        lambda: AtomsLoss((1.0,), (-0.1, -0.2)),
        lambda: AtomsLoss((-1.0,), (0.0,)),
    ],
)
def test_bad_arguments_are_named(build):
    with pytest.raises(InvalidArgument):
        build()


def test_sampling_the_wrong_way_round_is_refused():
    with pytest.raises(NoBound, match="'remove'"):
        SubsampledGaussianLoss(1.0, 0.5, "add").sampled(0.5, "add")
