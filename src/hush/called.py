"""What other libraries call things, and what to write here instead.

Near misses by the thing they were asked of. They serve error messages only: a name has
one spelling here, and the others say which.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

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
    **_all("lr learning_rate", "Write optimizer=optax.sgd(0.1)."),
    **_all("noise_multiplier sigma noise", "Write std, which is in clips too."),
    **_all("max_grad_norm l2_norm_clip clip_norm", "Write clip."),
    **_all("target_epsilon eps", "Write epsilon."),
    **_all("target_delta", "Write delta."),
    **_all("accountant budget", FIT["accountant"]),
}


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


def answering(words: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer a near miss on one of its arguments with what to write."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        known = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            expected(function.__name__, options, known, words)
            return function(*args, **options)

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
