"""Gaussian-process classification by Laplace's approximation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base.docstrings import inherit_descriptions
from tenfold.base.mixins import unique_labels
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.gaussian_process import _laplace_binary as binary
from tenfold.gaussian_process import _laplace_softmax as multinomial
from tenfold.gaussian_process._evidence import as_float64, check_size
from tenfold.gaussian_process._hyperparameters import maximize_evidence, warn_about_bounds
from tenfold.gaussian_process._laplace_classifier import LAPLACE_CONSTRAINTS, LaplaceClassifier
from tenfold.kernel._gradient_tiles import copy_kernel, translate_kernel
from tenfold.kernel.base import ConstantKernel
from tenfold.kernel.object_kernels import takes_objects
from tenfold.kernel.stationary import RBF


class _Problem(NamedTuple):
    """One approximation that is to be fitted: rows, labels, and how."""

    X: Any
    y: np.ndarray  # (n,) of 0 and 1, or (n, c) one-hot labels
    evaluate: Callable[..., tuple[Any, np.ndarray]]


@inherit_descriptions
class GaussianProcessClassifier(LaplaceClassifier):
    r"""Gaussian-process classification: latent functions with a Gaussian prior, squashed.

    .. math:: f \sim \mathcal{GP}(0, k), \qquad p(y_i = 1 \mid f) = \frac{1}{1 + e^{-f(x_i)}},

    with the posterior of f approximated by a Gaussian at its mode (Laplace), and hyperparameters
    of the kernel that maximize the approximate evidence. Several classes are fitted one against the
    rest, one against one, or all at once: with ``multi_class="softmax"`` there is one latent
    function for each class, all of one kernel, and :math:`p(y_i \mid f) =
    \operatorname{softmax}(f(x_i))`.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The covariance function: of `tenfold.kernel` or `sklearn.gaussian_process.kernels`, a name
        (as in `KernelRidge`, with its gamma as the start), or a function of two rows. None is
        ``ConstantKernel(1.0) * RBF(1.0)`` with fixed parameters.
    warm_start : bool
        Begin with the mode of the last fit, if it had as many rows.
    copy_X_train : bool
        Whether to keep a copy of the rows; otherwise an array of the caller is kept.
    random_state : int, RandomState or None
        Seed of the starts.
    n_jobs : int or None
        Threads; None or -1 for all. It changes no bit.

    Attributes
    ----------
    log_marginal_likelihood_value_ : the approximate evidence, the mean of several
    X_train_ : the rows

    See Also
    --------
    SparseGaussianProcessClassifier : For any number of rows.
    GaussianProcessRegressor : The same for numbers.
    BayesianLogisticRegression : The same with a linear latent function.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, ch. 3, 5.

    C. K. I. Williams and D. Barber (1998), Bayesian classification with Gaussian processes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessClassifier
    >>> from tenfold.kernel import RBF
    >>> X = np.linspace(0, 6, 20)[:, None]
    >>> model = GaussianProcessClassifier(4.0 * RBF(1.0)).fit(X, np.sin(X[:, 0]) > 0)
    >>> model.predict([[1.5], [4.5]]).tolist()
    [True, False]
    """

    _law_rows = 300
    _chunk_rows = 128
    _law_params = {"optimizer": None}
    _parameter_constraints = {
        **LAPLACE_CONSTRAINTS,
        "warm_start": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_predict: int = 100,
        warm_start: bool = False,
        copy_X_train: bool = True,
        random_state: Any = None,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            kernel, optimizer, n_restarts_optimizer, max_iter_predict, multi_class, random_state
        )
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn from rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; a sequence of objects if the kernel takes such.
        y : (n_samples,) array or column name
            Labels.

        Returns
        -------
        self
        """
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")  # noqa: TRY004 (as scikit-learn)
        if not takes_objects(self.kernel):
            return super().fit(X, y)
        self._validate_params()
        with self._work_context():
            checked: Any = validate_data(self, X, y, ensure_2d=False, dtype=None)
            self.classes_, codes = unique_labels(np.asarray(checked[1]))
            self._set_learned(self._learn(checked[0], codes, self._rng()))
        return self

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        check_size(rows.n_rows, type(self).__name__, labels=True)
        rows.total(_count_classes, len(self.classes_))  # looks at all rows before they are gathered
        chunk = rows.gather()
        X = np.array(chunk.X) if self.copy_X_train else chunk.X
        return self._learn(X, np.asarray(chunk.y, np.int64), rng)

    def _learn(self, X: Any, codes: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
        self._count_classes()
        problems = self._problems(X, codes)
        before = self._last_duals(problems)
        fits = [self._fit_one(*each, rng) for each in zip(problems, before, strict=True)]
        return {"X_train_": X, "y_train_": codes, **self._summarize_fits(fits)}

    def _problems(self, X: Any, codes: np.ndarray) -> list[_Problem]:
        """The approximations that classes ask for."""
        k = len(self.classes_)
        if k == 2:
            return [_Problem(X, codes.astype(np.float64), binary.evaluate)]
        if self.multi_class == "softmax":
            return [_Problem(X, np.eye(k)[codes], multinomial.evaluate)]
        if self.multi_class == "one_vs_rest":
            return [_Problem(X, (codes == c).astype(np.float64), binary.evaluate) for c in range(k)]
        pairs = [(np.isin(codes, pair), pair[1]) for pair in combinations(range(k), 2)]
        return [
            _Problem(X[those], (codes[those] == second).astype(np.float64), binary.evaluate)
            for those, second in pairs
        ]

    def _last_duals(self, problems: list[_Problem]) -> list[np.ndarray | None]:
        """Where the searches for modes begin: at zero, or where the last fit ended."""
        found = getattr(self, "laplace_", []) if self.warm_start else []
        if [each.dual.shape for each in found] != [problem.y.shape for problem in problems]:
            return [None] * len(problems)
        return [each.dual for each in found]

    def _fit_one(
        self, problem: _Problem, start: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Any, dict[str, Any]]:
        X = problem.X
        kernel_: Any = _fixed_kernel() if self.kernel is None else copy_kernel(self.kernel, X)
        kernel, report = translate_kernel(clone(kernel_)), {}
        data = _Problem(as_float64(problem.X), problem.y, problem.evaluate)
        dual = start  # of the last evaluation: modes move little between two

        def evidence(theta: np.ndarray, eval_gradient: bool) -> Any:
            nonlocal dual
            kernel.theta = theta
            at, gradient = data.evaluate(
                kernel, data.X, data.y, dual, self.max_iter_predict, eval_gradient=eval_gradient
            )
            dual = at.dual
            return (at.log_evidence, gradient) if eval_gradient else at.log_evidence

        if self.optimizer is not None and kernel.n_dims > 0:
            theta, _, report = maximize_evidence(
                evidence, kernel_, self.optimizer, self.n_restarts_optimizer, rng
            )
            kernel.theta = kernel_.theta = theta
            warn_about_bounds(kernel_)
        found, _ = data.evaluate(
            kernel, data.X, data.y, start, self.max_iter_predict, eval_gradient=False
        )
        return found._replace(kernel=kernel_), report

    @property
    def _learned_shapes(self) -> dict[str, str]:
        objects = not self.laplace_[0].kernel.requires_vector_input
        return {"X_train_": "n : label" if objects else "n p", "y_train_": "n : index k"}

    def _expected_shapes(self) -> Iterator[tuple[Any, tuple]]:
        for problem in self._problems(self.X_train_, self.y_train_):
            yield problem.X, (problem.y.shape,)

    @property
    def base_estimator_(self) -> Any:
        """The approximation of two classes or of all at once, or the list of them."""
        return self.laplace_[0] if len(self.laplace_) == 1 else self.laplace_

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """The approximate evidence of the rows of the fit at other hyperparameters.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the hyperparameters of one kernel, which all approximations then have, or
            of all kernels; None takes those of the fit.
        eval_gradient : bool
            Whether to return the gradient as well; not for several approximations.
        clone_kernel : bool
            Whether `kernel_` keeps its hyperparameters; False sets them to theta.

        Returns
        -------
        log_likelihood : float
            The mean of those of all approximations.
        log_likelihood_gradient : (n_dims,) array, if it was asked for
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        theta, count = np.asarray(theta), len(self.laplace_)
        if eval_gradient and count > 1:
            raise NotImplementedError(
                "Gradient of log-marginal-likelihood not implemented for multi-class GPC: take "
                "multi_class='softmax', which has one evidence."
            )
        n = self.laplace_[0].kernel.n_dims
        if len(theta) not in {n, n * count}:
            raise ValueError(
                f"Shape of theta must be either {n} or {n * count}. Obtained theta with shape "
                f"{len(theta)}."
            )
        thetas = np.tile(theta, count * n // max(len(theta), 1)).reshape(count, n)
        problems = self._problems(self.X_train_, self.y_train_)
        with self._work_context():
            values, gradients = zip(
                *(
                    self._evaluate_at(*each, eval_gradient, clone_kernel)
                    for each in zip(problems, self.laplace_, thetas, strict=True)
                ),
                strict=True,
            )
        value = np.float64(np.mean(values))
        return (value, gradients[0]) if eval_gradient else value

    def _evaluate_at(
        self,
        problem: _Problem,
        found: Any,
        theta: np.ndarray,
        eval_gradient: bool,
        clone_kernel: bool,
    ) -> tuple[float, np.ndarray]:
        kernel = found.kernel.clone_with_theta(theta) if clone_kernel else found.kernel
        kernel.theta = theta
        at, gradient = problem.evaluate(
            translate_kernel(kernel),
            as_float64(problem.X),
            problem.y,
            None,
            self.max_iter_predict,
            eval_gradient=eval_gradient,
        )
        return at.log_evidence, gradient

    def _latent_moments(self) -> tuple:
        return binary.latent_moments, *self._state()[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array of labels
        """
        check_is_fitted(self)
        f, *state = self._scorer()
        return self.classes_[self._map(X, f, *state).argmax(axis=1)]

    def _scorer(self) -> tuple:
        if self.n_classes_ == 2:
            return _binary_scores, *self._state()[0]
        if self.multi_class == "one_vs_one":
            return _pair_scores, self.n_classes_, self._state()
        return self._probabilities()

    def _probabilities(self) -> tuple:
        states = self._state()
        if len(states) == 1 and self.n_classes_ > 2:
            draws = multinomial.normal_draws(self.n_classes_)
            return (multinomial.softmax_probabilities, *states[0], draws)
        return _class_probabilities, states

    def _state(self) -> list[tuple[Any, Any]]:
        """Rows and approximation of each latent function."""
        problems = self._problems(as_float64(self.X_train_), self.y_train_)
        return [
            (each.X, found) for each, found in zip(problems, self._translate_kernels(), strict=True)
        ]

    def _map(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """Outputs for rows, or for objects in memory."""
        if not takes_objects(self.kernel):
            return super()._map(X, f, *state)
        with self._work_context():
            return f(_Objects(X), *state)


class _ObjectArray(list):
    """Objects in the place of rows: there is no other type to turn them into."""

    dtype = np.dtype(np.float64)

    def astype(self, _: Any, copy: bool = True) -> list:
        return self


class _Objects:
    """Objects in the place of a chunk."""

    def __init__(self, X: Any) -> None:
        self.X = _ObjectArray(X)


def _fixed_kernel() -> Any:
    return ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")


def _count_classes(chunk: Chunk, k: int) -> np.ndarray:
    return np.bincount(np.asarray(chunk.y, np.int64), minlength=k)


def _binary_scores(chunk: Any, Z: Any, found: binary.BinaryLaplace) -> np.ndarray:
    """Zero and the latent mean: the larger is the more probable class."""
    mean = binary.latent_mean(chunk, Z, found)
    return np.column_stack([np.zeros_like(mean), mean])


def _class_probabilities(chunk: Any, states: list[tuple[Any, binary.BinaryLaplace]]) -> np.ndarray:
    """Probabilities of two classes, or those of each class against the rest, scaled to sum 1."""
    moments = [binary.latent_moments(chunk, Z, found) for Z, found in states]
    return binary.class_probabilities(moments).astype(chunk.X.dtype, copy=False)


def _pair_scores(chunk: Any, k: int, states: list[tuple[Any, binary.BinaryLaplace]]) -> np.ndarray:
    """Votes of all pairs of classes."""
    return binary.pair_votes([binary.latent_moments(chunk, Z, found) for Z, found in states], k)
