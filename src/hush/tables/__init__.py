"""Private answers from tables, where the data is."""

from hush.tables.aggregate import Aggregate, count, mean, sum
from hush.tables.answer import Answer
from hush.tables.dataset import Dataset, Grouped
from hush.tables.distinct import count_distinct
from hush.tables.graph import Graph, open_graph
from hush.tables.numbers import bins
from hush.tables.opening import open_table
from hush.tables.planned import Planned
from hush.tables.presented import Presented
from hush.tables.query import Query
from hush.tables.rank import max, median, min, quantile, quantiles
from hush.tables.spread import correlation, covariance, std, variance
from hush.tables.tally import histogram, mode, top_k

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
