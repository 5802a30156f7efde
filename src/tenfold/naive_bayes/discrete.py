"""Naive Bayes for discrete features: multinomial, complement, Bernoulli and Poisson."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import safe_log
from tenfold.naive_bayes._discrete_base import DISCRETE_NB_CONSTRAINTS, LinearNB, log_counts
from tenfold.naive_bayes._missing_counts import (
    BernoulliMarginal,
    ClassCounts,
    NormalizedComplementMarginal,
    ObservedCounts,
    PoissonMarginal,
    SharedTotalMarginal,
)


class MultinomialNB(LinearNB):
    r"""Multinomial naive Bayes: a document is a bag of words, drawn from the words of its class.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j x_j \log \tau_{cj} + \text{const},
              \qquad \tau_{cj} = \frac{N_{cj} + \alpha}{\sum_{j'} N_{cj'} + \alpha p}

    :math:`N_{cj}` counts word j in the documents of class c. The log-odds of two classes are a
    linear score with the log-odds of the priors as intercept. Counts may be any non-negative
    numbers (tf-idf, pixels). Words outside of the vocabulary have no column: vectorizers drop them.
    With ``alpha=0`` a word that no document of a class has makes the class impossible; a row that
    is impossible in every class has equal probabilities. Parameters and attributes are those of
    `sklearn.naive_bayes.MultinomialNB`; `coef_` and `intercept_` are the linear form.

    NaN is a missing count, not a zero. Given their total, the counts of the observed columns O of a
    row are multinomial with the probabilities :math:`\tau_{cj} / \sum_{j' \in O} \tau_{cj'}`, so
    that a row is scored as by a model without its missing columns. The fit scales the counts of a
    column up to all rows of the class, :math:`N_{cj}\, n_c / n_{cj}`, if :math:`n_{cj}` of them
    have an entry there: still one pass, and the maximum-likelihood rates if the counts are
    Poisson, of which the multinomial is the distribution given the total.

    Parameters
    ----------
    alpha : float or (n_features,) array
        Added to each count: 1 is Laplace smoothing, less is Lidstone smoothing, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept; otherwise it becomes 1e-10, with a warning.
    fit_prior : bool
        Whether the priors are the relative weights of the classes; otherwise they are uniform.
    class_prior : (n_classes,) array, optional
        Given prior probabilities.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (n_classes, n_features) counts, and log of tau
    coef_, intercept_ : (n_classes, n_features) log of tau and (n_classes,) log priors; for two
        classes their differences, (1, n_features) and (1,): the log-odds of the second class
    statistic_ : `ClassCounts` of the training rows, `ObservedCounts` if entries are missing

    See Also
    --------
    ComplementNB : For classes of very different sizes.
    MultinomialMixture : The same distributions without labels.

    References
    ----------
    A. McCallum and K. Nigam (1998), A comparison of event models for naive Bayes text
    classification.

    Examples
    --------
    Words good, bad, film; the reviews "good good film" (1) and "bad film" (0):

    >>> from tenfold import MultinomialNB
    >>> model = MultinomialNB().fit([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 0])
    >>> model.predict_proba([[1.0, 0.0, 0.0]]).round(3).tolist()
    [[0.286, 0.714]]
    """

    def _features(self, s: ClassCounts | ObservedCounts, alpha: Any) -> dict[str, np.ndarray]:
        smoothed = s.scaled_sums + alpha
        total = smoothed.sum(axis=1)
        logs = log_counts(smoothed)
        logs -= np.log(np.where(total > 0, total, 1))[:, None]
        return {"feature_log_prob_": logs}

    def _slopes(self) -> np.ndarray:
        return self.feature_log_prob_

    def _offsets(self) -> np.ndarray:
        return self.class_log_prior_

    def _scorer(self) -> tuple:
        return self._linear_scorer(SharedTotalMarginal(1))

    def sample(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, n_samples: int = 1, random_state: Any = None, *, length: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample documents: first a class by its prior, then words of that class.

        Parameters
        ----------
        n_samples : int
            Number of documents.
        random_state : int, RandomState or None
            Seed.
        length : int, optional
            Words of each document; by default the mean of its class, rounded.

        Returns
        -------
        X : (n_samples, n_features) array of counts
        y : (n_samples,) array of labels
        """
        return self._sample(n_samples, random_state, length=length)

    def _draw(self, y: np.ndarray, rng: np.random.Generator, length: int | None) -> np.ndarray:
        n, sums = self.statistic_.n, self.statistic_.scaled_sums
        mean = np.rint(sums.sum(axis=1) / np.where(n > 0, n, 1)).astype(np.int64)
        lengths = mean[y] if length is None else np.full(len(y), length)
        p = np.exp(self.feature_log_prob_.astype(np.float64))
        X = np.empty((len(y), p.shape[1]))
        for c in np.unique(y):
            X[y == c] = rng.multinomial(lengths[y == c], p[c] / p[c].sum())
        return X


class ComplementNB(LinearNB):
    r"""Complement naive Bayes: the score of a class uses the counts of all other classes.

    .. math:: \hat y = \arg\max_c \sum_j x_j w_{cj}, \qquad
              w_{cj} = -\log \frac{\alpha + \sum_{c' \ne c} N_{c'j}}
                                 {\sum_{j'} (\alpha + \sum_{c' \ne c} N_{c'j'})}

    Often better than `MultinomialNB` where classes differ much in size. It is a decision rule, not
    a generative model: scores are not log-probabilities, and it has no `sample`. NaN is a missing
    count, as in `MultinomialNB`: a row is scored as by a model without its missing columns.
    Parameters and attributes are those of `sklearn.naive_bayes.ComplementNB`; `coef_` and
    `intercept_` are the linear form.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior : as in `MultinomialNB`
        The priors have an effect only if there is one class.
    norm : bool
        Whether the weights of a class are divided by their sum.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (n_classes, n_features) counts, and the weights w
    feature_all_ : (n_features,) counts in all classes together
    coef_, intercept_ : the linear form of the score, as in `MultinomialNB`
    statistic_ : `ClassCounts` of the training rows

    See Also
    --------
    MultinomialNB : The generative model of the same counts.

    References
    ----------
    J. D. M. Rennie, L. Shih, J. Teevan and D. R. Karger (2003), Tackling the poor assumptions of
    naive Bayes text classifiers.

    Examples
    --------
    >>> from tenfold import ComplementNB
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

    def _features(self, s: ClassCounts | ObservedCounts, alpha: Any) -> dict[str, np.ndarray]:
        sums = s.scaled_sums
        total = sums.sum(axis=0)
        complement = np.maximum(total - sums + alpha, np.finfo(np.float64).tiny)
        logs = log_counts(complement)
        logs -= np.log(complement.sum(axis=1, keepdims=True))
        if not self.norm:
            return {"feature_log_prob_": -logs, "feature_all_": total}
        weights = logs / logs.sum(axis=1, keepdims=True)
        return {"feature_log_prob_": weights, "feature_all_": total, "_complement_logs": logs}

    def _slopes(self) -> np.ndarray:
        return self.feature_log_prob_

    def _offsets(self) -> np.ndarray:
        b = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        return np.where(self.class_count_ > 0, b, -np.inf)  # a declared class without rows

    def _scorer(self) -> tuple:
        if self.norm:
            return self._linear_scorer(NormalizedComplementMarginal(self._complement_logs.T))
        return self._linear_scorer(SharedTotalMarginal(-1))


class BernoulliNB(LinearNB):
    r"""Bernoulli naive Bayes: features are binary, and absence counts as well as presence.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j \big[x_j \log p_{cj}
              + (1 - x_j) \log(1 - p_{cj})\big] + \text{const}, \qquad
              p_{cj} = \frac{N_{cj} + \alpha}{N_c + 2\alpha}

    :math:`N_{cj}` counts the rows of class c with feature j, :math:`N_c` all rows of the class. The
    log-odds are linear in x (after `binarize`), with `coef_` and `intercept_`. NaN is a missing
    entry: :math:`N_{cj}` and :math:`N_c` count the rows that have one, and a prediction omits the
    term of a missing one, which is the exact posterior given the others. Other parameters and
    attributes are those of `sklearn.naive_bayes.BernoulliNB`.

    Parameters
    ----------
    alpha : float or (n_features,) array
        Added to the counts of ones and of zeros: 1 is Laplace smoothing, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept; otherwise it becomes 1e-10, with a warning.
    binarize : float or None
        Entries above it become 1, all others 0; None: X holds 0 and 1 only.
    fit_prior : bool
        Whether the priors are the relative weights of the classes; otherwise they are uniform.
    class_prior : (n_classes,) array, optional
        Given prior probabilities.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    feature_count_, feature_log_prob_ : (n_classes, n_features) rows with each feature, and log of p
    coef_, intercept_ : the linear form of the score, as in `MultinomialNB`
    statistic_ : `ClassCounts` of the training rows

    See Also
    --------
    BernoulliMixture : The same distributions without labels.

    References
    ----------
    A. McCallum and K. Nigam (1998), A comparison of event models for naive Bayes text
    classification.

    Examples
    --------
    >>> from tenfold import BernoulliNB
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

    def _count_state(self) -> tuple[Any, ...]:
        return "", self.binarize

    def _features(self, s: ClassCounts | ObservedCounts, alpha: Any) -> dict[str, np.ndarray]:
        log_one = _smoothed_log_probabilities(s.sums, s.exposure, alpha)
        log_zero = _smoothed_log_probabilities(s.exposure - s.sums, s.exposure, alpha)
        required = np.zeros((0, 0))  # features that all rows of a class have; mostly there are none
        if np.isneginf(log_zero.min()):
            required = np.isneginf(log_zero)
            log_zero[required] = 0
        log_absent = log_zero.sum(axis=1)
        log_odds = np.subtract(log_one, log_zero, out=log_zero)
        return {
            "feature_log_prob_": log_one,
            "_log_odds": log_odds,
            "_log_absent": log_absent,
            "_required": required,
        }

    def _slopes(self) -> np.ndarray:
        return self._log_odds

    def _offsets(self) -> np.ndarray:
        return self.class_log_prior_ + self._log_absent

    def _scorer(self) -> tuple:
        required = self._required if self._required.size else None
        return self._linear_scorer(BernoulliMarginal(self.feature_log_prob_.T), required)

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = np.exp(self.feature_log_prob_.astype(np.float64))
        return (rng.random((len(y), p.shape[1])) < p[y]).astype(np.float64)


def _smoothed_log_probabilities(counts: np.ndarray, n: np.ndarray, alpha: Any) -> np.ndarray:
    total = n + 2 * alpha
    smoothed = counts + alpha
    logs = log_counts(np.maximum(smoothed, 0, out=smoothed))
    logs -= np.log(np.where(total > 0, total, 1))
    return logs


class PoissonNB(LinearNB):
    r"""Poisson naive Bayes: features count events, with a rate for each class and feature.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j \big[x_j \log \lambda_{cj}
              - \lambda_{cj}\big] + \text{const}, \qquad
              \lambda_{cj} = \frac{N_{cj} + \alpha}{N_c + \alpha}

    :math:`N_{cj}` is the sum of column j over the rows of class c, :math:`N_c` their number. The
    smoothed rate is the posterior mean under a Gamma prior of shape and rate alpha: alpha more rows
    with one event each. Unlike `MultinomialNB` it uses the total number of events of a row. The
    term :math:`\sum_j \log x_j!`, which no class changes, is omitted from
    `predict_joint_log_proba`. NaN is a missing entry, as in `BernoulliNB`. Same parameters as
    `MultinomialNB`; `coef_` and `intercept_` are the linear form.

    Parameters
    ----------
    alpha : float or (n_features,) array
        Smoothing; 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept; otherwise it becomes 1e-10, with a warning.
    fit_prior : bool
        Whether the priors are the relative weights of the classes; otherwise they are uniform.
    class_prior : (n_classes,) array, optional
        Given prior probabilities.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    feature_count_, rate_ : (n_classes, n_features) sums, and smoothed means
    coef_, intercept_ : the linear form of the score, as in `MultinomialNB`
    statistic_ : `ClassCounts` of the training rows

    See Also
    --------
    PoissonMixture : The same distributions without labels.
    PoissonRegressor : Counts as the target.

    References
    ----------
    S.-B. Kim, K.-S. Han, H.-C. Rim and S. H. Myaeng (2006), Some effective techniques for naive
    Bayes text classification.

    Examples
    --------
    Calls per hour by day (1) and by night (0):

    >>> from tenfold import PoissonNB
    >>> model = PoissonNB(alpha=0).fit([[9.0], [7.0], [1.0], [3.0]], [1, 1, 0, 0])
    >>> model.rate_.ravel().tolist(), model.predict([[4.0], [5.0]]).tolist()
    ([2.0, 8.0], [0, 1])
    """

    def _features(self, s: ClassCounts | ObservedCounts, alpha: Any) -> dict[str, np.ndarray]:
        n = s.exposure + alpha
        return {"rate_": (s.sums + alpha) / np.where(n > 0, n, 1)}

    def _slopes(self) -> np.ndarray:
        return safe_log(self.rate_.astype(np.float64))

    def _offsets(self) -> np.ndarray:
        return self.class_log_prior_ - self.rate_.astype(np.float64).sum(axis=1)

    def _scorer(self) -> tuple:
        return self._linear_scorer(PoissonMarginal(self.rate_.T))

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate_[y]).astype(np.float64)
