"""Graphical models: Bayesian networks, factors, separation in graphs."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "bayesian_network": ("BayesianNetwork",),
    "belief_propagation": ("BeliefPropagation", "propagate_beliefs"),
    "chow_liu": ("ChowLiu",),
    "directed_graph": ("DirectedGraph",),
    "essential_graph": ("EssentialGraph",),
    "exact_search": ("ExactSearch",),
    "factors": ("Factor",),
    "greedy_search": ("HillClimbing",),
    "linear_gaussian_network": ("GaussianAnswer", "LinearGaussianBayesianNetwork"),
    "pc_algorithm": ("PC",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
