"""Language models with a transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import store_arguments
from tenfold.language._network_language_model import NetworkLanguageModel
from tenfold.language.next_symbol_network import step_scores
from tenfold.math.links import log_softmax, softmax
from tenfold.neural.layers.base import Layer, LayerStates, PassContext
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.normalization import LayerNorm
from tenfold.neural.layers.positions import PositionalEmbedding
from tenfold.neural.layers.transformer import TransformerBlock, attention_weights
from tenfold.preprocessing.text.tokens import iterate_batches

_SCORED_WINDOWS = 32  # at a time
_COUNT = Interval(Integral, 1, None, closed="left")


class TransformerLanguageModel(NetworkLanguageModel):
    r"""Transformer language model (GPT): causal attention to the last symbols.

    Vectors of symbols and of positions are added, pass through blocks of attention and dense layers
    (`TransformerBlock`) and a last layer normalization, and a softmax gives the probability of the
    next symbol. Training minimizes the mean of :math:`-\log p(w_t \mid w_1 \dots w_{t-1})` over
    windows at random places of the text (teacher forcing).

    A symbol is predicted from at least half a window of symbols before it, where there are so many:
    texts are read in steps of half a window, each together with the half before. So `log_prob` is
    exactly the sum of the logarithms that `predict_proba` gives along a text.

    Parameters
    ----------
    embedding : int
        Width of the network.
    layers : int
        Number of blocks.
    heads : int
        Heads of the attention; they must divide the width.
    hidden : int, optional
        Units of the dense layer of a block; four times the width by default.
    tied : bool
        Whether the weights of the scores are the vectors of the symbols.
    dropout : float
        Fraction of the values that is set to zero in training.
    window : int
        Symbols that are seen at once.
    batch_size : int
        Windows of a step.
    epochs : int
        As many symbols are read as the text has, so often.
    max_steps : int, optional
        Most steps: of a very long text only a part is read then.
    optimizer, learning_rate, schedule, warmup_steps, clip_norm : see `RecurrentLanguageModel`
        Optimization.
    early_stopping, validation_fraction, patience : see `RecurrentLanguageModel`
        Stopping.
    unit, vocabulary_size, min_count, vocabulary, unknown, boundaries, lowercase, tokenizer
        As of `RecurrentLanguageModel`.
    warm_start, random_state, n_jobs, verbose : see `RecurrentLanguageModel`
        As there.

    Attributes
    ----------
    symbols_, vocabulary_, network_, params_, embedding_, n_parameters_, loss_curve_,
    validation_losses_, n_epochs_, t_, history_, n_documents_, n_tokens_
        As of `RecurrentLanguageModel`.

    See Also
    --------
    NGramModel, SoftmaxLanguageModel, RecurrentLanguageModel, compare_language_models

    References
    ----------
    A. Vaswani and others (2017), "Attention is all you need".
    A. Radford, J. Wu, R. Child, D. Luan, D. Amodei, I. Sutskever (2019), "Language models are
    unsupervised multitask learners".

    Examples
    --------
    >>> from tenfold import TransformerLanguageModel
    >>> text = "the cat sat. " * 40
    >>> model = TransformerLanguageModel(
    ...     16,
    ...     layers=1,
    ...     heads=2,
    ...     window=16,
    ...     batch_size=8,
    ...     epochs=60,
    ...     learning_rate=0.01,
    ...     random_state=0,
    ... )
    >>> model.fit(text).sample(prompt="the c", max_length=7, temperature=0)
    ['the cat sat.']
    """

    _embedding_init = 0.05
    _parameter_constraints = {
        **NetworkLanguageModel._parameter_constraints,  # noqa: SLF001
        "embedding": [_COUNT],
        "heads": [_COUNT],
        "hidden": [_COUNT, None],
    }

    def __init__(
        self,
        embedding: int = 128,
        *,
        layers: int = 4,
        heads: int = 4,
        hidden: int | None = None,
        tied: bool = False,
        dropout: float = 0.0,
        window: int = 64,
        batch_size: int = 32,
        epochs: int = 5,
        max_steps: int | None = None,
        optimizer: Any = "adam",
        learning_rate: Any = 0.002,
        schedule: str = "cosine",
        warmup_steps: int = 100,
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

    def _body(self) -> tuple[Sequence[Layer], int]:
        block = TransformerBlock(self.heads, self.hidden, dropout=self.dropout)
        first: list[Any] = [PositionalEmbedding(self.window)]
        if self.dropout:
            first.append(Dropout(self.dropout))
        return [*first, *self.layers * [block], LayerNorm()], self.embedding

    def attention(self, context: Any) -> tuple[list[Any], np.ndarray]:
        """How much each symbol of a context attends to those before it.

        Parameters
        ----------
        context : str or sequence of symbols
            The text; of a long one, the part that the next symbol is predicted from.

        Returns
        -------
        symbols : list
            ``<beg>`` if the part begins with it, then the symbols.
        weights : (layers, heads, len(symbols), len(symbols)) array
            Rows sum to one: from a symbol to those up to it.
        """
        check_is_fitted(self)
        numbers = [self._number(symbol) for symbol in self._encoder().split(context)]
        seen = [len(self.symbols_), *numbers][self._first_seen(len(numbers)) :]
        network, x = self.network_, self.params_[0][np.array([seen])]
        body = network.parts(self.params_)[1]
        parts = network.body.parts(body)
        weights = attention_weights(network.body.layers, parts, x, PassContext())
        names = [*self.symbols_, "<beg>"]
        return [names[number] for number in seen], np.concatenate(weights)

    def _first_seen(self, place: int) -> int:
        """The first of ``<beg> a b ...`` from which the symbol at a place is predicted."""
        half = self.window // 2
        return max(place // half * half - half, 0)

    def _log_probabilities(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        logs = np.empty(len(symbols))
        for windows in iterate_batches(self._windows(starts), _SCORED_WINDOWS):
            places, found = self._score_windows(symbols, np.array(windows))
            logs[places] = found
        return logs

    def _score_parts(self, symbols: np.ndarray) -> Iterator[np.ndarray]:
        for windows in iterate_batches(self._windows([0, len(symbols)]), _SCORED_WINDOWS):
            yield self._score_windows(symbols, np.array(windows))[1]

    def _score_windows(
        self, symbols: np.ndarray, windows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places that windows score, and the logarithms of their probabilities."""
        document, first, scored, last = windows.T[:, :, None]
        step = first + np.arange(int((last - first).max()))
        exists = step < last
        places = np.where(exists, document + step, 0)
        x = np.where(step == 0, len(self.symbols_), symbols[np.maximum(places - 1, 0)])
        scores = step_scores(self.network_, self.params_, x, PassContext())
        chosen = exists & (step >= scored)
        found = log_softmax(scores[chosen].astype(np.float64))
        y = np.asarray(symbols[places[chosen]], np.int64)
        return places[chosen], np.take_along_axis(found, y[:, None], 1)[:, 0]

    def _windows(self, starts: Any) -> Iterator[tuple[int, int, int, int]]:
        """For each window: its document's start, first place seen, first scored, and the end."""
        half = self.window // 2
        for start, end in pairwise(np.asarray(starts).tolist()):
            length = end - start
            for at in range(0, length, half):
                yield start, self._first_seen(at), at, min(at + half, length)

    def _make_follow(self) -> Callable[[list[int]], np.ndarray]:
        return _TransformerReader(self)


class _TransformerReader:
    """Probabilities of the next symbol of a document that grows; keys and values are kept."""

    def __init__(self, model: TransformerLanguageModel) -> None:
        self.model, self.first, self.read, self.states = model, 0, 0, LayerStates()

    def __call__(self, numbers: list[int]) -> np.ndarray:
        model = self.model
        first = model._first_seen(len(numbers))  # noqa: SLF001 - part of the model
        if first != self.first:
            self.first, self.read, self.states = first, first, LayerStates()
        x = np.array([[len(model.symbols_), *numbers][self.read :]])
        states = LayerStates(self.states.last)
        scores = step_scores(model.network_, model.params_, x, PassContext(states=states))
        self.read, self.states = len(numbers) + 1, states
        return softmax(scores[0, -1].astype(np.float64))
