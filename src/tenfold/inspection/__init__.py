"""Inspection of fitted models: contributions, collinearity, leverage, cost-sensitive decisions.

Names are lazy: contributions do not import what leverage needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "collinearity": (
        "LinearDependence",
        "RedundancyReport",
        "equivalent_coefficients",
        "find_redundant_columns",
    ),
    "contributions": (
        "FeatureContributions",
        "TopWeights",
        "feature_contributions",
        "sensitivity",
        "top_weights",
    ),
    "cost_sensitive": ("CostSensitiveClassifier",),
    "dependence": ("tree_partial_dependence",),
    "leverage": (
        "RegressionDiagnostics",
        "hat_matrix",
        "leverages",
        "regression_diagnostics",
    ),
    "multiclass_ambiguity": (
        "count_claims",
        "count_votes",
        "is_ambiguous",
    ),
    "shap": ("ShapValues", "shap_values"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
