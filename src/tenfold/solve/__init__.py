"""What is done with totals: loops that watch themselves, and minimisers for every occasion.

Names are lazy: a model that needs L-BFGS does not import quadratic programs.
"""

from tenfold.lazy import homes, lazily
from tenfold.solve.em import em as em
from tenfold.solve.lbfgs import Minimum as Minimum
from tenfold.solve.lbfgs import lbfgs as lbfgs
from tenfold.solve.loop import until_still as until_still
from tenfold.solve.newton import newton as newton

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "alternating": ("CostRoseError", "alternate", "few_steps"),
    "chain_diagnostics": ("autocorrelation_time", "effective_size", "split_r_hat"),
    "chains": ("Chains",),
    "certified": ("Convex", "NotConvexError"),
    "conditions": ("robbins_monro",),
    "convexity": ("convexity_violation", "hessian", "hessian_violation"),
    "descent": ("gradient_descent",),
    "divergence": ("DivergedError", "largest_curvature"),
    "em": ("LikelihoodFellError",),
    "infeasible": ("InfeasibleError", "UnboundedError"),
    "leapfrog": ("hamiltonian",),
    "majorise": ("majorise_minimise",),
    "mcmc": ("ensemble", "metropolis"),
    "minimisers": ("minimise", "over"),
    "multipliers": ("lagrange", "simplex_weights"),
    "noise": ("gradient_noise",),
    "optimality": ("KKT", "kkt"),
    "proximal": ("projected_gradient", "proximal_gradient"),
    "quadratic": ("quadratic_program",),
    "reweighted": ("irls", "irls_step", "weighted_least_squares"),
    "stochastic": ("online", "sgd"),
    "subgradient": ("subgradient_descent",),
    "truncated": ("newton_cg",),
}
_MODULES = ("certified", "projections", "rates", "steppers")  # families of small things
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted([*_WHERE, *_MODULES, "Minimum", "em", "lbfgs", "newton", "until_still"])  # noqa: PLE0605
__getattr__, __dir__ = lazily(__name__, _WHERE, _MODULES)
