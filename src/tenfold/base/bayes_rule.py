r"""Bayes' rule: from a model of each class to the class of a row.

.. math:: p(y = c \mid x) = \frac{\pi_c \, p(x \mid c)}{\sum_{c'} \pi_{c'} \, p(x \mid c')}

A model of this family writes `_statistic` and `_learned`, as every one-pass model does; `_scorer`,
whose scores are :math:`\log \pi_c + \log p(x \mid c)`; and, if it can make rows up, `_shares`, the
probabilities of the classes, and `_draw`, rows of given classes. [002, 5.1; 004, 3.6]
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import ProbabilisticClassifier, encode_row_labels, require_target
from tenfold.base.one_pass import OnePassClassifier, require_statistic


def _can_sample(model: Any) -> bool:
    return hasattr(model, "_draw")


class BayesRuleClassifier(OnePassClassifier, ProbabilisticClassifier):
    """A classifier that models each class; what all of them share."""

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log of prior times density of each row and each class, (n, k).

        A term that all classes of a row share may be left out: no probability depends on it.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, *self._scorer())

    @available_if(_can_sample)
    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Make up rows: first a class by its prior, then a row of that class.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        X : (n_samples, p) array
        y : (n_samples,) array of labels
        """
        return self._drawn(n_samples, random_state)

    def _drawn(self, n: int, seed: Any, **how: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels; `how` goes to `_draw`."""
        check_is_fitted(self)
        if n < 1:
            raise ValueError(f"n_samples={n}: at least one row has to be asked for")
        rng = np.random.default_rng(check_random_state(seed).randint(2**31 - 1))
        shares = self._shares().astype(np.float64)
        y = rng.choice(len(shares), n, p=shares / shares.sum())
        return self._draw(y, rng, **how).astype(self.dtype_, copy=False), self.classes_[y]

    def add_classes(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn classes that were not announced, from their rows alone.

        What is known of the other classes stays; only the priors are shared out again. Rows of
        known classes may come along. If priors were given, set those of all classes first.
        [002, 5.4]

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            Rows of the further classes.
        y : array or column name
            Their labels.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        rows = self._rows(X, y, sample_weight, reset=False)
        require_target(self, rows)
        labels, _ = encode_row_labels(rows)
        grown: Any = copy(self)
        grown.classes_ = np.union1d(self.classes_, labels)
        places = np.searchsorted(grown.classes_, self.classes_)
        grown.statistic_ = require_statistic(self).spread(places, len(grown.classes_))
        vars(self).update(vars(grown.partial_fit(X, y, sample_weight=sample_weight)))
        return self

    def _statistic_suffices(
        self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        """Whether no class is without rows: else `fit` would not know of it."""
        return bool((statistic.n > 0).all())


def class_priors(priors: Any, n: np.ndarray) -> np.ndarray:
    """The priors that were given, checked; else the classes' shares of the weight n."""
    if priors is None:
        return n / n.sum()
    given = np.array(priors, dtype=np.float64)
    if len(given) != len(n):
        raise ValueError(f"Number of priors must match number of classes: {len(n)}.")
    if not np.isclose(given.sum(), 1.0):
        raise ValueError(f"The sum of the priors should be 1, not {given.sum()}.")
    if (given < 0).any():
        raise ValueError("Priors must be non-negative.")
    return given


def safe_log(p: np.ndarray) -> np.ndarray:
    """Logarithm; minus infinity of zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)
