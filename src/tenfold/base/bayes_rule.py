r"""Bayes' rule: from a model of each class to the class of a row.

.. math:: p(y = c \mid x) = \frac{\pi_c \, p(x \mid c)}{\sum_{c'} \pi_{c'} \, p(x \mid c')}

A subclass defines `_statistic` and `_finalize`, as every one-pass model does; `_scorer`, whose
scores are :math:`\log \pi_c + \log p(x \mid c)`; and, if it can sample, `_class_probabilities`, the
priors, and `_draw`, which samples rows of given classes.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import ProbabilisticClassifier, encode_row_labels, require_target
from tenfold.base.numerical_errors import check_learned_numbers
from tenfold.base.one_pass import OnePassClassifier, require_statistic
from tenfold.base.protocols import SupportsSampling
from tenfold.engine.chunk import Chunk


def _can_sample(model: Any) -> bool:
    return isinstance(model, SupportsSampling)


class BayesRuleClassifier(OnePassClassifier, ProbabilisticClassifier):
    """A generative classifier: a distribution for each class, and Bayes' rule."""

    _learns_nan = False  # whether learned attributes may be NaN: where a parameter does not exist

    def _set_learned(self, learned: dict[str, Any]) -> None:
        if not self._learns_nan:
            check_learned_numbers(type(self).__name__, learned)
        super()._set_learned(learned)

    def _map_rows(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """As in `Estimator`; NaN is an error even where entries may be missing."""
        values = super()._map_rows(X, f, *state)
        if values.dtype.kind == "f" and np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values).reshape(len(values), -1).any(axis=1))[0])
            raise ValueError(
                f"{type(self).__name__} has no finite output for row {row}: its numbers are out of "
                "the range in which squares can be computed. Take other units"
            )
        return values

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log of prior times density of each row and each class, (n_samples, n_classes).

        A term of a row that is equal for all classes may be omitted.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, *self._scorer())

    @available_if(_can_sample)
    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Sample rows: first a class by its prior, then a row of that class.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        X : (n_samples, n_features) array
        y : (n_samples,) array of labels
        """
        return self._sample(n_samples, random_state)

    def _sample(self, n: int, seed: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels; the options go to `_draw`."""
        check_is_fitted(self)
        if n < 1:
            raise ValueError(f"n_samples={n}: at least one row is needed")
        rng = np.random.default_rng(check_random_state(seed).randint(2**31 - 1))
        p = self._class_probabilities().astype(np.float64)
        y = rng.choice(len(p), n, p=p / p.sum())
        return self._draw(y, rng, **options).astype(self.dtype_, copy=False), self.classes_[y]

    def add_classes(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn further classes, from their rows alone.

        The statistics of the other classes stay; only the priors are computed again. Rows of
        known classes may come along. If priors were given, set those of all classes first.

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
        extended: Any = copy(self)
        extended.classes_ = np.union1d(self.classes_, labels)
        positions = np.searchsorted(extended.classes_, self.classes_)
        extended.statistic_ = require_statistic(self).expand_to_classes(
            positions, len(extended.classes_)
        )
        vars(self).update(vars(extended.partial_fit(X, y, sample_weight=sample_weight)))
        return self

    def _statistic_suffices(
        self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        """Whether every class has rows: `fit` would not know of the others."""
        return bool((statistic.n > 0).all())


def class_priors(priors: Any, n: np.ndarray) -> np.ndarray:
    """The given priors, validated; by default the relative weights n of the classes."""
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


def check_no_infinity(chunk: Chunk) -> None:
    """Raise an error that names the place of an infinite entry; NaN is a missing one."""
    dense = isinstance(chunk.X, np.ndarray)
    values = chunk.X if dense else chunk.X.data
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if np.isfinite(total) or not (infinite := np.isinf(values)).any():
        return
    if dense:
        row, column = np.argwhere(infinite)[0]
    else:
        entry = int(np.argmax(infinite))
        row = np.searchsorted(chunk.X.indptr, entry, "right") - 1
        column = chunk.X.indices[entry]
    raise ValueError(
        f"Input X contains infinity: row {chunk.first + row}, column {column}. Correct or remove "
        "such rows, or write NaN where a value is missing."
    )


def safe_log(p: np.ndarray) -> np.ndarray:
    """Logarithm; minus infinity of zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)
