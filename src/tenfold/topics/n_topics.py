"""The number of topics, by the perplexity of words that were held out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone


class TopicCountChoice(NamedTuple):
    """A fit for each number of topics, and the best of them.

    Attributes
    ----------
    n_components : the best number of topics
    candidates : (m,) numbers of topics
    perplexities : (m,) completion perplexity of documents that were held out, lower is better
    models : the fitted model of each
    """

    n_components: int
    candidates: np.ndarray
    perplexities: np.ndarray
    models: list[Any]

    @property
    def model(self) -> Any:
        """The best model."""
        return self.models[int(self.perplexities.argmin())]


def choose_topics(
    model: Any,
    X: Any,
    numbers: Iterable[int] = (5, 10, 20, 50),
    *,
    test: Any = None,
    share: float = 0.2,
    random_state: int = 0,
) -> TopicCountChoice:
    """Fit a topic model with several numbers of topics, and choose one.

    The criterion is `completion_perplexity`: half of the words of each held-out document are
    predicted from the other half.

    Parameters
    ----------
    model : LatentDirichletAllocation or TopicMixture
        Cloned and fitted with each number of topics.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        Counts of words; an array or a sparse matrix unless `test` is given.
    numbers : list of int
        Candidate numbers of topics.
    test : like X, optional
        Documents to judge by; by default a share of X is held out.
    share : float
        Share of the documents that are held out.
    random_state : int
        Seed of the held-out documents and of their halves.

    Returns
    -------
    TopicCountChoice

    Examples
    --------
    >>> from tenfold import LatentDirichletAllocation
    >>> rng = np.random.default_rng(0)
    >>> topics = np.kron(np.eye(3), np.full(10, 0.1))
    >>> X = rng.poisson(40 * rng.dirichlet([0.2] * 3, 300) @ topics)
    >>> model = LatentDirichletAllocation(max_iter=20, random_state=0)
    >>> choose_topics(model, X, [1, 2, 3, 6]).n_components
    3
    """
    train = X
    if test is None:
        if not issparse(X):
            X = np.asarray(X)
            if X.ndim != 2:
                raise ValueError(
                    "choose_topics holds out rows of an array or a sparse matrix; give documents "
                    "elsewhere as X and test"
                )
        X = X.tocsr() if issparse(X) else X
        order = np.random.default_rng(random_state).permutation(X.shape[0])
        held_out = max(int(share * len(order)), 1)
        train, test = X[np.sort(order[held_out:])], X[np.sort(order[:held_out])]
    candidates = np.array([int(k) for k in numbers])
    if not len(candidates):
        raise ValueError("numbers is empty: give numbers of topics to choose from")
    models = [_clone_with_topics(model, int(k)).fit(train) for k in candidates]
    costs = [m.completion_perplexity(test, random_state=random_state) for m in models]
    best = int(candidates[int(np.argmin(costs))])
    return TopicCountChoice(best, candidates, np.array(costs), models)


def _clone_with_topics(model: Any, k: int) -> Any:
    """An unfitted model with k topics."""
    copy: Any = clone(model)
    return copy.set_params(n_components=k)
