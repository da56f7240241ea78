"""Inference: honest intervals, tests and plans from released values alone."""

from hush.inference.difference import difference_interval, difference_test
from hush.inference.interval import Interval, NoisyInterval
from hush.inference.mean import clipping_bias, mean_from_totals, mean_interval
from hush.inference.proportion import (
    Proportion,
    proportion_interval,
    proportion_power,
    proportion_test,
)
from hush.inference.quantile import quantile_interval
from hush.inference.regression import regression_interval
from hush.inference.spread import variance_interval
from hush.inference.verdict import Test
