"""Audit and attacks: show that a guarantee holds, and what happens without one."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.audit.assertions import assert_private, holm
from hush.audit.attacks.adaptive_composition import Adversary, Experiment, Move
from hush.audit.attacks.differencing import Isolated, difference
from hush.audit.attacks.membership_inference import Membership, membership
from hush.audit.attacks.reconstruction import Reconstruction, reconstruct
from hush.audit.auditor import audit
from hush.audit.finding import Audit, Verdict
from hush.audit.metric import Distance, distance
from hush.audit.neighbors import Pair, neighbors_of
from hush.audit.one_run import (
    OneRun,
    OneRunPower,
    canaries_needed,
    one_run,
    one_run_power,
)
from hush.audit.record_replay import Call, Divergence, Replay, assert_replays, replay

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
    "OneRunPower",
    "Pair",
    "Reconstruction",
    "Replay",
    "Verdict",
    "assert_private",
    "assert_replays",
    "audit",
    "canaries_needed",
    "difference",
    "distance",
    "holm",
    "membership",
    "neighbors_of",
    "one_run",
    "one_run_power",
    "reconstruct",
    "replay",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
