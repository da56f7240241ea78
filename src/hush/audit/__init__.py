"""Audit and attacks: show that a guarantee holds, and what happens without one."""

from hush.audit.auditor import audit
from hush.audit.canaries import OneRun, one_run
from hush.audit.composition import Adversary, Experiment, Move
from hush.audit.differencing import Isolated, difference
from hush.audit.divergence import Call, Divergence, Replay
from hush.audit.finding import Audit, Verdict
from hush.audit.membership_inference import Membership, membership
from hush.audit.metric import Distance, distance
from hush.audit.neighbors import Pair, neighbors_of
from hush.audit.private import assert_private, holm
from hush.audit.reconstruction import Reconstruction, reconstruct
from hush.audit.replay import assert_replays, replay

__all__ = [
    "Adversary",
    "Audit",
    "Call",
    "Distance",
    "Divergence",
    "Experiment",
    "Isolated",
    "Membership",
    "Move",
    "OneRun",
    "Pair",
    "Reconstruction",
    "Replay",
    "Verdict",
    "assert_private",
    "assert_replays",
    "audit",
    "difference",
    "distance",
    "holm",
    "membership",
    "neighbors_of",
    "one_run",
    "reconstruct",
    "replay",
]


def __dir__() -> list[str]:
    return sorted(__all__)
