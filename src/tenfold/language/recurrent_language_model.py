"""Language models with a recurrent network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import store_arguments
from tenfold.language._network_language_model import NetworkLanguageModel
from tenfold.language.next_symbol_network import step_scores
from tenfold.math.links import log_softmax, softmax
from tenfold.neural.layers.base import Layer, LayerStates, PassContext
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.recurrent import GatedRnn, Gru, Lstm, Rnn

_CELLS = {"lstm": Lstm, "gru": Gru, "gated": GatedRnn, "rnn": Rnn}
_SCORED_DOCUMENTS, _SCORED_STEPS = 64, 256  # at a time


class RecurrentLanguageModel(NetworkLanguageModel):
    r"""Recurrent language model: the state of a network stands for all symbols so far.

    .. math:: s_t = \mathrm{cell}(v(w_{t-1}), s_{t-1}), \qquad
              p(w_t \mid w_1 \dots w_{t-1}) = \mathrm{softmax}(s_t W + b)_{w_t}

    with a learned vector v of each symbol. Training minimizes the mean of
    :math:`-\log p(w_t \mid w_1 \dots w_{t-1})`, given the true symbols (teacher forcing), by
    truncated backpropagation through time: `batch_size` lanes of the text are read side by side,
    `window` symbols at a step, and states are carried from window to window, while gradients are
    not.

    Fits give the same bits for any number of threads, from a list and from a file, and after a
    stop under `tenfold.checkpoint`.

    Parameters
    ----------
    cell : "lstm", "gru", "gated" or "rnn"
        Recurrent layer.
    units : int
        Size of its state.
    layers : int
        Number of recurrent layers.
    embedding : int, optional
        Length of the vectors of symbols; by default 64, or `units` with `tied`.
    tied : bool
        Whether the weights of the scores are the vectors of the symbols.
    dropout : float
        Fraction of the outputs of each recurrent layer that is set to zero in training.
    window : int
        Symbols over which gradients flow back.
    batch_size : int
        Number of lanes.
    epochs : int
        Times that the text is read.
    max_steps : int, optional
        Most steps: of a very long text only a part is read then.
    optimizer : str or optimizer
        "adam", "adamw", "sgd" and so on, or one of `tenfold.optim.optimizers`.
    learning_rate : float or callable
        Learning rate, or a schedule of `tenfold.optim.schedules`, then `schedule` and
        `warmup_steps` are not used.
    schedule : "cosine" or "constant"
        Whether the rate falls to a tenth along half a cosine.
    warmup_steps : int
        Steps in which the rate rises from zero; at most a tenth of all steps.
    clip_norm : float, optional
        Largest norm of the gradient.
    early_stopping : bool
        Whether to hold out the end of the text, and keep the parameters that predict it best.
    validation_fraction : float
        Share that is held out.
    patience : int
        Epochs without improvement after which training stops.
    unit, vocabulary_size, min_count, vocabulary, unknown, boundaries, lowercase, tokenizer
        As of `NGramModel`; by default symbols are characters, and a text is a stream.
    warm_start : bool
        Whether to start from the parameters and the vocabulary of the last fit (fine-tuning).
    random_state : int, optional
        Seed.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    symbols_, vocabulary_ : list and dict
        Symbols that can follow, and the number of each.
    network_, params_ : the layers, and their parameters
    embedding_ : (n_symbols, embedding) array
        Vectors of the symbols.
    n_parameters_ : int
        Number of weights.
    loss_curve_, validation_losses_ : mean loss of a symbol (nats) of each epoch
    n_epochs_, t_ : int
        Epochs and steps.
    history_ : dict
        Mean loss ("objective") and "seconds" of each round of at most 250 steps.
    n_documents_, n_tokens_ : int
        Training documents, and symbols in them with their ends.

    See Also
    --------
    NGramModel, SoftmaxLanguageModel, TransformerLanguageModel, compare_language_models

    References
    ----------
    T. Mikolov, M. Karafiat, L. Burget, J. Cernocky, S. Khudanpur (2010), "Recurrent neural network
    based language model".
    O. Press, L. Wolf (2017), "Using the output embedding to improve language models".

    Examples
    --------
    >>> from tenfold import RecurrentLanguageModel
    >>> text = "the cat sat. " * 40
    >>> model = RecurrentLanguageModel(
    ...     "gru", 16, window=16, batch_size=4, epochs=20, random_state=0
    ... )
    >>> model.fit(text).sample(prompt="the c", max_length=7, temperature=0)
    ['the cat sat.']
    """

    _carries_state = True
    _parameter_constraints = {
        **NetworkLanguageModel._parameter_constraints,  # noqa: SLF001
        "cell": [StrOptions(set(_CELLS))],
        "units": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        cell: str = "lstm",
        units: int = 256,
        *,
        layers: int = 1,
        embedding: int | None = None,
        tied: bool = False,
        dropout: float = 0.0,
        window: int = 64,
        batch_size: int = 64,
        epochs: int = 10,
        max_steps: int | None = None,
        optimizer: Any = "adam",
        learning_rate: Any = 0.004,
        schedule: str = "cosine",
        warmup_steps: int = 50,
        clip_norm: float | None = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 3,
        unit: str = "character",
        vocabulary_size: int | None = None,
        min_count: int = 1,
        vocabulary: Any = None,
        unknown: bool = True,
        boundaries: bool = False,
        lowercase: bool = False,
        tokenizer: Callable[[str], Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_arguments(self, locals())

    @property
    def _embedding_init(self) -> float:
        return self.units**-0.5 if self.tied else 1.0

    def _body(self) -> tuple[Sequence[Layer], int]:
        body: list[Any] = []
        for _ in range(self.layers):
            body.append(_CELLS[self.cell](self.units, all_states=True))
            if self.dropout:
                body.append(Dropout(self.dropout))
        return body, self.embedding or (self.units if self.tied else 64)

    def _log_probabilities(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        lengths = np.diff(starts)
        logs, order = np.empty(len(symbols)), np.argsort(-lengths, kind="stable")
        for group in range(0, len(order), _SCORED_DOCUMENTS):
            chosen = order[group : group + _SCORED_DOCUMENTS]
            self._score_group(symbols, starts[chosen], lengths[chosen], logs)
        return logs

    def _score_parts(self, symbols: np.ndarray) -> Iterator[np.ndarray]:
        states, last = LayerStates(), len(self.symbols_)
        for at in range(0, len(symbols), _SCORED_STEPS):
            y = np.asarray(symbols[at : at + _SCORED_STEPS], np.int64)
            states = LayerStates(states.last)
            x = np.concatenate([[last], y[:-1]])[None]
            scores = step_scores(self.network_, self.params_, x, PassContext(states=states))
            found, last = log_softmax(scores[0].astype(np.float64)), y[-1]
            yield np.take_along_axis(found, y[:, None], 1)[:, 0]

    def _score_group(
        self, symbols: np.ndarray, first: np.ndarray, lengths: np.ndarray, logs: np.ndarray
    ) -> None:
        """Scores of documents, longest first, into their places."""
        begin, states = len(self.symbols_), LayerStates()
        for at in range(0, int(lengths[0]) if len(lengths) else 0, _SCORED_STEPS):
            running = int(np.count_nonzero(lengths > at))
            width = min(_SCORED_STEPS, int(lengths[0]) - at)
            step = at + np.arange(width)
            exists = step < lengths[:running, None]
            places = np.where(exists, first[:running, None] + step, 0)
            y = symbols[places]
            x = np.where(step, symbols[np.maximum(places - 1, 0)], begin)
            states = LayerStates([tuple(p[:running] for p in layer) for layer in states.last])
            scores = step_scores(self.network_, self.params_, x, PassContext(states=states))
            found = log_softmax(scores.astype(np.float64))
            logs[places[exists]] = np.take_along_axis(found, y[:, :, None], 2)[:, :, 0][exists]

    def _make_follow(self) -> Callable[[list[int]], np.ndarray]:
        return _RecurrentReader(self)


class _RecurrentReader:
    """Probabilities of the next symbol of a document that grows: each symbol is read once."""

    def __init__(self, model: RecurrentLanguageModel) -> None:
        self.model, self.read, self.states = model, 0, LayerStates()

    def __call__(self, numbers: list[int]) -> np.ndarray:
        model = self.model
        x = np.array([[len(model.symbols_), *numbers][self.read :]])
        states = LayerStates(self.states.last)
        scores = step_scores(model.network_, model.params_, x, PassContext(states=states))
        self.read, self.states = len(numbers) + 1, states
        return softmax(scores[0, -1].astype(np.float64))
