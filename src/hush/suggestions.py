"""What other libraries call things, and what to write here instead.

Near misses by the thing they were asked of. They serve error messages only: a name has
one spelling here, and the others say which.
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_ROWS = "Rows are not shown, because they are about people: ask .agg(n=hush.count())."
_AGG = 'Write .agg({0}=hush.{0}("fare", bounds=(0, 80))).'
COLUMN = (
    'Columns are named in aggregates, as in .agg(fare=hush.mean("fare", bounds=(0, '
    '80))), and in conditions, as in .where("fare > 0").'
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
    **_all("laplace Laplace", "Write hush.mechanisms.Laplace."),
    **_all("gaussian Gaussian", "Write hush.mechanisms.Gaussian."),
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
_SHOWN = {"open_table": "hush.open"}
_ROWS_AND_LABELS = "Rows and labels are one argument: write (X, y)."
MECHANISM = {
    **_all("eps epsilon delta", "Write {0}.for_epsilon(epsilon=1, sensitivity=1)."),
    **_all("sensitivity", "Say it where it matters: {0}(...).curve(sensitivity=1)."),
    **_all("random_state seed rng", _SEED + "of run."),
}
# What others call an argument, by what it is called here.
_ARGUMENTS = {
    "epsilon": "eps target_epsilon epsilon_total privacy_budget",
    "delta": "target_delta",
    "std": "sigma stddev sd scale noise_multiplier standard_deviation",
    "scale": "b",
    "level": "confidence conf confidence_level conf_level",
    "bounds": "lower upper low high lo hi clip range clamp clipping_bounds limits",
    "unit": "user user_id id id_column person people privacy_unit unit_column "
    "privacy_id privacy_key",
    "rows": "max_rows max_rows_per_id max_contributions contributions",
    "groups": "max_partitions_contributed max_groups max_groups_per_id",
    "neighbors": "neighbours relation adjacency neighboring_relation",
    "keys": "key groups categories domain partitions public_partitions keyset",
    "values": "categories domain keys",
    "at": "q p percentile quantile",
    "edges": "bins breaks",
    "size": "k domain_size categories",
    "queries": "max_queries k steps",
    "source": "seed rng random_state",
    "budget": "epsilon eps accountant",
    "rate": "sample_rate sampling_rate sampling_probability q p",
    "times": "steps num_steps k n count",
    "batch": "batch_size lot_size",
    "records": "n size dataset_size sample_size",
    "people": "n size users",
}
_PAID = ("epsilon", "eps", "delta")
_PAID_LATER = (
    "It is said where it is paid, as in data.agg(m=...).release(epsilon=1) of a table "
    "from hush.open."
)
_FORMS = {
    "bounds": "bounds=(lower, upper)",
    "at": "at, between 0 and 1",
    "budget": "budget=hush.Budget(epsilon=1)",
    "source": "source=hush.noise.Seeded(7), to rehearse",
}


def unknown(
    owner: str,
    name: str,
    known: Iterable[str],
    words: Mapping[str, str] | None = None,
) -> TypeError:
    """Return the error for an argument that is not there, with what to write instead.

    Example:
        >>> print(unknown("Pure", "eps", ["epsilon"]))
        Pure has no argument 'eps'. Write epsilon.
        >>> print(unknown("Budget", "epsilom", ["epsilon", "delta"]))
        Budget has no argument 'epsilom'. Write epsilon.
    """
    known = [each for each in known if each != "self"]
    same = [each for each in known if name in _ARGUMENTS.get(each, "").split()]
    near = same or difflib.get_close_matches(name, known, n=1)
    if words and name in words:
        way = words[name].format(owner)
    elif not same and name in _PAID:
        way = _PAID_LATER
    elif near:
        way = f"Write {_FORMS.get(near[0], near[0])}."
    else:
        way = f"It has {', '.join(known) or 'none'}."
    return TypeError(f"{owner} has no argument {name!r}. {way}")


def unbound(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: Iterable[str],
    problem: TypeError,
    words: Mapping[str, str] | None = None,
) -> TypeError:
    """Return the error for a call that Python refused before its first line.

    Arguments may hold data: only their names and their number are said.
    """
    known = inspect.signature(function).parameters
    name = function.__qualname__.removesuffix(".__init__")
    name = _SHOWN.get(name, name)
    for each in options:
        if each not in known:
            return unknown(name, each, known, words)
    places = [p for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) > len(places):
        if "data" in known:
            return TypeError(f"{problem}. {_ROWS_AND_LABELS}")
        by_name = [p.name for p in known.values() if p.kind is p.KEYWORD_ONLY]
        if by_name:
            return TypeError(f"{problem}. Others have names: {', '.join(by_name)}.")
    return problem


def expected(
    owner: str, given: Iterable[str], known: Iterable[str], words: Mapping[str, str]
) -> None:
    """Refuse an argument that is not there but is known by another name.

    Example:
        >>> expected("train", ["lr"], ["steps"], TRAIN)
        Traceback (most recent call last):
        ...
        TypeError: train has no argument 'lr'. Write optimizer=optax.sgd(0.1).
    """
    for name in given:
        if name in words and name not in known:
            raise TypeError(f"{owner} has no argument {name!r}. {words[name]}")


def outside(problem: TypeError) -> bool:
    """Whether the call that was tried here did not reach its function."""
    trace = problem.__traceback__
    return trace is not None and trace.tb_next is None


def answering(words: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer a near miss on one of its arguments with what to write."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        known = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            expected(function.__name__, options, known, words)
            try:
                return function(*args, **options)
            except TypeError as problem:
                if not outside(problem):
                    raise
                raise unbound(function, args, options, problem, words) from None

        return call

    return around


def missing(owner: str, name: str, words: Mapping[str, str]) -> AttributeError:
    """Return the error for a name that is not there, with what to write instead.

    Example:
        >>> print(missing("module 'hush'", "avg", PACKAGE))
        module 'hush' has no attribute 'avg'. Write hush.mean.
    """
    way = f". {words[name]}" if name in words else ""
    return AttributeError(f"{owner} has no attribute {name!r}{way}")


class Helpful:
    """Something that answers a near miss on one of its names with what to write.

    Example:
        >>> class Table(Helpful):
        ...     _near = {"df": "Write .to_pandas()."}
        ...
        >>> Table().df
        Traceback (most recent call last):
        ...
        AttributeError: 'Table' object has no attribute 'df'. Write .to_pandas().
    """

    @property
    def _near(self) -> Mapping[str, str]:
        return {}

    if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names

        def __getattr__(self, name: str) -> Any:
            # Python asks for names with an underscore before an object is whole.
            near = {} if name.startswith("_") else self._near
            raise missing(f"{type(self).__name__!r} object", name, near)


class Spelled:
    """A public value whose arguments, misspelled, say how they are spelled here.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Noise(Spelled):
        ...     std: float
        ...
        >>> Noise(sigma=1)
        Traceback (most recent call last):
        ...
        TypeError: Noise has no argument 'sigma'. Write std.
    """

    _near_arguments: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker shall go on to see the fields

        def __new__(cls, *_: Any, **options: Any) -> Self:
            """Answer names of other libraries with those of ours."""
            fields = getattr(cls, "__dataclass_fields__", {})
            if not fields.keys() >= options.keys():
                known = inspect.signature(cls.__init__).parameters
                open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
                for name in options:
                    if name not in known and not open_ended:
                        near = cls._near_arguments
                        raise unknown(cls.__name__, name, known, near)
            return super().__new__(cls)
