"""Clusters as features for another model: distances to centers, or memberships."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.cluster.kmeans import KMeans
from tenfold.engine.rows import Rows


class ClusterFeatures(TransformerMixin, Estimator):
    """Clusters as features for another model.

    Clustering needs no labels, so it can use all rows, labeled or not; a model with few labels then
    learns from distances to centers or from memberships. In a pipeline, a search over
    `clusterer__n_clusters` chooses their number by the error of the task.

    Parameters
    ----------
    clusterer : clusterer or mixture, optional
        A model with `predict`, and with `transform` for distances; k-means with 8 clusters by
        default.
    features : {"distance", "membership", "both"}
        Distances to the centers, memberships, or both side by side. Memberships are the
        probabilities of the components of a mixture (`predict_proba`), else one-hot.
    random_state : int, optional
        Seed of the clusterer, instead of its own.

    Attributes
    ----------
    clusterer_ : the fitted clusterer

    See Also
    --------
    KMeans : The default clusterer.
    GaussianMixture : Memberships that are probabilities.
    RadialFeatures : Radial basis functions of distances to centers.

    References
    ----------
    A. Coates and A. Y. Ng (2012), Learning feature representations with k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> start = np.array([[0.0], [10.0]])
    >>> ClusterFeatures(KMeans(2, init=start), features="both").fit_transform(X).tolist()[0]
    [0.5, 10.5, 1.0, 0.0]
    """

    _samples_rows = True
    _law_rows = 6000
    _parameter_constraints = {
        "clusterer": [HasMethods(["fit", "predict"]), None],
        "features": [StrOptions({"distance", "membership", "both"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self, clusterer: Any = None, *, features: str = "distance", random_state: Any = None
    ) -> None:
        self.clusterer = clusterer
        self.features = features
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit the clusterer.

        Parameters
        ----------
        X : whatever the clusterer takes
            The rows.
        y : None
            Ignored; present for API consistency.
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        model: Any = KMeans() if self.clusterer is None else clone(self.clusterer)
        if self.random_state is not None and "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        if self.features != "membership" and not hasattr(model, "transform"):
            raise ValueError(
                f"{type(model).__name__} has no transform, so that features={self.features!r} has "
                "no distances: take features='membership'"
            )
        return {"clusterer_": model.fit(rows)}

    def transform(self, X: Any) -> np.ndarray:
        """Features of each row, (n_samples, n_clusters), or twice as many for "both".

        Parameters
        ----------
        X : whatever the clusterer takes
            The rows.
        """
        check_is_fitted(self)
        self._rows(X, reset=False)  # checks the columns
        parts = [] if self.features == "membership" else [self.clusterer_.transform(X)]
        if self.features != "distance":
            parts.append(self._memberships(X))
        return np.hstack(parts)

    def _memberships(self, X: Any) -> np.ndarray:
        """Probabilities of the components, or one-hot."""
        if hasattr(self.clusterer_, "predict_proba"):
            return self.clusterer_.predict_proba(X)
        labels = self.clusterer_.predict(X)
        memberships = np.zeros((len(labels), self._n_clusters()), self._membership_dtype())
        memberships[np.arange(len(labels)), labels] = 1
        return memberships

    def _n_clusters(self) -> int:
        model = self.clusterer_
        if hasattr(model, "cluster_centers_"):
            return len(model.cluster_centers_)
        return int(getattr(model, "n_components", getattr(model, "n_clusters", 0)))

    def _membership_dtype(self) -> Any:
        centers = getattr(self.clusterer_, "cluster_centers_", np.empty(0))
        return np.float32 if centers.dtype == np.float32 else np.float64

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: "distance0", ..., "cluster0", ...

        Parameters
        ----------
        input_features : None
            Ignored; present for API consistency.
        """
        check_is_fitted(self)
        k = self._n_clusters()
        names = {"distance": ["distance"], "membership": ["cluster"]}
        kinds = names.get(self.features, ["distance", "cluster"])
        return np.array([f"{kind}{j}" for kind in kinds for j in range(k)], dtype=object)
