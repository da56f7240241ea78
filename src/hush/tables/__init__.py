"""Private answers from tables, where the data is."""

from hush.tables.aggregate import Aggregate, count, mean, sum
from hush.tables.answer import Answer, Planned
from hush.tables.dataset import Dataset, Grouped, open_table
from hush.tables.numbers import bins
from hush.tables.query import Query

__all__ = [
    "Aggregate",
    "Answer",
    "Dataset",
    "Grouped",
    "Planned",
    "Query",
    "bins",
    "count",
    "mean",
    "open_table",
    "sum",
]
