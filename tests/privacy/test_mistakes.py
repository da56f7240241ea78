"""Natural mistakes are refused by name, with the way out, before anything is built."""

import pytest

from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pure,
    calibrate,
    clt,
    compare,
    compose,
    fits,
    fixed_size,
    group,
    parallel,
    poisson,
    repeat,
    replace_one,
    shuffle,
)

NOISE = m.Gaussian(std=1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: compose(NOISE, GDP(1.0)),
        lambda: repeat(NOISE, times=3),
        lambda: poisson(NOISE, rate=0.1),
        lambda: poisson(NOISE, rate=1.0),
        lambda: fixed_size(NOISE, batch=3, records=30),
        lambda: group(NOISE, size=1),
        lambda: replace_one(NOISE),
        lambda: shuffle(NOISE, people=100),
        lambda: parallel([NOISE], neighbors="add-remove"),
        lambda: compare(GDP(1.0), NOISE),
        lambda: clt([NOISE]),
        lambda: fits(ZCDP(1.0), [NOISE], GDP(0.1)),
        lambda: fits(NOISE, [], GDP(0.1)),
        lambda: calibrate(lambda std: GDP(1 / std), NOISE),
    ],
)
def test_a_mechanism_is_no_curve(wrong):
    with pytest.raises(InvalidArgument, match=r"Gaussian\(std=1.0\).curve\(sensitiv"):
        wrong()


def test_a_list_of_curves_is_unpacked():
    with pytest.raises(InvalidArgument, match=r"\(\*curves\)"):
        compose([GDP(1.0), GDP(2.0)])


def test_two_numbers_are_named():
    with pytest.raises(InvalidArgument, match=r"Write Approx\(epsilon, delta\)"):
        calibrate(lambda std: GDP(1 / std), (1, 1e-6))


def test_one_curve_is_no_list_of_curves():
    for wrong in (
        lambda: fits(ZCDP(1.0), GDP(0.5), GDP(0.5)),
        lambda: clt(repeat(Pure(0.1), times=100)),
        lambda: parallel(GDP(1.0), neighbors="add-remove"),
    ):
        with pytest.raises(InvalidArgument, match="must be a list of curves; got one"):
            wrong()


def test_a_refusal_shows_no_value_of_a_stranger():
    with pytest.raises(InvalidArgument) as refused:
        compose({"ann": 41})
    assert "ann" not in str(refused.value)
    with pytest.raises(InvalidArgument, match=r"RDP\.table") as refused:
        RDP({2: 0.125})
    assert "0.125" not in str(refused.value)


def test_a_parameter_that_is_no_noise_is_refused():
    def releases(times):
        return repeat(Pure(0.1), times=int(times))

    with pytest.raises(InvalidArgument, match="lose less"):
        calibrate(releases, Approx(1, 1e-6))
    with pytest.raises(InvalidArgument, match="lose less"):
        calibrate(lambda mu: GDP(mu), Approx(1, 1e-6))
    # A target that everything meets is answered by the smallest parameter.
    assert calibrate(lambda _: GDP(mu=0.0), Approx(1, 1e-6)) == 1e-12


def test_a_number_is_no_yes():
    # The second place of Exponential is `monotone`, which halves the charge: a
    # sensitivity given there must not pass for True.
    for wrong in (
        lambda: m.Exponential(1.0, 1),
        lambda: m.PermuteAndFlip(1.0, 1),
        lambda: m.NoisyMax(1.0, "laplace", 1),
        lambda: m.TopK(2, 1.0, 1),
        lambda: m.SparseVector(3, 1.0, 1, 1),
        lambda: m.Exponential.for_epsilon(1, monotone=1),
    ):
        with pytest.raises(InvalidArgument, match="monotone must be True or False"):
            wrong()
