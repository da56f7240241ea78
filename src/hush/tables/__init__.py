"""Private answers from tables, where the data is."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.tables.aggregates.aggregate import Aggregate, count, mean, sum
from hush.tables.aggregates.count_distinct import count_distinct
from hush.tables.aggregates.histogram_aggregates import histogram, mode, top_k
from hush.tables.aggregates.quantile_aggregates import (
    max,
    median,
    min,
    quantile,
    quantiles,
)
from hush.tables.aggregates.variance_aggregates import (
    correlation,
    covariance,
    std,
    variance,
)
from hush.tables.dataset import Dataset, Grouped, open_table
from hush.tables.expressions.numbers import bins
from hush.tables.graph import Graph, open_graph
from hush.tables.queries.answer import Answer, Presented
from hush.tables.queries.query_plan import Planned
from hush.tables.queries.table_query import Query

__all__ = [
    "Aggregate",
    "Answer",
    "Dataset",
    "Graph",
    "Grouped",
    "Planned",
    "Presented",
    "Query",
    "bins",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "open_graph",
    "open_table",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "top_k",
    "variance",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
