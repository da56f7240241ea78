"""Two runs tell whether noise is all that hides one person."""

import math
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import hush
from hush import mechanisms as m
from hush.audit import (
    Distance,
    assert_replays,
    distance,
    neighbors_of,
    replay,
)
from hush.mechanisms.mechanism import listen_with

AGES = [31.0, 45.0, 28.0, 77.0, 50.0]
EVERY = neighbors_of(AGES)
NOISE = m.Laplace(scale=100.0)


def what(report):
    return [each.what for each in report.divergences]


SOUND = {
    "count": (m.count() >> NOISE).run,
    "sum": (m.sum((0, 100)) >> NOISE).run,
    "mean": (m.mean((0, 100)) >> NOISE).run,
    "variance": (m.variance((0, 100)) >> m.Gaussian(std=100.0)).run,
    "median": m.Quantile(0.5, (0, 100), 2.0).run,
    "quartiles": m.Quantile((0.25, 0.5, 0.75), (0, 100), 2.0).run,
    "histogram": m.Histogram(2.0, edges=(0, 50, 100)).run,
    "two steps": lambda d: (
        (m.count() >> NOISE).run(d),
        (m.sum((0, 1)) >> m.Geometric(2)).run(d),
    ),
    "adaptive": lambda d: (
        m.sum((0, (m.count() >> NOISE).run(d) % 7 + 1)) >> NOISE
    ).run(d),
}


def numeric(data):
    """One documented rule for NULL, applied record by record."""
    return np.array([np.nan if each is None else each for each in data], dtype=float)


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("pair", EVERY, ids=str)
def test_what_is_sound_replays(name, pair):
    assert_replays(lambda d: SOUND[name](numeric(d)), pair.data, pair.neighbor)


def test_winsorized_means_replay_when_one_is_exchanged():
    for pair in neighbors_of(AGES, neighbors="replace-one"):
        run = m.WinsorizedMean((0, 100), 2.0).run
        assert_replays(lambda d, r=run: r(numeric(d)), pair.data, pair.neighbor)


def total(data):
    return (m.sum((0, 100)) >> NOISE).run(data)


class Raised(Exception):
    pass


def refusing(data):
    if np.isnan(data).any():
        raise Raised(f"row {data[0]} is not a number")
    return total(data)


def clamp_missing(data):
    return NOISE.run(float(np.sum(data)))


def scale_from_data(data):
    return m.Laplace(scale=float(len(data))).run(len(data))


def once_more(data):
    first = total(data)
    return first + total(data) if len(data) > 5 else first


def keys_from_data(data):
    return {k: m.Laplace(1.0).run(1) for k in sorted({int(x) for x in data})}


def another_mechanism(data):
    return (m.Laplace(1.0) if len(data) > 5 else m.Geometric(1)).run(3)


def floats_when_odd(data):
    return m.Laplace(1.0).run(3.0 if len(data) % 2 else 3)


def plain_count(data):
    return total(data) / len(data)


def shown_beside(data):
    return {"sum": total(data), "rows": len(data)}


def too_long(data):
    return [total(data)] * len(data)


def unnoised_coordinate(data):
    return np.array([total(data), max(data)])


BROKEN = {
    refusing: "error",
    clamp_missing: "distance",
    scale_from_data: "parameters",
    once_more: "sequence",
    keys_from_data: "sequence",
    another_mechanism: "sequence",
    floats_when_odd: "form",
    plain_count: "result",
    shown_beside: "result",
    too_long: "result",
    unnoised_coordinate: "result",
}


@pytest.mark.parametrize("run", BROKEN, ids=lambda run: run.__name__)
def test_what_leaks_diverges(run):
    neighbor = [*AGES, math.nan if run is refusing else 1e6]
    report = replay(run, AGES, neighbor, sensitivity=1)
    assert BROKEN[run] in what(report)
    assert not report.passed
    assert "1000000" not in f"{report} {report!r} {report.divergences!r}"
    with pytest.raises(AssertionError, match=BROKEN[run]):
        assert_replays(run, AGES, neighbor, sensitivity=1)


def test_values_are_shown_on_request_only():
    report = replay(clamp_missing, AGES, [*AGES, 1e6], sensitivity=1)
    assert "1000231" in report.reveal()
    assert "1000231" not in str(report)


def test_an_error_on_both_sides_is_still_an_error():
    assert what(replay(refusing, [math.nan], [math.nan, 1.0])) == ["error"]


def test_silence_does_not_pass():
    assert what(replay(lambda _: 3, AGES, AGES[1:])) == ["silence"]


def test_noise_from_outside_a_mechanism_is_told_from_a_leak():
    def own_noise(data):
        return total(data) + hush.noise.discrete_laplace(10**9)

    assert what(replay(own_noise, AGES, AGES[1:])) == ["noise"]


def test_a_bare_mechanism_needs_a_sensitivity():
    def bare(data):
        return m.Laplace(1.0).run(len(data))

    assert what(replay(bare, AGES, AGES[1:])) == ["sensitivity"]
    assert replay(bare, AGES, AGES[1:], sensitivity=1).passed
    assert what(replay(bare, AGES, AGES[2:], sensitivity=1)) == ["distance"]
    assert replay(bare, AGES, AGES[2:], sensitivity=[2]).passed


def test_a_mechanism_without_a_metric_asks_for_one():
    class Mine(m.Mechanism):
        def curve(self, sensitivity=1):
            return hush.privacy.Pure(1.0)

        error = None

        def run(self, value, *, source=None):
            return value

        def __repr__(self):
            return "Mine()"

    run = Mine().run
    assert what(replay(run, 3, 4, sensitivity=1)) == ["metric"]
    distance.register(Mine, lambda _m, a, b: Distance(Fraction(abs(a - b))))
    assert replay(run, 3, 4, sensitivity=1).passed
    assert what(replay(run, 3, 5, sensitivity=1)) == ["distance"]


def test_only_the_outermost_mechanism_is_heard():
    report = replay(m.WinsorizedMean((0, 100), 2.0).run, AGES, [*AGES[:4], 1.0])
    assert len(report.calls) == 1
    assert report.calls[0].form == "data"


def test_ledger_releases_replay():
    def run(data):
        with hush.Ledger.open("memory://", budget=hush.Budget(epsilon=5)) as ledger:
            return (
                ledger.release(m.Laplace(100.0), m.sum((0, 100)), data),
                ledger.release(m.Quantile(0.5, (0, 100), 2.0), None, data),
            )

    for pair in EVERY:
        assert_replays(lambda d: run(numeric(d)), pair.data, pair.neighbor)


TRIPS = {
    "driver": [1, 1, 2, 3, 4, 4],
    "borough": ["Bronx", "Queens", "Bronx", "Kings", "Bronx", "Kings"],
    "fare": [3.5, 90.0, 12.0, 40.0, 7.0, 8.0],
}


def by_borough(columns, rows=2):
    kinds = {"driver": pyarrow.int64(), "borough": pyarrow.string()}
    table = pyarrow.table(
        {
            n: pyarrow.array(c, kinds.get(n, pyarrow.float64()))
            for n, c in columns.items()
        }
    )
    data = hush.open(table, unit="driver", rows=rows, budget=hush.Budget(epsilon=9))
    return (
        data.group_by("borough", keys=["Bronx", "Queens", "Mars"])
        .agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
        .release(epsilon=1)
    )


@pytest.mark.thin(3)
@pytest.mark.parametrize("pair", neighbors_of(TRIPS, "driver"), ids=str)
def test_table_queries_replay(pair):
    assert_replays(by_borough, pair.data, pair.neighbor)


class Rows:
    """Counts rows and says that one person has one of them."""

    sensitivity = 1

    def __call__(self, data):
        return len(data["driver"])


def test_a_query_that_bounds_nobody_is_caught():
    def run(data):
        with hush.Ledger.open("memory://", budget=hush.Budget(epsilon=5)) as ledger:
            return ledger.release(m.Geometric(1), Rows(), data)

    for pair in neighbors_of(TRIPS, "driver", how=["heavy user", "single row"], rows=2):
        found = what(replay(run, pair.data, pair.neighbor))
        assert found == (["distance"] if "heavy" in pair.how else [])


# -- the ear --------------------------------------------------------------------------


def test_nobody_listens_by_default_and_signatures_stay():
    import inspect

    shown = inspect.signature(m.Laplace.run)
    assert list(shown.parameters) == ["self", "value", "source"]
    assert m.Laplace.run.__doc__


def test_a_listener_hears_its_own_context_only():
    import threading

    class Deaf:
        def on_run(self, mechanism, value, run):
            raise AssertionError("heard")

    got = []
    with listen_with(Deaf()):
        thread = threading.Thread(target=lambda: got.append(m.Laplace(1.0).run(3)))
        thread.start()
        thread.join()
    assert len(got) == 1
