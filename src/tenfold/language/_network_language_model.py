"""The base of language models that are networks: vocabulary, training, scores, generated text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.estimator import fit_context
from tenfold.engine.hooks import record_value
from tenfold.language._number_store import iterate_blocks
from tenfold.language._stream_trainer import Lanes, StreamTrainer, count_steps
from tenfold.language._symbol_stream import read_stream
from tenfold.language.next_symbol_network import NextSymbolNetwork, build_next_symbol_network
from tenfold.neural._training import initial_state
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer
from tenfold.neural.network import count_parameters
from tenfold.neural.sequential import OPTIMIZERS
from tenfold.optim.schedules import ConstantRate, CosineDecay, LinearWarmup, Schedule
from tenfold.sequence._symbols import END, append_end
from tenfold.sequence.language_model import LanguageModel

_COUNT = Interval(Integral, 1, None, closed="left")
_MAX_WARMUP_SHARE = 0.1  # of all steps


class NetworkLanguageModel(LanguageModel):
    """Base of `RecurrentLanguageModel` and `TransformerLanguageModel`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Parameters and learned attributes, which no type checker sees."""

    _carries_state = False
    _embedding_init = 1.0
    _parameter_constraints: dict[str, Any] = {
        "layers": [_COUNT],
        "embedding": [_COUNT, None],
        "tied": ["boolean"],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "window": [Interval(Integral, 2, None, closed="left")],
        "batch_size": [_COUNT],
        "epochs": [_COUNT],
        "max_steps": [_COUNT, None],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods(["update"])],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "schedule": [StrOptions({"cosine", "constant"})],
        "warmup_steps": [Interval(Integral, 0, None, closed="left")],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [_COUNT],
        "unit": [StrOptions({"word", "character"})],
        "vocabulary_size": [_COUNT, None],
        "min_count": [_COUNT],
        "vocabulary": [list, tuple, set, dict, np.ndarray, None],
        "unknown": ["boolean"],
        "boundaries": ["boolean"],
        "lowercase": ["boolean"],
        "tokenizer": [callable, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def _body(self) -> tuple[Sequence[Layer], int]:
        """Layers between the vectors of the symbols and their scores, and the width of vectors."""
        raise NotImplementedError(f"{type(self).__name__} has to define _body()")

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Learn to predict each symbol from the true ones before it (teacher forcing).

        Parameters
        ----------
        documents : str, iterable of str or of sequences of symbols, or path
            One text; a list or a generator of documents; a column of files (`tenfold.Documents`);
            or a text file (`pathlib.Path`), whose documents are its lines with `boundaries`, and
            which is one stream without. Symbols are kept as numbers in a temporary file if
            they are many.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        again = self.warm_start and hasattr(self, "params_")
        if not again:
            for name in ("vocabulary_", "symbols_", "params_"):
                vars(self).pop(name, None)
            self._fit_tokenizer(documents)
        with fit_context(self):
            stream = read_stream(self, documents)
            if len(stream) == self.n_documents_ * (1 + self.boundaries):  # no more than bounds
                raise ValueError("there are no symbols: the documents are empty")
            self._check_same_stream(stream)
            self._train(stream, again=again)
        return self

    def _train(self, stream: np.ndarray, *, again: bool) -> None:
        draw = check_random_state(self.random_state).randint
        seed = int(record_value(lambda: int(draw(2**31 - 1))))
        rng = np.random.default_rng(seed)
        layers, width = self._body()
        network, params = build_next_symbol_network(
            layers,
            (self.window, width),
            len(self.symbols_),
            rng,
            tied=self.tied,
            init=self._embedding_init,
        )
        if again:
            try:
                network.check(self.params_)
            except ValueError as problem:
                raise ValueError(
                    f"warm_start: the last fit had other layers ({problem}): set warm_start=False"
                ) from None
            params = [p.copy() for p in self.params_]
        held_out = stream[:0]
        if self.early_stopping:
            stream, held_out = self._hold_out(stream)
        lanes = Lanes.of(len(stream) - 1, self.batch_size, self.window, carried=self._carries_state)
        stopping = StoppingRule(self.epochs, 0.0 if len(held_out) else None, self.patience)
        config = self._training_config(count_steps(lanes, self.epochs, self.max_steps))
        trainer = StreamTrainer(
            network, stream, held_out, config, stopping, lanes, seed, self.max_steps
        )
        loop = trainer.train(initial_state(params, config.optimizer))
        trained = loop.state.training
        self.network_, self.n_tokens_ = network, len(stream) - self.n_documents_
        self.params_ = trained.params if trained.best_params is None else trained.best_params
        self.loss_curve_ = list(trained.losses)
        self.validation_losses_ = np.array(trained.validation_errors)
        self.n_epochs_, self.t_ = loop.state.epoch, trained.step
        for name, value in loop.report.items():
            setattr(self, name, value)

    def _hold_out(self, stream: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = round(self.validation_fraction * len(stream))
        if n < 2 or len(stream) - n < 2:
            raise ValueError(
                f"early stopping would hold out {n} of {len(stream)} symbols: give more text, or "
                "another validation_fraction"
            )
        return stream[:-n], stream[-n:]

    def _training_config(self, steps: int) -> TrainingConfig:
        optimizer = OPTIMIZERS.get(self.optimizer, self.optimizer)
        return TrainingConfig(
            optimizer=optimizer,
            schedule=self._learning_rates(steps),
            batch_size=self.batch_size,
            clip_norm=self.clip_norm,
        )

    def _learning_rates(self, steps: int) -> Schedule:
        if callable(self.learning_rate):
            rate: Any = self.learning_rate
            if isinstance(rate, CosineDecay) and rate.steps is None:
                rate = rate._replace(steps=steps)
            return rate
        warmup = min(self.warmup_steps, int(_MAX_WARMUP_SHARE * steps))
        then: Schedule = ConstantRate(self.learning_rate)
        if self.schedule == "cosine":
            end = 0.1 * self.learning_rate
            then = CosineDecay(self.learning_rate, max(steps - warmup, 1), end)
        return LinearWarmup(then, warmup) if warmup else then

    def _check_same_stream(self, stream: np.ndarray) -> None:
        """Raise an error if a checkpoint belongs to other documents."""
        digest = blake2b(digest_size=8)
        for block in iterate_blocks(stream):
            digest.update(block.tobytes())
        now = np.frombuffer(digest.digest(), np.uint64)
        before = record_value(lambda: now)
        if not np.array_equal(before, now):
            raise ValueError("the checkpoint belongs to a fit of other documents")

    @property
    def n_parameters_(self) -> int:
        """Number of weights."""
        return count_parameters(self.params_)

    @property
    def embedding_(self) -> np.ndarray:
        """Learned vector of each symbol of `symbols_`, (n_symbols, width)."""
        return self.params_[0][: len(self.symbols_)]

    def word_vectors(self) -> tuple[list[Any], np.ndarray]:
        """The symbols and their learned vectors, for `tenfold.embeddings.layer_vectors`."""
        check_is_fitted(self)
        return list(self.symbols_), self.embedding_

    def _check_learned(self) -> None:
        """Raise an error if the parts of a loaded model do not fit each other."""
        if not hasattr(self, "params_"):
            return
        network = self.network_
        if not isinstance(network, NextSymbolNetwork) or network.symbols != len(self.symbols_):
            raise ValueError("network_ and symbols_ do not fit each other")
        network.check(self.params_)

    def _probabilities(self, documents: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As of every language model; a file that is one document comes in parts."""
        check_is_fitted(self)
        if self._is_stream(documents):
            symbols = read_stream(_Reader(self), documents)[1:]
            with fit_context(self):
                for logs in self._score_parts(symbols):
                    yield np.exp(logs), np.array([0, len(logs)])
            return
        for symbols, starts in self._encoder().encode(documents, self._number):
            given = symbols.astype(np.int64)
            if self.boundaries:
                given, starts = append_end(given, starts, self.vocabulary_[END])
            with fit_context(self):
                logs = self._log_probabilities(given, starts)
            yield np.exp(logs), starts

    def _score_parts(self, symbols: np.ndarray) -> Iterator[np.ndarray]:
        """Logarithms of the probabilities of consecutive parts of one document."""
        raise NotImplementedError(f"{type(self).__name__} has to define _score_parts()")

    def _log_probabilities(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Logarithm of the probability of each symbol of documents, float64."""
        raise NotImplementedError(f"{type(self).__name__} has to define _log_probabilities()")

    def _follow(self, symbols: list[int], /) -> np.ndarray:
        return self._make_follow()(symbols)


class _Reader:
    """A fitted model as `read_stream` needs it, so that reading changes no attribute of it."""

    def __init__(self, model: NetworkLanguageModel) -> None:
        self.model, self.n_documents_ = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
