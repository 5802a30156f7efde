"""Optimization: minimizers, schedules, optimizers, and the loop of every iterative model.

Names are lazy: a model that needs L-BFGS does not import quadratic programs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "convergence": (
        "DivergenceError",
        "Minimum",
        "largest_curvature",
        "until_converged",
    ),
    "gradient_methods": (
        "gradient_descent",
        "subgradient_descent",
    ),
    "interior_point": (
        "InfeasibleError",
        "UnboundedError",
        "quadratic_program",
    ),
    "minimizers": (
        "minimize",
        "objective_over_rows",
    ),
    "monotone_descent": (
        "CostIncreasedError",
        "alternating_minimization",
        "inexact_block_step",
        "majorize_minimize",
    ),
    "newton_methods": (
        "irls",
        "irls_step",
        "newton",
        "newton_cg",
        "weighted_least_squares",
    ),
    "optimality": (
        "KKT",
        "kkt",
    ),
    "proximal": (
        "projected_gradient",
        "proximal_gradient",
    ),
    "quasi_newton": ("lbfgs",),
    "stochastic": (
        "online_sgd",
        "sgd",
    ),
}
_MODULES = (
    "optimizers",
    "projections",
    "schedules",
)
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted([*_WHERE, *_MODULES])  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE, _MODULES)
