"""Semantic hashing: binary codes whose Hamming distance tells which rows are alike."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import store_arguments
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._autoencoder_base import TRAINING_CONSTRAINTS, AutoencoderBase
from tenfold.neural._autoencoder_objective import AutoencoderObjective, encode_rows

_HALF = 0.5  # a code unit above it is a one


def _hash_rows(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    return np.packbits(encode_rows(chunk, objective, params) > _HALF, axis=1)


def _nearest_codes(chunk: Chunk, codes: np.ndarray, k: int) -> np.ndarray:
    """Distances and numbers of the k nearest codes of each row, side by side."""
    found = np.empty((chunk.rows, 2 * k), np.int64)
    for row, code in zip(found, chunk.X, strict=True):
        differences = np.bitwise_count(codes ^ code.astype(np.uint8))
        counts = differences.sum(axis=1, dtype=np.int64)
        keys = counts * len(codes) + np.arange(len(codes))  # equal distances: the first one
        nearest = np.sort(np.partition(keys, k - 1)[:k])
        row[:k], row[k:] = nearest // len(codes), nearest % len(codes)
    return found


class SemanticHashing(AutoencoderBase):
    r"""Autoencoder with binary codes, for retrieval: like rows have codes of few different bits.

    The code is a sigmoid of noisy scores, :math:`z = \sigma(g_\phi(x) + \epsilon)`. To get past the
    noise the encoder learns scores far from zero, so that the code nearly is binary; after training
    it is rounded. Rows alike are found by comparing a few bytes instead of all columns.

    Parameters
    ----------
    n_components : int
        Bits of a code.
    hidden_layer_sizes, activation : tuple of int, str
        Units and activation of the layers between rows and code, see `Autoencoder`.
    loss : {"bernoulli", "squared"}
        Of the reconstruction; "bernoulli" for rows of numbers from 0 to 1, such as the presence of
        words.
    code_noise : float
        Standard deviation of the noise before the sigmoid.
    filters, kernel, image_shape : see `Autoencoder`
        Convolutional layers for images.
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
    codes_ : (n_rows, n_bytes) uint8 codes of the training rows, eight bits to a byte
    loss_curve_ : mean loss of each epoch
    n_iter_, t_ : epochs and steps

    See Also
    --------
    Autoencoder, NearestNeighbors

    References
    ----------
    R. Salakhutdinov, G. Hinton (2009), "Semantic hashing".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import SemanticHashing
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SemanticHashing(16, (64,), learning_rate=0.003, random_state=0).fit(X / 16)
    >>> _, neighbors = model.kneighbors(X / 16, n_neighbors=6)
    >>> bool((y[neighbors[:, 1:]] == y[:, None]).mean() > 0.7)
    True
    """

    _law_params = {"n_components": 4, "epochs": 2, "learning_rate": 0.01, "loss": "squared"}
    _learned_shapes = {"codes_": "_ _ : index"}
    code_activation = "sigmoid"
    noise = encoder = decoder = None
    _parameter_constraints = TRAINING_CONSTRAINTS | {
        "code_noise": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 32,
        hidden_layer_sizes: Any = (),
        *,
        activation: str = "relu",
        loss: str = "bernoulli",
        code_noise: float = 4.0,
        filters: Any = (),
        kernel: int = 3,
        image_shape: Any = None,
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

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        learned = super()._fit(rows, rng)
        objective = self._make_objective(learned["network_"])
        return learned | {"codes_": rows.each(_hash_rows, objective, learned["params_"])}

    def _train_one_epoch(self, rows: Rows) -> None:
        super()._train_one_epoch(rows)
        self.codes_ = rows.each(_hash_rows, self._objective(), self.params_)

    def _check_learned(self) -> None:
        """Raise an error if the codes of a loaded model are not those of its network."""
        super()._check_learned()
        width = -(-self.n_codes_ // 8) if hasattr(self, "params_") else 0
        codes = getattr(self, "codes_", None)
        if codes is not None and (codes.dtype != np.uint8 or codes.shape[1:] != (width,)):
            raise ValueError(f"codes_ must be bytes, {width} for each row")

    def hash(self, X: Any) -> np.ndarray:
        """Binary code of each row, (n_rows, n_bytes) uint8, eight bits to a byte.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._apply_to_rows(X, _hash_rows)

    def kneighbors(self, X: Any, n_neighbors: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The training rows whose codes differ in the fewest bits; of equal ones the first.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_neighbors : int
            How many training rows to find.

        Returns
        -------
        distances : (n_rows, n_neighbors) numbers of different bits
        indices : (n_rows, n_neighbors) numbers of training rows
        """
        check_is_fitted(self)
        most = len(self.codes_)
        if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors <= most:
            raise ValueError(f"n_neighbors must be from 1 to {most}, not {n_neighbors!r}")
        codes = self.hash(X)
        with self._work_context():
            chunks = Rows(ArraySource(codes))
            found = chunks.each(_nearest_codes, self.codes_, int(n_neighbors))
        return found[:, :n_neighbors], found[:, n_neighbors:]
