"""Supervised term weights: what each word says about the class of a document."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, logsumexp, xlogy
from sklearn.utils.validation import check_is_fitted

from tenfold.naive_bayes.discrete import BernoulliNB


def word_weights(model: Any, by: str = "information") -> np.ndarray:
    r"""How much each word tells of the class of a document, (p,).

    .. math:: \text{"information"}: \; \sum_{b, c} p(b, c) \log \frac{p(b, c)}{p(b)\, p(c)},
              \qquad
              \text{"concentration"}: \;
              1 + \frac{1}{\log k} \sum_c p(c \mid j) \log p(c \mid j)

    Information is that of the class and whether the word is there (b), in nats: large for frequent
    words that tell much. Concentration is 0 for a word that is as frequent in all classes and 1 for
    a word of a single one, however rare it is; all classes count alike. Counting is left to naive
    Bayes, which takes rows from anywhere, learns from parts and smooths rare words. Give what comes
    out to `WordCounts` or `TfIdf` as `word_weights`: no algorithm can know by itself which words
    matter. [003, 14.5]

    Parameters
    ----------
    model : fitted BernoulliNB, or MultinomialNB (for "concentration" only)
        What is known of the classes.
    by : {"information", "concentration"}
        What is measured.

    Examples
    --------
    >>> from tenfold import BernoulliNB, word_weights
    >>> said = [[1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1]]  # the first word tells, the others not
    >>> model = BernoulliNB(alpha=0).fit(said, ["spam", "spam", "mail", "mail"])
    >>> word_weights(model).round(3).tolist(), word_weights(model, "concentration").tolist()
    ([0.693, 0.0, 0.0], [1.0, 0.0, 0.0])
    """
    check_is_fitted(model)
    if by == "concentration":
        return _concentration(model.feature_log_prob_)
    if by != "information":
        raise ValueError(f"by={by!r}: say 'information' or 'concentration'")
    if not isinstance(model, BernoulliNB):
        raise TypeError(
            f"information is that of presence: fit a BernoulliNB, not a {type(model).__name__}"
        )
    there = np.exp(model.feature_log_prob_)
    return _information(there, np.exp(model.class_log_prior_))


def _information(there: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Entropy of presence, less that within the classes; rounding does not make it negative."""
    p = prior @ there
    whole = entr(p) + entr(1 - p)
    within = prior @ (entr(there) + entr(1 - there))
    return np.maximum(whole - within, 0.0)


def _concentration(log_share: np.ndarray) -> np.ndarray:
    """One minus the entropy of the classes of a word, as a share of the largest."""
    seen = np.isfinite(log_share.max(axis=0))
    logs = np.where(seen, log_share, 0.0)
    p = np.exp(logs - logsumexp(logs, axis=0))
    return np.maximum(1 + xlogy(p, p).sum(axis=0) / np.log(len(p)), 0.0)
