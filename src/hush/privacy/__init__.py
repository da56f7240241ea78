"""Curves and their algebra: how private something is, in every notion at once."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.privacy.curve import Curve, Direction, Side
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.profile import Profile
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP
from hush.privacy.notions.tradeoff import Tradeoff
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.pairs.curve_interval import Between, Worst, worst
from hush.privacy.pairs.dominating import (
    ContinuousLaplace,
    Density,
    Normal,
    Pair,
    Shifted,
)
from hush.privacy.rules.amplification import (
    Sampled,
    Subset,
    amplified,
    amplified_approx,
    amplified_loose,
    fixed_size,
    poisson,
)
from hush.privacy.rules.calibrate import calibrate
from hush.privacy.rules.compare import Comparison, Order, compare
from hush.privacy.rules.composition import Loss, basic, compose, repeat
from hush.privacy.rules.filters import fits
from hush.privacy.rules.group import geometric, group, replace_one
from hush.privacy.rules.optimal_composition import mixed
from hush.privacy.rules.parallel import parallel
from hush.privacy.rules.shuffle import Shuffled, shuffle
from hush.privacy.textbook.advanced_composition import (
    advanced,
    moments,
    per_step,
    sgd_moment_estimate,
    sgd_std_estimate,
)
from hush.privacy.textbook.clt import Limit, clt
from hush.privacy.textbook.divergences import (
    LossVariables,
    f_divergence,
    from_tail,
    hockey_stick,
    loss_cdf,
    renyi,
    tail_at,
    variables,
)

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Approx",
    "Between",
    "Comparison",
    "ContinuousLaplace",
    "Curve",
    "Density",
    "Direction",
    "Limit",
    "Loss",
    "LossVariables",
    "Normal",
    "Order",
    "Pair",
    "Profile",
    "Pure",
    "Sampled",
    "Shifted",
    "Shuffled",
    "Side",
    "Subset",
    "Tradeoff",
    "Worst",
    "advanced",
    "amplified",
    "amplified_approx",
    "amplified_loose",
    "basic",
    "calibrate",
    "clt",
    "compare",
    "compose",
    "f_divergence",
    "fits",
    "fixed_size",
    "from_tail",
    "geometric",
    "group",
    "hockey_stick",
    "loss_cdf",
    "mixed",
    "moments",
    "parallel",
    "per_step",
    "poisson",
    "renyi",
    "repeat",
    "replace_one",
    "sgd_moment_estimate",
    "sgd_std_estimate",
    "shuffle",
    "tail_at",
    "variables",
    "worst",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
