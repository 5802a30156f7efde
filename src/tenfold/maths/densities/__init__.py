"""Densities: log-density, draws, weighted maximum likelihood, conjugate priors, merged statistics.

All are frozen dataclasses with the same few verbs (see `Density`). Names are lazy.
"""

from tenfold.lazy import homes, lazily

_OFFERS = {
    "coins": ("Bernoulli", "Binomial"),
    "contract": ("Density", "Sums"),
    "counts": ("Poisson",),
    "gauss": ("Gaussian",),
    "numeric": ("OwnDensity", "maximum_likelihood"),
    "product": ("Independent",),
    "ranges": ("DiscreteUniform", "Uniform"),
    "shares": ("Beta", "Dirichlet"),
    "unknown_gauss": ("NormalInverseGamma", "NormalInverseWishart"),
    "waiting": ("Exponential", "Gamma"),
    "words": ("Categorical", "Multinomial", "orderings"),
}
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above
__getattr__, __dir__ = lazily(__name__, _WHERE)
