"""Plans, curves, batches and noise: what runs is what is charged."""

from dataclasses import replace
from fractions import Fraction

import jax
import numpy as np
import optax
import pytest
from scipy import stats

from goodness import FALSE_ALARM, fits
from hush import law
from hush.errors import (
    BudgetExceeded,
    DrawFailed,
    InsecureSource,
    InvalidArgument,
    KeyConflict,
)
from hush.learn import sgd
from hush.learn.sgd import batches, dp_sgd, gradient_noise, program, rounding_slack
from hush.learn.sgd.train import Session
from hush.ledger import Budget, Ledger
from hush.noise import Seeded
from hush.noise.gaussian_codes import codes_of
from hush.privacy import GDP, fixed_size, poisson
from hush.privacy.rules.composition import repeat
from learn.sgd.models import MODELS

X = np.linspace(-1, 1, 60, dtype=np.float32)


def loss(p, row):
    return p * row  # the gradient is the row itself


def released(**options):
    """One step from zero at rate 1: minus the released parameter is the mean."""
    options = {"std": 2.0, "steps": 1, "optimizer": optax.sgd(1.0), **options}
    return sgd.plan(loss, np.float32(0), X, **options)


def test_poisson_is_charged_as_poisson_and_fixed_size_as_fixed_size():
    kept = {"std": 2.0, "clip": 1.0, "batch": 50, "records": 1000, "steps": 100}
    plain = sgd.Training(**kept)
    apart = sgd.Training(**kept, sampling="fixed-size")
    ideal = repeat(poisson(GDP(0.5), rate=0.05), times=100).epsilon_at(1e-5)
    other = fixed_size(GDP(1.0), batch=50, records=1000)
    other = repeat(other, times=100).epsilon_at(1e-5)
    assert ideal < plain.curve().epsilon_at(1e-5) < 1.01 * ideal
    assert other < apart.curve().epsilon_at(1e-5) < 1.01 * other
    assert plain.neighbors == "add-remove"
    assert apart.neighbors == "replace-one"
    assert plain.curve(0).epsilon_at(0) == 0
    assert replace(plain, batch=1000).step_curve().mu == pytest.approx(0.5, rel=0.01)


def test_more_noise_always_costs_less():
    kept = {"clip": 1.0, "batch": 50, "records": 1000, "steps": 10}
    spent = [sgd.Training(s, **kept).curve().delta_at(1.0) for s in (0.7, 1, 2, 30)]
    assert spent == sorted(spent, reverse=True)
    assert len(set(spent)) == 4


@pytest.mark.parametrize("std", [2**-8, 0.5, 1.0, 7.3, 100.0, 2.0**16])
def test_lattices_hold_sums_and_noise(std):
    plan = sgd.Training(std, clip=0.3, batch=500, records=900, steps=1)
    assert plan.deviation <= 2**26
    assert plan.deviation >= 2**6
    total = plan.group * rounding_slack.contribution(plan.longest) / plan.grid.step
    assert total < 0.995 * 2**31
    assert plan.rows >= plan.batch or plan.groups * plan.group == plan.rows


def test_shuffled_batches_are_refused():
    with pytest.raises(InvalidArgument, match="sampling"):
        released(sampling="shuffle")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"std": None}, "std"),
        ({"epsilon": 1.0}, "std"),
        ({"batch": 61}, "batch"),
        ({"clip": 0.0}, "clip"),
        ({"records": 0}, "records"),
    ],
)
def test_bad_arguments_are_named(options, name):
    with pytest.raises(InvalidArgument, match=name):
        released(**options)


def test_rows_must_agree():
    with pytest.raises(InvalidArgument, match="same number"):
        sgd.plan(loss, np.float32(0), (X, X[:3]), std=1.0)
    with pytest.raises(InvalidArgument, match="floats"):
        sgd.plan(loss, 3, X, std=1.0)


def test_epsilon_finds_the_least_noise():
    _, run = sgd.plan(loss, np.float32(0), X, epsilon=2.0, delta=1e-5, steps=20)
    assert run.curve().epsilon_at(1e-5) <= 2
    less = replace(run, std=run.std * 0.999)
    assert less.curve().epsilon_at(1e-5) > 2


# -- batches ---------------------------------------------------------------------------


def counted(sampling, times=20_000, records=40, batch=10):
    source = Seeded(3)
    seen = np.zeros((times, records), bool)
    for row in seen:
        row[batches.draw(sampling, records, batch, source)] = True
    return seen


@pytest.mark.statistical
def test_poisson_batches_have_independent_members():
    """HAZARDS S12: inclusion, covariance and size; each fails wrongly below 1e-8."""
    times, records, rate = 100_000, 40, 0.25
    seen = counted("poisson", times)
    sigma = np.sqrt(rate * (1 - rate) / times)
    assert np.all(np.abs(seen.mean(0) - rate) < 6 * sigma)
    centered = seen - rate
    covariance = centered.T @ centered / times
    off = covariance[~np.eye(records, dtype=bool)]
    assert np.all(np.abs(off) < 6.5 * rate * (1 - rate) / np.sqrt(times))
    size = seen.sum(1)
    assert abs(size.var() / (records * rate * (1 - rate)) - 1) < 0.05
    assert size.min() < 4


@pytest.mark.statistical
def test_fixed_batches_are_subsets_and_fail_the_law_of_poisson():
    seen = counted("fixed-size")
    assert np.all(seen.sum(1) == 10)
    assert np.all(np.abs(seen.mean(0) - 0.25) < 6 * np.sqrt(0.1875 / 20_000))
    assert seen.sum(1).var() == 0  # the twin that the test above must catch


@pytest.mark.statistical
@pytest.mark.parametrize("batch", [2, 4])
def test_every_subset_is_equally_likely(batch):
    """By what is kept or by what is left out; fails wrongly with probability 1e-9."""
    source = Seeded(4)
    drawn = [batches.draw("fixed-size", 6, batch, source) for _ in range(15_000)]
    count = np.unique(drawn, axis=0, return_counts=True)[1]
    assert count.size == 15
    assert stats.chisquare(count).pvalue > FALSE_ALARM


def test_public_batches_come_in_random_order():
    assert sorted(sgd.poisson_batch(5, 1, source=Seeded(1))) == [0, 1, 2, 3, 4]
    assert sgd.poisson_batch(5, 0).size == 0
    orders = {tuple(sgd.fixed_batch(3, 3, source=Seeded(i))) for i in range(60)}
    assert len(orders) == 6


def test_a_batch_larger_than_a_pass_takes_another():
    slots = batches.arranged([np.arange(7), np.arange(0)], rows=3, least=1)
    assert slots.shape == (2, 3, 3)
    assert sorted(slots[0].ravel()) == [-1, -1, *range(7)]
    assert np.all(slots[1] == -1)


# -- noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("deviation", [Fraction(2**19), Fraction(10**7, 7)], ids=str)
def test_devices_decode_what_the_host_drew(deviation):
    room = gradient_noise.code_buffer((3, 1000))
    found = gradient_noise.codes(deviation, room, Seeded(1))
    assert found.dtype == np.uint32
    expected = codes_of(deviation).decode(found)
    assert np.array_equal(
        gradient_noise.decode(deviation, jax.numpy.asarray(found)), expected
    )


def test_noise_too_wide_for_codes_comes_as_it_is():
    found = gradient_noise.codes(
        Fraction(2**24), gradient_noise.code_buffer((2, 3)), Seeded(1)
    )
    assert found.dtype == np.int32
    assert np.array_equal(gradient_noise.decode(Fraction(2**24), found), found)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "deviation", [Fraction(2**16), Fraction(3 * 10**7, 7)], ids=str
)
def test_noise_is_discrete_gaussian(deviation):
    """Fails wrongly with probability 1e-9 for each law and residue."""
    found = gradient_noise.steps(deviation, 400_000, Seeded(5))
    assert fits(law.DiscreteGaussian(deviation), found) > FALSE_ALARM
    low = np.bincount(found & 63, minlength=64)
    assert stats.chisquare(low).pvalue > FALSE_ALARM
    pairs = np.corrcoef(found[:-1], found[1:])[0, 1]
    assert abs(pairs) < 6.5 / np.sqrt(found.size)


# -- one release -----------------------------------------------------------------------


def test_what_is_released_lies_on_the_lattice_whatever_the_data():
    """HAZARDS N1-N3: the support is the same for all data sets."""
    for data in (X, X * 0, X * np.float32(1e20), X + np.float32(1 / 3)):
        _, run = released()
        found = sgd.train(
            loss, np.float32(0), data, std=2.0, steps=1, optimizer=optax.sgd(60.0)
        )
        steps = float(found.params) / float(run.grid.step)
        assert abs(steps) > 2**24 or steps == round(steps)


@pytest.mark.statistical
def test_one_release_has_the_law_of_its_curve():
    """Exact sum plus exact noise: chi-square at 1e-9 over 2000 releases."""
    program, run = released(std=0.5, clip=0.25)
    unit = float(run.grid.step) * 0.25 / 60
    seen = [
        -round(float(sgd.step(program, run, np.float32(0), X, source=Seeded(i))) / unit)
        for i in range(2000)
    ]
    total = np.clip(X.astype(np.float64), -0.25, 0.25).sum() / 0.25
    center = total / float(run.grid.step)
    scaled = (-np.array(seen, float) - center) / float(run.deviation)
    assert stats.kstest(scaled, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(scaled / 2, "norm").pvalue < FALSE_ALARM  # half the noise


def test_empty_batches_are_noised_and_counted():
    def nothing(p, row):
        return p * 0 * row

    found = sgd.train(
        nothing, np.float32(0), X[:1], std=1.0, steps=3, batch=1, records=1000,
        optimizer=optax.sgd(1.0), source=Seeded(1),
    )  # fmt: skip
    assert float(found.params) != 0
    assert found.steps == 3


def test_nobody_at_all_is_answered_like_one_row_that_counts_as_zero():
    def released_by(rows):
        return sgd.train(
            loss, np.float32(0), rows, std=1.0, steps=3, batch=50, records=100,
            optimizer=optax.sgd(1.0), source=Seeded(1),
        ).params  # fmt: skip

    assert released_by(X[:0]) == released_by(np.float32([np.nan])) != 0
    program_, plan = sgd.plan(loss, np.float32(0), X[:0], std=1.0, batch=5, records=9)
    assert float(sgd.step(program_, plan, np.float32(0), X[:0])) != 0


def test_the_number_of_rows_hides_behind_records():
    """HAZARDS S5: every public number is the same with one row less."""
    plans = [
        sgd.plan(
            loss, np.float32(0), np.resize(X, n), epsilon=1.0, records=80, steps=5
        )[1]
        for n in (60, 59, 80, 81, 500)
    ]
    assert len(set(plans)) == 1


def test_training_learns_and_says_what_it_cost():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3)).astype(np.float32)

    def squares(w, row):
        return 0.5 * (row[0] @ w["w"] - row[1]) ** 2

    y = (x @ np.array([1.0, -1.0, 0.5])).astype(np.float32)
    start = {"w": np.zeros(3, np.float32)}
    for options in ({"batch": 200}, {}, {"batch": 200, "sampling": "fixed-size"}):
        found = sgd.train(
            squares, start, (x, y), epsilon=8.0, delta=1e-5, steps=60,
            source=Seeded(2), **options,
        )  # fmt: skip
        assert np.allclose(found.average["w"], [1, -1, 0.5], atol=0.3)
        assert found.seeded
        assert found.curve.epsilon_at(1e-5) <= 8
        assert repr(found).startswith("Trained(Training(std=")


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["conv", "mlp"])
def test_batches_of_several_passes_train_the_same(name):
    """Passes of a few slots or of all: the same batches and noise, the same model."""
    model, params, rows, _ = MODELS[name]
    found = []
    for most in (4096, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(program, "_WIDEST", most)
            patch.setattr(dp_sgd, "GROUP", 4)
            found.append(
                sgd.train(
                    model,
                    params,
                    rows,
                    std=0.5,
                    batch=9,
                    steps=3,
                    optimizer=optax.sgd(0.1),
                    source=Seeded(3),
                ).params
            )
    for one, two in zip(*map(jax.tree.leaves, found), strict=True):
        assert np.allclose(one, two, atol=1e-4)


def test_the_average_forgets_the_beginning():
    found = sgd.train(
        loss, np.float32(0), X * 0 + 1, std=2.0**-8, steps=200, clip=1.0,
        optimizer=optax.sgd(0.01), source=Seeded(1),
    )  # fmt: skip
    assert float(found.params) == pytest.approx(-2.0, abs=0.01)
    assert -2.0 < float(found.average) < -1.7


def test_a_ledger_pays_before_data_is_read(monkeypatch):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1, delta=1e-5))
    read = []

    def touched(self, plan, data, source):
        read.append(len(ledger.pending()))
        raise RuntimeError("a row said something")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "run", touched)
        with pytest.raises(BudgetExceeded):
            sgd.train(loss, np.float32(0), X, std=0.1, steps=50, ledger=ledger)
        assert read == []
        with pytest.raises(DrawFailed) as failed:
            sgd.train(loss, np.float32(0), X, std=50.0, steps=1, ledger=ledger)
    assert read == [1]  # charged, not yet answered
    assert "row" not in str(failed.value)


def test_a_key_is_paid_once_and_answers_the_same():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1, delta=1e-5))
    paid = sgd.train(
        loss, np.float32(0), X, epsilon=0.5, delta=1e-6, steps=5, ledger=ledger, key="a"
    )
    again = sgd.train(
        loss, np.float32(0), X, epsilon=0.5, delta=1e-6, steps=5, ledger=ledger, key="a"
    )
    assert paid.params == again.params
    assert paid.receipt.neighbors == "add-remove"
    assert ledger.remaining().epsilon == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(KeyConflict):
        sgd.train(loss, np.float32(1), X, epsilon=0.5, steps=5, ledger=ledger, key="a")


def test_a_seeded_source_is_refused_by_a_ledger_on_real_data():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1, delta=1e-5))
    with pytest.raises(InsecureSource):
        sgd.train(
            loss,
            np.float32(0),
            X,
            epsilon=0.5,
            steps=2,
            ledger=ledger,
            source=Seeded(1),
        )
    assert ledger.remaining().epsilon == 1


def test_progress_shows_epsilon(capsys):
    sgd.train(loss, np.float32(0), X, epsilon=0.5, delta=1e-6, steps=5, progress=True)
    shown = capsys.readouterr().out
    assert "5/5" in shown
    assert "ε = 0.5" in shown


def test_steps_of_your_own():
    program, run = sgd.plan(loss, np.float32(0), X, std=1.0, steps=4, batch=20)
    p = np.float32(0)
    for i in range(4):
        p = p - 0.1 * sgd.step(program, run, p, X, source=Seeded(i))
    assert np.isfinite(float(p))
    assert sgd.noise(run, source=Seeded(1)).shape == (1,)
    assert jax.tree.structure(p) == jax.tree.structure(np.float32(0))


def test_a_refusal_does_not_tell_how_many_rows_there_are():
    with pytest.raises(InvalidArgument) as refused:
        sgd.plan(loss, np.float32(0), (X, X[:7]), std=1.0, steps=4, batch=20)
    assert "60" not in str(refused.value)
    assert "7" not in str(refused.value)
