"""Bayesian multi-layer perceptrons: predictions with error bars, noise and knowledge apart."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.neural._bayesian_mlp_base import (
    BAYESIAN_CONSTRAINTS,
    BayesianMLPBase,
    effective_parameters,
    target_variance,
)
from tenfold.neural._estimators import NetworkClassifier, NetworkRegressor
from tenfold.neural.losses import CrossEntropy, HalfSquaredError

_LOG_2_PI = float(np.log(2 * np.pi))
_NOISE_ROUNDS = 4  # of estimates of the noise, each followed by a new mode
_MIN_NOISE = 1e-10


class GaussianNoiseLikelihood(NamedTuple):
    """Gaussian observations of a given variance."""

    variance: float

    @property
    def scale(self) -> float:
        return 1 / self.variance

    def terms(self, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss of each row, gradient in the outputs, and a root of the curvature."""
        residual = f - np.asarray(y, np.float64).reshape(f.shape)
        k = f.shape[1]
        constant = k / 2 * (_LOG_2_PI + np.log(self.variance))
        losses = np.square(residual).sum(axis=1) / (2 * self.variance) + constant
        root = np.broadcast_to(np.eye(k) / np.sqrt(self.variance), (len(f), k, k))
        return losses, residual / self.variance, root


class CategoricalLikelihood(NamedTuple):
    """Classes with the softmax of the outputs as probabilities."""

    scale: float = 1.0

    def terms(self, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss of each row, gradient in the outputs, and a root of the curvature."""
        rows, y = np.arange(len(f)), np.asarray(y, np.int64)
        logs = log_softmax(f, axis=1)
        p = np.exp(logs)
        gradient = p.copy()
        gradient[rows, y] -= 1
        # diag(p) - p p' = R' R with R = diag(sqrt(p)) (I - 1 p')
        root = np.sqrt(p)[:, :, None] * (np.eye(f.shape[1]) - p[:, None, :])
        return -logs[rows, y], gradient, root


class PredictionParts(NamedTuple):
    """A prediction with its two kinds of uncertainty.

    Attributes
    ----------
    mean : expected value
    noise_std : standard deviation of the noise, which more rows do not lower
    knowledge_std : standard deviation because the parameters are not known
    """

    mean: np.ndarray
    noise_std: np.ndarray
    knowledge_std: np.ndarray


class BayesianMLPRegressor(BayesianMLPBase, NetworkRegressor):
    r"""Multi-layer perceptron regressor with a posterior of its parameters.

    .. math:: y = f_\theta(x) + \epsilon, \quad \epsilon \sim N(0, \sigma^2), \quad
              \theta \sim N(0, \alpha^{-1} I)

    "laplace" approximates the posterior by a Gaussian at its mode, with the Gauss-Newton matrix as
    curvature, and linearizes the network there: the variance of a prediction is
    :math:`\sigma^2 + J \Sigma J'`. "variational" maximizes the evidence lower bound over Gaussians
    with independent parameters (mean-field). "hmc" draws parameters by Hamiltonian Monte Carlo
    (rows in memory, small networks). "ensemble" finds the mode from several random starts. Without
    hidden layers "laplace" is exactly Bayesian linear regression.

    The prior is about parameters of size :math:`\alpha^{-1/2}`, biases too: standardize the columns
    and the target.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of each hidden layer; none for a linear model.
    activation : str
        "tanh", "relu", "sigmoid", "softplus", "elu" or "silu".
    method : {"laplace", "variational", "hmc", "ensemble"}
        See above.
    hessian_structure : {"auto", "full", "kron", "diag"}
        Curvature of "laplace", and of the estimate of the noise: whole, a Kronecker product for
        each layer (its memory grows with the squared width of a layer, not with the squared number
        of parameters; exact for a single layer), or the diagonal alone. "auto" is "full" up to
        2,000 parameters, else "kron".
    prior_precision : float
        :math:`\alpha`, for weights and biases.
    noise_variance : float or "auto"
        :math:`\sigma^2`; "auto" estimates it from the residuals at the mode and the effective
        number of parameters, in turns.
    n_samples : int
        Draws of "hmc" and "variational", or members of "ensemble".
    warmup : int
        Trajectories of "hmc" before the first draw.
    max_iter, tol : int, float
        Of L-BFGS, which finds the mode and maximizes the bound.
    random_state : int, optional
        Seed of the start and of the draws.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    network_, params_ : the layers, and the parameters at the mode, or their means ("variational")
    noise_variance_ : variance of the noise
    covariance_ : (P, P) posterior covariance of all parameters, of "laplace" with "full"
    covariance_factors_ : list with (inputs, outputs, variances) for each layer, of "kron" and
        "diag": eigenvectors of both factors (None for "diag"), and variances along each pair
    variances_ : (P,) posterior variances of the parameters, of "variational"
    samples_ : (n_samples, P) parameters, of "variational", "hmc" and "ensemble"
    log_evidence_, n_effective_parameters_ : of "laplace"
    elbo_ : evidence lower bound of "variational" on draws that did not train it
    r_hat_ : of "hmc", the largest split R-hat of an output at one of the first 100 rows; far above
        1 the chains disagree
    n_iter_, converged_, history_ : of L-BFGS; all estimates of the noise together. Of
        "variational" those of the bound, `history_["elbo"]`. `converged_` is True only if all
        members of "ensemble" have converged, and the chains of "hmc" agree (`r_hat_` up to 1.2)

    See Also
    --------
    BayesianMLPClassifier, BayesianLinearRegression, GaussianProcessRegressor, MLPRegressor

    References
    ----------
    D. J. C. MacKay (1992), "A practical Bayesian framework for backpropagation networks".
    R. M. Neal (1996), "Bayesian learning for neural networks".
    H. Ritter, A. Botev, D. Barber (2018), "A scalable Laplace approximation for neural networks".
    D. P. Kingma, T. Salimans, M. Welling (2015), "Variational dropout and the local
    reparameterization trick".
    A. Immer, M. Korzepa, M. Bauer (2021), "Improving predictions of Bayesian neural nets via local
    linearization".

    Examples
    --------
    Away from the rows the error bar grows:

    >>> import numpy as np
    >>> from tenfold import BayesianMLPRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = BayesianMLPRegressor((10,), noise_variance=0.01, random_state=0)
    >>> _, std = model.fit(x, np.sin(3 * x[:, 0])).predict([[0.0], [3.0]], return_std=True)
    >>> bool(std[1] > 3 * std[0])
    True
    """

    _law_rows = 1500
    _law_params = {"hidden_layer_sizes": (2,), "prior_precision": 100.0, "tol": 0.02}
    _learned_shapes = {"covariance_": "v v", "samples_": "_ v", "noise_variance_": "()"}
    _parameter_constraints = BAYESIAN_CONSTRAINTS | {
        "noise_variance": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (20,),
        activation: str = "tanh",
        *,
        method: str = "laplace",
        hessian_structure: str = "auto",
        prior_precision: float = 1.0,
        noise_variance: Any = "auto",
        n_samples: int = 100,
        warmup: int = 300,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.hessian_structure = hessian_structure
        self.prior_precision = prior_precision
        self.noise_variance = noise_variance
        self.n_samples = n_samples
        self.warmup = warmup
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, targets: int) -> Any:
        return HalfSquaredError()

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        fixed = self.noise_variance != "auto"
        variance = float(self.noise_variance) if fixed else target_variance(rows)
        likelihood = GaussianNoiseLikelihood(variance)
        objective, minimum = self._find_mode(rows, rng, likelihood)
        reports = [minimum.report]
        for _ in range(0 if fixed else _NOISE_ROUNDS):
            variance = self._residual_variance(rows, objective, minimum.x, likelihood)
            likelihood = GaussianNoiseLikelihood(variance)
            _, minimum = self._find_mode(rows, rng, likelihood, minimum.x)
            reports.append(minimum.report)
        posterior = self._posterior(rows, rng, objective, minimum, likelihood)
        minimum = minimum._replace(report=_join_reports(reports))
        return self._learned_attributes(objective, minimum, posterior) | {
            "noise_variance_": variance
        }

    def _residual_variance(
        self, rows: Rows, objective: Any, theta: np.ndarray, likelihood: GaussianNoiseLikelihood
    ) -> float:
        """Squared residuals at the mode over the rows that the parameters do not use up."""
        sums, found = self._curvature(rows, objective, theta, likelihood)
        k, before = self._widths(objective.network)[-1], likelihood.variance
        squares = 2 * before * sums.value - sums.n * k * before * (_LOG_2_PI + np.log(before))
        used = effective_parameters(found.eigenvalues, self.prior_precision)
        left = max(sums.n * k - used, 1.0)
        return max(squares / left, _MIN_NOISE)

    def predict_parts(self, X: Any) -> PredictionParts:
        """Mean of each row, with the noise and what is not known about the network apart.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        mean, variance = self._predict_moments(X)
        noise = np.full_like(mean, np.sqrt(self.noise_variance_))
        parts = (mean, noise, np.sqrt(variance))
        return PredictionParts(*(p[:, 0] if p.shape[1] == 1 else p for p in parts))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted values, and optionally the standard deviation of the predictive distribution.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return the standard deviation too, of noise and knowledge together.
        """
        parts = self.predict_parts(X)
        if not return_std:
            return parts.mean
        return parts.mean, np.sqrt(np.square(parts.noise_std) + np.square(parts.knowledge_std))


def _join_reports(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of minimizations one after the other."""
    histories = [report["history_"] for report in reports]
    ends = np.cumsum([0.0, *(history["seconds"][-1] for history in histories)])
    seconds = [history["seconds"] + end for history, end in zip(histories, ends[:-1], strict=True)]
    return {
        "n_iter_": sum(report["n_iter_"] for report in reports),
        "converged_": all(report["converged_"] for report in reports),
        "history_": {
            "objective": np.concatenate([history["objective"] for history in histories]),
            "seconds": np.concatenate(seconds),
        },
    }


def _softmax_of_last(f: np.ndarray) -> np.ndarray:
    return softmax(f, axis=-1)


class BayesianMLPClassifier(BayesianMLPBase, NetworkClassifier):
    r"""Multi-layer perceptron classifier with a posterior of its parameters.

    .. math:: P(y = k) = \mathrm{softmax}(f_\theta(x))_k, \qquad \theta \sim N(0, \alpha^{-1} I)

    Methods are those of `BayesianMLPRegressor`. The probabilities of "laplace" are the softmax of
    the outputs, each divided by :math:`\sqrt{1 + \pi v / 8}` for its variance v: away from the rows
    they go to equal ones. Those of the other methods are means over the draws.

    Parameters
    ----------
    hidden_layer_sizes, activation, method, hessian_structure : see `BayesianMLPRegressor`
        Network and posterior.
    prior_precision : see `BayesianMLPRegressor`
        Prior.
    n_samples, warmup, max_iter, tol : see `BayesianMLPRegressor`
        Draws, and L-BFGS.
    random_state, n_jobs, verbose : see `BayesianMLPRegressor`
        As there.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    network_, params_ : the layers, and the parameters at the mode, or their means ("variational")
    covariance_, covariance_factors_, variances_, samples_ : see `BayesianMLPRegressor`
    log_evidence_, n_effective_parameters_, elbo_, r_hat_ : see `BayesianMLPRegressor`
    n_iter_, converged_, history_ : see `BayesianMLPRegressor`

    See Also
    --------
    BayesianMLPRegressor, BayesianLogisticRegression, MLPClassifier

    References
    ----------
    D. J. C. MacKay (1992), "The evidence framework applied to classification networks".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianMLPClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), [0, 0, 1, 1] * 5
    >>> model = BayesianMLPClassifier((5,), random_state=0).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _law_params = {"hidden_layer_sizes": (2,), "prior_precision": 10.0, "tol": 1e-8}
    _learned_shapes = {"covariance_": "v v", "samples_": "_ v"}
    _parameter_constraints = BAYESIAN_CONSTRAINTS

    def __init__(
        self,
        hidden_layer_sizes: Any = (20,),
        activation: str = "tanh",
        *,
        method: str = "laplace",
        hessian_structure: str = "auto",
        prior_precision: float = 1.0,
        n_samples: int = 100,
        warmup: int = 300,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.hessian_structure = hessian_structure
        self.prior_precision = prior_precision
        self.n_samples = n_samples
        self.warmup = warmup
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, targets: int) -> Any:
        return CrossEntropy()

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        likelihood = CategoricalLikelihood()
        objective, minimum = self._find_mode(rows, rng, likelihood)
        posterior = self._posterior(rows, rng, objective, minimum, likelihood)
        return self._learned_attributes(objective, minimum, posterior)

    def predict_proba(self, X: Any) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Probability of each class for each row, (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        mean, variance = self._predict_moments(X, _softmax_of_last)
        if hasattr(self, "samples_"):
            return mean
        return softmax(mean / np.sqrt(1 + mean.dtype.type(np.pi / 8) * variance), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
