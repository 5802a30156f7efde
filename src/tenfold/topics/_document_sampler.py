"""New documents of fitted models of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.distributions._topic_documents import draw_topic_documents


class SamplesDocuments(Estimator):
    """Part of models of topics: `sample`, from `components_` and the prior of shares."""

    components_: np.ndarray

    def _share_prior(self) -> np.ndarray:
        """(K,) parameters of the Dirichlet distribution of the shares of a document."""
        raise NotImplementedError(f"{type(self).__name__} has to define _share_prior()")

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, length: Any = 100
    ) -> tuple[Any, np.ndarray]:
        """Draw documents: shares of topics from their prior, a topic for each word, then the word.

        Parameters
        ----------
        n_samples : int
            Number of documents.
        random_state : int, optional
            Seed; that of the model by default.
        length : int or (n_samples,) array of int
            Words of each document.

        Returns
        -------
        X : (n_samples, n_features) CSR array of counts
        shares : (n_samples, n_components) array
            Share of each topic in each document.
        """
        check_is_fitted(self, "components_")
        if n_samples < 1:
            raise ValueError(f"n_samples={n_samples}: at least one document is needed")
        lengths = np.asarray(length)
        if lengths.shape not in ((), (n_samples,)) or lengths.dtype.kind not in "iu":
            raise ValueError(f"length={length!r}: give one whole number, or one for each document")
        if (lengths < 0).any():
            raise ValueError(f"length={int(lengths.min())}: the number of words is not negative")
        rng = self._rng() if random_state is None else np.random.default_rng(random_state)
        shares = rng.dirichlet(self._share_prior(), n_samples)
        topics = self.components_.astype(np.float64)
        topics /= topics.sum(axis=1, keepdims=True)
        X = draw_topic_documents(rng, shares, topics, np.broadcast_to(lengths, n_samples))
        return X.astype(self.components_.dtype), shares.astype(self.components_.dtype)
