"""Why a model says what it says: columns that matter, how they act, where it is wrong."""

from tenfold.study.explaining.explain import explain, explain_study
from tenfold.study.explaining.explanation import (
    Dependence,
    Explanation,
    Importance,
    LearningCurve,
    Mistake,
    Weights,
)
from tenfold.study.explaining.one_row import RowExplanation, explain_row
from tenfold.study.explaining.weights import weights_of

__all__ = [
    "Dependence",
    "Explanation",
    "Importance",
    "LearningCurve",
    "Mistake",
    "RowExplanation",
    "Weights",
    "explain",
    "explain_row",
    "explain_study",
    "weights_of",
]
