"""Names that people of the field type are answered wherever they can be typed."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

import hush
from hush import foreign_names
from hush.mechanisms import Gaussian, Laplace, NoisyMax

# What people type, and what they are told to write.
FIELD = {
    "ReportNoisyMax": "hush.mechanisms.NoisyMax",
    "report_noisy_max": "hush.mechanisms.NoisyMax",
    "ExponentialMechanism": "hush.mechanisms.Exponential",
    "LaplaceMechanism": "hush.mechanisms.Laplace",
    "laplace_mechanism": "hush.mechanisms.Laplace",
    "GaussianMechanism": "hush.mechanisms.Gaussian",
    "GeometricMechanism": "hush.mechanisms.Geometric",
    "StaircaseMechanism": "hush.mechanisms.Staircase",
    "KNormMechanism": "hush.mechanisms.KNorm",
    "AboveThreshold": "hush.mechanisms.SparseVector",
    "SparseVectorTechnique": "hush.mechanisms.SparseVector",
    "TreeAggregation": "hush.mechanisms.TreeSum",
    "partition_selection": 'keys="private"',
    "PartitionSelection": "hush.mechanisms.KeySelection",
    "randomised_response": "hush.mechanisms.RandomizedResponse",
    "randomized_response": "hush.local.RandomizedResponse",
    "PLRV": "hush.privacy.compose",
    "PLD": "hush.privacy.compose",
    "PRV": "hush.privacy.Pair",
    "PrivacyLossDistribution": "hush.privacy.compose",
    "DominatingPair": "hush.privacy.Pair",
    "RenyiDP": "hush.privacy.RDP",
    "zCDP": "hush.privacy.ZCDP",
    "PureDP": "hush.privacy.Pure",
    "ApproximateDP": "hush.privacy.Approx",
    "GaussianDP": "hush.privacy.GDP",
    "gdp": "hush.privacy.GDP",
    "MomentsAccountant": "hush.privacy.compose",
    "RdpAccountant": "hush.privacy.compose",
    "RDPAccountant": "hush.Ledger",
    "PLDAccountant": "hush.privacy.compose",
    "PrivacyAccountant": "hush.Ledger",
    "BudgetAccountant": "hush.Ledger",
    "PrivacyBudget": "hush.Budget",
    "PrivacyFilter": "hush.Ledger",
    "GaussianDpEvent": "hush.privacy.GDP",
    "PoissonSampledDpEvent": "hush.privacy.poisson",
    "AdvancedComposition": "hush.privacy.compose",
    "ParallelComposition": "hush.privacy.parallel",
    "DPSGD": "hush.learn.sgd.train",
    "PrivacyEngine": "hush.learn.sgd.train",
    "DPKerasSGDOptimizer": "hush.learn.sgd.train",
    "SubsampleAndAggregate": "hush.learn.SubsampleAggregate",
    "DPLogisticRegression": "hush.learn.LogisticRegression",
    "Thresholdout": "hush.holdout.ReusableHoldout",
    "RAPPOR": "hush.local.UnaryEncoding",
    "OLH": "hush.local.LocalHashing",
    "MembershipInference": "hush.audit.membership",
    "PrivateReader": "hush.open",
    "contribution_bound": "rows= of hush.open",
    "max_contributions": "rows= of hush.open",
    "max_rows_per_user": "rows= of hush.open",
    "max_partitions_contributed": "groups= of hush.open",
    "privacy_unit": "of hush.open",
}
PACKAGES = """privacy mechanisms learn learn.sgd holdout tables ledger local audit synth
    inference bounds noise plots"""
MODULES = ["hush", *(f"hush.{name}" for name in PACKAGES.split())]


@pytest.mark.parametrize("module", MODULES)
def test_a_name_of_the_field_is_answered_by_every_module(module):
    assert len(FIELD) >= 40
    found = importlib.import_module(module)
    for name, words in FIELD.items():
        if inspect.ismodule(vars(found).get(name)):  # a file of that name
            continue
        with pytest.raises(AttributeError) as asked:
            getattr(found, name)
        with pytest.raises(ImportError) as imported:
            exec(f"from {module} import {name}", {})
        for each in (asked, imported):
            assert name in str(each.value)
            assert words in str(each.value), each.value
        assert not hasattr(found, name)


def test_our_own_name_of_another_module_is_found():
    with pytest.raises(AttributeError, match=r"Write hush\.privacy\.GDP\."):
        _ = hush.mechanisms.GDP
    with pytest.raises(ImportError, match=r"Write hush\.mechanisms\.Laplace\."):
        exec("from hush.privacy import Laplace", {})
    with pytest.raises(AttributeError, match=r"Write hush\.open\."):
        _ = hush.privacy.open


def test_what_nobody_knows_is_left_to_python():
    with pytest.raises(AttributeError) as asked:
        _ = hush.privacy.blorp
    assert str(asked.value) == "module 'hush.privacy' has no attribute 'blorp'"
    assert (asked.value.name, asked.value.obj) == ("blorp", hush.privacy)
    with pytest.raises(ImportError, match=r"^cannot import name 'blorp' from 'hush\.p"):
        exec("from hush.privacy import blorp", {})


TRIPS = {"who": [1, 2, 3], "fare": [10.0, 12.0, 8.0]}
BUDGET = {"budget": hush.Budget(epsilon=1)}


def opened():
    return hush.open(TRIPS, unit="who", rows=1, **BUDGET)


OPTIONS = {
    "contribution_bound": "Write rows.",
    "max_contributions": "Write rows.",
    "max_rows_per_user": "Write rows.",
    "max_partitions_contributed": "Write groups.",
    "privacy_unit": "Write unit.",
    "privacy_unit_column": "Write unit.",
    "adjacency": "Write neighbors.",
    "privacy_budget": "Write budget=hush.Budget(epsilon=1).",
    "accountant": "Write budget=hush.Budget(epsilon=1).",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_field_is_answered_by_open(name):
    with pytest.raises(TypeError) as refused:
        hush.open(TRIPS, **{name: 3})
    assert str(refused.value) == f"hush.open has no argument {name!r}. {OPTIONS[name]}"


CALLS = {
    "Write keys.": lambda: opened().group_by("fare", partition_selection="laplace"),
    "said where the data is opened": lambda: hush.mean("fare", max_contributions=3),
    "hush.open(trips, unit=": lambda: opened().group_by("fare", max_partitions=3),
    "write .group_by(": lambda: opened().partition_selection,
    "as in hush.open(": lambda: opened().max_contributions,
    "Write std.": lambda: Gaussian(noise_scale=1.0),
    "Write scale.": lambda: Laplace(noise_scale=1.0),
    "NoisyMax has no argument 'sensitivity'": lambda: NoisyMax(1.0, sensitivity=1),
    "Write bounds=(lower, upper).": lambda: hush.mean("fare", min_value=0),
}


@pytest.mark.parametrize("words", CALLS)
def test_a_call_with_words_of_the_field_says_ours(words):
    with pytest.raises((TypeError, AttributeError), match=re.escape(words)):
        CALLS[words]()


def texts():
    for table in vars(foreign_names).values():
        if isinstance(table, dict):
            yield from (text for text in table.values() if isinstance(text, str))


def test_what_we_tell_people_to_write_is_there():
    names = {n for text in texts() for n in re.findall(r"\bhush(?:\.\w+)+", text)}
    assert len(names) > 50
    for name in names:
        found = hush
        for piece in name.split(".")[1:]:
            found = getattr(found, piece)


RELEASE = """
import sys
import hush
data = hush.open({"who": [1, 2, 3], "fare": [1.0, 2.0, 3.0]}, unit="who", rows=1,
                 budget=hush.Budget(epsilon=1))
data.sql("SELECT COUNT(*) AS n FROM data WHERE fare > 1", epsilon=0.1)
data.agg(n=hush.count(), m=hush.mean("fare", bounds=(0, 9))).release(epsilon=0.5)
hush.mechanisms.Laplace(scale=1.0).curve(1).epsilon_at(0)
hush.privacy.compose(hush.privacy.GDP(1), hush.privacy.Pure(1)).epsilon_at(1e-6)
from hush.learn import LogisticRegression
LogisticRegression(epsilon=1.0, norm=1.0)
tables = "hush.foreign_names", "hush.tables.expressions.sql_suggestions"
print([each for each in tables if each in sys.modules])
"""


def test_a_program_without_mistakes_loads_no_names_of_others():
    done = subprocess.run(
        [sys.executable, "-c", RELEASE], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
