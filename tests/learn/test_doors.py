"""Arguments at the door: refused by their own name, before anything else is said."""

import math

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone

import hush
from hush.errors import InvalidArgument
from hush.learn import (
    PCA,
    GaussianNB,
    HuberSVM,
    KMeans,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    QuantileRegression,
    RandomForestClassifier,
    SelectModel,
    SubsampleAggregate,
    sgd,
)
from hush.ledger import Budget, Ledger

BOX = {"bounds": (-1, 1)}
TWO = {"classes": (0, 1)}
LINE = {"bounds": (-1, 1), "y_bounds": (-1, 1)}
X = np.sin(np.outer(np.arange(60), [1, 2]))
Y = (X[:, 0] > 0).astype(int)
MODELS = {
    "logistic": LogisticRegression(**BOX, **TWO),
    "logistic, norm": LogisticRegression(norm=1.0, **TWO),
    "logistic, three": LogisticRegression(norm=1.0, classes=(0, 1, 2)),
    "logistic, tail": LogisticRegression(norm=1.0, tail=1.0, **TWO),
    "logistic, kng": LogisticRegression(method="kng", **BOX, **TWO),
    "logistic, exponential": LogisticRegression(method="exponential", **BOX, **TWO),
    "svm": HuberSVM(**BOX, **TWO),
    "poisson": PoissonRegression(top=3, **BOX),
    "linear": LinearRegression(**LINE),
    "linear, norm": LinearRegression(norm=1.0, y_bounds=(-1, 1)),
    "linear, statistics": LinearRegression(method="statistics", **LINE),
    "linear, kng": LinearRegression(method="kng", **LINE),
    "linear, exponential": LinearRegression(method="exponential", **LINE),
    "quantile": QuantileRegression(**LINE),
    "select": SelectModel(**LINE),
    "bayes": GaussianNB(**BOX, **TWO),
    "components": PCA(**BOX),
    "clusters": KMeans(2, **BOX),
    "forest": RandomForestClassifier(**BOX, **TWO),
    "blocks": SubsampleAggregate(lambda x, _: x.mean(), **BOX),
}
every = pytest.mark.parametrize("name", MODELS)
BAD = {"zero": 0, "negative": -1, "nan": math.nan, "inf": math.inf, "word": "1"}


@every
@pytest.mark.parametrize("what", [*BAD, "None"])
def test_epsilon_is_refused_by_name(name, what):
    model = clone(MODELS[name]).set_params(epsilon=BAD.get(what))
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-3))
    for act in (
        lambda: model.plan(60, 2),
        lambda: model.fit(X, Y),
        lambda: model.fit(X, Y, ledger=ledger),
    ):
        with pytest.raises(InvalidArgument, match="epsilon must be a finite number ab"):
            act()
    assert ledger.remaining().epsilon == 9


@pytest.mark.parametrize(
    "name", [name for name in MODELS if "delta" in MODELS[name].get_params()]
)
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, "1e-6", None])
def test_delta_is_refused_by_name(name, delta):
    if delta is None and name.startswith("logistic"):
        assert MODELS[name].delta is None  # what is left out: the method decides
        return
    with pytest.raises(InvalidArgument, match="delta must be a finite number at least"):
        clone(MODELS[name]).set_params(delta=delta).plan(60, 2)


@every
def test_a_source_is_one_of_ours(name):
    for wrong in (0, np.random.default_rng(1), None):
        with pytest.raises(
            InvalidArgument, match=r"source must be hush\.noise\.SECURE"
        ):
            clone(MODELS[name]).fit(X, Y, source=wrong)


@every
def test_data_in_the_place_of_an_argument_are_not_quoted(name):
    secret = np.full((60, 2), 7351.0)
    for wrong in (secret, secret.tolist(), secret[0].tolist() * 2):
        with pytest.raises(InvalidArgument, match="epsilon must") as refused:
            clone(MODELS[name]).set_params(epsilon=wrong).fit(X, Y)
        assert "7351" not in str(refused.value)


@pytest.mark.parametrize("method", [PCA, RandomForestClassifier])
def test_a_first_argument_is_not_epsilon_where_it_counts_things_elsewhere(method):
    with pytest.raises(TypeError):
        method(2)


# -- what one row is about ----------------------------------------------------------


@every
def test_a_charge_says_that_it_is_for_rows(name):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-3))
    model = clone(MODELS[name]).fit(X, Y, ledger=ledger)
    assert model.release_.receipt.unit == "row"
    people = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-3))
    model = clone(MODELS[name]).fit(X, Y, ledger=people, unit="person")
    assert model.release_.receipt.unit == "person"


def opened():
    """A ledger whose account has paid for people, by one question of a table."""
    import pandas as pd

    table = pd.DataFrame({"person": np.arange(60) // 2, "x": X[:, 0]})
    ledger = Ledger.open("memory://", budget=Budget(epsilon=90, delta=1e-5))
    data = hush.open(table, unit="person", ledger=ledger, neighbors="replace-one")
    data.agg(n=hush.count_distinct("person")).release(epsilon=1.0)
    return ledger


def test_an_account_of_people_takes_no_charge_for_rows():
    ledger = opened()
    left = ledger.remaining().epsilon
    model = clone(MODELS["logistic"])
    with pytest.raises(InvalidArgument, match=r"unit.*'person'.*unit= in fit"):
        model.fit(X, Y, ledger=ledger)
    assert ledger.remaining().epsilon == left
    model.fit(X[::2], Y[::2], ledger=ledger, unit="person")
    assert ledger.remaining().epsilon < left


def loss(p, row):
    return (p * row[0] - row[1]) ** 2


def trained(**options):
    return sgd.train(loss, np.float32(0), (X[:, 0], 2 * X[:, 0]), **options)


def test_training_says_what_a_row_is_about():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-5))
    fixed = {"epsilon": 2.0, "delta": 1e-6, "steps": 2, "sampling": "fixed-size"}
    assert trained(ledger=ledger, **fixed).receipt.unit == "row"
    with pytest.raises(InvalidArgument, match=r"unit.*'person'.*unit= in fit"):
        trained(ledger=opened(), **fixed)
    assert trained(ledger=opened(), unit="person", **fixed).receipt.unit == "person"


@pytest.mark.parametrize("unit", ["", None, 3])
def test_a_unit_has_a_name(unit):
    with pytest.raises(InvalidArgument, match="unit must be the name"):
        clone(MODELS["bayes"]).fit(X, Y, unit=unit)
    with pytest.raises(InvalidArgument, match="unit must be the name"):
        trained(std=1.0, unit=unit)


# -- training -----------------------------------------------------------------------


@pytest.mark.parametrize("what", [*BAD])
def test_training_refuses_epsilon_by_name(what):
    with pytest.raises(InvalidArgument, match="epsilon must be a finite number above"):
        trained(epsilon=BAD[what], delta=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": 0}, "delta must"),
        ({"delta": 2}, "delta must"),
        ({"batch": 0}, "batch must"),
        ({"batch": -1}, "batch must"),
        ({"batch": 61}, "batch must"),
        ({"batch": 2.5}, "batch must"),
        ({"steps": 0}, "steps must"),
        ({"steps": "3"}, "steps must"),
        ({"optimizer": "adam"}, r"optimizer must be one of Optax, as optax\.adam"),
        ({"source": 0}, "source must"),
        ({"source": np.random.default_rng(1)}, "source must"),
    ],
    ids=lambda each: each if isinstance(each, str) else next(iter(each)),
)
def test_training_refuses_by_name(options, said):
    with pytest.raises(InvalidArgument, match=said):
        trained(epsilon=1.0, **options)


# -- what other libraries call it ---------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LogisticRegression(C=1.0), "no argument 'C'. Write penalty"),
        (lambda: LogisticRegression(data_norm=1.0), "'data_norm'. Write norm"),
        (lambda: KMeans(3, random_state=0), "'random_state'. Noise is secret. To"),
        (lambda: PCA(random_state=0), r"source=hush\.noise\.Seeded\(7\) in .* of fit"),
        (lambda: LogisticRegression(max_iter=9), "stops by itself"),
        (
            lambda: clone(MODELS["bayes"]).fit(X, Y, sample_weight=Y),
            "'sample_weight'. Rows",
        ),
        (lambda: MODELS["components"].fit(X, random_state=0), "Seeded.* here"),
        (lambda: trained(std=1.0, epochs=3), "'epochs'. Write steps"),
        (lambda: trained(std=1.0, lr=0.1), r"'lr'. Write optimizer=optax\.sgd"),
        (lambda: trained(noise_multiplier=1.0), "Write std"),
        (lambda: trained(std=1.0, max_grad_norm=1.0), "Write clip"),
        (lambda: trained(std=1.0, batch_size=8), "Write batch"),
        (lambda: LogisticRegression(wrong=1), "argument 'wrong'"),
        (lambda: trained(std=1.0, wrong=1), "argument 'wrong'"),
    ],
    ids=[str(i) for i in range(14)],
)
def test_a_near_miss_is_answered_with_what_to_write(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def test_what_a_model_has_is_no_near_miss():
    assert KMeans(2, max_iter=3, **BOX).max_iter == 3


def test_pairs_of_bounds_are_told_how_to_turn():
    pairs = [(0, 1)] * 30
    model = LogisticRegression(bounds=pairs, **TWO)
    with pytest.raises(InvalidArgument, match=r"write bounds=tuple\(zip\(\*pairs\)\)"):
        model.plan(100, 30)
    turned = LogisticRegression(bounds=tuple(zip(*pairs, strict=True)), **TWO)
    assert turned.plan(100, 30).rows.upper == (1.0,) * 30


def test_ragged_rows_are_refused_in_our_words():
    with pytest.raises(InvalidArgument, match="rows of one length"):
        clone(MODELS["bayes"]).fit([[7351.0], [7351.0, 1.0]], [0, 1])


# -- printing -----------------------------------------------------------------------


def test_a_model_of_many_columns_prints_few_of_its_bounds():
    model = LogisticRegression(2.0, bounds=([0] * 30, [1] * 30), **TWO)
    said = "bounds=([0, 0, 0, 0, ...], [1, 1, 1, 1, ...]), classes=(0, 1), epsilon=2.0"
    assert repr(model) == f"LogisticRegression({said})"
    assert repr(PCA()) == "PCA(epsilon=1.0)"  # what it costs is always said


def test_an_estimate_prints_one_line_for_each_coefficient():
    model = LinearRegression(method="statistics", **LINE).fit(X, X[:, 0])
    head, *rows = str(model.estimate_).splitlines()
    assert head.split() == ["estimate", "from", "to", "(95%)"]
    assert len(rows) == 2
    value, low, high = map(float, rows[0].split())
    assert value == pytest.approx(model.estimate_.value[0], rel=1e-3)
    assert low < value < high


def test_spending_so_far_can_be_asked():
    run = sgd.Training(std=4.0, clip=1.0, batch=20, records=100, steps=40)
    spent = [run.curve(steps=i).epsilon_at(1e-5) for i in (0, 1, 20, 40)]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[1] == pytest.approx(run.step_curve().epsilon_at(1e-5), rel=1e-3)
    assert spent[3] == run.curve().epsilon_at(1e-5)
    for wrong in (-1, 41, 1.5):
        with pytest.raises(InvalidArgument, match="steps must be"):
            run.curve(steps=wrong)


def _texts():
    """Return rows with a column of texts, each with what its refusal names."""
    words = np.where(Y == 1, "yes", "no")
    both = {"age": X[:, 0], "smoker": words.tolist()}
    frame = pandas.DataFrame(both)
    return {
        "pandas": (frame.astype({"smoker": "str"}), "'smoker'"),
        "pandas, nullable": (frame.astype({"smoker": "string"}), "'smoker'"),
        "polars": (polars.DataFrame(both), "'smoker'"),
        "numpy": (np.column_stack([words, words]), "array of texts"),
        "numpy, bytes": (np.column_stack([words, words]).astype("S"), "array of texts"),
    }


@every
def test_columns_of_texts_are_refused_before_the_charge(name):
    for rows, told in _texts().values():
        ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-3))
        with pytest.raises(InvalidArgument, match=told) as refused:
            clone(MODELS[name]).fit(rows, Y, ledger=ledger)
        assert "== 'yes').astype(float)" in str(refused.value)
        assert ledger.remaining().epsilon == 9


def test_objects_and_lists_say_nothing_of_their_values():
    model = MODELS["logistic"]
    rows = X.astype(object)
    rows[3, 1] = "yes"
    clone(model).fit(rows, Y)
    clone(model).fit(rows.tolist(), Y)
    frame = pandas.DataFrame(rows)
    clone(model).fit(frame, Y)


@pytest.mark.parametrize("name", ["logistic", "bayes", "forest", "linear", "select"])
def test_targets_of_texts_are_refused_before_the_charge(name):
    words = np.where(Y == 1, "1", "0")
    given = (pandas.Series(words, dtype="str"), polars.Series(words.tolist()), words)
    for y in given:
        ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-3))
        with pytest.raises(InvalidArgument, match="y is an array of texts"):
            clone(MODELS[name]).fit(X, y, ledger=ledger)
        assert ledger.remaining().epsilon == 9


def test_numbers_for_classes_of_texts_are_to_become_texts():
    model = LogisticRegression(**BOX, classes=("0", "1"))
    for y in (Y, polars.Series(Y.tolist())):
        with pytest.raises(InvalidArgument, match=r"y\.astype\(str\)"):
            clone(model).fit(X, y)
    clone(model).fit(X, Y.astype(str))


# -- who pays -----------------------------------------------------------------------


@every
def test_what_cannot_pay_is_refused_and_not_quoted(name):
    for wrong in ("sqlite:///secret.db", Budget(epsilon=1), 3):
        with pytest.raises(InvalidArgument, match="ledger must be one that is") as told:
            clone(MODELS[name]).fit(X, Y, ledger=wrong)
        assert "secret" not in str(told.value)


@every
def test_a_key_without_a_ledger_is_refused(name):
    # Nothing would be kept, so that a second fit would draw, and cost, again.
    with pytest.raises(InvalidArgument, match="there is no ledger"):
        clone(MODELS[name]).fit(X, Y, key="may")
    with pytest.raises(InvalidArgument, match="key must be a text"):
        clone(MODELS[name]).fit(X, Y, key=7)
