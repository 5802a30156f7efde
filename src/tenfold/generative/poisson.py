"""Naive Bayes for numbers of events."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.generative.bayes_rule import log
from tenfold.generative.counting import ClassCounts, CountingNB, linear_log_joint


class PoissonNB(CountingNB):
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

    >>> from tenfold.generative.poisson import PoissonNB
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
        return linear_log_joint, *self._linear(log(rate), b)

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate_[y]).astype(np.float64)
