"""The closed-form transform of Laplace losses against 40-digit integrals of its law."""

import mpmath
import numpy as np
import pytest

from hush.privacy.accountants.tightest import delta_bracket, epsilon_bracket
from hush.privacy.accountants.transforms import gather
from hush.privacy.pld.discrete_loss import AtomsLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss, RangeLoss

SCALES = (1e9, 1e4, 31.0, 2.0, 1.0, 0.9, 0.3, 0.01, 0.003)
TILTS = (1e-9, 1e-3, 0.4, 3.0, 40.0, -1e-4, -0.3, -0.5, -0.5 + 1e-9, -0.6, -0.97)


def family(kind, scale):
    law = LaplaceLoss(scale) if kind == "laplace" else RangeLoss(1 / scale)
    found, _ = gather([(law, 1)], (0.0,))
    return found


def transform(kind, z, scale):
    """E e^(zL) from the definition: integrals of exponentials over an interval."""
    z, b = mpmath.mpmathify(z), mpmath.mpf(scale)
    if kind == "range":
        # Density ∝ e^(y/2) on [-s, s], with the span a float.
        s, w = mpmath.mpf(1 / scale), z + mpmath.mpf(1) / 2
        return (mpmath.sinh(w * s) / w if w else s) / (2 * mpmath.sinh(s / 2))
    atoms = (mpmath.exp(z / b) + mpmath.exp(-(z + 1) / b)) / 2
    # ∫ e^(-x/b + (z+1)(2x-1)/b)/(2b) dx; the exponent is flat where 2z + 1 vanishes.
    w = (2 * z + 1) / b
    inner = 1 if w == 0 else mpmath.expm1(w) / w
    return atoms + mpmath.exp(-(z + 1) / b) / (2 * b) * inner


def cases():
    return [
        pytest.param(kind, scale, tilt, id=f"{kind}-{scale:g}-{tilt!r}")
        for kind in ("laplace", "range")
        for scale in SCALES
        for tilt in TILTS
        if abs(tilt + 0.5) <= 300 * scale
    ]


def test_the_oracle_is_the_integral():
    with mpmath.workdps(40):
        for z in (mpmath.mpc(0.3, 2), mpmath.mpf("-0.5"), mpmath.mpc(-0.5, 1e-9)):
            b = mpmath.mpf(2)
            density = mpmath.quad(
                lambda x, z=z, b=b: mpmath.exp(-x / b + (z + 1) * (2 * x - 1) / b),
                [0, 1],
            )
            atoms = (mpmath.exp(z / b) + mpmath.exp(-(z + 1) / b)) / 2
            found = atoms + density / (2 * b)
            assert abs(found - transform("laplace", z, 2)) < mpmath.mpf(10) ** -27


@pytest.mark.parametrize(("kind", "scale", "tilt"), cases())
def test_masses_and_means(kind, scale, tilt):
    with mpmath.workdps(60):
        value, error = family(kind, scale).log_mass(tilt)
        truth = mpmath.log(transform(kind, tilt, scale))
        assert abs(mpmath.mpf(value.item()) - truth) <= error.item()
        # A bound that is no use would also hold: 1e-12 of the value and of 1.
        assert error.item() <= 1e-12 * (1 + abs(value.item())) * (1 + abs(tilt))
        step = mpmath.mpf(10) ** -18 * scale
        rise = transform(kind, tilt + step, scale) - transform(kind, tilt - step, scale)
        slope = rise / (2 * step) / transform(kind, tilt, scale)
        mean, blur = family(kind, scale).mean(tilt)
        slack = abs(slope) * mpmath.mpf(10) ** -30 + mpmath.mpf(10) ** -35
        assert abs(mpmath.mpf(mean.item()) - slope) <= blur.item() + slack


@pytest.mark.parametrize(("kind", "scale", "tilt"), cases())
def test_ratios_off_the_real_line(kind, scale, tilt):
    t = scale * np.array([0.0, 1e-12, 1e-6, 0.01, 0.4, 0.6, 1.0, 3.0, 50.0, 700.0])
    real, imaginary, error = (x[0] for x in family(kind, scale).ratio(tilt, t))
    with mpmath.workdps(60):
        base = transform(kind, tilt, scale)
        for i, each in enumerate(t):
            truth = transform(kind, mpmath.mpc(tilt, each), scale) / base - 1
            found = mpmath.mpc(real[i], imaginary[i])
            assert abs(found - truth) <= error[i]
            size = (1 + each / scale) ** 2 * (1 + (1 + abs(tilt)) / scale) ** 2
            assert error[i] <= 1e-13 * size


def test_tiny_losses_keep_their_digits():
    # (1 + S)^k with k = 10^12 asks for the second order of S, not for 1 + S.
    real, _, error = family("laplace", 1e6).ratio(1.0, np.array([1.0]))
    assert error.item() <= 1e-13 * abs(real.item()) + 1e-26
    low, high = epsilon_bracket([(LaplaceLoss(1e6), 10**12)], 1e-6)
    # By the central limit theorem a Gaussian with mu = 1, to 1e-5.
    assert float(low) == pytest.approx(4.886555, rel=1e-4)
    assert float(high - low) <= 1e-6 * float(high)


@pytest.mark.thin(5)
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("copies", [2, 7])
def test_compositions_agree_with_a_fine_table(scale, copies):
    # Cutting the line into cells is post-processing: below the truth, by 1e-4 at most.
    x = np.linspace(0, 1, 400)
    cdf = np.concatenate([[0.0], 1 - np.exp(-x / scale) / 2, [1.0]])
    other = np.concatenate([[0.0], np.exp((x - 1) / scale) / 2, [1.0]])
    table = AtomsLoss.of(np.diff(other), np.diff(cdf))
    for epsilon in (0.0, 0.3 * copies / scale, 0.8 * copies / scale):
        whole = delta_bracket([(LaplaceLoss(scale), copies)], epsilon)
        cells = delta_bracket([(table, copies)], epsilon)
        assert cells[0] <= whole[1]
        assert whole[1] <= cells[1] * (1 + 1e-4) + 1e-7


def test_sampled_and_far_tilted_laws_are_left_to_quadrature():
    laws = [(LaplaceLoss(2.0), 1), (LaplaceLoss(2.0, 0.1), 1), (LaplaceLoss(0.01), 1)]
    laws += [(RangeLoss(0.5), 3), (RangeLoss(0.5, 0.1), 1)]
    found, members = gather(laws, (1.0, 5.0))
    assert members == [0, 3]
    assert found is not None
    assert found.rates.ravel().tolist() == [0.5, 0.5]
    assert found.copies.ravel().tolist() == [1.0, 3.0]
    assert gather(laws, (1e6,))[0] is None
