"""Private answers from tables, where the data is."""

from hush.tables.aggregate import Aggregate, count, mean, sum
from hush.tables.answer import Answer
from hush.tables.dataset import Dataset, Grouped, open_table
from hush.tables.planned import Planned
from hush.tables.query import Query
from hush.tables.spread import correlation, covariance, std, variance
from hush.tables.tally import histogram

__all__ = [
    "Aggregate",
    "Answer",
    "Dataset",
    "Grouped",
    "Planned",
    "Query",
    "correlation",
    "count",
    "covariance",
    "histogram",
    "mean",
    "open_table",
    "std",
    "sum",
    "variance",
]
