"""The 2 x 2 contingency table of a binary classifier and every rate derived from it.

Zero denominators: 0 / 0 is NaN (undefined) and a / 0 is infinite, so every identity between the
rates holds wherever its parts are defined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.metrics.base import safe_divide


class ContingencyTable(NamedTuple):
    """True and false positives and negatives: counts or weights, or arrays of them.

    A false positive is a negative row that was predicted to be positive (a type I error), a false
    negative a positive row that was predicted to be negative (type II).

    Attributes
    ----------
    tp, fp, fn, tn : true positives, false positives, false negatives, true negatives

    Examples
    --------
    >>> test = ContingencyTable(tp=20, fp=180, fn=10, tn=1820)
    >>> round(test.sensitivity, 3), round(test.specificity, 3), test.ppv
    (0.667, 0.91, 0.1)
    >>> round(test.lr_positive, 2), round(test.lr_negative, 3), round(test.odds_ratio, 2)
    (7.41, 0.366, 20.22)
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    @property
    def total(self) -> Any:
        """All rows."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def prevalence(self) -> Any:
        """Share of the rows that are positive."""
        return _divide(self.tp + self.fn, self.total)

    @property
    def accuracy(self) -> Any:
        """Share of the rows that are right."""
        return _divide(self.tp + self.tn, self.total)

    @property
    def error(self) -> Any:
        """Share of the rows that are wrong: the mean 0-1 loss."""
        return _divide(self.fp + self.fn, self.total)

    @property
    def sensitivity(self) -> Any:
        """True positive rate, recall: share of the positive rows that are found."""
        return _divide(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> Any:
        """True negative rate: share of the negative rows predicted to be negative."""
        return _divide(self.tn, self.fp + self.tn)

    @property
    def fpr(self) -> Any:
        """False positive rate, fall-out: share of the negative rows that are predicted positive."""
        return _divide(self.fp, self.fp + self.tn)

    @property
    def fnr(self) -> Any:
        """False negative rate, miss rate: share of the positive rows that are missed."""
        return _divide(self.fn, self.tp + self.fn)

    @property
    def ppv(self) -> Any:
        """Positive predictive value, precision: share of correct positive predictions."""
        return _divide(self.tp, self.tp + self.fp)

    @property
    def npv(self) -> Any:
        """Negative predictive value: share of correct ones among the negative predictions."""
        return _divide(self.tn, self.fn + self.tn)

    @property
    def fdr(self) -> Any:
        """False discovery rate: share of false ones among the positive predictions."""
        return _divide(self.fp, self.tp + self.fp)

    @property
    def false_omission(self) -> Any:
        """False omission rate (FOR): share of false ones among the negative predictions."""
        return _divide(self.fn, self.fn + self.tn)

    @property
    def lr_positive(self) -> Any:
        """Likelihood ratio TPR / FPR: factor of the odds after a positive prediction."""
        return _divide(self.sensitivity, self.fpr)

    @property
    def lr_negative(self) -> Any:
        """Likelihood ratio FNR / TNR: factor of the odds after a negative prediction."""
        return _divide(self.fnr, self.specificity)

    @property
    def odds_ratio(self) -> Any:
        """Diagnostic odds ratio LR+ / LR- = (TP TN) / (FP FN)."""
        return _divide(self.tp * self.tn, self.fp * self.fn)

    @property
    def f1(self) -> Any:
        """Harmonic mean of precision and recall."""
        return self.f_score(1.0)

    @property
    def informedness(self) -> Any:
        """Youden's J: TPR + TNR - 1."""
        return self.sensitivity + self.specificity - 1

    @property
    def markedness(self) -> Any:
        """PPV + NPV - 1."""
        return self.ppv + self.npv - 1

    @property
    def mcc(self) -> Any:
        """Matthews correlation coefficient."""
        predicted_positive, predicted_negative = self.tp + self.fp, self.fn + self.tn
        positive, negative = self.tp + self.fn, self.fp + self.tn
        roots = (
            np.sqrt(predicted_positive)
            * np.sqrt(predicted_negative)
            * np.sqrt(positive)
            * np.sqrt(negative)
        )
        return _divide(self.tp * self.tn - self.fp * self.fn, roots)

    @property
    def threat_score(self) -> Any:
        """Critical success index, Jaccard index: TP / (TP + FP + FN)."""
        return _divide(self.tp, self.tp + self.fp + self.fn)

    @property
    def balanced_accuracy(self) -> Any:
        """Mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    @property
    def recall(self) -> Any:
        """Sensitivity."""
        return self.sensitivity

    @property
    def precision(self) -> Any:
        """Positive predictive value."""
        return self.ppv

    def f_score(self, beta: float = 1.0) -> Any:
        """F measure: recall counts beta times as much as precision.

        Parameters
        ----------
        beta : float
            Weight of recall.
        """
        weighted_tp = (1 + beta**2) * self.tp
        return _divide(weighted_tp, weighted_tp + beta**2 * self.fn + self.fp)


# Measures of printed tables, with their usual names and abbreviations
MEASURE_LABELS: dict[str, str] = {
    "prevalence": "prevalence",
    "accuracy": "accuracy",
    "error": "error rate",
    "sensitivity": "sensitivity, recall, TPR",
    "specificity": "specificity, TNR",
    "fpr": "false positive rate, FPR",
    "fnr": "false negative rate, FNR",
    "ppv": "precision, PPV",
    "npv": "negative predictive value, NPV",
    "fdr": "false discovery rate, FDR",
    "false_omission": "false omission rate, FOR",
    "lr_positive": "likelihood ratio, LR+",
    "lr_negative": "likelihood ratio, LR-",
    "odds_ratio": "diagnostic odds ratio, DOR",
    "f1": "F1",
    "informedness": "informedness, Youden's J",
    "markedness": "markedness",
    "mcc": "Matthews correlation, MCC",
    "threat_score": "threat score",
    "balanced_accuracy": "balanced accuracy",
}


def _divide(numerator: Any, denominator: Any) -> Any:
    """A ratio; a float where it is scalar."""
    value = safe_divide(numerator, denominator)
    return value if np.ndim(value) else float(value)
