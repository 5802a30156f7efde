"""What autoencoders share: parameters, training without a target, codes and reconstructions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._autoencoder_layers import build_layers, tied_positions
from tenfold.neural._autoencoder_objective import (
    AutoencoderObjective,
    decode_rows,
    encode_rows,
    reconstruct_rows,
    reconstruction_losses,
)
from tenfold.neural._estimators import (
    NetworkEstimator,
    check_partial_fit,
    warm_start_params,
)
from tenfold.neural._inference import draw_held_out
from tenfold.neural._training import train_lbfgs
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Shape
from tenfold.neural.losses import HalfSquaredError, MultilabelCrossEntropy
from tenfold.neural.network import build_network
from tenfold.neural.sequential import OPTIMIZERS
from tenfold.optim.schedules import CosineDecay, Schedule, as_schedule

_COUNT = Interval(Integral, 1, None, closed="left")
_NON_NEGATIVE = Interval(Real, 0, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_MIN_MEAN = 1e-3  # of a Bernoulli column, whose logit the bias of the output begins with

TRAINING_CONSTRAINTS: dict[str, Any] = {
    "n_components": [_COUNT],
    "hidden_layer_sizes": ["array-like", tuple],
    "activation": [str],
    "loss": [StrOptions({"squared", "bernoulli"})],
    "filters": ["array-like", tuple],
    "kernel": [_COUNT],
    "image_shape": ["array-like", tuple, None],
    "optimizer": [StrOptions({*OPTIMIZERS, "lbfgs"}), HasMethods(["update"])],
    "learning_rate": [_POSITIVE, callable],
    "epochs": [_COUNT],
    "batch_size": [_COUNT],
    "part_rows": [_COUNT, None],
    "l2": [_NON_NEGATIVE],
    "l1": [_NON_NEGATIVE],
    "clip_norm": [_POSITIVE, None],
    "tol": [_NON_NEGATIVE, None],
    "patience": [_COUNT],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "shuffle": ["boolean"],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
}


class ColumnSums(NamedTuple):
    """Weight of the rows, and sums and extremes of the columns."""

    n: float
    x: np.ndarray
    low: float
    high: float

    def merge(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(
            self.n + other.n,
            self.x + other.x,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def column_sums(chunk: Chunk) -> ColumnSums:
    """Sums of the columns of a chunk, and the extremes of the rows that have a weight."""
    w = chunk.weights().astype(np.float64)
    low, high = chunk.X.min() if chunk.X.size else 0.0, chunk.X.max() if chunk.X.size else 0.0
    return ColumnSums(float(w.sum()), np.asarray(chunk.X.T @ w), float(low), float(high))


def _held_out_losses(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray], held_out: np.ndarray
) -> np.ndarray:
    """Losses of the rows held out; zeros for the others."""
    losses = np.zeros(chunk.rows)
    rows = np.flatnonzero(held_out[chunk.first : chunk.first + chunk.rows])
    if len(rows):
        losses[rows] = reconstruction_losses(Chunk(chunk.X[rows]), objective, params)
    return losses


class HeldOutReconstruction(NamedTuple):
    """Rows held out for early stopping, and their weights."""

    rows: np.ndarray
    w: np.ndarray

    def error(self, rows: Rows, objective: AutoencoderObjective, params: list[np.ndarray]) -> float:
        """Mean loss of the rows held out."""
        losses = rows.each(_held_out_losses, objective, params, self.rows)[self.rows]
        return float(losses @ self.w / self.w.sum())


class AutoencoderBase(ClassNamePrefixFeaturesOutMixin, NetworkEstimator, Transformer):
    """Base of autoencoders: a network that is trained to give back its input."""

    _sparse_ok = True
    _is_variational = False
    _law_params = {"n_components": 3, "epochs": 3, "learning_rate": 0.01}
    _parameter_constraints = TRAINING_CONSTRAINTS

    def _code_penalty(self) -> Any:
        """The penalty of codes, or None."""
        return None

    def _shape(self) -> Shape | None:
        return None if self.image_shape is None else tuple(self.image_shape)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        return self._rows(X, None, w)

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        return super()._rows(X, None, w, reset=reset)

    def _loss(self, targets: int) -> Any:
        return MultilabelCrossEntropy() if self.loss == "bernoulli" else HalfSquaredError()

    def _dtype(self, rows: Rows) -> Any:
        return rows.dtype if self.optimizer == "lbfgs" else np.float32

    def _training_config(self, rows: Rows) -> TrainingConfig:
        names = ("batch_size", "part_rows", "l2", "l1", "clip_norm", "shuffle")
        settings = {name: getattr(self, name) for name in names}
        optimizer = OPTIMIZERS.get(self.optimizer, self.optimizer)
        return TrainingConfig(optimizer, self._schedule(rows), **settings)

    def _schedule(self, rows: Rows) -> Schedule:
        schedule = as_schedule(self.learning_rate)
        if isinstance(schedule, CosineDecay) and schedule.steps is None:
            return schedule._replace(steps=self.epochs * -(-rows.n_rows // self.batch_size))
        return schedule

    def _stopping_rule(self) -> StoppingRule:
        tol = 0.0 if self.early_stopping and self.tol is None else self.tol
        return StoppingRule(self.epochs, tol, self.patience)

    def _validation_set(self, rows: Rows, rng: np.random.Generator) -> Any:
        if not self.early_stopping:
            return None
        return HeldOutReconstruction(*draw_held_out(rows, self.validation_fraction, rng))

    def _initialize(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[AutoencoderObjective, list[np.ndarray]]:
        """Network and initial parameters: new ones, or those of the last fit (`warm_start`).

        The bias of the output begins with the means of the columns.
        """
        sums = rows.total(column_sums)
        if self.loss == "bernoulli" and (sums.low < 0 or sums.high > 1):
            raise ValueError(
                f"loss='bernoulli' takes values from 0 to 1, but X has values from {sums.low:g} to "
                f"{sums.high:g}: scale the columns (X / X.max()), or take loss='squared'"
            )
        layers, dtype = build_layers(self, self.row_shape_), self._dtype(rows)
        network, params = build_network(
            [*layers.encoder, *layers.decoder], self.row_shape_, rng, dtype
        )
        self.n_encoder_layers_ = len(layers.encoder)
        objective = self._make_objective(network)
        _check_output(network, self.row_shape_)
        for i, j in objective.tied:
            params[j] = np.ascontiguousarray(params[i].T)
        _set_output_bias(params, sums.x / sums.n, bernoulli=self.loss == "bernoulli")
        last = getattr(self, "params_", None)
        if self.warm_start and last is not None:
            params = warm_start_params(last, params)
        return objective, params

    def _make_objective(self, network: Any) -> AutoencoderObjective:
        k = self.n_encoder_layers_
        tied = tied_positions(network, k) if getattr(self, "tied", False) else ()
        return AutoencoderObjective(
            network, self._loss(0), self._make_batch, k, self._code_penalty(), tied
        )

    def _objective(self) -> AutoencoderObjective:
        return self._make_objective(self.network_)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.optimizer != "lbfgs":
            return super()._fit(rows, rng)
        self._check_deterministic()
        objective, params = self._initialize(rows, rng)
        alpha = self.l2 * rows.total(column_sums).n
        tol = 1e-6 if self.tol is None else self.tol
        params, minimum = train_lbfgs(objective, rows, params, alpha, tol=tol, max_iter=self.epochs)
        for i, j in objective.tied:  # equal up to rounding
            params[j] = np.ascontiguousarray(params[i].T)
        learned = {"network_": objective.network, "params_": params, "t_": 0}
        losses = [float(value) for value in minimum.report["history_"]["objective"]]
        return learned | {"loss_curve_": losses} | minimum.report

    def _check_deterministic(self) -> None:
        """L-BFGS needs the same objective in every iteration, smooth and on all rows."""
        asked = {
            "noise": getattr(self, "noise", None) is not None,
            "code_noise": bool(getattr(self, "code_noise", 0)),
            "sparsity='kl'": getattr(self, "sparsity", None) == "kl",
            "l1": self.l1 > 0,
            "early_stopping": self.early_stopping,
            "a sampled code": self._is_variational,
        }
        if any(asked.values()):
            what = next(name for name, on in asked.items() if on)
            raise ValueError(f"optimizer='lbfgs' does not go with {what}: take optimizer='adam'")

    def _results(self, objective: Any, loop: Any) -> dict[str, Any]:
        """As of every network; a fit that has run all its epochs needs no warning."""
        learned = super()._results(objective, loop)
        learned |= {"warning_": ""} if self.tol is None else {}
        if self.early_stopping:
            learned["validation_losses_"] = np.array(loop.state.validation_errors)
        return learned

    @property
    def _n_features_out(self) -> int:
        return self.n_codes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_learned(self) -> None:
        """Raise an error if the parts of a loaded network do not fit each other."""
        super()._check_learned()
        if not hasattr(self, "params_"):
            return
        layers = len(self.network_.layers)
        if not 0 < self.n_encoder_layers_ < layers:
            raise ValueError(f"{self.n_encoder_layers_} of {layers} layers cannot be the encoder")
        _check_output(self.network_, tuple(self.row_shape_))

    @property
    def n_codes_(self) -> int:
        """Number of values of a code."""
        return int(np.prod(self.network_.shapes[self.n_encoder_layers_ - 1]))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows, which are their own targets.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; images also as arrays of more than two axes.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row in its batch.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch over further rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : None
            Not used.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        check_partial_fit(self)
        if self.optimizer == "lbfgs":
            raise ValueError("partial_fit takes steps on batches: take optimizer='adam'")
        with self._work_context():
            first = not hasattr(self, "params_")
            self._train_one_epoch(self._rows(X, None, sample_weight, reset=first))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Code of each row, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._apply_to_rows(X, encode_rows)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Reconstruction from each code, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Codes, as `transform` returns them.
        """
        check_is_fitted(self)
        codes = check_array(X)
        codes = codes if codes.dtype == np.float32 else codes.astype(np.float64)
        objective = self._objective()
        width = int(np.prod(objective.encoder.shapes[-1]))
        if codes.shape[1] != self._n_features_out:
            raise ValueError(f"codes have {self._n_features_out} columns, X has {codes.shape[1]}")
        if width != codes.shape[1]:  # means alone; the decoder also takes log-variances
            codes = np.hstack([codes, np.zeros_like(codes)])
        dtype = np.result_type(codes, self.params_[0])
        params = [p.astype(dtype, copy=False) for p in self.params_]
        with self._work_context():
            return Rows(ArraySource(codes)).each(decode_rows, objective, params)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Each row, encoded and decoded; in the shape of X.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        values = self._apply_to_rows(X, reconstruct_rows)
        return values.reshape(X.shape) if getattr(X, "ndim", 2) > 2 else values

    def reconstruction_error(self, X: Any) -> np.ndarray:
        """Loss of each row, (n_rows,): large for rows unlike those of the training.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._apply_to_rows(X, reconstruction_losses)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean loss of the rows, for the selection of models.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used.
        sample_weight : array, optional
            Their weights.
        """
        return -float(np.average(self.reconstruction_error(X), weights=sample_weight))


def _check_output(network: Any, row_shape: Shape) -> None:
    """Raise an error if reconstructions do not have the shape of rows."""
    if tuple(network.shapes[-1]) != tuple(row_shape):
        raise ValueError(
            f"the decoder gives {network.shapes[-1]} for each row, but rows have the shape "
            f"{tuple(row_shape)}: end it with Dense({int(np.prod(row_shape))})"
        )


def _set_output_bias(params: list[np.ndarray], mean: np.ndarray, *, bernoulli: bool) -> None:
    """Let the bias of the last layer begin with the means, one for each column or channel."""
    bias = params[-1] if params else np.empty((0, 0))
    if bias.ndim != 1 or not bias.size or mean.size % bias.size:
        return
    mean = mean.reshape(-1, bias.size).mean(axis=0)
    if bernoulli:
        mean = np.clip(mean, _MIN_MEAN, 1 - _MIN_MEAN)
        mean = np.log(mean / (1 - mean))
    params[-1] = mean.astype(bias.dtype)
