"""Encoder and decoder: from a sequence or an image to a sequence of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.estimator import fit_context
from tenfold.engine.hooks import record_value
from tenfold.language._encoder_decoder_network import (
    EncoderDecoderNetwork,
    Encoding,
    attention_of_targets,
    build_encoder_decoder,
    choose_sources,
    decode_step,
    encode,
    initial_decoder_state,
)
from tenfold.language._pair_training import run_epoch
from tenfold.language._pairs import Pairs, SourceReader, TargetReader
from tenfold.language.sequence_search import beam_search, decode_rows, draw_symbols
from tenfold.math.links import log_softmax
from tenfold.neural._minibatch import PartWorkers
from tenfold.neural._thresholds import SMALL_PART_ROWS
from tenfold.neural._training import initial_state, record_epoch
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import PassContext
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.layers.recurrent import Bidirectional, GatedRnn, Gru, Lstm, Rnn
from tenfold.neural.network import count_parameters
from tenfold.neural.sequential import OPTIMIZERS
from tenfold.optim.convergence import until_converged
from tenfold.optim.schedules import CosineDecay
from tenfold.sequence._text_generation import check_sampling, make_seeds

_CELLS = {"lstm": Lstm, "gru": Gru, "gated": GatedRnn, "rnn": Rnn}
_COUNT = Interval(Integral, 1, None, closed="left")
_DECODED_ROWS = 128  # sources at a time


class EncoderDecoder(BaseEstimator):
    r"""Encoder-decoder: translate sequences or describe images, symbol by symbol.

    An encoder reads a source, symbols with a recurrent network or anything else with layers that
    are given, and sums it up in a vector. A recurrent decoder starts from that vector and gives
    probabilities of the next symbol of the target,

    .. math:: p(y_1 \dots y_T \mid x) = \prod_{t=1}^{T+1} p(y_t \mid y_1 \dots y_{t-1}, x),

    where :math:`y_{T+1}` is the end. With attention it also looks back at all steps (or places)
    of the encoding, each time with other weights. Training minimizes minus the mean logarithm of
    the probability of a symbol, given the true symbols before it (teacher forcing).

    Fits give the same bits for any number of threads and after a stop under `tenfold.checkpoint`.

    Parameters
    ----------
    cell : "gru", "lstm", "gated" or "rnn"
        Recurrent layer of the decoder, and of the encoder of symbols.
    units : int
        Size of its state.
    embedding : int
        Length of the vectors of symbols.
    attention : bool
        Whether the decoder attends to the steps of the encoding.
    bidirectional : bool
        Whether a second layer of the encoder reads sources from the end.
    encoder : list of layers, optional
        Layers of `tenfold.neural` for sources that are arrays, for example convolutions: the last
        output, (n,), (steps, n) or (height, width, n), is what the decoder attends to.
    epochs, batch_size : int
        Epochs, and pairs of a step.
    optimizer : str or optimizer
        "adam", "adamw", "sgd" and so on, or one of `tenfold.optim.optimizers`.
    learning_rate : float or callable
        Learning rate at the first step, which falls to zero along half a cosine; or a schedule.
    clip_norm : float, optional
        Largest norm of the gradient.
    unit : "character" or "word"
        What texts are cut into.
    tokenizer : callable, optional
        Function from a text to its symbols, instead of `unit`.
    max_length : int, optional
        Most symbols of a prediction; by default twice the longest target of the fit.
    random_state : int, optional
        Seed.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    source_symbols_, target_symbols_ : list
        Symbols; the first of the targets ends them.
    network_, params_ : the layers, and their parameters
    n_parameters_ : int
        Number of weights.
    loss_curve_ : list
        Mean loss of a symbol (nats) of each epoch.
    n_iter_, history_
        Epochs; loss ("objective") and "seconds" of each.

    See Also
    --------
    RecurrentLanguageModel, tenfold.language.sequence_search.beam_search

    References
    ----------
    I. Sutskever, O. Vinyals, Q. V. Le (2014), "Sequence to sequence learning with neural networks".
    M.-T. Luong, H. Pham, C. D. Manning (2015), "Effective approaches to attention-based neural
    machine translation".
    O. Vinyals, A. Toshev, S. Bengio, D. Erhan (2015), "Show and tell: a neural image caption
    generator".

    Examples
    --------
    >>> from tenfold import EncoderDecoder
    >>> words = ["ab", "ba", "aab", "abb", "bba", "baa"] * 20
    >>> model = EncoderDecoder(units=16, embedding=8, epochs=40, random_state=0)
    >>> model.fit(words, [word.upper() for word in words]).predict(["ab", "bba"])
    ['AB', 'BBA']
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Learned attributes, which no type checker sees."""

    _parameter_constraints: dict[str, Any] = {
        "cell": [StrOptions(set(_CELLS))],
        "units": [_COUNT],
        "embedding": [_COUNT],
        "attention": ["boolean"],
        "bidirectional": ["boolean"],
        "encoder": ["array-like", tuple, list, None],
        "epochs": [_COUNT],
        "batch_size": [_COUNT],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods(["update"])],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "unit": [StrOptions({"word", "character"})],
        "tokenizer": [callable, None],
        "max_length": [_COUNT, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        cell: str = "gru",
        units: int = 64,
        *,
        embedding: int = 32,
        attention: bool = True,
        bidirectional: bool = False,
        encoder: Any = None,
        epochs: int = 20,
        batch_size: int = 64,
        optimizer: Any = "adam",
        learning_rate: Any = 0.01,
        clip_norm: float | None = 1.0,
        unit: str = "character",
        tokenizer: Callable[[str], Any] | None = None,
        max_length: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cell = cell
        self.units = units
        self.embedding = embedding
        self.attention = attention
        self.bidirectional = bidirectional
        self.encoder = encoder
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.unit = unit
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        X : list of str or of sequences of symbols; array (n, ...) with `encoder`
            Sources.
        y : list of str or of sequences of symbols
            Targets.

        Returns
        -------
        self
        """
        self._validate_params()
        reader = SourceReader(self.unit, self.tokenizer, arrays=self.encoder is not None)
        writer = TargetReader(self.unit, self.tokenizer)
        pairs = Pairs(reader.learn(X), writer.learn(y))
        if len(writer.symbols) == 1:  # the end
            raise ValueError("all targets are empty: there is nothing to learn to write")
        self.source_symbols_, self.target_symbols_ = reader.symbols, writer.symbols
        self.joins_text_ = writer.is_text
        self.source_shape_ = pairs.source_shape
        longest = max(map(len, pairs.targets))
        self.max_length_ = self.max_length or 2 * longest
        with fit_context(self):
            pairs.check_same()
            self._train(pairs)
        return self

    def _train(self, pairs: Pairs) -> None:
        draw = check_random_state(self.random_state).randint
        seed = int(record_value(lambda: int(draw(2**31 - 1))))
        network, params = self._build(pairs, np.random.default_rng(seed))
        steps = self.epochs * -(-len(pairs) // self.batch_size)
        rate: Any = self.learning_rate
        schedule: Any = rate if callable(rate) else CosineDecay(rate, steps)
        optimizer = OPTIMIZERS.get(self.optimizer, self.optimizer)
        config = TrainingConfig(optimizer, schedule, self.batch_size, clip_norm=self.clip_norm)
        workers, stopping = PartWorkers(SMALL_PART_ROWS), StoppingRule(self.epochs)
        state = initial_state(params, config.optimizer)
        loop = until_converged(state, tol=0.0, max_iter=self.epochs)
        for before in loop:
            order = np.random.default_rng([seed, loop.n_iter]).permutation(len(pairs))
            state, loss = run_epoch(before, network, pairs, order, config, workers, seed)
            loop.update(record_epoch(state, loss, None, stopping), objective=loss, change=1.0)
        self.network_, self.params_ = network, loop.state.params
        self.loss_curve_ = list(loop.state.losses)
        self.n_iter_, self.history_ = loop.n_iter, loop.history

    def _build(
        self, pairs: Pairs, rng: np.random.Generator
    ) -> tuple[EncoderDecoderNetwork, list[np.ndarray]]:
        cell = _CELLS[self.cell](self.units, all_states=True)
        layers = self.encoder
        if layers is None:
            reading = Bidirectional(cell) if self.bidirectional else cell
            layers = [Embedding(len(self.source_symbols_), self.embedding), reading]
        return build_encoder_decoder(
            layers,
            pairs.source_shape,
            cell,
            len(self.target_symbols_),
            self.embedding,
            rng,
            attention=self.attention,
        )

    def predict(
        self,
        X: Any,
        *,
        method: str = "greedy",
        beam_width: int = 4,
        length_penalty: float = 0.0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        random_state: Any = None,
    ) -> list[Any]:
        """A target for each source.

        Parameters
        ----------
        X : as for `fit`
            Sources.
        method : "greedy", "beam" or "sample"
            Take the most probable symbol each time, search with a beam, or draw symbols.
        beam_width, length_penalty
            Of the beam, see `tenfold.language.sequence_search.beam_search`.
        temperature, top_k, top_p, random_state
            Of samples, see `NGramModel.sample`.

        Returns
        -------
        list of str, or of lists of symbols if the targets were no texts
        """
        if method == "beam":
            found = self.decode(X, beam_width=beam_width, length_penalty=length_penalty)
            return [best[0][0] for best in found]
        if method not in ("greedy", "sample"):
            raise ValueError(f"method={method!r}: take 'greedy', 'beam' or 'sample'")

        def greedy(logs: np.ndarray, rows: np.ndarray) -> np.ndarray:  # noqa: ARG001
            return logs.argmax(axis=1)

        predictions: list[Any] = []
        check_sampling(temperature, top_k, top_p)
        seeds = make_seeds(random_state)
        for encoding in self._encodings(X):
            rngs = [
                np.random.Generator(np.random.Philox(seed))
                for seed in seeds.spawn(len(encoding.start))
            ]

            def draw(logs: np.ndarray, rows: np.ndarray, rngs: list = rngs) -> np.ndarray:
                chosen = [rngs[row] for row in rows]
                return draw_symbols(np.exp(logs), chosen, temperature, top_k, top_p)

            found = decode_rows(
                self._stepper(encoding),
                initial_decoder_state(self.network_, encoding),
                len(self.target_symbols_),
                0,
                self.max_length_,
                greedy if method == "greedy" else draw,
            )
            predictions += [self._join(numbers) for numbers in found]
        return predictions

    def decode(
        self, X: Any, *, beam_width: int = 4, length_penalty: float = 0.0
    ) -> list[list[tuple[Any, float]]]:
        """The best targets of each source that a beam finds, with their log-probabilities.

        Parameters
        ----------
        X : as for `fit`
            Sources.
        beam_width : int
            Sequences that are kept.
        length_penalty : float
            Targets are ranked by log-probability / length^penalty.
        """
        best = []
        for encoding in self._encodings(X):
            for row in range(len(encoding.start)):
                one = choose_sources(encoding, row)
                found = beam_search(
                    self._stepper(one),
                    initial_decoder_state(self.network_, one),
                    len(self.target_symbols_),
                    0,
                    width=beam_width,
                    max_length=self.max_length_,
                    length_penalty=length_penalty,
                )
                best.append([(self._join(each.symbols), each.log_prob) for each in found])
        return best

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Natural logarithm of the probability of each target, its end included.

        Parameters
        ----------
        X, y : as for `fit`
            Pairs.
        """
        targets, first, logs = self._writer().number(y), 0, []
        for encoding in self._encodings(X, len(targets)):
            part = targets[first : first + len(encoding.start)]
            first += len(part)
            step, state = self._stepper(encoding), initial_decoder_state(self.network_, encoding)
            last, total = np.full(len(part), len(self.target_symbols_)), np.zeros(len(part))
            for place in range(max(map(len, part), default=0)):
                found, state = step(state, last)
                exists = np.array([place < len(each) for each in part])
                last = np.array([each[place] if place < len(each) else 0 for each in part])
                total += np.where(exists, found[np.arange(len(part)), last], 0)
            logs.append(total)
        return np.concatenate(logs) if logs else np.empty(0)

    def score(self, X: Any, y: Any) -> float:
        """Share of the sources whose target is predicted exactly.

        Parameters
        ----------
        X, y : as for `fit`
            Pairs.
        """
        predictions = self.predict(X)
        wanted = [self._join_symbols(symbols) for symbols in self._writer().split(y)]
        if not predictions:
            raise ValueError("there are no pairs to score")
        if len(wanted) != len(predictions):
            raise ValueError(f"there are {len(predictions)} sources and {len(wanted)} targets")
        pairs = zip(predictions, wanted, strict=True)
        return float(np.mean([found == each for found, each in pairs]))

    def attention_weights(self, source: Any, target: Any = None) -> tuple[list[Any], np.ndarray]:
        """How much each symbol of a target attends to the steps of its source.

        Parameters
        ----------
        source : as an element of X
            One source.
        target : as an element of y, optional
            By default the prediction.

        Returns
        -------
        symbols : list
            Of the target, with its end.
        weights : (len(symbols), steps) array
            Rows sum to one.
        """
        check_is_fitted(self)
        if not self.attention:
            raise ValueError("the model was fitted with attention=False")
        one = np.asarray(source)[None] if self.encoder is not None else [source]
        target = self.predict(one)[0] if target is None else target
        numbers = self._writer().number([target])[0]
        encoding = next(iter(self._encodings(one)))
        x = np.array([[len(self.target_symbols_), *numbers[:-1]]])
        weights = attention_of_targets(self.network_, self.params_, encoding, x)[0]
        return [self.target_symbols_[number] for number in numbers], weights

    def _encodings(self, X: Any, n_targets: int | None = None) -> Iterator[Encoding]:
        check_is_fitted(self)
        reader = SourceReader(self.unit, self.tokenizer, arrays=self.encoder is not None)
        reader.symbols = self.source_symbols_
        sources = Pairs(reader.number(X), [], self.source_shape_)
        if n_targets not in (None, sources.n_sources):
            raise ValueError(f"there are {sources.n_sources} sources and {n_targets} targets")
        with fit_context(self):
            for first in range(0, sources.n_sources, _DECODED_ROWS):
                rows = np.arange(first, min(first + _DECODED_ROWS, sources.n_sources))
                x, mask = sources.source_batch(rows)
                yield encode(self.network_, self.params_, x, PassContext(mask=mask))

    def _stepper(self, encoding: Encoding) -> Any:
        """What follows: a function for `beam_search`; rows of a beam share one source."""

        def step(state: Any, symbols: np.ndarray) -> Any:
            shared = encoding
            if len(encoding.start) == 1 != len(symbols):
                shared = choose_sources(encoding, np.zeros(len(symbols), int))
            scores, state = decode_step(self.network_, self.params_, shared, state, symbols)
            return log_softmax(scores.astype(np.float64)), state

        return step

    def _writer(self) -> TargetReader:
        check_is_fitted(self)
        writer = TargetReader(self.unit, self.tokenizer)
        writer.symbols = self.target_symbols_
        return writer

    def _join(self, numbers: Any) -> Any:
        return self._join_symbols([self.target_symbols_[number] for number in numbers])

    def _join_symbols(self, symbols: list[Any]) -> Any:
        if not self.joins_text_:
            return symbols
        blank = "" if self.unit == "character" and self.tokenizer is None else " "
        return getattr(self.tokenizer, "join", blank.join)(symbols)

    @property
    def n_parameters_(self) -> int:
        """Number of weights."""
        return count_parameters(self.params_)

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    def _check_learned(self) -> None:
        """Raise an error if the parts of a loaded model do not fit each other."""
        if not hasattr(self, "params_"):
            return
        network = self.network_
        if network.symbols != len(self.target_symbols_):
            raise ValueError("network_ and target_symbols_ do not fit each other")
        network.check(self.params_)
