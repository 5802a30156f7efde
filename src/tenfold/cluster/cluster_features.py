"""Clusters as features for another model: distances to centers, or one-hot memberships."""

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
    """Columns that clusters give to another model.

    Clusters are found without labels, so all rows may serve, labelled or not; a model with few
    labels then learns from distances to centres [003, 14.5] or from memberships [004, 6.1]. In a
    pipeline, a search over `clusterer__n_clusters` chooses their number by the task.

    Parameters
    ----------
    clusterer : clusterer, optional
        A model with `transform` (distances) and `predict`; k-means with 8 clusters by default.
    features : {"distance", "membership", "both"}
        Distance to each centre, 0 or 1 for each cluster, or these one after the other.
    random_state : int, optional
        Seed of the clusterer, in place of its own.

    Attributes
    ----------
    clusterer_ : the fitted clusterer

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> start = np.array([[0.0], [10.0]])
    >>> ClusterFeatures(KMeans(2, init=start), features="both").fit_transform(X).tolist()[0]
    [0.5, 10.5, 1.0, 0.0]
    """

    _draws = True
    _parameter_constraints = {
        "clusterer": [HasMethods(["fit", "predict", "transform"]), None],
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
        """Find clusters.

        Parameters
        ----------
        X : whatever the clusterer takes
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        model: Any = KMeans() if self.clusterer is None else clone(self.clusterer)
        if self.random_state is not None and "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        return {"clusterer_": model.fit(rows)}

    def transform(self, X: Any) -> np.ndarray:
        """The columns of each row, (n, k), or (n, 2 k) for both.

        Parameters
        ----------
        X : whatever the clusterer takes
            The rows.
        """
        check_is_fitted(self)
        self._rows(X, reset=False)  # columns as in the fit
        away = self.clusterer_.transform(X)
        if self.features == "distance":
            return away
        belongs = np.zeros_like(away)
        belongs[np.arange(len(away)), self.clusterer_.predict(X)] = 1
        return belongs if self.features == "membership" else np.hstack([away, belongs])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: "distance0", ..., "cluster0", ...

        Parameters
        ----------
        input_features : None
            Not used; there because scikit-learn passes it.
        """
        check_is_fitted(self)
        k = len(self.clusterer_.cluster_centers_)
        names = {"distance": ["distance"], "membership": ["cluster"]}
        kinds = names.get(self.features, ["distance", "cluster"])
        return np.array([f"{kind}{j}" for kind in kinds for j in range(k)], dtype=object)
