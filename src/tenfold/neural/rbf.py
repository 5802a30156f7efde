"""Radial basis function networks."""

from __future__ import annotations

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
)


def _has_probabilities(model: RbfNetwork) -> bool:
    if model.weights == "trained" and model.loss == "cross_entropy":
        return True
    raise AttributeError("only weights='trained' with loss='cross_entropy' have probabilities")


class RbfNetwork(Classifier):
    r"""A classifier by radial basis functions, fixed or adaptive.

    .. math:: z(x) = W \phi(x) + b, \qquad
              \phi_k(x) = \exp\left(-\lVert x - r_k \rVert^2 / s_k^2\right)

    The centres r are rows drawn at random or the centres of clusters. The weights are set from the
    labels of the centres, or trained: the mean loss plus :math:`\tfrac\alpha2 \lVert W \rVert^2`
    is made small. With `adapt`, centres (and widths) then learn together with the weights, so the
    loss on the training rows is never above that of the fixed basis. Distances need columns of
    like scale: standardise first. With as many centres as rows, weights from the labels and small
    widths it is the nearest-neighbour classifier. [000, 1.7.2-1.7.4]

    Parameters
    ----------
    n_centres : int
        Number K of centres.
    centres : {"random", "kmeans"} or (K, p) array
        Where they lie: on different rows drawn at random, in the middle of clusters, or as given.
    width : "auto", float or (K,) array
        Width s; the notes take 1. "auto" is the root of the sum of the columns' variances.
    weights : {"trained", "labels"}
        "labels": each centre votes for its own class, that of the drawn row, or of most rows that
        are nearest to it.
    loss : {"cross_entropy", "squared_hinge"}
        Of trained weights: logistic or softmax regression, or a support vector machine (one class
        against all others) in the bumps.
    adapt : {"none", "centres", "all"}
        What learns besides the weights: nothing, the centres, or centres and widths.
    alpha : float
        Strength of the penalty on the weights.
    tol : float
        Converged when no entry of the slope exceeds this.
    max_iter : int
        Most rounds of L-BFGS, for the weights and again for all together.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the centres.

    Attributes
    ----------
    classes_ : (k,) labels
    centres_ : (K, p) centres
    widths_ : (K,) widths
    coef_ : (1, K) or (k, K) weights
    intercept_ : (1,) or (k,) constants
    n_iter_, converged_, history_ : as in all iterative models; with weights="labels" there are none

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RbfNetwork
    >>> corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> by_hand = RbfNetwork(centres=corners, width=1.0, weights="labels")
    >>> by_hand.fit(corners, [1, 1, 0, 0]).decision_function(corners).round(6).tolist()
    [0.963704, 0.963704, -0.963704, -0.963704]
    """

    _draws = True
    _min_classes = 2
    _parameter_constraints = {
        "n_centres": [Interval(Integral, 1, None, closed="left")],
        "centres": [StrOptions({"random", "kmeans"}), "array-like"],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "weights": [StrOptions({"trained", "labels"})],
        "loss": [StrOptions({"cross_entropy", "squared_hinge"})],
        "adapt": [StrOptions({"none", "centres", "all"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_centres: int = 10,
        *,
        centres: Any = "random",
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
        self.n_centres = n_centres
        self.centres = centres
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
        centres, labels = self._basis(rows, rng)
        widths = self._widths(rows, len(centres))
        if self.weights == "labels":
            return self._named(self._by_votes(rows, centres, widths, labels), rows.dtype)
        m = 1 if len(self.classes_) == 2 else len(self.classes_)
        start = RbfParameters(np.zeros((m, len(centres))), np.zeros(m), centres, widths)
        settings = (self._loss(), self.alpha, self.tol, self.max_iter)
        net, report = train_rbf(rows, start, list(dict.fromkeys(["none", self.adapt])), *settings)
        return {**self._named(net, rows.dtype), **report}

    def _named(self, net: RbfParameters, dtype: np.dtype) -> dict[str, Any]:
        net = net.cast(dtype)
        return {
            "coef_": net.coef,
            "intercept_": net.intercept,
            "centres_": net.centres,
            "widths_": np.exp(net.widths),
        }

    def _basis(self, rows: Rows, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        """Centres, and their class numbers where they are rows."""
        if not isinstance(self.centres, str):
            centres = np.array(self.centres, rows.dtype)
            if centres.ndim != 2 or centres.shape[1] != rows.n_features:
                raise ValueError(
                    f"centres have shape {centres.shape}; {rows.n_features} columns need "
                    f"(number of centres, {rows.n_features})"
                )
            return centres, None
        if self.centres == "kmeans":
            return kmeans_centers(rows, self.n_centres, rng), None
        drawn = rows.sample(self.n_centres, int(rng.integers(2**31)))
        return drawn.X.copy(), drawn.y

    def _widths(self, rows: Rows, k: int) -> np.ndarray:
        """Logs of the widths."""
        width = root_total_variance(rows) if isinstance(self.width, str) else self.width
        if np.ndim(width) and np.shape(width) != (k,):
            raise ValueError(f"{np.size(width)} widths for {k} centres")
        return np.log(np.broadcast_to(np.asarray(width, np.float64), k))

    def _by_votes(
        self, rows: Rows, centres: np.ndarray, widths: np.ndarray, labels: Any
    ) -> RbfParameters:
        k = len(self.classes_)
        labels = rows.total(class_votes, centres, k).argmax(axis=1) if labels is None else labels
        own = np.eye(k)[labels].T
        coef = own if k > 2 else own[1:] - own[:1]
        return RbfParameters(coef, np.zeros(len(coef)), centres, widths)

    def _loss(self) -> Loss:
        if self.loss == "squared_hinge":
            return SquaredHingeLoss()
        return LogisticLoss() if len(self.classes_) == 2 else SoftmaxLoss()

    def _net(self) -> RbfParameters:
        return RbfParameters(self.coef_, self.intercept_, self.centres_, np.log(self.widths_))

    def _scorer(self) -> tuple:
        return class_scores, self._net()

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n,) for the second of two classes, else (n, k).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._each(X, rbf_scores, self._net())
        return Z[:, 0] if len(self.coef_) == 1 else Z

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k); of trained cross-entropy.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return softmax(self._each(X, class_scores, self._net()))
