"""Mixture models, learned by EM.

Names are lazy: discrete mixtures do not import what Gaussian ones need.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "_gaussian": ("GaussianParameters",),
    "bayesian_mixture": ("BayesianGaussianMixture",),
    "discrete": ("BernoulliMixture", "CategoricalMixture", "MultinomialMixture", "PoissonMixture"),
    "gaussian_mixture": ("GaussianMixture",),
    "mixture_model": ("MixtureModel",),
    "n_components": ("choose_components",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
