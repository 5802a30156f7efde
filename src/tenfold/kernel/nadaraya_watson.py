"""Kernel regression: weighted means of the targets of near rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Classifier, Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._kernel_sums import LocalFit, Smoother, sum_over
from tenfold.kernel._training_rows import FIT_CHUNK_ROWS, QueryMixin, keep_rows

_GRID = 2.0 ** np.arange(-4, 5)  # multiples of the rule of thumb that leave-one-out compares
_LOO_QUERIES = 2048  # rows that are left out in one pass
_CONSTRAINTS: dict[str, Any] = {
    "bandwidth": [Interval(Real, 0, None, closed="both"), StrOptions({"loo"})],
    "bandwidths": ["array-like", None],
    "loo_rows": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}
_ROW_SHAPES = {"X_fit_": "n p", "center_": "p", "weights_fit_": "n"}


class _ColumnSums(NamedTuple):
    """Weight, sums and sums of squares of columns about their first row."""

    weight: float
    sums: np.ndarray
    squares: np.ndarray


def _column_sums(chunk: Chunk, origin: np.ndarray) -> _ColumnSums:
    w, A = chunk.weights().astype(np.float64), chunk.X.astype(np.float64) - origin
    return _ColumnSums(float(w.sum()), w @ A, w @ (A * A))


class _KernelSmoother(QueryMixin):
    """Fit and predictions of regressor and classifier."""

    bandwidth: Any
    bandwidth_: float
    bandwidths: Any
    loo_rows: int | None
    degree = 0
    _law_rows = 1500
    _chunk_rows: int | None = FIT_CHUNK_ROWS

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        first = rows.take(np.zeros(1, np.int64)).X[0].astype(np.float64)
        s = rows.total(_column_sums, first)
        center = s.sums / s.weight
        variances = np.maximum(s.squares / s.weight - center**2, 0.0)
        origin = first + center
        learned: dict[str, Any] = {"center_": origin}
        bandwidth = self.bandwidth
        if isinstance(bandwidth, str):
            p = rows.n_features
            rule = float(np.sqrt(variances.mean())) * s.weight ** (-1 / (p + 4)) or 1.0
            grid = self.bandwidths
            grid = rule * _GRID if grid is None else np.asarray(grid, np.float64)
            if grid.ndim != 1 or not len(grid) or not (grid >= 0).all():
                raise ValueError(
                    f"bandwidths={self.bandwidths!r}: give a list of numbers from 0 on"
                )
            errors = self._leave_one_out_errors(rows, grid, origin, rng)
            learned |= {"bandwidths_": grid, "loo_errors_": errors}
            bandwidth = float(grid[errors.argmin()])
        kept = keep_rows(rows, rows.dtype)
        return {"bandwidth_": float(bandwidth), **learned, **kept}

    def _leave_one_out_errors(
        self, rows: Rows, grid: np.ndarray, origin: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Mean squared errors of rows under the fit without them, for each bandwidth."""
        n = rows.n_rows
        numbers = np.arange(n)
        if self.loo_rows is not None and n > self.loo_rows:
            numbers = np.sort(rng.choice(n, self.loo_rows, replace=False, shuffle=False))
        smoother, fit = Smoother("gaussian", grid), self._local_fit(rows, origin)
        squares, weight = np.zeros(len(grid)), 0.0
        for start in range(0, len(numbers), _LOO_QUERIES):
            some = numbers[start : start + _LOO_QUERIES]
            chunk = rows.take(some)
            X = chunk.X.astype(np.float64)
            found = sum_over(rows, X, smoother, fit, some)
            targets = fit._replace(degree=0).features(X, chunk.y)
            gaps = fit.values(found, X) - targets[:, None]
            w = chunk.weights().astype(np.float64)
            alone = np.where(found.mass > 0, np.square(gaps).sum(axis=2), np.inf)
            squares += w @ np.where(w[:, None] > 0, alone, 0.0)
            weight += float(w.sum())
        return squares / weight

    def _local_fit(self, rows: Rows, origin: np.ndarray) -> LocalFit:
        raise NotImplementedError

    def _smooth(self, X: Any, fit: LocalFit) -> np.ndarray:
        smoother = Smoother("gaussian", np.array([self.bandwidth_]))
        return self._map_queries(X, _local_values, smoother, fit)


def _local_values(
    queries: np.ndarray, training: Rows, smoother: Smoother, fit: LocalFit
) -> np.ndarray:
    """Weighted means of targets, or values of weighted lines, (m, q)."""
    Q = queries.astype(np.float64)
    values = fit.values(sum_over(training, Q, smoother, fit), Q)[:, 0]
    return values.astype(queries.dtype)


class NadarayaWatsonRegressor(_KernelSmoother, Regressor):
    r"""Kernel regression: the mean of the targets, weighted by a Gaussian of the distance.

    .. math:: f(x) = \frac{\sum_i \omega_i k_h(x, x_i) \, y_i}{\sum_i \omega_i k_h(x, x_i)}, \qquad
              k_h(x, z) = \exp\Bigl(-\frac{\lVert x - z \rVert^2}{2 h^2}\Bigr)

    As the bandwidth h goes to 0, the prediction is the target of the nearest row (the mean of
    those that are equally near); as it goes to infinity, the mean of all targets. Both are exact
    here. With ``degree=1`` a line is fitted to the weighted rows, and its value at x is predicted;
    this has no bias at the edges of the data. Columns should have one scale.

    Rows of a file that do not fit into a quarter of the free memory stay in the file, and a pass
    over it answers some thousands of queries; such a model cannot be saved.

    Parameters
    ----------
    bandwidth : float or "loo"
        The bandwidth h, 0 and infinity included. "loo" chooses the one of `bandwidths` with the
        least leave-one-out error.
    bandwidths : array, optional
        Bandwidths to compare; by default 1/16 to 16 times the rule of thumb
        :math:`s \, n^{-1 / (p + 4)}`.
    degree : {0, 1}
        Local means, or local lines.
    loo_rows : int or None
        Rows that are left out, one at a time; a sample if there are more. None takes all.
    random_state : int, optional
        Seed of that sample.

    Attributes
    ----------
    bandwidth_ : the bandwidth
    bandwidths_, loo_errors_ : bandwidths that were compared, and their mean squared errors
    X_fit_, y_fit_, weights_fit_ : rows of the fit, their targets and weights; None if they stay
        in a file
    center_ : (n_features,) means of the columns

    See Also
    --------
    KernelRidge : Kernel regression with a penalty.
    NadarayaWatsonClassifier : Shares of classes instead of means.

    References
    ----------
    E. A. Nadaraya (1964), On estimating regression.

    G. S. Watson (1964), Smooth regression analysis.

    J. Fan and I. Gijbels (1996), Local Polynomial Modelling and Its Applications.

    Examples
    --------
    >>> from tenfold import NadarayaWatsonRegressor
    >>> X, y = [[0.0], [1.0], [4.0]], [1.0, 2.0, 6.0]
    >>> for h in (0.0, 1.0, float("inf")):
    ...     print(NadarayaWatsonRegressor(h).fit(X, y).predict([[0.8]]).round(3).tolist())
    [2.0]
    [1.59]
    [3.0]
    """

    _multi_output = True
    _learned_shapes = _ROW_SHAPES | {"y_fit_": "n h=1 | n h : label"}
    _parameter_constraints = {
        **_CONSTRAINTS,
        "degree": [Interval(Integral, 0, 1, closed="both")],
    }

    def __init__(
        self,
        bandwidth: Any = "loo",
        *,
        bandwidths: Any = None,
        degree: int = 0,
        loo_rows: int | None = 5000,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.bandwidths = bandwidths
        self.degree = degree
        self.loo_rows = loo_rows
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        shape = rows.target_shape
        return {**super()._fit(rows, rng), "n_outputs_": shape[0] if shape else 1}

    def _local_fit(self, rows: Rows, origin: np.ndarray) -> LocalFit:
        shape = rows.target_shape
        return LocalFit(self.degree, shape[0] if shape else 1, classes=False, origin=origin)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row, (n_rows,) or (n_rows, n_targets).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        fit = LocalFit(self.degree, self.n_outputs_, classes=False, origin=self.center_)
        values = self._smooth(X, fit)
        several = self.y_fit_ is not None and self.y_fit_.ndim > 1
        return values if several or self.n_outputs_ > 1 else values[:, 0]


class NadarayaWatsonClassifier(_KernelSmoother, Classifier):
    r"""Kernel classification: shares of the classes, weighted by a Gaussian of the distance.

    .. math:: p(c \mid x) = \frac{\sum_{i: y_i = c} \omega_i k_h(x, x_i)}
                                 {\sum_i \omega_i k_h(x, x_i)}

    As the bandwidth goes to 0, the class of the nearest row is predicted; as it goes to infinity,
    the most frequent class.

    Parameters
    ----------
    bandwidth, bandwidths, loo_rows, random_state : Any
        As in `NadarayaWatsonRegressor`; "loo" compares squared errors of the probabilities.

    Attributes
    ----------
    classes_ : (n_classes,) class labels
    bandwidth_, bandwidths_, loo_errors_, X_fit_, y_fit_, weights_fit_, center_ : as in
        `NadarayaWatsonRegressor`; `y_fit_` are numbers of classes

    See Also
    --------
    NadarayaWatsonRegressor : Means of numbers.

    References
    ----------
    G. S. Watson (1964), Smooth regression analysis.

    Examples
    --------
    >>> from tenfold import NadarayaWatsonClassifier
    >>> model = NadarayaWatsonClassifier(1.0).fit([[0.0], [1.0], [4.0]], ["a", "a", "b"])
    >>> model.predict([[3.0]]).tolist(), model.predict_proba([[3.0]]).round(2).tolist()
    (['b'], [[0.19, 0.81]])
    """

    _learned_shapes = _ROW_SHAPES | {"y_fit_": "n : index k"}
    _parameter_constraints = _CONSTRAINTS

    def __init__(
        self,
        bandwidth: Any = "loo",
        *,
        bandwidths: Any = None,
        loo_rows: int | None = 5000,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.bandwidths = bandwidths
        self.loo_rows = loo_rows
        self.random_state = random_state

    def _local_fit(self, rows: Rows, origin: np.ndarray) -> LocalFit:
        return LocalFit(0, len(self.classes_), classes=True, origin=origin)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n_rows, n_classes).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        fit = LocalFit(0, len(self.classes_), classes=True, origin=self.center_)
        return self._smooth(X, fit)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n_rows,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
