"""Mixtures of tables of categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.generative.categories import extremes, refuse_no_category
from tenfold.generative.mixtures.count_base import CountMixture
from tenfold.generative.mixtures.counts import split
from tenfold.rows import Chunk, Rows


class Highest(NamedTuple):
    """Largest number of each column."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: Highest) -> Highest:
        return Highest(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def highest(chunk: Chunk) -> Highest:
    """Largest number of each column of a chunk."""
    return Highest(*extremes(chunk.X, chunk.weights().astype(np.float64)))


class CategoricalMixture(CountMixture):
    r"""A mixture of tables: latent classes of rows of categories 0, 1, ...

    .. math:: p(x) = \sum_k \pi_k \prod_j p_{kj}(x_j)

    Of numbers that are not whole the whole part counts; a category that the fit has not seen says
    nothing. [004, 9.1]

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` holds the log prior too.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_ : (k,)
    probabilities_ : (k, sum of `n_categories_`), those of one column after those of another
    n_categories_ : (p,) categories of each column
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    Examples
    --------
    >>> from tenfold.generative.mixtures.category_mixture import CategoricalMixture
    >>> X = [[0, 2], [0, 2], [1, 0], [1, 0]]
    >>> model = CategoricalMixture(2, random_state=0).fit(X)
    >>> [table.shape for table in model.tables()], model.predict_proba([[0, 2]]).max().round(6)
    ([(2, 2), (2, 3)], np.float64(1.0))
    """

    _kind = "categorical"
    _sparse_ok = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _sizes(self, rows: Rows) -> np.ndarray:
        low, high = rows.total(highest)
        refuse_no_category(low, high, type(self).__name__)
        self.n_categories_ = high.astype(np.int64) + 1
        return self.n_categories_

    def _known_sizes(self) -> np.ndarray:
        return self.n_categories_

    def tables(self) -> list[np.ndarray]:
        """Probabilities of the categories of each column, (k, m)."""
        return split(self.probabilities_, self.n_categories_)

    def _n_parameters(self) -> int:
        return super()._n_parameters() - len(self.weights_) * self.n_features_in_

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        columns = []
        for table in self.tables():
            p = table[k].astype(np.float64)
            columns.append(rng.choice(len(p), n, p=p / p.sum()))
        return np.stack(columns, axis=1).astype(np.float64)
