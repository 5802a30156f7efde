"""Naive Bayes for counts of words: the multinomial model, and its complement."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.generative.counting import (
    SMOOTHING,
    ClassCounts,
    CountingNB,
    linear_log_joint,
    log_columns,
)


class MultinomialNB(CountingNB):
    r"""A document is a bag of words, each drawn from the words of its class.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j x_j \log \tau_{cj} + \text{const},
              \qquad \tau_{cj} = \frac{N_{cj} + \alpha}{\sum_{j'} N_{cj'} + \alpha p}

    :math:`N_{cj}` counts word j in the documents of class c. The log-odds of two classes are a
    linear score with the log-odds of the priors as offset. Counts may be any numbers that are not
    negative (tf-idf, pixels). A word outside of the vocabulary is no column and says nothing:
    vectorisers drop it. With ``alpha=0`` a word that a class never showed makes the class
    impossible; a row that is impossible in every class has equal probabilities. Parameters and
    attributes are those of `sklearn.naive_bayes.MultinomialNB`. [001, 2.7; 002, 5.2; 003, unit 4]

    Parameters
    ----------
    alpha : float or (p,) array
        Added to each count: 1 is Laplace's smoothing, less is Lidstone's, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is used as it is; else it is lifted to 1e-10, with a warning.
    fit_prior : bool
        Whether the priors are the classes' shares of the weight; else all are equal.
    class_prior : (k,) array, optional
        Priors to use instead.

    Attributes
    ----------
    classes_ : (k,) labels
    class_count_, class_log_prior_ : (k,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (k, p) counts, and log of the smoothed shares tau
    statistic_ : the counts that all this was computed from

    Examples
    --------
    Words good, bad, film; the review "good good film" (1) against "bad film" (0):

    >>> from tenfold.generative.multinomial import MultinomialNB
    >>> model = MultinomialNB().fit([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 0])
    >>> model.predict_proba([[1.0, 0.0, 0.0]]).round(3).tolist()
    [[0.286, 0.714]]
    """

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        smooth = s.sums + alpha
        total = smooth.sum(axis=1)
        logs = log_columns(smooth)
        logs -= np.log(np.where(total > 0, total, 1))[:, None]
        return {"feature_log_prob_": logs}

    def _scorer(self) -> tuple:
        return linear_log_joint, *self._linear(self.feature_log_prob_, self.class_log_prior_)

    def sample(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, n_samples: int = 1, random_state: Any = None, *, length: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Make up documents: first a class by its prior, then words of that class.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, RandomState or None
            Seed.
        length : int, optional
            Words of each document; by default the mean of its class, rounded.

        Returns
        -------
        X : (n_samples, p) array of counts
        y : (n_samples,) array of labels
        """
        return self._drawn(n_samples, random_state, length=length)

    def _draw(self, y: np.ndarray, rng: np.random.Generator, length: int | None) -> np.ndarray:
        n, sums = self.statistic_
        mean = np.rint(sums.sum(axis=1) / np.where(n > 0, n, 1)).astype(np.int64)
        words = mean[y] if length is None else np.full(len(y), length)
        shares = np.exp(self.feature_log_prob_.astype(np.float64))
        X = np.empty((len(y), shares.shape[1]))
        for c in np.unique(y):
            X[y == c] = rng.multinomial(words[y == c], shares[c] / shares[c].sum())
        return X


class ComplementNB(CountingNB):
    r"""A class is known by the words of all other classes, of which there are more.

    .. math:: \hat y = \arg\max_c \sum_j x_j w_{cj}, \qquad
              w_{cj} = -\log \frac{\alpha + \sum_{c' \ne c} N_{c'j}}
                                 {\sum_{j'} (\alpha + \sum_{c' \ne c} N_{c'j'})}

    Better than `MultinomialNB` where classes differ much in size. It is a rule, not a model of how
    documents come about: scores are no log-probabilities, and there is nothing to sample from.
    Parameters and attributes are those of `sklearn.naive_bayes.ComplementNB`. [beside 001, 2.7]

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior : as in `MultinomialNB`
        The priors matter only if there is one class.
    norm : bool
        Whether the weights of a class are divided by their sum.

    Attributes
    ----------
    classes_ : (k,) labels
    class_count_, class_log_prior_ : (k,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (k, p) counts, and the weights w
    feature_all_ : (p,) counts in all classes together
    statistic_ : the counts that all this was computed from

    Examples
    --------
    >>> from tenfold.generative.multinomial import ComplementNB
    >>> model = ComplementNB().fit([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 0])
    >>> model.predict([[1.0, 0.0, 0.0]]).tolist()
    [1]
    """

    _parameter_constraints: dict[str, Any] = {
        **SMOOTHING,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior
        )
        self.norm = norm

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        everywhere = s.sums.sum(axis=0)
        others = np.maximum(everywhere - s.sums + alpha, np.finfo(np.float64).tiny)
        logs = log_columns(others)
        logs -= np.log(others.sum(axis=1, keepdims=True))
        weights = logs / logs.sum(axis=1, keepdims=True) if self.norm else -logs
        return {"feature_log_prob_": weights, "feature_all_": everywhere}

    def _scorer(self) -> tuple:
        b = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        b = np.where(self.class_count_ > 0, b, -np.inf)  # announced, but without rows
        return linear_log_joint, *self._linear(self.feature_log_prob_, b)
