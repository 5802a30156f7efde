"""N-gram language models of words, characters or any other symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.sequence._context_tree import ContextTree, build_context_tree, context_columns
from tenfold.sequence._counted_language_model import CountedLanguageModel, merge_counted
from tenfold.sequence._ngram_counts import NgramCounts
from tenfold.sequence._ngram_scores_numba import score_symbols
from tenfold.sequence._ngram_smoothing import (
    BACK_OFF,
    LONGEST_ONLY,
    PRUNABLE,
    SMOOTHING,
    Smoothed,
)
from tenfold.sequence._pruned_ngrams import SmoothingSettings, smooth_blocks
from tenfold.sequence._symbols import BEGIN, END, UNKNOWN


class NGramModel(CountedLanguageModel):
    r"""N-gram language model: a symbol depends on the n - 1 symbols before it.

    The probability of a document :math:`w_1 \dots w_T` is

    .. math:: P(w_1 \dots w_T) = \prod_{t=1}^{T+1} p(w_t \mid w_{t-n+1} \dots w_{t-1}),

    where :math:`w_{T+1}` is the end of the document and the symbols before the first are its
    beginning. Without smoothing the conditional probabilities are shares of counts,
    :math:`p(w \mid h) = c(h, w) / \sum_v c(h, v)`, which is the maximum likelihood estimate.

    Counts come from one pass and are whole numbers, so `partial_fit` and `merge` give exactly the
    model of all documents.

    Parameters
    ----------
    order : int
        n: 1 for frequencies of single symbols, 2 for bigrams, 3 for trigrams, and so on.
    unit : {"word", "character"}
        What a text is cut into. Words are runs of letters, digits, underscores and inner
        apostrophes; each punctuation mark is a word of its own. A document that is not a text is
        taken as a sequence of symbols.
    smoothing : str
        Probability of what was not seen: "none", "add_k" (k = 1 is Laplace's rule),
        "jelinek_mercer" (fixed weights of the orders), "absolute" (one discount for each order),
        "witten_bell", "kneser_ney", "modified_kneser_ney" (three discounts), "backoff" (Katz's
        form with absolute discounts) or "stupid_backoff" (scores, not probabilities).
    k : float
        Pseudo-count of each symbol, for "add_k".
    discount : float, optional
        Discount of "absolute", "backoff" and the Kneser-Ney rules; by default estimated from the
        numbers of n-grams that occur once, twice, three and four times.
    weights : array of order + 1 numbers, optional
        For "jelinek_mercer": weights of equal probabilities and of orders 1 to n; by default
        estimated by deleted interpolation.
    vocabulary_size : int, optional
        Keep this many symbols, the most frequent; all others become ``<unk>``.
    min_count : int or sequence of `order` ints
        Symbols that occur less often become ``<unk>``. Of a sequence the first number does that;
        the others are for n-grams of 2, 3, ... symbols: those that occur less often are forgotten,
        and their probability goes to the shorter context. Counts then do not stay, so that memory
        grows with the n-grams that are left (counting spills to a temporary file), and there is no
        `merge` and no second `partial_fit`.
    vocabulary : list, optional
        The symbols to keep, instead of choosing them. Memory then does not grow with the number of
        different symbols of the text.
    unknown : bool
        Whether there is a symbol ``<unk>``. Without it, unknown symbols raise an error.
    boundaries : bool
        Whether documents begin with ``<beg>`` and end with ``<end>``. Without them a document is a
        stream, whose first symbols have a shorter context.
    lowercase : bool
        Whether to convert texts to lower case first.
    tokenizer : callable, optional
        Function from a text to its symbols, instead of `unit`; or a `BytePairTokenizer`, which is
        fitted to the documents first unless it is fitted already.

    Attributes
    ----------
    symbols_ : list
        All symbols that can follow a context: ``<unk>`` and ``<end>`` if there are such, then the
        vocabulary by falling count.
    vocabulary_ : dict
        Number of each of them.
    n_documents_, n_tokens_ : int
        Training documents, and symbols in them with their ends.
    direct_, backoff_ : arrays
        The parts of each probability (see the user guide).

    See Also
    --------
    MarkovChain : states that are numbered or named, with stationary distribution and hitting times.

    References
    ----------
    .. [1] S. F. Chen and J. Goodman, "An empirical study of smoothing techniques for language
       modeling", Computer Speech and Language 13, 1999.

    Examples
    --------
    >>> from tenfold import NGramModel
    >>> model = NGramModel(order=2, smoothing="none").fit(["the cat sat", "the dog sat"])
    >>> model.next_symbol_table("the")
    [('cat', 0.5), ('dog', 0.5)]
    >>> float(np.exp(model.log_prob(["the dog sat"])[0]))
    0.5
    """

    _parameter_constraints: dict[str, Any] = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "unit": [StrOptions({"word", "character"})],
        "smoothing": [StrOptions(set(SMOOTHING))],
        "k": [Interval(Real, 0, None, closed="left")],
        "discount": [Interval(Real, 0, 1, closed="both"), None],
        "weights": ["array-like", None],
        "vocabulary_size": [Interval(Integral, 1, None, closed="left"), None],
        "min_count": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "vocabulary": [list, tuple, set, dict, np.ndarray, None],
        "unknown": ["boolean"],
        "boundaries": ["boolean"],
        "lowercase": ["boolean"],
        "tokenizer": [callable, None],
    }

    _learned_shapes = {
        "direct_": "m",
        "backoff_": "c",
        "tree_.ngram_keys": "m : index",
        "tree_.counts": "m",
        "statistic_.ngrams": "s _ : index",
        "statistic_.counts": "s",
    }

    def __init__(
        self,
        order: int = 3,
        *,
        unit: str = "word",
        smoothing: str = "modified_kneser_ney",
        k: float = 1.0,
        discount: float | None = None,
        weights: Any = None,
        vocabulary_size: int | None = None,
        min_count: Any = 1,
        vocabulary: Any = None,
        unknown: bool = True,
        boundaries: bool = True,
        lowercase: bool = False,
        tokenizer: Callable[[str], Any] | None = None,
    ) -> None:
        self.order = order
        self.unit = unit
        self.smoothing = smoothing
        self.k = k
        self.discount = discount
        self.weights = weights
        self.vocabulary_size = vocabulary_size
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.unknown = unknown
        self.boundaries = boundaries
        self.lowercase = lowercase
        self.tokenizer = tokenizer

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Count the n-grams of documents, in one pass.

        Parameters
        ----------
        documents : iterable of str or of sequences of symbols, str, or path
            A list, a generator, a column of files of any size (`tenfold.Documents`), one text, or
            the lines of a text file (`pathlib.Path`; without `boundaries` it is one stream).
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        least_counts = self._least_counts()
        self._fit_tokenizer(documents)
        if least_counts is None:
            self._set_counts(*self._count(documents))
        else:
            self._fit_pruned(documents, least_counts)
        return self

    def partial_fit(self, documents: Any, y: Any = None) -> Self:
        """Learn from more documents, as if they had been part of those so far.

        Parameters
        ----------
        documents : as for `fit`
            More documents.
        y : None
            Not used.

        Returns
        -------
        self
        """
        if not hasattr(self, "tree_"):
            return self.fit(documents)
        self._validate_params()
        so_far = self._require_counts()
        self._set_counts(*merge_counted(so_far, self._count(documents)))
        return self

    def merge(self, other: Self) -> Self:
        """Merge with a model of other documents; returns the model of both parts.

        Parameters
        ----------
        other : fitted model with the same parameters
            It is left as it is.
        """
        mine, theirs = (model._require_counts() for model in (self, other))  # noqa: SLF001 - same class
        if self.get_params() != other.get_params():
            raise ValueError("models that are merged must have the same parameters")
        merged = type(self)(**self.get_params())
        merged._set_counts(*merge_counted(mine, theirs))  # noqa: SLF001 - of the same class
        return merged

    @classmethod
    def from_table(cls, contexts: Any, symbols: Any, probabilities: Any) -> Self:
        """The bigram model of a table of probabilities.

        Parameters
        ----------
        contexts : list
            Symbol of each row: ``<beg>``, and symbols of the vocabulary.
        symbols : list
            Symbol of each column: the vocabulary, with ``<end>`` and ``<unk>`` if there are such.
        probabilities : (len(contexts), len(symbols)) array
            Probability of the column's symbol after the row's; rows sum to one.

        Examples
        --------
        >>> table = [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.4, 0.0, 0.6]]
        >>> model = NGramModel.from_table(["<beg>", "a", "b"], ["a", "b", "<end>"], table)
        >>> round(float(np.exp(model.log_prob(["a b"])[0])), 3)
        0.06
        """
        table = np.asarray(probabilities, float)
        contexts, symbols = list(contexts), list(symbols)
        _check_table(contexts, symbols, table)
        words = [symbol for symbol in symbols if symbol not in (UNKNOWN, END)]
        model = cls(
            2,
            smoothing="none",
            vocabulary=words,
            unknown=UNKNOWN in symbols,
            boundaries=BEGIN in contexts,
        )
        model._validate_params()
        model._set_symbols(words)
        size = len(model.symbols_)
        row = np.array([size if each == BEGIN else model.vocabulary_[each] for each in contexts])
        column = np.array([model.vocabulary_[each] for each in symbols])
        ordered = np.zeros((size + 1, size))
        ordered[np.ix_(row, column)] = table
        pairs = np.argwhere(ordered)
        counts = NgramCounts.of(pairs.astype(np.uint32))
        tree = build_context_tree(counts, size, boundaries=model.boundaries)
        direct = np.zeros(len(tree.counts))
        direct[-len(pairs) :] = ordered[tuple(pairs.T)]  # bigrams stand last, in order
        backoff = np.zeros(int(tree.first_context[-1]))
        model._set_tree(tree, Smoothed(direct, backoff, LONGEST_ONLY))
        model.n_documents_ = model.n_tokens_ = 0
        return model

    def _least_counts(self) -> list[int] | None:
        """Least counts of n-grams that are kept, by order; None if all are kept."""
        if isinstance(self.min_count, Integral):
            return None
        least = np.asarray(self.min_count)
        if least.shape != (self.order,) or least.dtype.kind not in "iu" or (least < 1).any():
            raise ValueError(
                f"min_count={self.min_count!r}: give a whole number of at least 1, or one for each "
                f"order from 1 to {self.order}"
            )
        if (least[1:] == 1).all():
            return None
        if self.smoothing not in PRUNABLE:
            raise ValueError(
                f"smoothing={self.smoothing!r} cannot give the probability of forgotten n-grams "
                f"to shorter contexts: choose among {', '.join(PRUNABLE)}, or give one min_count"
            )
        return least.tolist()

    def _settings(self, least_counts: list[int] | None = None) -> SmoothingSettings:
        parameters = {"k": self.k, "discount": self.discount, "weights": self.weights}
        return SmoothingSettings(
            len(self.symbols_), self.boundaries, self.smoothing, parameters, least_counts
        )

    def _set_counts(self, symbols: list[Any], table: NgramCounts, documents: int) -> None:
        """Choose the vocabulary, number it, and smooth the counts."""
        numbered = self._number_symbols(symbols, table, context_columns(self.order))
        self._set_tree(*smooth_blocks([numbered], self._settings()))
        self.all_symbols_, self.statistic_ = symbols, table
        self.n_documents_, self.n_tokens_ = documents, int(table.counts.sum())

    def _fit_pruned(self, documents: Any, least_counts: list[int]) -> None:
        """Count, and keep of all counts what is not rare."""
        symbols, counter, places, self.n_documents_ = self._count_ngrams(documents)
        seen = counter.frequency(len(places))
        frequency = np.empty_like(seen)
        frequency[places] = seen
        numbers = self._choose_symbols(symbols, frequency)[places]
        size = len(self.symbols_)
        totals = np.bincount(numbers, seen, size + 1)[:size].astype(np.int64)
        runs = counter.renumber(numbers, context_columns(self.order))
        blocks = runs.blocks(size + 1)
        self._set_tree(*smooth_blocks(blocks, self._settings(least_counts), totals))
        self.n_tokens_ = int(totals.sum())
        for name in ("all_symbols_", "statistic_"):  # of an earlier fit
            vars(self).pop(name, None)

    def _set_tree(self, tree: ContextTree, smoothed: Smoothed) -> None:
        self.tree_ = tree
        self.direct_, self.backoff_ = smoothed.direct, smoothed.backoff
        self.rule_, self.normalized_ = smoothed.rule, smoothed.normalized

    @property
    def n_parameters_(self) -> int:
        """Number of stored probabilities of n-grams, and of weights of shorter contexts."""
        return len(self.direct_) + len(self.backoff_)

    def _check_learned(self) -> None:
        """Raise an error if the tables of a loaded model do not fit each other."""
        tree, contexts = self.tree_, len(self.backoff_)
        sound = (
            tree.width == len(self.symbols_) + 1
            and len(tree.context_keys) == contexts - 1
            and (np.diff(tree.ngram_keys) > 0).all()
            and (np.diff(tree.context_keys) > 0).all()
            and (not len(tree.ngram_keys) or tree.ngram_keys[-1] < contexts * tree.width)
        )
        if not sound:
            raise ValueError("the tables of contexts and n-grams do not fit each other")

    def _probabilities(self, documents: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Probability of each symbol of batches of documents."""
        check_is_fitted(self)
        tree, size = self.tree_, len(self.symbols_)
        end = self.vocabulary_.get(END, size)
        for symbols, starts, repeated in self._encode(documents, self._number, end):
            scored = score_symbols(
                symbols,
                starts,
                size,
                self.boundaries,
                tree.context_keys,
                tree.ngram_keys,
                len(tree.first_context) - 1,
                self.direct_,
                self.backoff_,
                self.rule_,
            )
            yield scored[repeated:], np.maximum(starts - repeated, 0)

    def _follow(self, symbols: list[int]) -> np.ndarray:
        """Probability of each symbol after numbered ones that begin a document."""
        size, tree = len(self.symbols_), self.tree_
        before = [size, *symbols] if self.boundaries else symbols
        levels = len(tree.first_context) - 1
        path = tree.find_path(np.array(before[-(levels - 1) :] if levels > 1 else [], np.int64))
        p = np.full(size, 1 / size)
        complete = len(path) == min(levels, len(before) + 1) or tree.begins[path[-1]]
        if self.rule_ == LONGEST_ONLY:
            if not complete:
                return p if self.backoff_[0] > 0 else np.zeros(size)
            path = path[-1:]
        for context in path:
            place = tree.followers(int(context))
            seen = tree.symbols[place]
            p = p * self.backoff_[context]
            if self.rule_ == BACK_OFF:
                p[seen] = 0
            p[seen] += self.direct_[place]
        return p

    def _require_probabilities(self, what: str) -> None:
        check_is_fitted(self)
        if not self.normalized_:
            raise ValueError(
                f"smoothing={self.smoothing!r} gives scores that do not sum to one, so there is "
                f"no such thing as {what}: use 'backoff' or 'modified_kneser_ney'"
            )


def _check_table(contexts: list[Any], symbols: list[Any], table: np.ndarray) -> None:
    if table.shape != (len(contexts), len(symbols)):
        raise ValueError(
            f"a table of shape {table.shape} for {len(contexts)} contexts, {len(symbols)} symbols"
        )
    if BEGIN in symbols or len(set(symbols)) < len(symbols) or len(set(contexts)) < len(contexts):
        raise ValueError(f"each symbol stands once, and {BEGIN} is a context only")
    strange = [each for each in contexts if each != BEGIN and each not in symbols]
    if strange or END in contexts:
        raise ValueError(f"the context {(strange or [END])[0]!r} is no symbol that others follow")
    if (table < 0).any() or not np.allclose(table.sum(axis=1), 1):
        row = int(np.argmax((table < 0).any(axis=1) | ~np.isclose(table.sum(axis=1), 1)))
        raise ValueError(
            f"the probabilities after {contexts[row]!r} are {table[row].tolist()}: they must not "
            "be negative and must sum to one"
        )
