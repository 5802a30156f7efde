"""Gaussian-process regression over one column in linear time."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.gaussian_process._hyperparameters import maximize_evidence, warn_about_bounds
from tenfold.gaussian_process._state_space import (
    MaternTerms,
    complex_steps,
    filter_states,
    process_moments,
    read_gradient,
    read_terms,
    time_element,
)
from tenfold.kernel.base import ConstantKernel, WhiteKernel
from tenfold.kernel.stationary import Matern

_CHUNK_ROWS = 2**15


class _Sums(NamedTuple):
    n: float
    y: float
    squares: float  # about a mean that was given


class StateSpaceGaussianProcessRegressor(Regressor):
    r"""Exact Gaussian-process regression over one column, in time linear in the rows.

    A Matern process with :math:`\nu` = 1/2, 3/2 or 5/2 is the first coordinate of a linear
    stochastic differential equation, so that the model is a state space of one to three
    dimensions per term, and the Kalman filter gives what the n x n system of
    `GaussianProcessRegressor` gives. The filter of a chunk, as a function of the unknown state
    before it, merges with that of the next one: evidence and gradient are passes that keep the
    order of the rows, on all threads, from files or on a cluster.

    Rows must come in ascending order of the column; others are gathered in memory and sorted.

    Parameters
    ----------
    kernel : Kernel or None
        A sum of terms ``ConstantKernel * Matern(nu=0.5 | 1.5 | 2.5)`` and `WhiteKernel`; None is
        ``ConstantKernel(1.0) * Matern(1.0, nu=1.5) + WhiteKernel(1.0)``.
    alpha : float
        Variance of the noise beside that of the kernel.
    optimizer : "fmin_l_bfgs_b", callable or None
        How to maximize the evidence; None keeps the kernel as it is.
    n_restarts_optimizer : int
        Further starts, uniform within the bounds of the kernel.
    normalize_y : bool
        Subtract the mean of the target and divide by its standard deviation.
    random_state : int, RandomState or None
        Seed of the starts.

    Attributes
    ----------
    kernel_ : the kernel with fitted hyperparameters
    log_marginal_likelihood_value_ : the evidence at `kernel_.theta`
    times_ : (n_samples,) the sorted column
    n_iter_, converged_, history_ : iterations of the best start, whether it converged, and the
        negative evidence ("objective") after each, with "seconds"

    See Also
    --------
    GaussianProcessRegressor : The same for any kernel and any number of columns.

    References
    ----------
    J. Hartikainen and S. Särkkä (2010), Kalman filtering and smoothing solutions to temporal
    Gaussian process regression models.

    S. Särkkä and Á. F. García-Fernández (2021), Temporal parallelization of Bayesian smoothers.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import StateSpaceGaussianProcessRegressor
    >>> X = np.linspace(0, 30, 400)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> model = StateSpaceGaussianProcessRegressor().fit(X, y)
    >>> bool(abs(model.predict([[3.0]])[0] - np.sin(3.0)) < 0.1)
    True
    """

    _learned_shapes = {
        "times_": "n",
        "_targets": "n",
        "_row_weights": "n",
        "_before": "n r s",
        "_after": "n r s",
    }
    _law_params = {"optimizer": None}
    _law_rows = 5000
    _chunk_rows = _CHUNK_ROWS
    _parameter_constraints = {
        "kernel": [None, SklearnKernel],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: float = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if rows.n_features != 1:
            raise ValueError(
                f"X has {rows.n_features} columns: StateSpaceGaussianProcessRegressor takes one, "
                "such as X[:, [0]]; GaussianProcessRegressor takes several"
            )
        kernel: Any = _default_kernel() if self.kernel is None else clone(self.kernel)
        terms = read_terms(kernel, kernel.theta, self.alpha)
        if not terms.noise[0] > 0:
            raise ValueError("the noise has variance 0: give alpha > 0 or a WhiteKernel")
        _check_table_memory(rows.n_rows, int(terms.orders.sum()))
        offset, scale = self._normalization(rows)
        state = offset, scale
        element = rows.total(time_element, (terms,), *state)
        if element.unsorted < np.inf:
            rows = _sort_rows(rows)
        report: dict[str, Any] = {}
        if self.optimizer is not None and kernel.n_dims > 0:

            def evidence(theta: np.ndarray, eval_gradient: bool) -> Any:
                return self._evaluate(rows, kernel, theta, state, eval_gradient=eval_gradient)

            theta, _, report = maximize_evidence(
                evidence, kernel, self.optimizer, self.n_restarts_optimizer, rng
            )
            kernel.theta = theta
            warn_about_bounds(kernel)
        value = self._evaluate(rows, kernel, kernel.theta, state, eval_gradient=False)
        chunk = rows.gather()
        return {
            "kernel_": kernel,
            "log_marginal_likelihood_value_": value,
            "times_": np.ascontiguousarray(chunk.X[:, 0], np.float64),
            "_targets": (np.asarray(chunk.y, np.float64) - offset) / scale,
            "_row_weights": chunk.weights().astype(np.float64),
            "_offset": offset,
            "_scale": scale,
            **self._posterior(chunk, read_terms(kernel, kernel.theta, self.alpha), offset, scale),
            **report,
        }

    def _normalization(self, rows: Rows) -> tuple[float, float]:
        if not self.normalize_y:
            return 0.0, 1.0
        sums = rows.total(_target_sums, 0.0)
        mean = sums.y / sums.n
        spread = np.sqrt(rows.total(_target_sums, mean).squares / sums.n)
        return float(mean), float(spread) if spread > 0 else 1.0

    def _evaluate(
        self, rows: Rows, kernel: Any, theta: np.ndarray, state: tuple, *, eval_gradient: bool
    ) -> Any:
        if eval_gradient:
            steps = complex_steps(kernel, theta, self.alpha)
            return read_gradient(rows.total(time_element, steps, *state))
        terms = read_terms(kernel, theta, self.alpha)
        return float(rows.total(time_element, (terms,), *state).packed[0, -1])

    def _posterior(
        self, chunk: Chunk, terms: MaternTerms, offset: float, scale: float
    ) -> dict[str, Any]:
        """States of all rows given those before, and given those after (in reversed time)."""
        t = np.ascontiguousarray(chunk.X[:, 0], np.float64)
        y = (np.asarray(chunk.y, np.float64) - offset) / scale
        w = chunk.weights().astype(np.float64)
        back = [np.ascontiguousarray(each[::-1]) for each in (-t, y, w)]
        after = filter_states(back[0], back[1], back[2], terms)[::-1]
        return {
            "_before": filter_states(t, y, w, terms),
            "_after": np.ascontiguousarray(after),
        }

    def _check_learned(self) -> None:
        if self.n_features_in_ != 1:
            raise ValueError(f"n_features_in_ is {self.n_features_in_}, not 1")
        try:
            d = int(read_terms(self.kernel_, self.kernel_.theta, self.alpha).orders.sum())
        except (AttributeError, TypeError) as error:
            raise ValueError(f"kernel_ is not a sum of Matern kernels: {error}") from error
        if self._before.shape[1:] != (1 + d, d):
            raise ValueError(f"_before is for states of {self._before.shape[2]} numbers, not {d}")
        if not len(self.times_) or (np.diff(self.times_) < 0).any():
            raise ValueError("times_ is empty or not in ascending order")

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The evidence of the rows of the fit at other hyperparameters.

        Parameters
        ----------
        theta : (n_dims,) array, optional
            Logarithms of the hyperparameters; None takes those of the fit.
        eval_gradient : bool
            Whether to return the gradient as well; needs theta.

        Returns
        -------
        log_likelihood : float
        log_likelihood_gradient : (n_dims,) array, if it was asked for
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        source = ArraySource(self.times_[:, None], self._targets, self._row_weights)
        rows = Rows(source).with_chunk_rows(_CHUNK_ROWS)
        with self._work_context():
            return self._evaluate(
                rows, self.kernel_, np.asarray(theta), (0.0, 1.0), eval_gradient=eval_gradient
            )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the prediction given all rows, and on request its standard deviation.

        At the rows of the fit this is the smoothed process.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows, in any order.
        return_std : bool
            Whether to return the standard deviation as well; as in `GaussianProcessRegressor` the
            noise of a `WhiteKernel` is part of it, `alpha` is not.

        Returns
        -------
        y_mean : (n_samples,) array
        y_std : (n_samples,) array, if it was asked for
        """
        check_is_fitted(self)
        terms = read_terms(self.kernel_, self.kernel_.theta, 0.0)
        state = self.times_, self._before, self._after, terms
        moments = self._map_rows(X, _predict_chunk, *state)
        mean = moments[:, 0] * self._scale + self._offset
        if not return_std:
            return mean.astype(moments.dtype, copy=False)
        variance = np.maximum(moments[:, 1] + terms.noise[0], 0.0) * self._scale**2
        return mean, np.sqrt(variance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # scikit-learn's checks have several columns
        tags.input_tags.one_d_array = True
        return tags


def _default_kernel() -> Any:
    return ConstantKernel() * Matern(nu=1.5) + WhiteKernel()


def _target_sums(chunk: Chunk, mean: float) -> _Sums:
    y, w = np.asarray(chunk.y, np.float64), chunk.weights().astype(np.float64)
    gaps = y - mean
    return _Sums(float(w.sum()), float(w @ y), float(w @ (gaps * gaps)))


def _check_table_memory(n: int, d: int) -> None:
    check_memory(
        8.0 * n * (2 * d + 2 * d * d + 4),
        f"StateSpaceGaussianProcessRegressor on {n:,} rows (states of {d} numbers)",
        "take fewer rows, or average rows of equal times with sample_weight",
    )


def _sort_rows(rows: Rows) -> Rows:
    """The rows in ascending order, in memory."""
    chunk = rows.gather()
    order = np.argsort(chunk.X[:, 0], kind="stable")
    w = None if chunk.w is None else chunk.w[order]
    source = ArraySource(chunk.X[order], np.asarray(chunk.y)[order], w)
    return Rows(source, engine=rows.engine).with_chunk_rows(_CHUNK_ROWS)


def _predict_chunk(
    chunk: Chunk, t: np.ndarray, before: np.ndarray, after: np.ndarray, terms: MaternTerms
) -> np.ndarray:
    q = np.ascontiguousarray(chunk.X[:, 0], np.float64)
    return process_moments(q, t, before, after, terms).astype(chunk.X.dtype, copy=False)
