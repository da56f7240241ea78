"""Names of other libraries, and what to write here instead.

They serve error messages only: a name has one spelling here, and the others say which.
This module is loaded when a name is not found, and not before. See docs/decisions/0029.
"""

import ast
import functools
from pathlib import Path

_ROWS = "Rows are not shown, because they are about people: ask .agg(n=hush.count())."
_AGG = 'Write .agg({0}=hush.{0}("fare", bounds=(0, 80))).'

_SAID_AT_OPENING = (
    'It is said where the data is opened, as in hush.open(trips, unit="who", rows=4, '
    "groups=2), and of values in bounds=(0, 80) of an aggregate."
)
_FIND_KEYS = (
    'Private partition selection: write .group_by("region", keys="private"), with a '
    "delta in release."
)


def _all(names: str, words: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), words)


PACKAGE = {
    **_all("avg average", "Write hush.mean."),
    **_all("stddev stdev sd", "Write hush.std."),
    **_all("var", "Write hush.variance."),
    **_all("corr", "Write hush.correlation."),
    **_all("cov covar", "Write hush.covariance."),
    **_all("nunique n_unique distinct", "Write hush.count_distinct."),
    **_all("percentile", "Write hush.quantile, with at= between 0 and 1."),
    **_all("size len", "Write hush.count."),
    **_all("hist value_counts", "Write hush.histogram."),
    **_all("minimum", "Write hush.min."),
    **_all("maximum", "Write hush.max."),
    **_all("topk nlargest most_common", "Write hush.top_k."),
    **_all("read load connect read_csv read_parquet Dataset", "Write hush.open."),
}
GROUPED = {
    **_all("release", "Ask first, as in .agg(n=hush.count()).release(epsilon=1)."),
    **_all("aggregate summarise summarize", "Write .agg(n=hush.count())."),
    **_all("count size", "Write .agg(n=hush.count())."),
    **{
        name: _AGG.format(name)
        for name in ("sum", "mean", "std", "variance", "median", "min", "max")
    },
}
DATASET = {
    **GROUPED,
    **_all("groupby", 'Write .group_by("region", keys=[...]).'),
    **_all("filter select_rows loc", 'Write .where("fare > 0").'),
    **_all("assign mutate with_columns", 'Write .select(speed="km / hours").'),
    **_all("merge", 'Write .join(other, on="who").'),
    **_all("query execute", "Write .sql(text, epsilon=...)."),
    **_all("dtypes schema info", "Its columns are data.columns; values are not shown."),
    **_all("select_partitions partition_selection private_partitions", _FIND_KEYS),
    **_all("clip clamp contribution_bound contribution_bounds", _SAID_AT_OPENING),
    **_all("max_contributions max_partitions_contributed", _SAID_AT_OPENING),
    **_all("epsilon privacy_budget accountant", "Write data.budget: what is left."),
    **_all("table", "Its rows are private; the data set itself is asked and joined."),
    **_all("describe", _AGG.format("mean")),
    **_all(
        "value_counts", 'Write .group_by("region", keys=[...]).agg(n=hush.count()).'
    ),
    **_all("head tail show collect shape to_pandas df", _ROWS),
}
QUERY = {
    **_all(
        "execute run collect compute fetch to_pandas df values",
        "Write .release(epsilon=...), which pays and answers.",
    ),
    **_all("sql to_sql", "Write .sql_text()."),
}
ANSWER = {
    **_all("df to_df to_frame pandas", "Write .to_pandas()."),
    **_all("polars", "Write .to_polars()."),
    **_all("arrow table", "Write .to_arrow()."),
    **_all("value data result results", "Write .values."),
    **_all("intervals ci", "Write .interval(0.95)."),
    **_all("columns", "Write list(answer)."),
    **_all("write_csv save export", 'Write .to_csv("answer.csv").'),
    **_all("long melt explode", 'Write .cells("shape").'),
}
_SEED = "Noise is secret. To rehearse, write source=hush.noise.Seeded(7) in the call "
MODEL = {
    **_all("random_state seed rng", _SEED + "of fit."),
    **_all("data_norm max_norm", "Write norm."),
    **_all("eps", "Write epsilon."),
    **_all(
        "C alpha l2 l2_regularization reg_param",
        "Write penalty: about 1/C, on top of the least that the guarantee needs.",
    ),
    **_all("bounds_X feature_range ranges", "Write bounds=(lower, upper)."),
    **_all("bounds_y", "Write y_bounds=(lower, upper)."),
    **_all("accountant budget ledger", "Write fit(X, y, ledger=ledger)."),
    **_all("max_iter tol solver", "The solver stops by itself, by a certified bound."),
    **_all("n_trees trees", "Write n_estimators."),
    **_all("k n_cluster", "Write n_clusters."),
}
FIT = {
    **_all("random_state seed rng", _SEED + "here."),
    **_all("sample_weight", "Rows have one weight: the guarantee is for one row."),
    **_all("accountant budget", "Write ledger=hush.ledger.Ledger.open(...)."),
    **_all("epsilon", "Write it where the model is made."),
}
TRAIN = {
    **_all("random_state seed rng prng_key", _SEED + "here."),
    **_all("sample_weight", FIT["sample_weight"]),
    **_all("epochs num_epochs", "Write steps: epochs·records/batch of them."),
    **_all("num_steps iterations max_iter", "Write steps."),
    **_all("batch_size lot_size", "Write batch."),
    **_all("sample_rate sampling_rate", "Write batch, which is rate·records."),
    **_all("lr learning_rate", "Write optimizer=optax.sgd(0.1)."),
    **_all("noise_multiplier sigma noise", "Write std, which is in clips too."),
    **_all("max_grad_norm l2_norm_clip clip_norm", "Write clip."),
    **_all("target_epsilon eps", "Write epsilon."),
    **_all("target_delta", "Write delta."),
    **_all("accountant budget", FIT["accountant"]),
}
TRAINED = {
    **_all("get_epsilon", "Write .curve.epsilon_at(1e-5), or .epsilon at its delta."),
    **_all("model module weights parameters", "Write .params, or .average."),
}
_NOISY = "Write mu=1/{0}, for noise of {0} times the sensitivity."
GDP = {name: _NOISY.format(name) for name in ("sigma", "noise_multiplier", "std")}
_READ_EPSILON = "Write .epsilon_at(1e-6): it depends on delta."
CURVE = {
    **_all("epsilon eps get_epsilon to_epsilon", _READ_EPSILON),
    **_all("delta get_delta", "Write .delta_at(1.0): it depends on epsilon."),
    **_all("compose", "Write hush.privacy.compose(curve, other)."),
    **_all("repeat", "Write hush.privacy.repeat(curve, times=10)."),
    **_all("poisson subsample", "Write hush.privacy.poisson(curve, rate=0.01)."),
    **{
        name: f"Write hush.privacy.{name}(curve, ...)."
        for name in ("fixed_size", "shuffle", "group")
    },
    **_all("beta trade_off tradeoff f", "Write .tradeoff_at(0.05)."),
}
SHOWN = {"open_table": "hush.open"}
ROWS_AND_LABELS = "Rows and labels are one argument: write (X, y)."
MECHANISM = {
    **_all("eps epsilon delta", "Write {0}.for_epsilon(epsilon=1, sensitivity=1)."),
    **_all("sensitivity", "Say it where it matters: {0}(...).curve(sensitivity=1)."),
    **_all("random_state seed rng", _SEED + "of run."),
}
# What others call an argument, by what it is called here.
ARGUMENTS = {
    "epsilon": "eps target_epsilon epsilon_total privacy_budget",
    "delta": "target_delta",
    "std": "sigma stddev sd scale noise_multiplier standard_deviation noise_scale",
    "scale": "b noise_scale",
    "level": "confidence conf confidence_level conf_level",
    "bounds": "lower upper low high lo hi clip range clamp clipping_bounds limits "
    "min_value max_value value_bounds clamping_bounds clamp_bounds",
    "unit": "user user_id id id_column person people privacy_unit unit_column "
    "privacy_id privacy_key privacy_unit_column protected_unit user_column",
    "rows": "max_rows max_rows_per_id max_rows_per_user max_rows_per_person "
    "rows_per_user max_contributions max_contributions_per_user contributions "
    "max_contributions_per_partition contribution_bound contribution_bounds "
    "contribution_limit max_records_per_user",
    "groups": "max_partitions_contributed max_partitions max_partitions_per_user "
    "max_groups max_groups_per_id max_groups_per_user",
    "neighbors": "neighbours neighbour relation adjacency neighboring_relation "
    "adjacency_relation neighbor_relation",
    "keys": "key groups categories domain partitions public_partitions keyset "
    "partition_selection partition_selection_strategy public_keys group_keys",
    "values": "categories domain keys",
    "at": "q p percentile quantile",
    "edges": "bins breaks",
    "size": "k domain_size categories",
    "queries": "max_queries k steps",
    "source": "seed rng random_state",
    "budget": "epsilon eps accountant privacy_budget total_budget",
    "rate": "sample_rate sampling_rate sampling_probability q p",
    "times": "steps num_steps k n count",
    "batch": "batch_size lot_size",
    "records": "n size dataset_size sample_size",
    "people": "n size users",
}
PAID = ("epsilon", "eps", "delta")
PAID_LATER = (
    "It is said where it is paid, as in data.agg(m=...).release(epsilon=1) of a table "
    "from hush.open."
)
FORMS = {
    "bounds": "bounds=(lower, upper)",
    "at": "at, between 0 and 1",
    "budget": "budget=hush.Budget(epsilon=1)",
    "source": "source=hush.noise.Seeded(7), to rehearse",
}
# Said where data is opened, and looked for in later calls.
OPENED = frozenset(
    " ".join(
        f"{each} {ARGUMENTS[each]}" for each in ("unit", "rows", "groups", "neighbors")
    ).split()
)
SAID_AT_OPENING = _SAID_AT_OPENING


# -- Names asked of a module -----------------------------------------------------------

_GUARANTEE = (
    "A guarantee is a curve, and no accountant is chosen: write "
    "hush.privacy.compose(first, second); hush.Ledger keeps the account of a data set."
)
_LOSS = (
    "Losses are composed by hush.privacy.compose(first, second), by the tightest way "
    "known; two laws that dominate all neighbors are a hush.privacy.Pair."
)
_FINDING = (
    "Write hush.mechanisms.KeySelection; of a table, "
    '.group_by("region", keys="private").'
)
_RESPONSE = (
    "Write hush.mechanisms.RandomizedResponse, or hush.local.RandomizedResponse for "
    "reports of many people."
)
_ROWS_OF_ONE = "Write rows= of hush.open: for how many rows one person counts."
_GROUPS_OF_ONE = "Write groups= of hush.open: in how many groups one person counts."
_TRAINING = "DP-SGD: write hush.learn.sgd.train(loss, params, data, ...)."


def _squashed(name: str) -> str:
    return name.lower().replace("_", "")


_ANYWHERE = {
    # mechanisms
    **_all("ReportNoisyMax ReportNoisyArgmax NoisyArgmax", "Write {m}.NoisyMax."),
    **_all("ReportNoisyMin ReportNoisyMaxGumbel", "Write {m}.NoisyMax."),
    **_all("ExponentialMechanism Gumbel GumbelMax", "Write {m}.Exponential."),
    **_all("LaplaceMechanism LaplaceNoise AddLaplaceNoise", "Write {m}.Laplace."),
    **_all("LaplaceBoundedDomain LaplaceTruncated", "Write {m}.Laplace."),
    **_all("GeometricMechanism DiscreteLaplace", "Write {m}.Geometric."),
    **_all("TwoSidedGeometric", "Write {m}.Geometric."),
    **_all("GaussianMechanism AnalyticGaussian", "Write {m}.Gaussian."),
    **_all("GaussianNoise AddGaussianNoise GaussianAnalytic", "Write {m}.Gaussian."),
    **_all("DiscreteGaussianMechanism", "Write {m}.DiscreteGaussian."),
    **_all("AboveThreshold BelowThreshold SVT", "Write {m}.SparseVector."),
    **_all("SparseVectorTechnique NumericSparse", "Write {m}.SparseVector."),
    **_all("BinaryMechanism TreeAggregation BinaryTree", "Write {m}.TreeSum."),
    **_all("ContinualCounting ContinualObservation", "Write {m}.TreeSum."),
    **_all("PartitionSelection PrivatePartitionSelection", _FINDING),
    **_all("SelectPartitions TauThresholding StabilityHistogram", _FINDING),
    **_all("RandomisedResponse RandomizedResponse WarnerResponse", _RESPONSE),
    **_all("CanonicalNoiseDistribution CND Tulap", "Write {m}.Canonical."),
    **_all("Sensitivity GlobalSensitivity", "A hush.mechanisms.Query states it."),
    # curves
    **_all("PLRV PLD PRV PrivacyLossDistribution", _LOSS),
    **_all("PrivacyRandomVariable PrivacyLossRandomVariable", _LOSS),
    **_all("PrivacyLoss PrivacyLossVariable", _LOSS),
    **_all("DominatingPair DominatingPairs", "Write {p}.Pair."),
    **_all("RenyiDP RenyiDifferentialPrivacy RényiDP", "Write {p}.RDP."),
    **_all("ZeroConcentratedDP ConcentratedDP CDP zCDP", "Write {p}.ZCDP."),
    **_all("PureDP EpsilonDP EpsilonDifferentialPrivacy", "Write {p}.Pure."),
    **_all("ApproxDP ApproximateDP EpsilonDeltaDP", "Write {p}.Approx."),
    **_all("GaussianDP GaussianDifferentialPrivacy", "Write {p}.GDP."),
    **_all("FDP TradeoffFunction TradeOff", "Write {p}.Tradeoff."),
    **_all("PrivacyProfile PrivacyCurve", "Write {p}.Profile."),
    **_all("MomentsAccountant RdpAccountant RenyiAccountant", _GUARANTEE),
    **_all("PLDAccountant PRVAccountant GDPAccountant", _GUARANTEE),
    **_all("PrivacyAccountant Accountant BudgetAccountant", _GUARANTEE),
    **_all("GaussianAccountant IAccountant create_accountant", _GUARANTEE),
    **_all("Composition ComposedDpEvent Composer", "Write {p}.compose."),
    **_all("SelfComposedDpEvent SelfComposition", "Write {p}.repeat."),
    **_all("GaussianDpEvent", "Write {p}.GDP(mu=1/noise_multiplier)."),
    **_all("LaplaceDpEvent", "Write {p}.Pair.laplace(scale=...)."),
    **_all("PoissonSampledDpEvent PoissonSubsampling", "Write {p}.poisson."),
    **_all("AmplificationBySampling Subsampling subsample", "Write {p}.poisson."),
    **_all("AmplificationByShuffling Shuffling Shuffler", "Write {p}.shuffle."),
    **_all("AdvancedComposition", "Write {p}.compose, or {p}.advanced of textbooks."),
    **_all("OptimalComposition", "Write {p}.compose."),
    **_all("BasicComposition SequentialComposition", "Write {p}.compose."),
    **_all("ParallelComposition", "Write {p}.parallel."),
    **_all("GroupPrivacy", "Write {p}.group."),
    **_all("PrivacyFilter PrivacyOdometer Odometer Filter", "Write hush.Ledger."),
    **_all("PrivacyBudget", "Write hush.Budget."),
    # learning
    **_all("DPSGD DP_SGD PrivacyEngine DPOptimizer DPAdam", _TRAINING),
    **_all("DPSGDOptimizer DPKerasSGDOptimizer make_private", _TRAINING),
    **_all("GradSampleModule make_private_with_epsilon", _TRAINING),
    **_all("SubsampleAndAggregate SampleAndAggregate", "Write {l}.SubsampleAggregate."),
    **_all("PATE", "Write {l}.SubsampleAggregate."),
    **_all("ObjectivePerturbationMechanism", "Write {l}.ObjectivePerturbation."),
    **_all("NaiveBayes GaussianNaiveBayes", "Write {l}.GaussianNB."),
    **_all("RandomForest DecisionTreeClassifier", "Write {l}.RandomForestClassifier."),
    **_all("SVM SVC LinearSVC", "Write {l}.HuberSVM."),
    # holdouts, the local model, audits
    **_all("Thresholdout ReusableHoldoutSet", "Write hush.holdout.ReusableHoldout."),
    **_all("RAPPOR OUE SUE RAPPORClient", "Write hush.local.UnaryEncoding."),
    **_all("OLH BLH", "Write hush.local.LocalHashing."),
    **_all("GRR KRR DirectEncoding", "Write hush.local.RandomizedResponse."),
    **_all("MembershipInference MIA", "Write hush.audit.membership."),
    **_all("ReconstructionAttack", "Write hush.audit.reconstruct."),
    **_all("DifferencingAttack", "Write hush.audit.difference."),
    # tables
    **_all("PrivateReader PrivateDataFrame Session Context", "Write hush.open."),
    **_all("PrivateTable QueryBuilder DPEngine", "Write hush.open."),
    **dict.fromkeys(ARGUMENTS["rows"].split(), _ROWS_OF_ONE),
    **dict.fromkeys(ARGUMENTS["groups"].split(), _GROUPS_OF_ONE),
    **_all("privacy_unit privacy_id user_id", 'Write unit="column" of hush.open.'),
}
_SHORT = {"m": "hush.mechanisms", "p": "hush.privacy", "l": "hush.learn"}
NAMES = {
    _squashed(name): words.format(**_SHORT) if words.startswith("Write {") else words
    for name, words in _ANYWHERE.items()
}


@functools.cache
def _public_names() -> dict[str, list[str]]:
    """Return the public names of hush as they are in its files: none is imported."""
    found: dict[str, list[str]] = {}
    package = Path(__file__).parent
    for path in sorted(package.rglob("__init__.py")):
        module = ".".join(["hush", *path.parent.relative_to(package).parts])
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == "__all__"
            ):
                for name in ast.literal_eval(node.value):
                    found.setdefault(_squashed(name), []).append(f"{module}.{name}")
    return found


def replacement_hint(module: str, name: str) -> str:
    """Return what to write for a name that a module does not have, or nothing.

    Example:
        >>> replacement_hint("hush.privacy", "LaplaceMechanism")
        'Write hush.mechanisms.Laplace.'
        >>> replacement_hint("hush", "gdp")
        'Write hush.privacy.GDP.'
        >>> replacement_hint("hush", "nothing_of_ours")
        ''
    """
    if module == "hush" and name in PACKAGE:
        return PACKAGE[name]
    plain = _squashed(name)
    if plain in NAMES:
        return NAMES[plain]
    for each in (plain, plain.removesuffix("mechanism"), plain.removeprefix("dp")):
        homes = [h for h in _public_names().get(each, []) if h != f"{module}.{name}"]
        if homes:
            front = {f"hush.tables.{h.removeprefix('hush.')}" for h in homes}
            return f"Write {' or '.join(h for h in homes if h not in front)}."
    return ""
