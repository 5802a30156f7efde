"""Recurrent networks for sequences."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.neural._estimators import NetworkClassifier, NetworkRegressor
from tenfold.neural._minibatch import SMALL_PART_ROWS
from tenfold.neural._sequences import sequence_extent
from tenfold.neural._training_config import Objective
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.layers.recurrent import Bidirectional, GatedRnn, Gru, Lstm, Rnn
from tenfold.neural.sequential import SequentialBase

_CELLS = {"lstm": Lstm, "gru": Gru, "gated": GatedRnn, "rnn": Rnn}
_COUNT = Interval(Integral, 1, None, closed="left")


class RecurrentBase(SequentialBase):
    """Base of `RecurrentClassifier` and `RecurrentRegressor`."""

    _law_rows = 4500
    _law_params = {"cell": "rnn", "units": 16, "epochs": 4, "batch_size": 32, "learning_rate": 0.03}
    l1, clip_value, shuffle = 0.0, None, True
    _parameter_constraints = {
        **SequentialBase._parameter_constraints,  # noqa: SLF001
        "cell": [StrOptions(set(_CELLS))],
        "units": [_COUNT, list, tuple],
        "bidirectional": ["boolean"],
        "embedding": [_COUNT, None],
        "symbols": [_COUNT, None],
        "truncate": [_COUNT, None],
    }

    def __init__(
        self,
        cell: str = "lstm",
        units: int | Sequence[int] = 64,
        *,
        bidirectional: bool = False,
        embedding: int | None = None,
        symbols: int | None = None,
        truncate: int | None = None,
        loss: Any = "auto",
        optimizer: Any = "adam",
        learning_rate: Any = 0.001,
        epochs: int = 10,
        batch_size: int = 128,
        part_rows: int = SMALL_PART_ROWS,
        l2: float = 0.0,
        clip_norm: float | None = 5.0,
        tol: float | None = None,
        patience: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        input_shape: Shape | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cell = cell
        self.units = units
        self.bidirectional = bidirectional
        self.embedding = embedding
        self.symbols = symbols
        self.truncate = truncate
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.part_rows = part_rows
        self.l2 = l2
        self.clip_norm = clip_norm
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.input_shape = input_shape
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """As of every sequential model; a flat row has one value per step."""
        rows = super()._rows(X, y, w, reset=reset)
        if reset and len(self.row_shape_) == 1:
            self.row_shape_ = (rows.n_features, 1)
        return rows

    def _takes_sequences(self) -> bool:
        return True

    def _initialize(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[Objective, list[np.ndarray]]:
        if self.embedding is not None:
            self.n_symbols_ = self.symbols or int(rows.total(sequence_extent).max_value) + 1
        return super()._initialize(rows, rng)

    def _layers(self, targets: int) -> Sequence[Layer]:
        units: Any = [self.units] if isinstance(self.units, Integral) else self.units
        layers: list[Any] = []
        if self.embedding is not None:
            layers.append(Embedding(self.n_symbols_, self.embedding))
        for number, width in enumerate(units, 1):
            all_states = self.per_step_ or number < len(units)
            layer = _CELLS[self.cell](width, all_states=all_states, truncate=self.truncate)
            layers.append(Bidirectional(layer) if self.bidirectional else layer)
        return [*layers, Dense()]


class RecurrentClassifier(RecurrentBase, NetworkClassifier):
    """Recurrent network for classification of sequences, or of their steps.

    The scores are a linear function of the last state. Objective and training are those of
    `SequentialClassifier`; gradients flow back through all steps of a sequence (backpropagation
    through time).

    Sequences are lists of arrays of different lengths, (n_steps, n_features), or (n_steps,) for
    series and symbols; arrays (n_rows, n_steps, n_features); or flat rows, as in tables and files:
    then each column is a step, unless `input_shape` is given.

    If y is a list of arrays, with a label for each step, the network predicts a label at each step
    from the state there; the loss of a sequence is the sum over its steps, and predictions are
    lists of arrays.

    Parameters
    ----------
    cell : "lstm", "gru", "gated" or "rnn"
        Recurrent layer: `Lstm`, `Gru`, `GatedRnn` or `Rnn` of `tenfold.neural`.
    units : int or list of int
        Size of the state; a list for several layers.
    bidirectional : bool
        Whether a second layer reads sequences from the end.
    embedding : int, optional
        Steps are symbols 0, 1, ...; length of the vector that is learned for each.
    symbols : int, optional
        Number of symbols; by default one more than the largest of the fit.
    truncate : int, optional
        Gradients flow back over at most so many steps (truncated backpropagation through time).
    loss, optimizer, learning_rate, epochs, batch_size, part_rows : see `SequentialClassifier`
        Loss and optimization.
    l2 : float
        Penalty of the weights.
    clip_norm : float, optional
        Largest norm of the gradient: those of long sequences may explode.
    tol, patience, early_stopping, validation_fraction : see `SequentialClassifier`
        Stopping.
    input_shape : tuple of int, optional
        (n_steps, n_features), if X is flat.
    warm_start, random_state, n_jobs, verbose : see `SequentialClassifier`
        As there.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had labels
    n_symbols_ : number of symbols, with `embedding`
    loss_curve_ : mean loss of each epoch, with penalties
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    RecurrentRegressor, SequentialClassifier

    References
    ----------
    S. Hochreiter, J. Schmidhuber (1997), "Long short-term memory".
    K. Cho, B. van Merrienboer, C. Gulcehre, D. Bahdanau, F. Bougares, H. Schwenk, Y. Bengio (2014),
    "Learning phrase representations using RNN encoder-decoder for statistical machine translation".

    Examples
    --------
    Which symbol came first? Averages over the steps do not contain it.

    >>> import numpy as np
    >>> from tenfold import RecurrentClassifier
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.permutation(2 + i % 4) for i in range(400)]
    >>> first = [int(word[0] == 0) for word in words]
    >>> model = RecurrentClassifier("gru", 16, embedding=4, learning_rate=0.03, random_state=0)
    >>> bool(model.fit(words[:300], first[:300]).score(words[300:], first[300:]) > 0.97)
    True
    """

    _default_loss = "cross_entropy"


class RecurrentRegressor(RecurrentBase, NetworkRegressor):
    """Recurrent network for regression on sequences, or on their steps.

    Parameters and sequences are those of `RecurrentClassifier`: y has a value for each sequence, or
    for each of its steps. To forecast a series, make rows of its last values with
    `tenfold.datasets.make_windows`.

    Parameters
    ----------
    cell, units, bidirectional, embedding, symbols, truncate : see `RecurrentClassifier`
        Network.
    loss : str or loss
        "squared" ("auto"), "gaussian", or a loss of `tenfold.math.losses`.
    optimizer, learning_rate, epochs, batch_size, part_rows, l2, clip_norm : as there
        Optimization.
    tol, patience, early_stopping, validation_fraction : see `SequentialClassifier`
        Stopping.
    input_shape, warm_start, random_state, n_jobs, verbose : see `RecurrentClassifier`
        As there.

    Attributes
    ----------
    network_, params_, ragged_, per_step_, n_symbols_, loss_curve_, n_iter_, t_, history_
        As of `RecurrentClassifier`.

    See Also
    --------
    RecurrentClassifier, SequentialRegressor

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RecurrentRegressor
    >>> from tenfold.datasets import make_windows
    >>> X, y = make_windows(np.sin(np.arange(300) / 5), window=8)
    >>> model = RecurrentRegressor("gru", 8, epochs=60, learning_rate=0.02, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.98)
    True
    """
