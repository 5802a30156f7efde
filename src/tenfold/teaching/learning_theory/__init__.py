"""Learning theory: risk minimization, generalization bounds, the bias-variance decomposition."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "bias_variance_decomposition": (
        "BiasVariance",
        "ComplexityCurve",
        "ExcessError",
        "NoisyCurve",
        "approximation_and_estimation_error",
        "bias_variance",
        "complexity_curve",
    ),
    "generalization_bounds": (
        "GeneralizationGaps",
        "hoeffding_bound",
        "hoeffding_sample_size",
        "linear_growth",
        "measure_generalization_gap",
        "sauer_growth",
        "vc_bound",
        "vc_sample_size",
    ),
    "lookup_classifier": ("MemorizingClassifier",),
    "risk_minimization": (
        "MemoizedOracle",
        "empirical_risk",
        "empirical_risk_experiment",
        "expected_risk",
        "minimize_empirical_risk",
        "per_example_cost",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
