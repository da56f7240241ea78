"""Exact noise from cryptographic randomness.

Every sampler takes `source=`: `SECURE` by default, `Seeded(n)` for rehearsals. Every
law is exact: 64 random bits are compared with certified cut points, and a tie is
decided by arbitrary precision.
"""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.noise.ball import Body, Norm, ball, radial
from hush.noise.bernoulli import bernoulli, bernoulli_exp
from hush.noise.categorical import (
    categorical,
    exponential_argmax,
    gumbel_argmax,
    piecewise,
)
from hush.noise.gaussian import discrete_gaussian
from hush.noise.inversion import table
from hush.noise.laplace import discrete_laplace, geometric
from hush.noise.lattice import Lattice
from hush.noise.source import SECURE, Seeded, Source
from hush.noise.staircase import StaircaseLaw, staircase
from hush.noise.uniform import integers, permutation, subsample

__all__ = [
    "SECURE",
    "Body",
    "Lattice",
    "Norm",
    "Seeded",
    "Source",
    "StaircaseLaw",
    "ball",
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_argmax",
    "geometric",
    "gumbel_argmax",
    "integers",
    "permutation",
    "piecewise",
    "radial",
    "staircase",
    "subsample",
    "table",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
