"""Supervised term weights: what each word says about the class of a document."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, logsumexp, xlogy
from sklearn.utils.validation import check_is_fitted

from tenfold.naive_bayes.discrete import BernoulliNB


def word_weights(model: Any, by: str = "information") -> np.ndarray:
    r"""Weight of each word by its information about the class, (n_features,).

    .. math:: \text{"information"}: \; \sum_{b, c} p(b, c) \log \frac{p(b, c)}{p(b)\, p(c)},
              \qquad
              \text{"concentration"}: \;
              1 + \frac{1}{\log k} \sum_c p(c \mid j) \log p(c \mid j)

    "information" is the mutual information of the class and the presence b of the word, in nats: it
    is large for frequent, discriminative words. "concentration" is 0 for a word equally frequent in
    all classes and 1 for a word of a single class, however rare; classes have equal weight. The
    counts are those of a naive Bayes model, which learns from any source and smooths rare words.
    Pass the result to `WordCounts` or `TfIdf` as `word_weights`.

    Parameters
    ----------
    model : fitted BernoulliNB, or MultinomialNB (for "concentration" only)
        Model with the word probabilities of each class.
    by : {"information", "concentration"}
        Which weight to compute.

    See Also
    --------
    WordCounts, TfIdf, BernoulliNB

    Examples
    --------
    >>> from tenfold import BernoulliNB, word_weights
    >>> presence = [[1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1]]
    >>> model = BernoulliNB(alpha=0).fit(presence, ["spam", "spam", "mail", "mail"])
    >>> word_weights(model).round(3).tolist(), word_weights(model, "concentration").tolist()
    ([0.693, 0.0, 0.0], [1.0, 0.0, 0.0])
    """
    check_is_fitted(model)
    if by == "concentration":
        return _concentration(model.feature_log_prob_)
    if by != "information":
        raise ValueError(f"by={by!r}: give 'information' or 'concentration'")
    if not isinstance(model, BernoulliNB):
        raise TypeError(
            "information needs presence probabilities: fit a BernoulliNB, not a "
            f"{type(model).__name__}"
        )
    presence = np.exp(model.feature_log_prob_)
    return _information(presence, np.exp(model.class_log_prior_))


def _information(presence: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Mutual information: entropy of presence less its entropy given the class, at least 0."""
    p = prior @ presence
    total_entropy = entr(p) + entr(1 - p)
    conditional_entropy = prior @ (entr(presence) + entr(1 - presence))
    return np.maximum(total_entropy - conditional_entropy, 0.0)


def _concentration(log_share: np.ndarray) -> np.ndarray:
    """One minus the normalized entropy of the class given the word."""
    occurs = np.isfinite(log_share.max(axis=0))
    logs = np.where(occurs, log_share, 0.0)
    p = np.exp(logs - logsumexp(logs, axis=0))
    return np.maximum(1 + xlogy(p, p).sum(axis=0) / np.log(len(p)), 0.0)
