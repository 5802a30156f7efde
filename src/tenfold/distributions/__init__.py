"""Probability distributions: log-densities, draws, weighted fits, conjugate priors.

Fits are by maximum likelihood, or by the posterior mode, from sufficient statistics that merge.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "base": (
        "Distribution",
        "WeightedSums",
    ),
    "custom": (
        "CustomDistribution",
        "maximum_likelihood",
    ),
    "dirichlet": (
        "Beta",
        "Dirichlet",
    ),
    "discrete": (
        "Bernoulli",
        "Binomial",
        "Categorical",
        "Multinomial",
        "Poisson",
        "multinomial_coefficient",
    ),
    "finite": ("FiniteDistribution",),
    "gamma": (
        "Exponential",
        "Gamma",
    ),
    "independent": ("Independent",),
    "normal": (
        "Gaussian",
        "NormalInverseGamma",
        "NormalInverseWishart",
    ),
    "quadrature": (
        "gauss_quadrature",
        "quadrature_nodes",
    ),
    "uniform": (
        "DiscreteUniform",
        "Uniform",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
