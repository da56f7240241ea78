"""Names that other libraries use are answered with those of ours."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import hush
from hush import foreign_names, mechanisms, suggestions
from hush.errors import InvalidArgument, short_traceback
from hush.holdout import Holdout
from hush.learn import PCA, KMeans, sgd
from hush.mechanisms import Gaussian, Laplace
from hush.privacy import GDP, RDP, Approx, Pure, poisson, repeat

TRIPS = {"who": [1, 2, 3], "fare": [10.0, 12.0, 8.0]}


def opened():
    return hush.open(TRIPS, unit="who", rows=1, budget=hush.Budget(epsilon=1))


CALLS = {
    "Gaussian has no argument 'sigma'. Write std.": lambda: Gaussian(sigma=1),
    "Laplace has no argument 'epsilon'. Write Laplace.for_epsilon(": lambda: Laplace(
        epsilon=1
    ),
    # The scale of Laplace noise is not its standard deviation: neither is suggested.
    "Laplace has no argument 'std'. It has scale, step.": lambda: Laplace(std=1),
    "Gaussian(...).curve(sensitivity=1)": lambda: Gaussian(std=1, sensitivity=2),
    "Pure has no argument 'eps'. Write epsilon.": lambda: Pure(eps=1),
    "Approx has no argument 'detla'. Write delta.": lambda: Approx(epsilon=1, detla=0),
    "Budget has no argument 'eps'. Write epsilon.": lambda: hush.Budget(eps=1),
    "hush.open has no argument 'user_id'. Write unit.": lambda: hush.open(
        TRIPS, user_id="who"
    ),
    "Write budget=hush.Budget(epsilon=1).": lambda: hush.open(TRIPS, epsilon=1),
    "no argument 'lower'. Write bounds=(lower, upper).": lambda: hush.mean(
        "fare", lower=0, upper=80
    ),
    "mean has no argument 'epsilon'. It is said where it is paid": lambda: hush.mean(
        "fare", epsilon=1
    ),
    "no argument 'q'. Write at, between 0 and 1.": lambda: hush.quantile("fare", q=0.5),
    "no argument 'bins'. Write edges.": lambda: hush.histogram("fare", bins=4),
    "no argument 'eps'. Write epsilon.": lambda: (
        opened().agg(n=hush.count()).release(eps=1)
    ),
    "no argument 'alpha'. It has": lambda: opened().agg(n=hush.count()).plan(alpha=0.1),
    "poisson has no argument 'sample_rate'. Write rate.": lambda: poisson(
        GDP(1.0), sample_rate=0.1
    ),
    "repeat has no argument 'steps'. Write times.": lambda: repeat(GDP(1.0), steps=9),
    "Write mu=1/noise_multiplier, for noise": lambda: GDP(noise_multiplier=1.1),
    "Others have names: ledger, key, source": lambda: KMeans(2, bounds=(0, 1)).fit(
        np.ones((3, 1)), None, np.ones(3)
    ),
    "PCA takes its options by name: epsilon, delta": lambda: PCA(2, 1.0, 0.0, 9),
    "mean has no argument 'lower'. Write bounds=(lower, upper).": lambda: (
        mechanisms.mean(lower=0, upper=8)
    ),
    "hush.open has no argument 'privacy_id'. Write unit.": lambda: hush.open(
        TRIPS, privacy_id="who"
    ),
    "one argument: write (X, y)": lambda: Holdout(np.ones(3), np.ones(3), queries=3),
    "Holdout has no argument 'k'. Write queries.": lambda: Holdout(np.ones(3), k=3),
    "are one argument: write (X, y).": lambda: sgd.train(
        lambda p, row: p * row[0], 0.0, np.ones(3), np.ones(3), epsilon=1
    ),
}


@pytest.mark.parametrize("words", CALLS)
def test_a_near_miss_says_what_to_write(words):
    with pytest.raises(TypeError) as refused:
        CALLS[words]()
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("poisson", "Write hush.privacy.poisson(curve, rate=0.01)."),
        ("get_epsilon", "Write .epsilon_at(1e-6)"),
        ("shuffle", "Write hush.privacy.shuffle(curve, ...)."),
    ],
)
def test_a_curve_says_what_is_done_to_it_elsewhere(name, words):
    with pytest.raises(AttributeError) as refused:
        getattr(GDP(1.0), name)
    assert words in str(refused.value)
    assert pickle.loads(pickle.dumps(GDP(1.0))) == copy.copy(GDP(1.0))


def test_what_python_says_well_is_left_to_python():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Gaussian()
    with pytest.raises(TypeError, match="positional arguments"):
        RDP(1, 2, 3)


def test_an_error_of_the_function_itself_is_not_taken_for_one_of_the_call():
    @short_traceback
    def length(given):
        return len(given)

    with pytest.raises(TypeError, match=r"^object of type 'int' has no len"):
        length(3)
    with pytest.raises(TypeError, match=r"length has no argument 'gven'. Write given."):
        length(gven=3)


def test_values_are_copied_stored_and_changed_as_before():
    noise = Gaussian(std=2.0)
    assert pickle.loads(pickle.dumps(noise)) == noise == copy.deepcopy(noise)
    assert replace(noise, std=3.0) == Gaussian(std=3.0)


def test_a_data_value_is_never_in_the_message():
    with pytest.raises(TypeError) as refused:
        hush.open(TRIPS, user="a-secret-name")
    assert "secret" not in str(refused.value)


def test_every_suggestion_is_an_argument_somewhere():
    for here, others in foreign_names.ARGUMENTS.items():
        assert here not in others.split()
        assert str(suggestions.unknown("f", others.split()[0], [here])).endswith(
            f"Write {foreign_names.FORMS.get(here, here)}."
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda x: hush.mean(x, bounds=(0, 1)),
        lambda x: hush.sum(x),
        lambda x: hush.median(x, bounds=(0, 1)),
        lambda x: hush.covariance("a", x, bounds=((0, 1), (0, 1))),
        lambda x: hush.count_distinct(x),
        lambda x: hush.histogram(x, edges=[0, 1]),
        lambda x: hush.mode(x, values=["a"]),
        lambda x: hush.top_k(x, 1, values=["a"]),
    ],
)
def test_an_array_is_no_expression_and_is_not_shown(make):
    with pytest.raises(InvalidArgument, match=r"hush\.open\(") as refused:
        make(np.array([31337.0]))
    assert "31337" not in str(refused.value)
