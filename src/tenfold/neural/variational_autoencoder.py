"""Variational autoencoder: a density of rows with a Gaussian code."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import store_arguments
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._autoencoder_base import TRAINING_CONSTRAINTS, AutoencoderBase
from tenfold.neural._autoencoder_objective import AutoencoderObjective, GaussianKL, encode_rows
from tenfold.neural._inference import iterate_batches
from tenfold.neural._row_draws import row_keys, row_normals
from tenfold.neural.losses import HalfSquaredError
from tenfold.neural.network import forward

_MIN_VARIANCE = 1e-8  # of the observations, relative to that of the data
_LOG_2_PI = float(np.log(2 * np.pi))


class OptimalVarianceLoss(NamedTuple):
    r"""Gaussian negative log-likelihood with the variance that is best for the rows at hand.

    :math:`\tfrac{n p}{2} \log \frac{1}{n p} \sum_i \lVert z_i - x_i \rVert^2` for n rows (a part of
    a batch) of p columns, up to a constant. Its gradient is that of the squared error over the
    variance.
    """

    floor: float = 0.0

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> tuple[float, np.ndarray]:
        half, gradient = HalfSquaredError().value_and_gradient(z, y, w)
        n, p = float(len(z) if w is None else w.sum(dtype=np.float64)), z[0].size
        variance = max(2 * half / max(n * p, 1e-300), self.floor)
        return n * p / 2 * float(np.log(variance)), gradient / gradient.dtype.type(variance)

    def row_losses(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Half the squared error of each row."""
        return HalfSquaredError().row_losses(z, y)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return z


def _encode_means(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    code = encode_rows(chunk, objective, params)
    return np.ascontiguousarray(code[:, : code.shape[1] // 2])


def _log_weights(
    chunk: Chunk,
    objective: AutoencoderObjective,
    params: list[np.ndarray],
    seed: int,
    samples: int,
    scale: tuple[float, float],
) -> np.ndarray:
    """Log p(x | z) + log p(z) - log q(z | x) of each row for each sample of z.

    The log-likelihood of a row is scale[0] times its loss, plus scale[1]. Each row has draws of its
    own, by a hash of the seed and its values, so that the result depends on the row alone.
    """
    own, others = objective.split_params(params)
    decoder, parts = objective.decoder, []
    for x, context in iterate_batches(chunk, objective, params):
        code, _ = forward(objective.encoder, own, x, context)
        mean, log_variance = np.split(code, 2, axis=1)
        keys, width, columns = row_keys(x, seed), mean.shape[1], []
        for sample in range(samples):
            draws = row_normals(keys, sample * width, width).astype(x.dtype)
            z = mean + np.exp(log_variance / 2) * draws
            both = np.hstack([z, np.zeros_like(z)])  # the decoder passes on the first half
            output, _ = forward(decoder, others, both, context)
            likelihood = scale[0] * objective.loss.row_losses(output, x) + scale[1]
            prior = (log_variance + draws * draws - z * z).sum(axis=1) / 2
            columns.append(likelihood + prior)
        parts.append(np.column_stack(columns))
    return np.concatenate(parts)


class VariationalAutoencoder(AutoencoderBase):
    r"""Variational autoencoder: rows are decoded from Gaussian codes.

    .. math:: z \sim N(0, I), \quad x \mid z \sim p(x \mid f_\theta(z)), \qquad
              \log p(x) \ge E_{q(z \mid x)}[\log p(x \mid z)]
              - \beta \, \mathrm{KL}(q(z \mid x) \,\|\, N(0, I))

    The encoder gives mean and variance of the Gaussian q(z | x), the decoder the mean of a Gaussian
    (`loss="squared"`) or the probabilities of Bernoulli values. Both are trained by gradients of
    the bound on the right, with one sample of z for each row and step. With linear units the best
    model is that of probabilistic PCA.

    Parameters
    ----------
    n_components : int
        Number of values of a code.
    hidden_layer_sizes, activation : tuple of int, str
        Units and activation of the layers between rows and code, see `Autoencoder`.
    loss : {"squared", "bernoulli"}
        Gaussian observations, or Bernoulli values for rows of numbers from 0 to 1.
    variance : float or "auto"
        Variance of Gaussian observations: given, or the one that is best for the reconstructions.
    beta : float
        Weight of the divergence from the prior; 1 for a bound of the likelihood.
    filters, kernel, image_shape : see `Autoencoder`
        Convolutional layers for images.
    encoder, decoder : lists of layers, optional
        Other layers. The encoder ends with 2 n_components values, means and log-variances; the
        decoder begins with `tenfold.neural.GaussianSample()`.
    optimizer, learning_rate, epochs, batch_size, part_rows : see `Autoencoder`
        Optimization.
    l2, l1, clip_norm : see `Autoencoder`
        Penalties and gradient clipping.
    tol, patience, early_stopping, validation_fraction : see `Autoencoder`
        Stopping.
    shuffle, warm_start, random_state, n_jobs, verbose : see `Autoencoder`
        As there.

    Attributes
    ----------
    network_, params_ : all layers with their shapes, and all parameters, one flat list
    n_encoder_layers_ : number of layers that encode
    variance_ : variance of Gaussian observations
    loss_curve_ : mean of minus the bound in each epoch, up to a constant
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    Autoencoder, PCA

    References
    ----------
    D. P. Kingma, M. Welling (2014), "Auto-encoding variational Bayes".
    O. Rybkin, K. Daniilidis, S. Levine (2021), "Simple and effective VAE training with calibrated
    decoders".
    J. Lucas, G. Tucker, R. Grosse, M. Norouzi (2019), "Don't blame the ELBO! A linear VAE
    perspective on posterior collapse".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import VariationalAutoencoder
    >>> X = load_digits().data / 16
    >>> model = VariationalAutoencoder(
    ...     8, (64,), loss="bernoulli", learning_rate=0.003, random_state=0
    ... ).fit(X)
    >>> model.sample(3).shape
    (3, 64)
    """

    _is_variational = True
    noise = None  # of the input: the code is sampled instead
    code_noise = 0.0
    _law_rows = 4500
    _law_params = {"n_components": 2, "epochs": 2, "learning_rate": 0.01}
    _learned_shapes = {"variance_": "()"}
    _parameter_constraints = TRAINING_CONSTRAINTS | {
        "variance": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "beta": [Interval(Real, 0, None, closed="left")],
        "encoder": ["array-like", tuple, None],
        "decoder": ["array-like", tuple, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        hidden_layer_sizes: Any = (64,),
        *,
        activation: str = "relu",
        loss: str = "squared",
        variance: Any = "auto",
        beta: float = 1.0,
        filters: Any = (),
        kernel: int = 3,
        image_shape: Any = None,
        encoder: Any = None,
        decoder: Any = None,
        optimizer: Any = "adam",
        learning_rate: Any = 0.001,
        epochs: int = 20,
        batch_size: int = 128,
        part_rows: int | None = None,
        l2: float = 0.0,
        l1: float = 0.0,
        clip_norm: float | None = None,
        tol: float | None = None,
        patience: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_arguments(self, locals())

    def _loss(self, targets: int) -> Any:
        if self.loss == "squared" and self.variance == "auto":
            return OptimalVarianceLoss(_MIN_VARIANCE)
        return super()._loss(targets)

    def _code_penalty(self) -> GaussianKL:
        """The divergence; the squared error is not divided by a given variance, so it has it."""
        if self.loss == "squared" and self.variance != "auto":
            return GaussianKL(self.beta * float(self.variance))
        return GaussianKL(self.beta)

    def _initialize(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[AutoencoderObjective, list[np.ndarray]]:
        """As of every autoencoder; all log-variances begin at zero."""
        objective, params = super()._initialize(rows, rng)
        own, _ = objective.split_params(params)
        is_fresh = not (self.warm_start and hasattr(self, "params_"))
        if is_fresh and len(own) > 1 and own[-2].ndim == 2:
            own[-2][:, own[-2].shape[1] // 2 :] = 0
        return objective, params

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        seed = int(rng.integers(2**31))
        learned = super()._fit(rows, rng)
        objective = self._make_objective(learned["network_"])
        learned["variance_"] = self._observation_variance(rows, objective, learned["params_"], seed)
        return learned

    def _train_one_epoch(self, rows: Rows) -> None:
        super()._train_one_epoch(rows)
        objective, params = self._objective(), self.params_
        self.variance_ = self._observation_variance(rows, objective, params, 0)

    def _observation_variance(
        self, rows: Rows, objective: AutoencoderObjective, params: list[np.ndarray], seed: int
    ) -> float:
        """The variance of Gaussian observations; 1 where there are none."""
        if self.loss != "squared":
            return 1.0
        if self.variance != "auto":
            return float(self.variance)
        sums = rows.total(_residual_sums, objective, params, seed)
        return max(sums.squares / max(sums.n, 1e-300), _MIN_VARIANCE)

    def transform(self, X: Any) -> np.ndarray:
        """Mean of the code of each row, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._apply_to_rows(X, _encode_means)

    def predict_code(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the code of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        mean, std : (n_rows, n_components) arrays
        """
        mean, log_variance = np.split(self._apply_to_rows(X, encode_rows), 2, axis=1)
        return mean, np.exp(log_variance / 2)

    @property
    def n_codes_(self) -> int:
        """Number of values of a code."""
        return super().n_codes_ // 2

    def score_samples(self, X: Any, *, n_samples: int = 16, random_state: Any = 0) -> np.ndarray:
        """Log-density of each row, (n_rows,), estimated by importance sampling from the encoder.

        The estimate is a lower bound on average, which tightens with the number of samples. Each
        row has samples of its own, which depend on the seed and on its values: the estimate is the
        same wherever a row stands, errors of different rows are independent, and the mean over many
        rows is far more accurate than one of them.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_samples : int
            Samples of the code for each row.
        random_state : int, optional
            Seed of the samples.
        """
        weights = self._sample_weights(X, n_samples, random_state)
        return logsumexp(weights, axis=1) - np.asarray(np.log(n_samples), weights.dtype)

    def elbo(self, X: Any, *, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Evidence lower bound of each row (beta = 1), (n_rows,), with samples of the code.

        Each row has samples of its own, see `score_samples`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_samples : int
            Samples of the code for each row.
        random_state : int, optional
            Seed of the samples.
        """
        return self._sample_weights(X, n_samples, random_state).mean(axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows, see `score_samples`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used.
        sample_weight : array, optional
            Their weights.
        """
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def _sample_weights(self, X: Any, n_samples: int, random_state: Any) -> np.ndarray:
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples is the number of samples, at least 1, not {n_samples!r}")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        scale = (-1.0, 0.0)
        if self.loss == "squared":
            constant = -self.n_features_in_ / 2 * (_LOG_2_PI + np.log(self.variance_))
            scale = (-1 / self.variance_, float(constant))
        with self._work_context():
            rows = self._rows(X, reset=False)
            dtype = np.result_type(rows.dtype, self.params_[0])
            params = [p.astype(dtype, copy=False) for p in self.params_]
            return rows.each(_log_weights, self._objective(), params, seed, n_samples, scale)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, noise: bool = False
    ) -> np.ndarray:
        """New rows from random codes, (n_samples, n_features).

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, optional
            Seed; by default that of the model.
        noise : bool
            Whether to draw the observations as well, rather than to return their means.
        """
        check_is_fitted(self)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31 - 1))
        codes = rng.standard_normal((n_samples, self.n_codes_)).astype(self.params_[0].dtype)
        means = self.inverse_transform(codes)
        if not noise:
            return means
        if self.loss == "bernoulli":
            return (rng.random(means.shape) < means).astype(means.dtype)
        deviations = np.sqrt(self.variance_) * rng.standard_normal(means.shape)
        return means + deviations.astype(means.dtype)


class ResidualSums(NamedTuple):
    """Weight of all values, and the sum of squared residuals."""

    n: float
    squares: float


def _residual_sums(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray], seed: int
) -> ResidualSums:
    """Squared residuals of the reconstructions from sampled codes."""
    w, done, squares, columns = chunk.weights().astype(np.float64), 0, 0.0, 0
    for x, context in iterate_batches(chunk, objective, params):
        context = context._replace(training=True, seed=seed, first_row=chunk.first + done)
        output, _ = forward(objective.network, params, x, context)
        rows = 2 * objective.loss.row_losses(output, x).astype(np.float64)
        squares += float(rows @ w[done : done + len(x)])
        done, columns = done + len(x), x[0].size
    return ResidualSums(float(w.sum()) * columns, squares)
