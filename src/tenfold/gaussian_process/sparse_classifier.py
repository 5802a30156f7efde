"""Sparse Gaussian-process classification with inducing points, for any number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.docstrings import inherit_descriptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.gaussian_process import _laplace_binary as binary
from tenfold.gaussian_process._hyperparameters import maximize_evidence, warn_about_bounds
from tenfold.gaussian_process._inducing_points import (
    choose_inducing_points,
    resolve_sparse_kernel,
)
from tenfold.gaussian_process._laplace_classifier import LAPLACE_CONSTRAINTS, LaplaceClassifier
from tenfold.gaussian_process._laplace_softmax import average_softmax, normal_draws
from tenfold.gaussian_process._sparse_laplace import (
    LabelProblem,
    SparseLaplace,
    evaluate,
    latent_mean,
    latent_moments,
)
from tenfold.kernel._gradient_tiles import translate_kernel
from tenfold.kernel.base import ConstantKernel
from tenfold.kernel.stationary import RBF


@inherit_descriptions
class SparseGaussianProcessClassifier(LaplaceClassifier):
    r"""Gaussian-process classification through latent values at a few inducing points.

    Latent functions depend on the rows through their values at m inducing points Z alone, and the
    posterior of these values is approximated by a Gaussian at its mode (Laplace). Hyperparameters
    maximize

    .. math:: F = \sum_i \log p(y_i \mid \hat f_i) - \tfrac12 \hat f_Z^T K_{mm}^{-1} \hat f_Z
              - \tfrac12 \log \det(I + Q W)
              - \tfrac12 \sum_i W_{ii} (K_{nn} - Q)_{ii}, \qquad
              Q = K_{nm} K_{mm}^{-1} K_{mn},

    the approximate evidence less what inducing points miss of the variance of the rows. A step to
    the mode is one pass over the rows, whose statistic does not grow with them, and the gradient
    two more: any number of rows, from arrays, files or a cluster, with the same bits. With all
    rows as inducing points this is `GaussianProcessClassifier`.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The covariance function, as in `GaussianProcessClassifier`; None is
        ``ConstantKernel(1.0) * RBF(s)``, where s is the root of the summed variances of the columns
        of the inducing points, with bounds from 1e-5 s to 1e5 s.
    n_inducing : int
        Number of inducing points.
    inducing : {"kmeans", "uniform"} or (m, n_features) array
        The inducing points: centers of clusters, rows drawn at random, or these.
    max_iter_optimizer : int
        Most iterations of the optimizer.
    multi_class : {"one_vs_rest", "one_vs_one", "softmax"}
        How several classes are fitted; see `GaussianProcessClassifier`.
    random_state : int, RandomState or None
        Seed of inducing points and starts.

    Attributes
    ----------
    inducing_points_ : (m, n_features) array
    log_marginal_likelihood_value_ : F, the mean of several
    history_ : of one approximation, the negative F ("objective") after each iteration, and
        "seconds"

    See Also
    --------
    GaussianProcessClassifier : Exact covariances, for thousands of rows.
    SparseGaussianProcessRegressor : The same for numbers.
    NystroemLogisticRegression : One penalty in place of a prior, without error bars.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, ch. 3, 8.

    M. K. Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparseGaussianProcessClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = (X**2).sum(axis=1) < rng.uniform(0.4, 2.4, 600)
    >>> model = SparseGaussianProcessClassifier(n_inducing=20, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.3], [2.0, 1.0]]).tolist()
    [True, False]
    """

    _samples_rows = True
    _min_classes = 1
    _chunk_rows = 1024
    _law_rows = 1500
    _float64_learned = ("inducing_points_",)
    _law_params = {
        "kernel": ConstantKernel(4.0) * RBF(3.0),  # None would see how often a row is repeated
        "optimizer": None,
        "inducing": "uniform",
        "n_inducing": 40,
    }
    _parameter_constraints = {
        **LAPLACE_CONSTRAINTS,
        "n_inducing": [Interval(Integral, 1, None, closed="left")],
        "inducing": [StrOptions({"kmeans", "uniform"}), "array-like"],
        "max_iter_optimizer": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_inducing: int = 100,
        inducing: Any = "kmeans",
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_optimizer: int = 100,
        max_iter_predict: int = 100,
        multi_class: str = "one_vs_rest",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel, optimizer, n_restarts_optimizer, max_iter_predict, multi_class, random_state
        )
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.max_iter_optimizer = max_iter_optimizer

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k, name = self._count_classes(), type(self).__name__
        Z = choose_inducing_points(rows, self.inducing, self.n_inducing, rng, name)
        problems = self._problems(k)
        width = len(Z) * max(problem.n_latent for problem in problems)
        cure = "choose fewer inducing points, or multi_class='one_vs_rest'"
        check_memory(8.0 * 6 * width**2, f"{name} with {width:,} latent values", cure)
        fits = [self._fit_one(rows, Z, problem, rng) for problem in problems]
        learned = {"inducing_points_": Z, **self._summarize_fits(fits)}
        if len(fits) == 1 and "history_" in fits[0][1]:
            learned["history_"] = fits[0][1]["history_"]
        return learned

    def _problems(self, k: int) -> list[LabelProblem]:
        """The approximations that k classes ask for."""
        if k == 2:
            return [LabelProblem(1, 1)]
        if self.multi_class == "softmax":
            return [LabelProblem(k)]
        if self.multi_class == "one_vs_rest":
            return [LabelProblem(1, each) for each in range(k)]
        return [LabelProblem(1, second, first) for first, second in combinations(range(k), 2)]

    def _fit_one(
        self, rows: Rows, Z: np.ndarray, problem: LabelProblem, rng: np.random.Generator
    ) -> tuple[SparseLaplace, dict[str, Any]]:
        optimized = self.optimizer is not None
        cure = "labels have a noise of their own"
        kernel = resolve_sparse_kernel(self.kernel, Z, cure, optimized=optimized)
        report: dict[str, Any] = {}
        mode: np.ndarray | None = None  # of the last evaluation: modes move little between two

        def at(theta: np.ndarray, eval_gradient: bool) -> tuple[SparseLaplace, np.ndarray]:
            chosen = translate_kernel(kernel.clone_with_theta(theta))
            steps = self.max_iter_predict
            return evaluate(rows, chosen, Z, problem, mode, steps, eval_gradient=eval_gradient)

        def evidence(theta: np.ndarray, eval_gradient: bool) -> Any:
            nonlocal mode
            try:
                found, gradient = at(theta, eval_gradient)
            except np.linalg.LinAlgError:
                return (-np.inf, np.zeros(len(theta))) if eval_gradient else -np.inf
            mode = found.mode
            return (found.log_evidence, gradient) if eval_gradient else found.log_evidence

        theta = kernel.theta
        if optimized and kernel.n_dims > 0:
            theta, _, report = maximize_evidence(
                evidence,
                kernel,
                self.optimizer,
                self.n_restarts_optimizer,
                rng,
                self.max_iter_optimizer,
            )
            warn_about_bounds(kernel.clone_with_theta(theta))
        mode = None
        found, _ = at(theta, False)
        return found._replace(kernel=kernel.clone_with_theta(theta)), report

    _learned_shapes = {"inducing_points_": "e p"}

    def _expected_shapes(self) -> Iterator[tuple[Any, tuple]]:
        Z = self.inducing_points_
        for problem in self._problems(self.n_classes_):
            yield Z, (len(Z), problem.n_latent)

    def _latent_moments(self) -> tuple:
        return (_chunk_moments, *self._state())

    def _scorer(self) -> tuple:
        if self.n_classes_ == 2:
            return (_binary_scores, *self._state())
        if self.multi_class == "one_vs_one":
            return (_pair_scores, self.n_classes_, *self._state())
        return self._probabilities()

    def _probabilities(self) -> tuple:
        if self.laplace_[0].mode.shape[1] > 1:
            return (_softmax_probabilities, normal_draws(self.n_classes_), *self._state())
        return (_class_probabilities, *self._state())

    def _state(self) -> tuple[np.ndarray, list[SparseLaplace]]:
        """Inducing points and approximations, with kernels of tenfold."""
        return self.inducing_points_, self._translate_kernels()


def _binary_moments(chunk: Chunk, Z: np.ndarray, found: SparseLaplace) -> np.ndarray:
    """Mean and variance of one latent function at each row, (rows, 2)."""
    mean, covariance = latent_moments(chunk, Z, found)
    return np.column_stack([mean, covariance[:, 0]])


def _chunk_moments(chunk: Chunk, Z: np.ndarray, found: list[SparseLaplace]) -> np.ndarray:
    return _binary_moments(chunk, Z, found[0])


def _binary_scores(chunk: Chunk, Z: np.ndarray, found: list[SparseLaplace]) -> np.ndarray:
    """Zero and the latent mean: the larger is the more probable class."""
    mean = latent_mean(chunk, Z, found[0])
    return np.column_stack([np.zeros_like(mean), mean])


def _pair_scores(chunk: Chunk, k: int, Z: np.ndarray, found: list[SparseLaplace]) -> np.ndarray:
    return binary.pair_votes([_binary_moments(chunk, Z, each) for each in found], k)


def _class_probabilities(chunk: Chunk, Z: np.ndarray, found: list[SparseLaplace]) -> np.ndarray:
    moments = [_binary_moments(chunk, Z, each) for each in found]
    return binary.class_probabilities(moments).astype(chunk.X.dtype, copy=False)


def _softmax_probabilities(
    chunk: Chunk, draws: np.ndarray, Z: np.ndarray, found: list[SparseLaplace]
) -> np.ndarray:
    values = average_softmax(*latent_moments(chunk, Z, found[0]), draws)
    return values.astype(chunk.X.dtype, copy=False)
