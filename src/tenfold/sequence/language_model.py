"""What all language models share: scores, perplexity, tables of next symbols, generated text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base.save_mixin import SaveMixin
from tenfold.sequence._symbols import BEGIN, END, UNKNOWN, SymbolEncoder, iterate_documents
from tenfold.sequence._text_generation import generate_symbols, make_seeds, rank_symbols

_ADDED_VALUES = 1024  # at a time


class LanguageModel(SaveMixin, BaseEstimator):
    """A model that gives the probability of the next symbol of a text.

    A subclass has the parameters `unit`, `lowercase`, `tokenizer`, `unknown` and `boundaries`,
    learns `symbols_` and `vocabulary_`, and defines `_probabilities` and `_follow`.
    """

    unit: str
    lowercase: bool
    tokenizer: Any
    unknown: bool
    boundaries: bool
    symbols_: list[Any]
    vocabulary_: dict[Any, int]

    @property
    def n_parameters_(self) -> int:
        """Number of learned numbers that give the probabilities."""
        raise NotImplementedError(f"{type(self).__name__} has to define n_parameters_")

    def _probabilities(self, documents: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Probability of each symbol of batches of documents, and where documents begin."""
        raise NotImplementedError(f"{type(self).__name__} has to define _probabilities(documents)")

    def _follow(self, symbols: list[int], /) -> np.ndarray:
        """Probability of each symbol after numbered ones that begin a document."""
        raise NotImplementedError(f"{type(self).__name__} has to define _follow(symbols)")

    def _make_follow(self) -> Callable[[list[int]], np.ndarray]:
        """`_follow`, for a document that grows symbol by symbol: it may remember what it read."""
        return self._follow

    def _require_probabilities(self, what: str) -> None:
        """Raise an error if the scores of this model are not probabilities."""
        check_is_fitted(self)

    def log_prob(self, documents: Any) -> np.ndarray:
        """Natural logarithm of the probability of each document, its end included.

        Parameters
        ----------
        documents : as for `fit`
            The documents; a text file is one document without `boundaries`.
        """
        if self._is_stream(documents):
            return np.array([self._add_logs(documents)[0]])
        parts = [_add_runs(_log(p), starts) for p, starts in self._probabilities(documents)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _is_stream(self, documents: Any) -> bool:
        """Whether a file is one document, which may be larger than memory."""
        return not self.boundaries and hasattr(documents, "__fspath__")

    def score(self, documents: Any, y: Any = None) -> float:
        """Mean log-probability of a symbol (natural logarithm); ends of documents count as symbols.

        Parameters
        ----------
        documents : as for `fit`
            The documents.
        y : None
            Not used.
        """
        total, symbols = self._add_logs(documents)
        if not symbols:
            raise ValueError("there is no symbol to score: the documents are empty")
        return total / symbols

    def _add_logs(self, documents: Any) -> tuple[float, int]:
        """Sum of the logarithms of the probabilities of all symbols, and the number of symbols."""
        return _add_parts(_log(p) for p, _ in self._probabilities(documents))

    def perplexity(self, documents: Any) -> float:
        """Exponential of minus the mean log-probability of a symbol.

        Parameters
        ----------
        documents : as for `fit`
            The documents.
        """
        self._require_probabilities("perplexity")
        return float(np.exp(-self.score(documents)))

    def bits_per_symbol(self, documents: Any) -> float:
        """Minus the mean binary logarithm of the probability of a symbol.

        Parameters
        ----------
        documents : as for `fit`
            The documents.
        """
        self._require_probabilities("bits per symbol")
        return -self.score(documents) / float(np.log(2))

    def bits_per_character(self, documents: Any) -> float:
        """Bits of all symbols, ends included, for each character of the texts.

        It compares models of characters, of byte pairs and of words with each other; what a model
        of words knows nothing about (blanks, unknown words) it gets for free.

        Parameters
        ----------
        documents : list of str, str, or path
            The texts; they are read twice.
        """
        self._require_probabilities("bits per character")
        self._require_repeatable(documents, "bits per character")
        total, _ = self._add_logs(documents)
        characters = sum(map(len, iterate_documents(documents, lines=self.boundaries)))
        if not characters:
            raise ValueError("there is no character to score: the documents are empty")
        return -total / (characters * float(np.log(2)))

    def predict_proba(self, context: Any = "") -> np.ndarray:
        """Probability of each symbol of `symbols_` after a context.

        Parameters
        ----------
        context : str or sequence of symbols
            The text so far; a document begins with it.
        """
        check_is_fitted(self)
        encoded = [self._number(symbol) for symbol in self._encoder().split(context)]
        return self._follow(encoded)

    def next_symbol_table(
        self, context: Any = "", n: int | None = 10, *, allow_unknown: bool = True
    ) -> list[tuple[Any, float]]:
        """The most probable next symbols, with their probabilities.

        Parameters
        ----------
        context : str or sequence of symbols
            The text so far.
        n : int, optional
            Length of the table; symbols without probability are left out.
        allow_unknown : bool
            Whether ``<unk>`` has a row. Probabilities are those of the model either way.
        """
        probabilities = self.predict_proba(context)
        if not allow_unknown:
            probabilities = self._without_unknown(probabilities)
        return [
            (self.symbols_[number], float(probabilities[number]))
            for number in rank_symbols(probabilities)[:n]
        ]

    def sample(
        self,
        n_samples: int = 1,
        *,
        prompt: Any = "",
        max_length: int = 200,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        allow_unknown: bool = False,
        random_state: Any = None,
    ) -> list[Any]:
        """Generate documents, symbol by symbol.

        Parameters
        ----------
        n_samples : int
            Number of documents; document i is the same whatever their number.
        prompt : str or sequence of symbols
            Their beginning; symbols that are not in the vocabulary stay as they are.
        max_length : int
            Largest number of symbols after the prompt.
        temperature : float
            Probabilities are raised to the power 1 / temperature; 0 takes the most probable symbol.
        top_k : int, optional
            Choose among so many most probable symbols.
        top_p : float, optional
            Choose among the most probable symbols whose probabilities reach this sum.
        allow_unknown : bool
            Whether ``<unk>`` may be drawn. If not, the others share its probability, and a document
            ends where nothing else can follow.
        random_state : int, generator or None
            Seed.

        Returns
        -------
        list of str, or of lists of symbols if the model was not fitted to texts
        """
        check_is_fitted(self)
        self._require_probabilities("samples")
        if not isinstance(n_samples, Integral) or n_samples < 0:
            raise ValueError(f"n_samples={n_samples}: give the number of texts")
        given = self._encoder().split(prompt)
        start = [self._number(symbol) for symbol in given]
        end = self.symbols_.index(END) if self.boundaries else -1
        seeds = make_seeds(random_state).spawn(n_samples)
        documents = []
        for seed in seeds:
            numbers = generate_symbols(
                self._make_follow(),
                start,
                end,
                max_length,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                mask=None if allow_unknown else self._without_unknown,
                rng=np.random.Generator(np.random.Philox(seed)),
            )
            drawn = [self.symbols_[number] for number in numbers[len(start) :]]
            documents.append(self._join([*given, *drawn]))
        return documents

    def _without_unknown(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of the next symbol, where that of ``<unk>`` is zero."""
        if not self.unknown:
            return probabilities
        probabilities = probabilities.copy()
        probabilities[0] = 0
        return probabilities

    def _join(self, symbols: list[Any]) -> Any:
        """A document of symbols: a text if they are texts."""
        if not all(isinstance(symbol, str) for symbol in symbols):
            return symbols
        tokenizer = self._tokenizer()
        if tokenizer is None:
            return ("" if self.unit == "character" else " ").join(symbols)
        return getattr(tokenizer, "join", " ".join)(symbols)

    def _tokenizer(self) -> Any:
        """The tokenizer in use: a fitted copy, if it learns."""
        return getattr(self, "tokenizer_", self.tokenizer)

    def _fit_tokenizer(self, documents: Any) -> None:
        """Fit a copy of a tokenizer that learns, such as `BytePairTokenizer`, and is not fitted."""
        vars(self).pop("tokenizer_", None)
        if not hasattr(self.tokenizer, "fit") or hasattr(self.tokenizer, "merges_"):
            return
        self._require_repeatable(documents, "a tokenizer that is fitted first")
        learner: Any = clone(self.tokenizer)
        self.tokenizer_ = learner.fit(documents)

    def _require_repeatable(self, documents: Any, what: str) -> None:
        if isinstance(documents, Iterator):
            raise TypeError(
                f"{what} reads the documents twice, and a {type(documents).__name__} can be read "
                "once: give a list, a path or `tenfold.Documents`"
            )

    def _encoder(self) -> SymbolEncoder:
        return SymbolEncoder(
            self.unit,
            lowercase=self.lowercase,
            tokenizer=self._tokenizer(),
            lines=self.boundaries,
        )

    def _set_symbols(self, words: list[Any]) -> None:
        """Number the special symbols and the words."""
        special = [UNKNOWN] * self.unknown + [END] * self.boundaries
        symbols = special + list(words)
        numbers = dict(zip(symbols, range(len(symbols)), strict=True))  # the last one wins
        clash = [name for name in (BEGIN, END, UNKNOWN) if numbers.get(name, -1) >= len(special)]
        if clash:
            raise ValueError(f"the documents hold the symbol {clash[0]!r}, which is reserved")
        self.symbols_, self.vocabulary_ = symbols, numbers

    def _number(self, symbol: Any) -> int:
        number = self.vocabulary_.get(symbol)
        if number is None:
            if not self.unknown:
                raise ValueError(
                    f"the symbol {symbol!r} is not in the vocabulary, and there is no {UNKNOWN}: "
                    "fit with unknown=True"
                )
            return 0
        return number

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _log(probabilities: np.ndarray) -> np.ndarray:
    """Logarithms; minus infinity for what is impossible."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _add_parts(parts: Iterable[np.ndarray]) -> tuple[float, int]:
    """Sum and number of values that come in parts: the same bits for any parts.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=10_000)
    >>> _add_parts([values]) == _add_parts(np.split(values, [5, 5000]))
    True
    """
    total, n, rest = 0.0, 0, np.empty(0)
    for part in parts:
        values, n = np.concatenate([rest, part]), n + len(part)
        whole = len(values) // _ADDED_VALUES * _ADDED_VALUES
        for value in values[:whole].reshape(-1, _ADDED_VALUES).sum(axis=1).tolist():
            total += value
        rest = values[whole:]
    return total + float(rest.sum()), n


def _add_runs(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum of the values of each run; 0 for an empty one."""
    sums = np.add.reduceat(np.append(values, 0.0), starts[:-1])
    sums[np.diff(starts) == 0] = 0
    return sums
