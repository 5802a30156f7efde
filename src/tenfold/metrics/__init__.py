"""Mergeable metrics: exact, from one pass, on arrays, files and clusters."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "_predictions": ("predictions",),
    "base": ("Metric",),
    "calibration": ("Calibration",),
    "classification": ("perplexity",),
    "confusion": ("ConfusionMatrix",),
    "contingency": ("ContingencyTable",),
    "coverage": ("IntervalCoverage", "interval_coverage"),
    "evaluation": (
        "confusion_matrix",
        "evaluate",
    ),
    "recommendation": ("RankingTotals", "ranking_totals"),
    "registry": (
        "METRICS",
        "default_metric",
        "get_metric",
    ),
    "silhouette": ("silhouette_score",),
    "threshold_curves": (
        "OperatingPoint",
        "PrecisionRecallCurve",
        "RocCurve",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
