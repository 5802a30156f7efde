"""Names of scores in plain words. Inside tenfold larger is better; pages show errors as errors."""

from __future__ import annotations

from typing import NamedTuple

from tenfold.report.numbers import fixed, percent, shown


class Score(NamedTuple):
    """How a score is called and what it means."""

    title: str
    means: str
    form: str = "plain"  # or "share": a part of the rows
    perfect: float | None = 1.0


SCORES = {
    "accuracy": Score("accuracy", "share of rows that are right", "share"),
    "balanced_accuracy": Score(
        "balanced accuracy", "mean over classes of the share right", "share"
    ),
    "roc_auc": Score("ROC AUC", "how often a positive row is ranked above a negative one"),
    "roc_auc_ovr": Score("ROC AUC", "the same, each class against the rest, averaged"),
    "average_precision": Score("average precision", "mean precision over all thresholds"),
    "f1": Score("F1", "harmonic mean of precision and recall"),
    "f1_macro": Score("F1, all classes alike", "harmonic mean of precision and recall, averaged"),
    "precision": Score("precision", "share of alarms that are true", "share"),
    "recall": Score("recall", "share of positives that are found", "share"),
    "log_loss": Score("log loss", "cost of probabilities; sure and wrong costs most", perfect=0.0),
    "brier_score": Score("Brier score", "mean squared error of probabilities", perfect=0.0),
    "r2": Score("R²", "share of the differences that is explained"),
    "explained_variance": Score("explained variance", "the same, but for an offset"),
    "root_mean_squared_error": Score("RMSE", "typical error; large ones weigh more", perfect=0.0),
    "mean_squared_error": Score("mean squared error", "mean of squared errors", perfect=0.0),
    "mean_absolute_error": Score("mean absolute error", "mean size of an error", perfect=0.0),
    "median_absolute_error": Score("median error", "half of the errors are smaller", perfect=0.0),
    "silhouette": Score(
        "silhouette", "how much nearer rows are to their own group than to the next"
    ),
}


def score_of(name: str) -> Score:
    """What is known of a score; an unknown one is called by its name."""
    bare = name.removeprefix("neg_")
    known = SCORES.get(bare)
    if known:
        return known
    return Score(bare.replace("_", " "), "", perfect=0.0 if bare != name else None)


def title_of(name: str) -> str:
    """The name in plain words."""
    return score_of(name).title


def natural(name: str, value: float) -> float:
    """The value as people know it: errors are positive."""
    return -value if name.startswith("neg_") else value


def written(name: str, value: float) -> str:
    """The value in the form that suits its score."""
    value = natural(name, value)
    if score_of(name).form == "share":
        return percent(value)
    return fixed(value) if abs(value) < 10 else shown(value, 4)


def lined_up(name: str, value: float) -> str:
    """The value with three places, for columns of a table."""
    value = natural(name, value)
    return fixed(value) if abs(value) < 100 else shown(value, 4)
