"""The plumbing, once: validate, encode labels, open rows, call `_fit`, set attributes, warn.

A model writes `_fit(rows, rng)`, which returns its learned attributes. A model that learns from one
statistic derives from `OnePass` and writes `_statistic` and `_learned` instead; it then also has
`partial_fit`, and `tenfold.merge`.
"""

from tenfold.estimator.base import Estimator
from tenfold.estimator.families import (
    Classifier,
    Clusterer,
    ProbabilisticClassifier,
    Regressor,
    Transformer,
)
from tenfold.estimator.onepass import OnePass, OnePassClassifier, merge

__all__ = [
    "Classifier",
    "Clusterer",
    "Estimator",
    "OnePass",
    "OnePassClassifier",
    "ProbabilisticClassifier",
    "Regressor",
    "Transformer",
    "merge",
]
