"""Naive Bayes for discrete features: multinomial and complement counts, Bernoulli presence, Poisson events."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._discrete_base import (
    DISCRETE_NB_CONSTRAINTS,
    ClassCounts,
    DiscreteNB,
    class_totals,
    linear_log_joint,
    log_counts,
)


class MultinomialNB(DiscreteNB):
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

    >>> from tenfold.naive_bayes.discrete import MultinomialNB
    >>> model = MultinomialNB().fit([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 0])
    >>> model.predict_proba([[1.0, 0.0, 0.0]]).round(3).tolist()
    [[0.286, 0.714]]
    """

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        smooth = s.sums + alpha
        total = smooth.sum(axis=1)
        logs = log_counts(smooth)
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


class ComplementNB(DiscreteNB):
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
    >>> from tenfold.naive_bayes.discrete import ComplementNB
    >>> model = ComplementNB().fit([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 0])
    >>> model.predict([[1.0, 0.0, 0.0]]).tolist()
    [1]
    """

    _parameter_constraints: dict[str, Any] = {
        **DISCRETE_NB_CONSTRAINTS,
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
        logs = log_counts(others)
        logs -= np.log(others.sum(axis=1, keepdims=True))
        weights = logs / logs.sum(axis=1, keepdims=True) if self.norm else -logs
        return {"feature_log_prob_": weights, "feature_all_": everywhere}

    def _scorer(self) -> tuple:
        b = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        b = np.where(self.class_count_ > 0, b, -np.inf)  # announced, but without rows
        return linear_log_joint, *self._linear(self.feature_log_prob_, b)


class BernoulliNB(DiscreteNB):
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
    >>> from tenfold.naive_bayes.discrete import BernoulliNB
    >>> model = BernoulliNB().fit([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], ["a", "a", "b"])
    >>> model.predict_proba([[1.0, 0.0]]).round(3).tolist()
    [[0.871, 0.129]]
    """

    _positive_only = False
    _statistic_depends_on = ("binarize",)
    _parameter_constraints: dict[str, Any] = {
        **DISCRETE_NB_CONSTRAINTS,
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
        return rows.total(_count_presence, len(self.classes_), self.binarize)

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        yes = _smoothed_log_probabilities(s.sums, s.n, alpha)
        no = _smoothed_log_probabilities(s.n[:, None] - s.sums, s.n, alpha)
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
        return _bernoulli_log_joint, self.binarize, *state

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = np.exp(self.feature_log_prob_.astype(np.float64))
        return (rng.random((len(y), p.shape[1])) < p[y]).astype(np.float64)


def _smoothed_log_probabilities(counts: np.ndarray, n: np.ndarray, alpha: Any) -> np.ndarray:
    total = n[:, None] + 2 * alpha
    smooth = counts + alpha
    logs = log_counts(np.maximum(smooth, 0, out=smooth))
    logs -= np.log(np.where(total > 0, total, 1))
    return logs


def _binarize_rows(X: Any, threshold: float | None) -> Any:
    """1 where a number is above the threshold, else 0; dense or CSR."""
    if threshold is None:
        return X
    if isinstance(X, np.ndarray):
        return np.greater(X, threshold).astype(X.dtype)
    data = (X.data > threshold).astype(X.data.dtype)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def _count_presence(chunk: Chunk, k: int, threshold: float | None) -> ClassCounts:
    """Weight of each class, and of its rows that have each column."""
    return class_totals(chunk._replace(X=_binarize_rows(chunk.X, threshold)), k)


def _bernoulli_log_joint(chunk: Chunk, threshold: float | None, *state: Any) -> np.ndarray:
    """Log of prior times density, (n, k)."""
    return linear_log_joint(chunk._replace(X=_binarize_rows(chunk.X, threshold)), *state)


class PoissonNB(DiscreteNB):
    r"""Columns are numbers of events, each Poisson with a rate of its own in each class.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j \big[x_j \log \lambda_{cj}
              - \lambda_{cj}\big] + \text{const}, \qquad
              \lambda_{cj} = \frac{N_{cj} + \alpha}{N_c + \alpha}

    :math:`N_{cj}` is the sum of column j over the rows of class c, :math:`N_c` their number. The
    smoothed rate is the posterior mean under a Gamma prior of shape and rate alpha, as if alpha
    more rows with one event each had been seen. Unlike `MultinomialNB` it heeds how many events a
    row has in all. What the classes share, :math:`\sum_j \log x_j!`, is left out of
    `predict_joint_log_proba`. Same parameters as `MultinomialNB`. [002, 5.3: any distribution]

    Parameters
    ----------
    alpha : float or (p,) array
        Smoothing; 0 is none.
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
    feature_count_, rate_ : (k, p) sums, and smoothed means
    statistic_ : the sums that all this was computed from

    Examples
    --------
    Calls per hour by day (1) and by night (0):

    >>> from tenfold.naive_bayes.discrete import PoissonNB
    >>> model = PoissonNB(alpha=0).fit([[9.0], [7.0], [1.0], [3.0]], [1, 1, 0, 0])
    >>> model.rate_.ravel().tolist(), model.predict([[4.0], [5.0]]).tolist()
    ([2.0, 8.0], [0, 1])
    """

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        n = s.n[:, None] + alpha
        return {"rate_": (s.sums + alpha) / np.where(n > 0, n, 1)}

    def _scorer(self) -> tuple:
        rate = self.rate_.astype(np.float64)
        b = self.class_log_prior_ - rate.sum(axis=1)
        return linear_log_joint, *self._linear(safe_log(rate), b)

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate_[y]).astype(np.float64)
