"""Audit and attacks: show that a guarantee holds, and what happens without one."""

from hush.audit.auditor import audit
from hush.audit.divergence import Call, Divergence, Replay
from hush.audit.finding import Audit, Verdict
from hush.audit.metric import Distance, distance
from hush.audit.neighbors import Pair, neighbors_of
from hush.audit.replay import assert_replays, replay

__all__ = [
    "Audit",
    "Call",
    "Distance",
    "Divergence",
    "Pair",
    "Replay",
    "Verdict",
    "assert_replays",
    "audit",
    "distance",
    "neighbors_of",
    "replay",
]
