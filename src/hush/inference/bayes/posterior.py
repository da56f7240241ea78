"""The posterior of a parameter given noisy releases: what to believe after them.

A posterior is computed from a release, so it is post-processing: it costs no privacy,
whatever the prior, and its own randomness may be seeded and public.
"""

from typing import Any, overload

from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.inference.bayes.data_augmentation import LatentModel, PosteriorDraws, sample
from hush.inference.bayes.grid_posterior import GridModel, GridPosterior, solve
from hush.inference.bayes.noisy_observation import Observed
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source


@overload
def posterior(
    release: Any,
    model: GridModel,
    prior: Any,
    *,
    mechanism: Mechanism | None = None,
) -> GridPosterior: ...


@overload
def posterior(
    release: Any,
    model: LatentModel,
    prior: Any,
    *,
    mechanism: Mechanism | None = None,
    chains: int = 24,
    warmup: int = 300,
    draws: int = 7200,
    source: Source = SECURE,
) -> PosteriorDraws: ...


def posterior(
    release: Any,
    model: GridModel | LatentModel,
    prior: Any,
    *,
    mechanism: Mechanism | None = None,
    chains: int = 24,
    warmup: int = 300,
    draws: int = 7200,
    source: Source = SECURE,
) -> GridPosterior | PosteriorDraws:
    """Return the posterior of parameters given a noisy release.

    `release` is a `hush.Release`, or numbers that `mechanism` made noisy. The
    likelihood has the law of the noise that ran, on its lattice, with clamping and
    rounding: the release is not taken for the truth.

    One number (`CountModel`, `ShareModel`, `RateModel`, `MeanModel`) is solved on a
    grid; `prior` is a law of scipy.stats. Several (`NormalMoments`, `PoissonMoments`,
    `LinearMoments`, `LogisticMoments`) are sampled with their latent records; `prior`
    is a dict with a law for each, or a number for what is known. `chains`, `warmup`,
    `draws` and `source` are for those: `draws` rows in all, `warmup` turns before.

    Guarantee: it is post-processing, and costs no privacy, whatever prior and `source`;
    a seeded source protects nobody less. A grid is exact given prior, model and noise
    but for 1e-3 of a standard deviation. Chains have the posterior as their stationary
    law; `r_hat` says whether they have met. `conditions` say what is taken as given; a
    release whose noise has no known law is refused.

    Example:
        >>> from scipy import stats
        >>> from hush.inference import ShareModel, posterior
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric(scale=2)
        >>> found = posterior(37, ShareModel(n=500), stats.beta(1, 1), mechanism=noise)
        >>> round(found.mean, 3), round(found.std, 3)
        (0.076, 0.013)

    Reference: [WM10], [JAGR22]; N3.bayes; docs/proofs/posterior.md.
    """
    seen = Observed.of(release, mechanism)
    if isinstance(model, GridModel):
        return solve(model, seen, prior)
    if isinstance(model, LatentModel):
        return sample(
            model,
            seen,
            prior,
            chains=chains,
            warmup=warmup,
            draws=draws,
            source=source,
        )
    raise InvalidArgument(
        "model must be one of hush.inference, as ShareModel(n=500); got "
        f"{inputs.kind(model)}."
    )
