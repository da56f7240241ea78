"""Audit and attacks: show that a guarantee holds, and what happens without one."""

from hush.audit.divergence import Call, Divergence, Replay
from hush.audit.metric import Distance, distance
from hush.audit.neighbors import Pair, neighbors_of
from hush.audit.replay import assert_replays, replay

__all__ = [
    "Call",
    "Distance",
    "Divergence",
    "Pair",
    "Replay",
    "assert_replays",
    "distance",
    "neighbors_of",
    "replay",
]
