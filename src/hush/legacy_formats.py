"""Texts of before tags: ledgers and releases that hold old names are read for ever.

A stored text used to name a class by its module, and mechanisms and curves by their
names. The tables below are frozen: they say what those names mean, whatever the modules
and classes are called today. Nothing is written in these forms any more. See
docs/decisions/0023.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from hush.errors import InvalidArgument
from hush.serialization import (
    build,
    decode,
    fraction,
    kind_of,
    parse,
    stored_fields,
    tag_of,
)

# What a module and a class in it were called, and the tag of what they are.
PATHS: Final = {
    "hush.mechanisms.canonical:Canonical": "canonical/1",
    "hush.mechanisms.cell_interval:CellInterval": "cell_interval/1",
    "hush.mechanisms.cell_quantile:CellQuantile": "cell_quantile/1",
    "hush.mechanisms.cell_top:CellTop": "cell_top/1",
    "hush.mechanisms.discrete_gaussian:DiscreteGaussian": "discrete_gaussian/1",
    "hush.mechanisms.error:Error": "error/1",
    "hush.mechanisms.exponential:Exponential": "exponential/1",
    "hush.mechanisms.gaussian:Gaussian": "gaussian/1",
    "hush.mechanisms.geometric:Geometric": "geometric/1",
    "hush.mechanisms.histogram:Histogram": "histogram/1",
    "hush.mechanisms.k_norm:KNorm": "k_norm/1",
    "hush.mechanisms.k_norm:NormError": "norm_error/1",
    "hush.mechanisms.key_selection:KeySelection": "key_selection/1",
    "hush.mechanisms.laplace:Laplace": "laplace/1",
    "hush.mechanisms.noisy_max:NoisyMax": "noisy_max/1",
    "hush.mechanisms.optimal_key_selection:OptimalKeySelection": (
        "optimal_key_selection/1"
    ),
    "hush.mechanisms.permute_and_flip:PermuteAndFlip": "permute_and_flip/1",
    "hush.mechanisms.quantile:Quantile": "quantile/1",
    "hush.mechanisms.randomized_response:RandomizedResponse": "randomized_response/1",
    "hush.mechanisms.sparse_vector:SparseVector": "sparse_vector/1",
    "hush.mechanisms.staircase:Staircase": "staircase/1",
    "hush.mechanisms.top_k:TopK": "top_k/1",
    "hush.mechanisms.tree_sum:TreeSum": "tree_sum/1",
    "hush.mechanisms.winsorized_mean:WinsorizedMean": "winsorized_mean/1",
    "hush.mechanisms.rounded:Rounded": "rounded_noise/1",
    "hush.mechanisms.totals:Total": "sum_of_noise/1",
    "hush.noise.staircase:StaircaseLaw": "staircase_noise/1",
    "hush.noise.ball:Norm": "norm/1",
    "hush.law:Geometric": "law.geometric/1",
    "hush.law:DiscreteLaplace": "law.discrete_laplace/1",
    "hush.law:DiscreteGaussian": "law.discrete_gaussian/1",
    "hush.law:Finite": "law.finite/1",
    "hush.units:Neighbors": "units.neighbors/1",
    "hush.units:Unit": "units.unit/1",
    "hush.privacy.pure:Pure": "pure/1",
    "hush.privacy.approx:Approx": "approx/1",
    "hush.privacy.zcdp:ZCDP": "zcdp/1",
    "hush.privacy.gdp:GDP": "gdp/1",
    "hush.privacy.rdp:RDP": "rdp/1",
    "hush.privacy.rdp:OrderTable": "rdp_table/1",
    "hush.privacy.poisson:Sampled": "poisson_sampled/1",
    "hush.privacy.fixed_size:Subset": "fixed_size_sampled/1",
    "hush.privacy.shuffle:Shuffled": "shuffled/1",
    "hush.privacy.between:Between": "curve_interval/1",
    "hush.privacy.between:FinitePair": "finite_pair/1",
    "hush.privacy.between:Worst": "worst_case/1",
    "hush.privacy.bounded_range:BoundedRange": "bounded_range/1",
    "hush.privacy.loss:Loss": "composition/1",
    "hush.privacy.pair:Pair": "pair/1",
    "hush.privacy.density:Normal": "normal/1",
    "hush.privacy.density:ContinuousLaplace": "continuous_laplace/1",
    "hush.privacy.density:Shifted": "shifted/1",
    "hush.learn.apart:Apart": "learn.apart/1",
    "hush.learn.bayes:ClassMoments": "learn.class_moments/1",
    "hush.learn.cluster:Lloyd": "learn.lloyd/1",
    "hush.learn.gradient:LeastSquaresGradient": "learn.least_squares_gradient/1",
    "hush.learn.grouped:GroupSums": "learn.group_sums/1",
    "hush.learn.leaves:LeafCounts": "learn.leaf_counts/1",
    "hush.learn.loss:Logistic": "learn.logistic/1",
    "hush.learn.loss:LogCosh": "learn.log_cosh/1",
    "hush.learn.loss:HuberHinge": "learn.huber_hinge/1",
    "hush.learn.loss:Poisson": "learn.poisson/1",
    "hush.learn.moments:Moments": "learn.moments/1",
    "hush.learn.objective:Distance": "learn.distance/1",
    "hush.learn.objective:ObjectivePerturbation": "learn.objective_perturbation/1",
    "hush.learn.perturbation:KNormNoise": "learn.k_norm_noise/1",
    "hush.learn.perturbation:GaussianNoise": "learn.gaussian_noise/1",
    "hush.learn.risk:LogisticRisk": "learn.logistic_risk/1",
    "hush.learn.risk:SquareRisk": "learn.square_risk/1",
    "hush.learn.risk:Pinball": "learn.pinball/1",
    "hush.learn.rows:Ball": "learn.ball/1",
    "hush.learn.rows:Box": "learn.box/1",
    "hush.learn.sampled:Excess": "learn.excess/1",
    "hush.learn.sampled:KNormGradient": "learn.k_norm_gradient/1",
    "hush.learn.sampled:ExponentialRisk": "learn.exponential_risk/1",
    "hush.learn.scatter:Scatter": "learn.scatter/1",
    "hush.learn.select:BestSubset": "learn.best_subset/1",
    "hush.learn.targets:Classes": "learn.classes/1",
    "hush.learn.targets:Response": "learn.response/1",
    "hush.learn.targets:Counts": "learn.counts/1",
    "hush.learn.versus:OneVersusRest": "learn.one_versus_rest/1",
    "hush.learn.aggregate:BlockMean": "learn.block_mean/1",
    "hush.learn.sgd.descent:Descent": "sgd.descent/1",
    "hush.learn.sgd.training:Training": "sgd.training/1",
    "hush.tables.found:Naming": "tables.naming/1",
}
# Where functions of hush were written that stand in requests of users' own functions.
_FUNCTIONS: Final = {"_silent": "hush.learn.aggregate"}
_LATER: Final = frozenset({"independent", "answers_vectors"})
_NUMPY = re.compile(r"np\.(?:float|u?int)\d+\(([-+.e\d]+)\)")
_NAMES: Final = {tag: path.rpartition(":")[2] for path, tag in PATHS.items()}
_DEEPEST = 100  # objects in one another


def _by_name(*modules: str) -> dict[str, str]:
    """Return the tags of classes that were told apart by their names alone."""
    known = ((path.split(":"), tag) for path, tag in PATHS.items())
    return {name: tag for (home, name), tag in known if home.startswith(modules)}


_MECHANISMS: Final = _by_name("hush.mechanisms.")
_CURVES: Final = _by_name("hush.privacy.", "hush.law")


def name_of(kind: type) -> str:
    """Return what a class was called before tags."""
    return _NAMES.get(tag_of(kind) or "", kind.__name__)


def described_fields(thing: Any) -> list[str]:
    """Return the fields of a dataclass that requests were described by.

    Variables of the class were among them: those that have come since are not.
    """
    told = {each.name for each in stored_fields(thing)}
    untold = {each.name for each in dataclasses.fields(thing)} - told
    return [n for n in thing.__dataclass_fields__ if n not in _LATER | untold]


def home_of(function: Any) -> str:
    """Return the module of a function as it was before tags."""
    module = str(getattr(function, "__module__", ""))
    name = getattr(function, "__qualname__", "")
    return _FUNCTIONS.get(name, module) if module.startswith("hush.") else module


def current_spelling(facts: str) -> str:
    """Return facts of a receipt as they are spelled now.

    Numbers were those of NumPy where a user gave such, and an option of queries that
    nobody used was shown.
    """
    return _NUMPY.sub(r"\1", facts).replace(", default=None)", ")")


def is_untagged(value: Any, key: str) -> bool:
    """Whether an object names its class under `key` by something else than a tag."""
    name = value.get(key) if isinstance(value, dict) else None
    return isinstance(name, str) and "/" not in name


def _read_or_refuse(reader: Callable[[Any, int], Any], value: Any) -> Any:
    try:
        return reader(value, _DEEPEST)
    except InvalidArgument:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        raise InvalidArgument(
            "a stored value is not what hush writes: a part is missing or strange."
        ) from None


def _class_of_tag(names: Mapping[str, str], name: Any) -> Any:
    tag = names.get(name) if isinstance(name, str) else None
    if tag is None:
        raise InvalidArgument("a stored value names a class that hush never stored.")
    return kind_of(tag)


def _next_depth(depth: int) -> int:
    if depth == 0:
        raise InvalidArgument(f"a stored value is more than {_DEEPEST} levels deep.")
    return depth - 1


def thaw(value: Any) -> Any:
    """Return a mechanism or law that a release names by module and class."""
    return _read_or_refuse(_thaw, value)


def _thaw(value: Any, depth: int) -> Any:
    depth, name = _next_depth(depth), value["class"]
    if name == "value":
        return decode(value["value"])
    if name == "tuple":
        return tuple(_thaw(each, depth) for each in value["items"])
    kind = _class_of_tag(PATHS, name)
    if "fields" not in value:  # an enum
        return build(kind, {"value": decode(value["value"])})
    return build(kind, {n: _thaw(each, depth) for n, each in value["fields"].items()})


def mechanism(value: Any) -> Any:
    """Return what a mechanism's `to_json` wrote: its name and its fields."""
    given = dict(value)
    kind = _class_of_tag(_MECHANISMS, given.pop("mechanism"))
    return build(kind, {n: _read_or_refuse(_field, each) for n, each in given.items()})


def _field(value: Any, depth: int) -> Any:
    depth = _next_depth(depth)
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "fraction":
        return fraction(inner)
    if kind == "curve":
        return curve(parse(inner, "a curve"))
    if kind == "float":
        return float(inner)
    return tuple(_field(each, depth) for each in inner)


def curve(value: Any) -> Any:
    """Return what a curve's `to_json` wrote: type names, and lists for tuples."""
    return _read_or_refuse(_curve, value)


def _curve(value: Any, depth: int) -> Any:
    depth = _next_depth(depth)
    if isinstance(value, list):
        return tuple(_curve(each, depth) for each in value)
    if not isinstance(value, dict):
        return value
    name = value["type"]
    if name == "Fraction":
        return fraction(value["value"])
    if name == "float":
        return math.inf
    kind = _class_of_tag(_CURVES, name)
    fields = {n: _curve(each, depth) for n, each in value.items() if n != "type"}
    return build(kind, fields)
