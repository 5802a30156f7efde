"""Probability to calculate with: measures, joint tables, conditioning, information, Gaussians.

Names are lazy.
"""

from tenfold.lazy import homes, lazily

_OFFERS = {
    "conditioning": (
        "conditional_guess_error",
        "conditional_mean",
        "conditional_variance",
        "guess_error",
        "total_law",
        "total_variance",
        "tower_rule",
    ),
    "continuous": ("ContinuousMeasure", "JointDensity"),
    "gaussians": ("affine", "conditioned", "ellipse", "marginal"),
    "information": (
        "bound_identity",
        "complete_log_likelihood",
        "cross_entropy",
        "entropy",
        "expected_complete_log_likelihood",
        "gibbs_inequality",
        "jensen_inequality",
        "kl_divergence",
        "log_sum_inequality",
    ),
    "measures": ("FiniteMeasure",),
    "nodes": ("belief_nodes", "gauss_nodes"),
    "spreads": ("covariance_entry", "data_moments", "spread"),
    "tables": ("JointTable",),
}
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above
__getattr__, __dir__ = lazily(__name__, _WHERE)
