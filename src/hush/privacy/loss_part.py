"""A part of a subsampled Gaussian: some of its mass, the losses of the whole."""

from abc import ABC
from dataclasses import dataclass

from hush.privacy.loss_law import Direction
from hush.privacy.loss_mixture import MixtureLoss
from hush.privacy.subsampled_gaussian import SubsampledGaussianLoss


@dataclass(frozen=True)
class PartLoss(MixtureLoss, ABC):
    """A measure, not a law; the loss at each point is that of the `whole`."""

    whole: SubsampledGaussianLoss

    @property
    def rate(self) -> float:  # type: ignore[override]
        """The rate of the whole."""
        return self.whole.rate

    @property
    def direction(self) -> Direction:  # type: ignore[override]
        """The direction of the whole."""
        return self.whole.direction

    @property
    def slope(self) -> float:
        """dy/dx."""
        return self.whole.slope

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return self.whole.offset
