"""What shows an idea to a class: probability, automatic differentiation, convexity, geometry."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "convex_calculus": (
        "Convex",
        "NotConvexError",
    ),
    "convexity": (
        "convexity_violation",
        "finite_difference_hessian",
        "hessian_violation",
    ),
    "convolution": (
        "convolve",
        "cross_correlate",
        "output_size",
        "pool",
    ),
    "curse_of_dimensionality": (
        "ball_volume",
        "cube_edge",
        "distance_moments",
        "median_nearest_distance",
        "relative_contrast",
        "shell_share",
        "stored_numbers",
    ),
    "em_steps": (
        "ELBOTerms",
        "e_step",
        "elbo_terms",
        "log_joint",
        "m_step",
    ),
    "factorization": (
        "FactorPair",
        "FactorizationMethod",
        "factor_pair",
        "factorization_methods",
        "mix_factors",
    ),
    "lagrange_multipliers": (
        "lagrange_stationary_point",
        "simplex_weights",
    ),
    "loss_landscape": (
        "LossSurface",
        "count_symmetries",
        "flip_units",
        "loss_surface",
        "permute_units",
    ),
    "markov_chain_descent": ("markov_chain_gradient_descent",),
    "reptile_algorithm": ("reptile",),
    "stochastic_approximation": (
        "gradient_noise",
        "robbins_monro",
    ),
    "symbolic": (
        "DerivativeComparison",
        "Expression",
        "compare_derivatives",
        "differentiate",
        "symbols",
    ),
}
_MODULES = (
    "autodiff",
    "bayes_estimators",
    "convex_calculus",
    "geometry",
    "learning_theory",
    "linear_algebra",
    "probability",
)
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted([*_WHERE, *_MODULES])  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE, _MODULES)
