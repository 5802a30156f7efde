"""Automated machine learning on tables: model selection, evaluation, diagnostics, explanation."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "contributions": (
        "RowExplanation",
        "explain_row",
        "linear_weights",
    ),
    "explainer": (
        "explain",
        "explain_study",
    ),
    "explanation": (
        "ColumnImportance",
        "Explanation",
        "LearningCurve",
        "LinearWeights",
        "PartialDependence",
        "WorstError",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
