"""Every public door × the odd values people have.

For the same number in another type the price, and what a seeded source draws, are those
of the plain number, or the call is refused before anything is paid. What is no number
is refused: by name, with a message, never by an error of a library below.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush import noise, privacy
from hush.errors import InvalidArgument
from hush.learn import LinearRegression, SubsampleAggregate
from hush.noise import Seeded
from hush.privacy import GDP, RDP, Approx, Pure
from seams import doors_to_data, doors_to_laws
from seams.doors import Answered, Door, Raised, fault
from seams.oddities import FAR, STRANGE, RaisingFloat, RaisingWhole, twins

LAWS = doors_to_laws.doors()
DATA = doors_to_data.doors()


def tried(door, *, far=False):
    """Yield (what was tried, what is wrong with it) for all numbers of a door."""
    plain = door.knock()
    assert isinstance(plain, Answered), plain
    assert door.knock() == plain, "a door must answer the same twice"
    for argument, place, value in door.places():
        where = f"{door.name}: {argument}{'' if place is None else f'[{place}]'}"
        for name, odd in twins(value, kind=_kind(door, argument, value)):
            yield f"{where} = {name}", fault(door, argument, place, odd, plain=plain)
        for each in STRANGE:
            if _fits(door, argument, each.value):
                found = door.knock(argument, place, each.value)
                well = isinstance(found, Answered) or found.refused
                yield f"{where} = {each.name}", None if well else repr(found)
            else:
                yield f"{where} = {each.name}", fault(door, argument, place, each.value)
        for each in FAR if far else ():
            found = door.knock(argument, place, each.value)
            well = isinstance(found, Answered) or found.refused
            yield f"{where} = {each.name}", None if well else repr(found)


def _kind(door, argument, value):
    if argument not in door.declared:
        return None
    return "whole" if isinstance(value, int) else "real"


def _fits(door, argument, value):
    """Whether a strange value is one that the argument may have."""
    if value is None:
        return argument in door.optional
    listed = isinstance(value, list | tuple | np.ndarray)
    return argument in door.anything or (listed and argument in door.lists)


def wrong(door, **more):
    """Return all that is wrong with a door, as texts."""
    return [f"{what}: {fault}" for what, fault in tried(door, **more) if fault]


def names(doors):
    """Return doors as cases of a test, by name."""
    return [pytest.param(door, id=door.name) for door in doors]


@pytest.mark.thin(12)
@pytest.mark.parametrize("door", names(LAWS))
def test_a_door_to_a_law(door):
    found = wrong(door)
    assert not found, (len(found), found[:6])


@pytest.mark.thin(9)
@pytest.mark.parametrize("door", names(DATA))
def test_a_door_to_data(door):
    found = wrong(door)
    assert not found, (len(found), found[:6])


def test_there_are_ten_thousand_cases():
    count = 0
    for door in (*LAWS, *DATA):
        for argument, _, value in door.places():
            kind = _kind(door, argument, value)
            count += len(list(twins(value, kind=kind))) + len(STRANGE)
    assert count >= 10_000


# -- what the oracle found -----------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_calibration_answers_with_a_float(kind):
    """A tolerance of float16 made the answer one: rounded, perhaps below the target."""
    target = Approx(1, 0.01)
    exact = privacy.calibrate(lambda s: GDP(1 / s), target, relative=2.0**-10)
    found = privacy.calibrate(lambda s: GDP(1 / s), target, relative=kind(2.0**-10))
    assert type(found) is float
    assert found == exact


@pytest.mark.parametrize("relative", [math.nan, -1, "x", None, 1.0])
def test_calibration_refuses_a_tolerance_that_is_none(relative):
    with pytest.raises(InvalidArgument, match="relative"):
        privacy.calibrate(lambda s: GDP(1 / s), Approx(1, 0.01), relative=relative)


def test_a_masked_number_is_not_read_below_its_mask():
    """`delta_at(masked)` was δ(0), and `delta_at(a masked 1)` was δ(1)."""
    for odd in (
        np.ma.masked,
        np.ma.array(1.0, mask=True),
        np.ma.array([1, 2], mask=[0, 1]),
    ):
        for read in (Pure(1.0).delta_at, GDP(1.0).epsilon_at, GDP(1.0).tradeoff_at):
            with pytest.raises(InvalidArgument):
                read(odd)


@pytest.mark.parametrize("odd", [RaisingFloat(1.0), RaisingWhole(1)], ids=repr)
def test_a_number_that_raises_is_refused(odd):
    for make in (m.Laplace, m.Exponential, Pure, m.Laplace(1.0).curve):
        with pytest.raises(InvalidArgument):
            make(odd)


def test_a_length_of_time_is_no_number():
    for make in (m.Laplace, m.Laplace(1.0).curve, Pure, noise.discrete_laplace):
        with pytest.raises(InvalidArgument):
            make(np.timedelta64(1))
    with pytest.raises(InvalidArgument):
        m.TopK(np.timedelta64(1), 1.0)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_of_numpy_do_not_wrap_in_a_price(kind):
    fine = m.Laplace(2.0)
    assert fine.curve(1.5, dimension=kind(2)).delta_at(0.1) == fine.curve(
        1.5, dimension=2
    ).delta_at(0.1)
    found = m.choose_key_selection(1.0, 0.01, keys_per_person=kind(2))
    assert found == m.choose_key_selection(1.0, 0.01, keys_per_person=2)
    drawn = noise.subsample(kind(50), batch=kind(4), source=Seeded(7))
    assert drawn.tolist() == noise.subsample(50, batch=4, source=Seeded(7)).tolist()


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_quantiles_of_an_error_are_as_exact_as_their_level(kind):
    gap = m.Exponential(2.0).error
    assert gap.quantile(kind(0.75)) == gap.quantile(0.75)


@pytest.mark.parametrize("odd", [[1], {}, 1 + 0j, Decimal("sNaN"), np.array(2), "2"])
def test_a_norm_that_is_none_is_refused(odd):
    with pytest.raises(InvalidArgument, match="norm"):
        m.KNorm(2.0, dimension=2, norm=odd)
    with pytest.raises(InvalidArgument, match="norm"):
        noise.ball(odd, 2)


@pytest.mark.parametrize("odd", [math.nan, math.inf, None, "x", [1], 10**400])
def test_a_step_of_stairs_is_checked_like_every_other(odd):
    if odd is not None:
        with pytest.raises(InvalidArgument, match="step"):
            m.Staircase(1, step=odd)


@pytest.mark.parametrize("odd", ["1", None, [1], 1j, np.timedelta64(1), Decimal(1)])
def test_a_function_that_returns_no_number_is_no_guarantee(odd):
    with pytest.raises(InvalidArgument, match="function"):
        RDP(lambda _: odd)


def test_an_epsilon_that_no_noise_meets_is_refused():
    for kind in (m.Laplace, m.Geometric, m.Exponential, m.PermuteAndFlip, m.Staircase):
        with pytest.raises(InvalidArgument):
            kind.for_epsilon(5e-324)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint64])
def test_points_of_a_ball_lie_in_it(kind):
    """-bits wrapped around: points of a unit ball lay at infinity."""
    plain = noise.ball(2, 3, bits=10, source=Seeded(7))
    assert noise.ball(2, 3, bits=kind(10), source=Seeded(7)).tolist() == plain.tolist()


def test_bounds_of_fractions_are_not_paid_for_and_then_failed():
    found = doors_to_data.paid(
        lambda book: LinearRegression(
            1.0, bounds=(-1, 1), y_bounds=(Fraction(-1), Fraction(1, 2))
        ).fit([[0.5]] * 30, [0.25] * 30, ledger=book)
    )
    assert found


@pytest.mark.parametrize("odd", ["1", b"1", np.timedelta64(1), None, {}, 1j, [[1]]])
def test_bounds_of_rows_are_numbers(odd):
    with pytest.raises(InvalidArgument, match="bounds"):
        LinearRegression(1.0, bounds=(-1, odd), y_bounds=(-1, 1)).plan(30, 1)
    if odd != [[1]]:  # of an aggregate, lists of any shape are read in order
        with pytest.raises(InvalidArgument, match="bounds"):
            SubsampleAggregate(np.median, bounds=(-1, odd), blocks=5).plan(30, 1)


@pytest.mark.parametrize("kind", [int, float, Fraction])
def test_a_class_in_place_of_a_sensitivity_is_not_zero(kind):
    """`sensitivity = int` was called, said 0, and the release was free."""
    stated = doors_to_data.Stated(kind)
    with pytest.raises(doors_to_data.Spent) as found:
        doors_to_data.paid(lambda book: book.release(m.Laplace(1.0), stated, [1]))
    assert "sensitivity must be a number" in str(found.value.problem)


@pytest.mark.parametrize(
    "odd", [math.nan, -1, RaisingFloat(1.0), np.timedelta64(1, "s")]
)
def test_a_sensitivity_that_is_none_is_refused_before_payment(odd):
    stated = doors_to_data.Stated(odd)
    for ask in (
        lambda book: book.release(m.Laplace(1.0), stated, [1]),
        lambda book: book.hold(m.Laplace(1.0), stated),
    ):
        with pytest.raises(doors_to_data.Spent) as found:
            doors_to_data.paid(ask)
        assert isinstance(found.value.problem, InvalidArgument)
        assert not found.value.paid


@pytest.mark.parametrize("odd", [[0.1], np.array(0.125), {}, np.ma.masked, "x"])
def test_a_delta_that_is_none_is_refused_before_payment(odd):
    with pytest.raises(doors_to_data.Spent) as found:
        doors_to_data.paid(
            lambda book: book.release(m.Gaussian(1.0), m.count(), [1], delta=odd)
        )
    assert isinstance(found.value.problem, InvalidArgument)
    assert not found.value.paid


# -- sabotage ------------------------------------------------------------------------


def test_a_door_that_wraps_is_caught():
    """The fault of 64-bit parts: small numbers hide it, so 8 bits stand for them."""

    def wraps(scale):
        with np.errstate(all="ignore"):
            return m.Laplace(float(2 + 0 * (np.int8(100) * scale + scale))).curve(1), (
                float(scale * (np.int8(100) if isinstance(scale, np.int8) else 100))
            )

    found = wrong(Door("wraps", wraps, {"scale": 2}))
    assert any("np.int8" in each for each in found)


def test_a_door_that_charges_and_then_fails_is_caught():
    """As `epsilon=np.int64(1)` once was: charged, and always failing."""

    def fails(epsilon):
        def ask(ledger):
            ledger.charge(Pure(float(epsilon)))
            return epsilon.bit_length() and Fraction(epsilon)

        return doors_to_data.paid(ask)

    found = wrong(Door("fails", fails, {"epsilon": 1}))
    assert any("np.float64" in each and "paid" in each for each in found)


def test_a_door_that_lets_an_error_of_a_library_through_is_caught():
    found = wrong(Door("raw", lambda x: Pure(x + 0.0 if x == x else x), {"x": 1}))
    assert any("TypeError" in each for each in found)


def test_a_refusal_without_words_is_no_refusal():
    assert not Raised(InvalidArgument("")).refused
    assert Raised(InvalidArgument("x must be a number; got 'a'.")).refused
    assert not Raised(InvalidArgument("late"), paid=True).refused
