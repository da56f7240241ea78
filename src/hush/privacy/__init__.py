"""Curves and their algebra: how private something is, in every notion at once."""

from hush.privacy.advanced import (
    advanced,
    moments,
    per_step,
    sgd_moment_estimate,
    sgd_std_estimate,
)
from hush.privacy.amplification import amplified, amplified_approx, amplified_loose
from hush.privacy.approx import Approx
from hush.privacy.between import Between, Worst, worst
from hush.privacy.calibrate import calibrate
from hush.privacy.clt import Limit, clt
from hush.privacy.compare import Comparison, Order, compare
from hush.privacy.compose import basic, compose, repeat
from hush.privacy.curve import Curve, Direction, Side
from hush.privacy.density import ContinuousLaplace, Density, Normal, Shifted
from hush.privacy.divergences import (
    f_divergence,
    from_tail,
    hockey_stick,
    renyi,
    tail_at,
)
from hush.privacy.filters import fits
from hush.privacy.fixed_size import Subset, fixed_size
from hush.privacy.gdp import GDP
from hush.privacy.group import geometric, group, replace_one
from hush.privacy.loss import Loss
from hush.privacy.optimal import mixed
from hush.privacy.pair import Pair
from hush.privacy.parallel import parallel
from hush.privacy.poisson import Sampled, poisson
from hush.privacy.profile import Profile
from hush.privacy.pure import Pure
from hush.privacy.rdp import RDP
from hush.privacy.shuffle import Shuffled, shuffle
from hush.privacy.tradeoff import Tradeoff
from hush.privacy.variables import LossVariables, loss_cdf, variables
from hush.privacy.zcdp import ZCDP

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
