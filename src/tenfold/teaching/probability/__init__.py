"""Probability to calculate with: joint tables, conditional expectation, information."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "conditional_expectation": (
        "conditional_mean",
        "conditional_mse_decomposition",
        "conditional_variance",
        "mse_decomposition",
        "total_moments",
        "total_variance",
        "tower_rule",
    ),
    "continuous": (
        "ContinuousDistribution",
        "JointDensity",
        "conditional_dependence",
    ),
    "gaussian_algebra": (
        "condition_gaussian",
        "density_ellipse",
        "marginalize_gaussian",
        "transform_gaussian",
    ),
    "information": (
        "complete_log_likelihood",
        "cross_entropy",
        "entropy",
        "evidence_decomposition",
        "expected_complete_log_likelihood",
        "gibbs_inequality",
        "jensen_inequality",
        "kl_divergence",
        "log_sum_inequality",
    ),
    "joint_table": ("JointTable",),
    "sample_statistics": (
        "sample_covariance",
        "sample_moments",
        "summarize_moments",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
