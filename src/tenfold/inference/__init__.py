"""Approximate inference: EM, Markov chain Monte Carlo, diagnostics of chains. Names are lazy."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "chains": (
        "Chains",
        "autocorrelation_time",
        "effective_sample_size",
        "split_r_hat",
    ),
    "em": (
        "LikelihoodDecreasedError",
        "expectation_maximization",
    ),
    "hmc": ("hamiltonian_monte_carlo",),
    "latent_gradient": ("fisher_gradient", "maximize_marginal_likelihood"),
    "mcmc": (
        "ensemble_sampler",
        "metropolis",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
