"""Finite pairs as loss laws, the form in which engines compose them."""

import math
from typing import TYPE_CHECKING

import numpy as np

from hush.privacy.atoms import Atoms
from hush.privacy.loss_atoms import AtomsLoss
from hush.privacy.loss_gaussian import GaussianLoss

if TYPE_CHECKING:
    from hush.privacy.curve import Components


def of(pair: Atoms) -> AtomsLoss:
    """Return the loss law of a finite pair."""
    there = pair.masses > 0
    losses, masses = pair.losses[there], pair.masses[there]
    return AtomsLoss(
        tuple(losses.tolist()),
        tuple(np.minimum(np.log(masses), 0.0).tolist()),
        min(pair.p_only, 1.0),
        min(pair.q_only, 1.0),
    )


def both(pair: Atoms) -> "tuple[Components, Components]":
    """Return the remove and the add direction of a finite pair."""
    law = of(pair)
    return ((law, 1),), ((law.reversed(), 1),)


def gaussian(mu: float) -> "tuple[Components, Components]":
    """Return both directions of N(0,1) against N(μ,1)."""
    if mu == 0:
        return (), ()
    if math.isinf(mu):
        return both(Atoms(np.empty(0), np.empty(0), 1.0, 1.0))
    law = GaussianLoss(mu)
    return ((law, 1),), ((law, 1),)
