"""Radial basis function networks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Classifier
from tenfold.engine.rows import Rows
from tenfold.math.links import softmax
from tenfold.math.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredHingeLoss
from tenfold.neural._rbf_objective import (
    RbfParameters,
    class_scores,
    class_votes,
    kmeans_centers,
    rbf_scores,
    root_total_variance,
    train_rbf,
    vote_scores,
)


def _has_probabilities(model: RbfNetwork) -> bool:
    if model.weights == "trained" and model.loss == "cross_entropy":
        return True
    raise AttributeError("only weights='trained' with loss='cross_entropy' have probabilities")


class RbfNetwork(Classifier):
    r"""Radial basis function network for classification, with fixed or trained basis functions.

    .. math:: z(x) = W \phi(x) + b, \qquad
              \phi_k(x) = \exp\left(-\lVert x - r_k \rVert^2 / s_k^2\right)

    The centers r are random rows or the centers of clusters. The weights are set from the labels of
    the centers, or trained: they minimize the mean loss plus
    :math:`\tfrac\alpha2 \lVert W \rVert^2`. With `adapt`, centers (and widths) are then trained
    together with the weights, so the training loss is never above that with fixed centers.
    Distances need columns of like scale: standardize first. With as many centers as rows, weights
    from the labels and small widths, it is the nearest-neighbor classifier, also where all basis
    functions are too small for a floating-point number.

    Parameters
    ----------
    n_centers : int
        Number of centers; with a warning no more than there are rows.
    centers : {"random", "kmeans"} or (n_centers, n_features) array
        Different random rows, centers of clusters, or given centers.
    width : "auto", float or (n_centers,) array
        Width s; "auto" is the root of the sum of the columns' variances.
    weights : {"trained", "labels"}
        Whether weights are trained, or each center votes for one class: that of the drawn row, or
        of most rows that are nearest to it.
    loss : {"cross_entropy", "squared_hinge"}
        Loss of trained weights: logistic or softmax regression, or a support vector machine with
        squared hinge (one-vs-rest) on the basis functions. For the plain hinge put `RadialFeatures`
        and `LinearSVC(loss="hinge")` into a pipeline.
    adapt : {"none", "centers", "all"}
        What is trained besides the weights: nothing, the centers, or centers and widths.
    alpha : float
        Strength of the penalty on the weights.
    tol : float
        Converged when no entry of the gradient exceeds this.
    max_iter : int
        Maximal number of iterations of L-BFGS, for the weights and again for all parameters.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the centers.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    centers_ : (n_centers, n_features) centers
    widths_ : (n_centers,) widths
    coef_ : (1, n_centers) or (n_classes, n_centers) weights
    intercept_ : (1,) or (n_classes,) intercepts
    n_iter_, converged_, history_ : as in all iterative models; not with weights="labels"

    See Also
    --------
    RadialFeatures, KMeans, LogisticRegression, LinearSVC

    References
    ----------
    D. S. Broomhead, D. Lowe (1988), "Multivariable functional interpolation and adaptive networks".
    J. Moody, C. J. Darken (1989), "Fast learning in networks of locally-tuned processing units".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RbfNetwork
    >>> corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> model = RbfNetwork(centers=corners, width=1.0, weights="labels")
    >>> model.fit(corners, [1, 1, 0, 0]).decision_function(corners).round(6).tolist()
    [0.963704, 0.963704, -0.963704, -0.963704]
    """

    _samples_rows = True
    _law_rows = 4500
    _min_classes = 2
    _parameter_constraints = {
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "centers": [StrOptions({"random", "kmeans"}), "array-like"],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "weights": [StrOptions({"trained", "labels"})],
        "loss": [StrOptions({"cross_entropy", "squared_hinge"})],
        "adapt": [StrOptions({"none", "centers", "all"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_centers: int = 10,
        *,
        centers: Any = "random",
        width: Any = "auto",
        weights: str = "trained",
        loss: str = "cross_entropy",
        adapt: str = "none",
        alpha: float = 1e-4,
        tol: float = 1e-4,
        max_iter: int = 1000,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.width = width
        self.weights = weights
        self.loss = loss
        self.adapt = adapt
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.weights == "labels" and self.adapt != "none":
            raise ValueError("weights='labels' are not learned: adapt needs weights='trained'")
        centers, labels = self._choose_centers(rows, rng)
        log_widths = self._log_widths(rows, len(centers))
        if self.weights == "labels":
            params = self._params_from_labels(rows, centers, log_widths, labels)
            return self._learned_attributes(params, rows.dtype)
        m = 1 if len(self.classes_) == 2 else len(self.classes_)
        start = RbfParameters(np.zeros((m, len(centers))), np.zeros(m), centers, log_widths)
        settings = (self._loss(), self.alpha, self.tol, self.max_iter)
        stages = list(dict.fromkeys(["none", self.adapt]))
        params, report = train_rbf(rows, start, stages, *settings)
        return {**self._learned_attributes(params, rows.dtype), **report}

    def _learned_attributes(self, params: RbfParameters, dtype: np.dtype) -> dict[str, Any]:
        params = params.cast(dtype)
        return {
            "coef_": params.coef,
            "intercept_": params.intercept,
            "centers_": params.centers,
            "widths_": np.exp(params.log_widths),
        }

    def _choose_centers(self, rows: Rows, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        """Centers, and their class indices where they are rows."""
        if not isinstance(self.centers, str):
            centers = np.array(self.centers, rows.dtype)
            if centers.ndim != 2 or centers.shape[1] != rows.n_features:
                raise ValueError(
                    f"centers have shape {centers.shape}; {rows.n_features} columns need "
                    f"(number of centers, {rows.n_features})"
                )
            return centers, None
        if self.n_centers > rows.n_rows:
            warnings.warn(
                f"RbfNetwork has {rows.n_rows} centers instead of n_centers={self.n_centers}: "
                "there are no more rows",
                UserWarning,
                stacklevel=4,
            )
        if self.centers == "kmeans":
            return kmeans_centers(rows, self.n_centers, rng), None
        drawn = rows.sample(self.n_centers, int(rng.integers(2**31)))
        return drawn.X.copy(), drawn.y

    def _log_widths(self, rows: Rows, k: int) -> np.ndarray:
        """Logarithms of the widths."""
        width = root_total_variance(rows) if isinstance(self.width, str) else self.width
        if np.ndim(width) and np.shape(width) != (k,):
            raise ValueError(f"{np.size(width)} widths for {k} centers")
        return np.log(np.broadcast_to(np.asarray(width, np.float64), k))

    def _params_from_labels(
        self, rows: Rows, centers: np.ndarray, log_widths: np.ndarray, labels: Any
    ) -> RbfParameters:
        """Weights by which each center votes for its class."""
        k = len(self.classes_)
        labels = rows.total(class_votes, centers, k).argmax(axis=1) if labels is None else labels
        votes = np.eye(k)[labels].T
        coef = votes if k > 2 else votes[1:] - votes[:1]
        return RbfParameters(coef, np.zeros(len(coef)), centers, log_widths)

    def _loss(self) -> Loss:
        if self.loss == "squared_hinge":
            return SquaredHingeLoss()
        return LogisticLoss() if len(self.classes_) == 2 else SoftmaxLoss()

    def _params(self) -> RbfParameters:
        return RbfParameters(self.coef_, self.intercept_, self.centers_, np.log(self.widths_))

    def _scorer(self) -> tuple:
        return class_scores, self._params(), self._score_function()

    def _score_function(self) -> Callable[..., np.ndarray]:
        return vote_scores if self.weights == "labels" else rbf_scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, self._score_function(), self._params())
        return Z[:, 0] if len(self.coef_) == 1 else Z

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_rows, n_classes), if weights are trained with the cross-entropy.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return softmax(self._map_rows(X, class_scores, self._params()))
