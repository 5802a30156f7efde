"""Naive Bayes for categories."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._column_distributions import (
    CategoryCounts,
    ColumnDistributions,
    category_sizes,
    column_log_joint,
    count_categories,
)
from tenfold.naive_bayes._discrete_base import (
    DISCRETE_NB_CONSTRAINTS,
    DiscreteNB,
    check_non_negative,
)


class CategoricalNB(DiscreteNB):
    r"""Categorical naive Bayes: features are categories 0, 1, ..., independent within a class.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_j \log q_{cj}(x_j) + \text{const}, \qquad
              q_{cj}(m) = \frac{N_{cjm} + \alpha}{N_c + \alpha M_j}

    :math:`N_{cjm}` counts the rows of class c with category m in column j, which has :math:`M_j`
    categories. A category that was not in the training rows is omitted, and so is a missing one
    (NaN), in the counts and in a prediction. Numbers are truncated to integers. Parameters and
    attributes are those of
    `sklearn.naive_bayes.CategoricalNB`.

    Parameters
    ----------
    alpha : float
        Added to each count: 1 is Laplace smoothing, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept; otherwise it becomes 1e-10, with a warning.
    fit_prior : bool
        Whether the priors are the relative weights of the classes; otherwise they are uniform.
    class_prior : (n_classes,) array, optional
        Given prior probabilities.
    min_categories : int or (n_features,) array, optional
        Minimum number of categories of a feature.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    category_count_, feature_log_prob_ : for each feature (n_classes, n_categories) counts, and
        log of q
    n_categories_ : (n_features,) categories of each feature
    statistic_ : `CategoryCounts` of the training rows

    See Also
    --------
    MixedNB : A distribution of its own for each feature.
    CategoricalMixture : The same distributions without labels.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schütze (2008), Introduction to Information Retrieval,
    chapter 13.

    Examples
    --------
    Songs by genre (0 pop, 1 country, 2 classical) and length (0 short, 1 long), liked or not:

    >>> from tenfold import CategoricalNB
    >>> songs = [[0, 0], [0, 1], [1, 0], [2, 1], [2, 1]]
    >>> model = CategoricalNB().fit(songs, ["yes", "yes", "no", "no", "no"])
    >>> model.predict_proba([[0, 0]]).round(3).tolist()
    [[0.25, 0.75]]
    """

    _sparse_ok = False
    _parameter_constraints: dict[str, Any] = {
        **DISCRETE_NB_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior
        )
        self.min_categories = min_categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _statistic(self, rows: Rows) -> CategoryCounts:
        return rows.total(count_categories, len(self.classes_), type(self).__name__)

    def _finalize(self, s: CategoryCounts, dtype: np.dtype) -> dict[str, Any]:
        s = s.pad_to(category_sizes(s.sizes, self.min_categories))
        logs = s.log_probabilities(self._check_alpha())
        return {
            "class_count_": s.n,
            "class_log_prior_": self._log_prior(s.n),
            "category_count_": [table.astype(dtype) for table in s.tables()],
            "feature_log_prob_": [table.astype(dtype) for table in logs],
            "n_categories_": s.sizes,
        }

    def _scorer(self) -> tuple:
        columns = ColumnDistributions.categorical(self.feature_log_prob_)
        return _categorical_log_joint, type(self).__name__, self.class_log_prior_, columns

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        draws = [draw_categories(table, y, rng) for table in self.feature_log_prob_]
        return np.stack(draws, axis=1)


def draw_categories(logs: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a category for each class number y, by log probabilities (n_classes, n_categories)."""
    cumulative = np.cumsum(np.exp(logs.astype(np.float64)), axis=1)
    u = rng.random(len(y)) * cumulative[y, -1]
    return (u[:, None] >= cumulative[y]).sum(axis=1).astype(np.float64)


def _categorical_log_joint(
    chunk: Chunk, model_name: str, offset: np.ndarray, columns: ColumnDistributions
) -> np.ndarray:
    """Log of prior times probability, (n, k); negative entries are an error."""
    check_non_negative(chunk, model_name)
    return column_log_joint(chunk, offset, columns)
