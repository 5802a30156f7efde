"""Naive Bayes for presence and absence."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from tenfold.generative.counting import (
    SMOOTHING,
    ClassCounts,
    CountingNB,
    class_totals,
    linear_log_joint,
    log_columns,
)
from tenfold.rows import Chunk, Rows


class BernoulliNB(CountingNB):
    r"""Columns are yes or no; absence speaks as well as presence.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j \big[x_j \log p_{cj}
              + (1 - x_j) \log(1 - p_{cj})\big] + \text{const}, \qquad
              p_{cj} = \frac{N_{cj} + \alpha}{N_c + 2\alpha}

    :math:`N_{cj}` counts the rows of class c that have j, :math:`N_c` all rows of the class. The
    log-odds are linear in x. Parameters and attributes are those of
    `sklearn.naive_bayes.BernoulliNB`. [001, 2.7; 002, 5.3]

    Parameters
    ----------
    alpha : float or (p,) array
        Added to the count of yes and to that of no: 1 is Laplace's smoothing, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is used as it is; else it is lifted to 1e-10, with a warning.
    binarize : float or None
        Numbers above this are yes; None if the columns are 0 and 1 already.
    fit_prior : bool
        Whether the priors are the classes' shares of the weight; else all are equal.
    class_prior : (k,) array, optional
        Priors to use instead.

    Attributes
    ----------
    classes_ : (k,) labels
    class_count_, class_log_prior_ : (k,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (k, p) rows that have each column, and log of p
    statistic_ : the counts that all this was computed from

    Examples
    --------
    >>> from tenfold.generative.bernoulli import BernoulliNB
    >>> model = BernoulliNB().fit([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], ["a", "a", "b"])
    >>> model.predict_proba([[1.0, 0.0]]).round(3).tolist()
    [[0.871, 0.129]]
    """

    _positive_only = False
    _statistic_depends_on = ("binarize",)
    _parameter_constraints: dict[str, Any] = {
        **SMOOTHING,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior
        )
        self.binarize = binarize

    def _statistic(self, rows: Rows) -> ClassCounts:
        return rows.total(class_presence, len(self.classes_), self.binarize)

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        yes = _log_probabilities(s.sums, s.n, alpha)
        no = _log_probabilities(s.n[:, None] - s.sums, s.n, alpha)
        always = np.zeros((0, 0))  # columns that a class never lacks; mostly there are none
        if np.isneginf(no.min()):
            always = np.isneginf(no)
            no[always] = 0
        absent = no.sum(axis=1)
        odds = np.subtract(yes, no, out=no)
        return {
            "feature_log_prob_": yes,
            "_log_odds": odds,
            "_log_absent": absent,
            "_always": always,
        }

    def _scorer(self) -> tuple:
        b = self.class_log_prior_ + self._log_absent
        state = self._linear(self._log_odds, b, self._always if self._always.size else None)
        return presence_log_joint, self.binarize, *state

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = np.exp(self.feature_log_prob_.astype(np.float64))
        return (rng.random((len(y), p.shape[1])) < p[y]).astype(np.float64)


def _log_probabilities(counts: np.ndarray, n: np.ndarray, alpha: Any) -> np.ndarray:
    total = n[:, None] + 2 * alpha
    smooth = counts + alpha
    logs = log_columns(np.maximum(smooth, 0, out=smooth))
    logs -= np.log(np.where(total > 0, total, 1))
    return logs


def presence(X: Any, threshold: float | None) -> Any:
    """1 where a number is above the threshold, else 0; dense or CSR."""
    if threshold is None:
        return X
    if isinstance(X, np.ndarray):
        return np.greater(X, threshold).astype(X.dtype)
    data = (X.data > threshold).astype(X.data.dtype)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def class_presence(chunk: Chunk, k: int, threshold: float | None) -> ClassCounts:
    """Weight of each class, and of its rows that have each column."""
    return class_totals(chunk._replace(X=presence(chunk.X, threshold)), k)


def presence_log_joint(chunk: Chunk, threshold: float | None, *state: Any) -> np.ndarray:
    """Log of prior times density, (n, k)."""
    return linear_log_joint(chunk._replace(X=presence(chunk.X, threshold)), *state)
