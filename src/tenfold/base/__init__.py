"""The plumbing, once: validate, encode labels, open rows, call `_fit`, set attributes, warn.

A model writes `_fit(rows, rng)`, which returns its learned attributes. A model that learns from one
statistic derives from `OnePass` and writes `_statistic` and `_learned` instead; it then also has
`partial_fit`, and `tenfold.merge`.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "estimator": ("Estimator",),
    "mixins": (
        "Classifier",
        "Clusterer",
        "ProbabilisticClassifier",
        "Regressor",
        "Transformer",
    ),
    "one_pass": (
        "OnePass",
        "OnePassClassifier",
        "merge",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
