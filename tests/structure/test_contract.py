"""The design's own lines run as they are written there: names alone are not enough."""

import math

import numpy as np
import pytest

import hush
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    advanced,
    calibrate,
    clt,
    compare,
    compose,
    fixed_size,
    group,
    parallel,
    poisson,
    repeat,
    replace_one,
    shuffle,
)

CURVES = {
    "pure": lambda: Pure(epsilon=0.5),
    "approx": lambda: Approx(epsilon=1, delta=1e-6),
    "zcdp": lambda: ZCDP(rho=0.1),
    "gdp": lambda: GDP(mu=1.0),
    "rdp": lambda: RDP(lambda order: 0.1 * order),
    "tradeoff": lambda: Tradeoff(lambda alpha: max(0.0, 0.9 - alpha)),
    "profile": lambda: Profile(lambda epsilon: 0.2 * math.exp(-epsilon)),
    "pair": lambda: Pair([0.5, 0.5], [0.25, 0.75]),
    "laplace": lambda: Pair.laplace(scale=2.0),
}
ALGEBRA = {
    "compose": lambda c: compose(c, GDP(1.0)),
    "repeat": lambda c: repeat(c, times=3),
    "parallel": lambda c: parallel([c, GDP(1.0)], neighbors="add-remove"),
    "group": lambda c: group(c, size=2),
    "replace_one": replace_one,
    "poisson": lambda c: poisson(c, rate=0.1),
    "fixed_size": lambda c: fixed_size(c, batch=10, records=100),
}


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_answers_every_question(name):
    c = CURVES[name]()
    assert 0 <= c.delta_at_lower(0.3) <= c.delta_at(0.3) <= 1
    assert 0 <= c.epsilon_at_lower(1e-3) <= c.epsilon_at(1e-3)
    assert 0 <= c.tradeoff_at(0.1) <= 0.9
    assert c.renyi_at(2) >= 0
    assert c.rho >= 0
    assert c.mu >= 0
    assert 0 <= c.total_variation() <= 1
    assert c.kl() >= 0
    # Total variation once more, as the divergence of |t - 1|/2.
    assert c.divergence(lambda t: abs(t - 1) / 2) >= c.total_variation() - 1e-3


@pytest.mark.parametrize("operation", ALGEBRA)
@pytest.mark.parametrize("name", ["pure", "gdp", "laplace"])
def test_the_algebra_takes_curves_and_gives_curves(operation, name):
    found = ALGEBRA[operation](CURVES[name]())
    assert 0 <= found.delta_at_lower(0.2) <= found.delta_at(0.2) <= 1


def test_what_remains_of_the_privacy_lines():
    half = Pure(epsilon=0.5)
    assert advanced(half, times=10, slack=1e-6).delta_at(9) <= 1
    assert clt([half, half]).mu > 0
    assert shuffle(half, people=1000).epsilon_at(1e-6) < 0.5
    found = calibrate(lambda std: GDP(mu=1 / std), target=Approx(1, 1e-6))
    assert GDP(mu=1 / found).delta_at(1) <= 1e-6
    assert str(compare(half, Pure(epsilon=1.0)))


def test_a_mechanism_answers_its_three_questions():
    from hush.mechanisms import Laplace

    m = Laplace(scale=2.0)
    assert m.curve(sensitivity=1).epsilon_at(0) == pytest.approx(0.5)
    low, high = m.error.interval(0.95)
    assert low < 0 < high
    assert m.error.std > 0
    assert m.error.quantile(0.9) > 0
    assert math.isfinite(m.run(3.0))
    assert Laplace.for_epsilon(epsilon=1, sensitivity=1).scale >= 1
    assert Laplace.for_accuracy(within=5, level=0.95, sensitivity=1).scale > 0


@pytest.fixture
def trips(tmp_path):
    import duckdb

    path = str(tmp_path / "trips.parquet")
    duckdb.sql(
        "COPY (SELECT i % 500 AS driver_id, ['Bronx', 'Queens'][1 + i % 2] AS borough,"
        f" (i % 80)::DOUBLE AS fare FROM range(20000) t(i)) TO '{path}'"
    )
    budget = hush.Budget(epsilon=2, delta=1e-8)
    return hush.open(path, unit="driver_id", budget=budget)


def test_a_table_answers_in_every_form(trips):
    query = (
        trips.where("fare > 0")
        .group_by("borough", keys=["Bronx", "Queens"])
        .agg(
            trips=hush.count(),
            fare=hush.mean("fare", bounds=(0, 80)),
            p90=hush.quantile("fare", 0.9, bounds=(0, 200)),
        )
    )
    assert "0.5" in str(query.plan(epsilon=0.5))
    release = query.release(epsilon=0.5)
    assert list(release.to_pandas()["borough"]) == ["Bronx", "Queens"]
    assert release.to_polars().height == 2
    assert release.to_arrow().num_rows == 2
    assert "Bronx" in release.to_json()
    assert set(release.interval(0.95)) >= {"trips", "fare"}
    assert release.receipt.cost
    assert release.plot() is not None
    text = "SELECT borough, COUNT(*) AS trips, AVG(fare) AS fare FROM trips "
    public = {"keys": {"borough": ["Bronx", "Queens"]}, "bounds": {"fare": (0, 80)}}
    found = trips.sql(text + "GROUP BY borough", epsilon=0.5, **public)
    assert found.to_dict()["borough"] == ["Bronx", "Queens"]
    assert trips.budget.epsilon == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:classes=")
@pytest.mark.parametrize("method", ["objective", "kng", "exponential", "sgd"])
def test_logistic_regression_is_written_as_in_the_design(method):
    from hush.learn import LogisticRegression

    x = np.linspace(-1, 1, 400)[:, None]
    y = (x[:, 0] > 0).astype(int)
    model = LogisticRegression(epsilon=1.0, norm=1.0, method=method).fit(x, y)
    assert model.predict(x).shape == (400,)


def test_local_audit_and_ledger_lines():
    from hush.audit import Verdict, audit
    from hush.local import UnaryEncoding
    from hush.mechanisms import Laplace

    oracle = UnaryEncoding(epsilon=1, size=1000)
    found = oracle.estimate(oracle.encode(np.arange(5000) % 1000))
    assert found.value.shape == (1000,)
    assert len(found.interval(0.95)) == 2
    noise = Laplace(scale=1.0)
    tested = audit(
        lambda data: noise.run(float(len(data))),
        [1, 2, 3],
        [1, 2],
        claim=Pure(1.0),
        samples=2_000,
        level=0.95,
    )
    assert 0 <= tested.epsilon_lower < 3  # 2 000 runs of an honest 1.0 reach no more
    assert tested.verdict in set(Verdict)
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(rho=1.0))
    ledger.charge(Pure(epsilon=0.1))
    assert len(list(ledger.history())) >= 1
    assert ledger.remaining().rho < 1.0
    assert ledger.verify()
