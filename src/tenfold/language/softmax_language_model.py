"""Language models with a softmax of the last symbols, with and without a hidden layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.callbacks.monitor import monitor_fit
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.hooks import record_value
from tenfold.language._context_softmax import (
    ContextCounts,
    context_scores,
    log_table,
    objective,
    table_gradient_shapes,
)
from tenfold.math.links import log_softmax, softmax
from tenfold.neural.network import flatten_params, unflatten_params
from tenfold.optim.quasi_newton import lbfgs
from tenfold.sequence._counted_language_model import CountedLanguageModel, merge_counted
from tenfold.sequence._ngram_counts import NgramCounts, count_windows
from tenfold.sequence._symbols import END
from tenfold.sequence.ngram_model import NGramModel

_SCORED_SYMBOLS = 4096  # at a time
_COUNT = Interval(Integral, 1, None, closed="left")


class SoftmaxLanguageModel(CountedLanguageModel):
    r"""Softmax language model: scores of the next symbol are a function of the last n - 1.

    Without hidden layer the scores are sums of a row of a table for each place,

    .. math:: p(w_t \mid w_{t-n+1} \dots w_{t-1}) =
              \mathrm{softmax}\Bigl(\sum_{j=1}^{n-1} W_j[w_{t-j}]\Bigr)_{w_t},

    which is multinomial logistic regression on symbols in one-hot form. For bigrams (n = 2) the
    optimal table holds the logarithms of the shares of counts: the model is the bigram model. The
    table of a place has a row for each of K symbols (``<unk>`` and ``<end>`` among them, if there
    are such) and one for places before the beginning of a document: (n - 1) K (K + 1) parameters,
    K for n = 1. For trigrams these are about 2 K^2, where a table of trigrams has K^3. With h
    units in `hidden`, the sums, of width h, pass through a tanh and a dense layer, both with
    biases: (n - 1) (K + 1) h + h + h K + K parameters.

    .. math:: \min_\theta \frac1T \sum_t -\log p(w_t \mid w_{t-n+1} \dots w_{t-1})
              + \frac{\alpha}{2 T} \lVert \theta \rVert^2

    The statistic are counts of n-grams, from one pass; L-BFGS then works on the counts alone. So
    `partial_fit` and `merge` give exactly the model of all documents.

    Parameters
    ----------
    order : int
        n: 2 for bigrams, 3 for trigrams; 1 for frequencies of single symbols.
    hidden : int, optional
        Units of a hidden layer; none by default.
    alpha : float
        Penalty of the squared parameters. With 0 an n-gram that was not seen may get a
        probability of nearly zero.
    solver : "auto" or "lbfgs"
        "auto" writes down the table of logarithms of bigrams without penalty and hidden layer.
    max_iter : int
        Most iterations of L-BFGS.
    tol : float
        Converged when no entry of the gradient exceeds this.
    unit, vocabulary_size, min_count, vocabulary, unknown, boundaries, lowercase, tokenizer
        As of `NGramModel`.
    random_state : int, optional
        Seed of the first weights of a hidden layer.

    Attributes
    ----------
    symbols_, vocabulary_ : list and dict
        Symbols that can follow, and the number of each.
    params_ : list of arrays
        Tables (n - 1, n_symbols + 1, units), whose first is that of the last symbol and whose last
        rows are those of the beginning of a document; biases; with a hidden layer the weights
        and biases of the scores.
    n_parameters_ : int
        Number of all entries of `params_`, those for the beginning of a document and biases too.
    n_iter_, converged_, history_
        Of L-BFGS.
    n_documents_, n_tokens_ : int
        Training documents, and symbols in them with their ends.

    See Also
    --------
    NGramModel, RecurrentLanguageModel, TransformerLanguageModel, compare_language_models

    References
    ----------
    Y. Bengio, R. Ducharme, P. Vincent, C. Jauvin (2003), "A neural probabilistic language model".

    Examples
    --------
    >>> from tenfold import SoftmaxLanguageModel
    >>> model = SoftmaxLanguageModel(2, unit="word", alpha=0).fit(["the cat sat", "the dog sat"])
    >>> [(symbol, round(p, 3)) for symbol, p in model.next_symbol_table("the", n=2)]
    [('cat', 0.5), ('dog', 0.5)]
    """

    _parameter_constraints: dict[str, Any] = {
        "order": [_COUNT],
        "hidden": [_COUNT, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "lbfgs"})],
        "max_iter": [_COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "unit": [StrOptions({"word", "character"})],
        "vocabulary_size": [_COUNT, None],
        "min_count": [_COUNT],
        "vocabulary": [list, tuple, set, dict, np.ndarray, None],
        "unknown": ["boolean"],
        "boundaries": ["boolean"],
        "lowercase": ["boolean"],
        "tokenizer": [callable, None],
        "random_state": ["random_state"],
    }
    _learned_shapes = {"statistic_.ngrams": "s _ : index", "statistic_.counts": "s"}

    def __init__(
        self,
        order: int = 3,
        *,
        hidden: int | None = None,
        alpha: float = 1.0,
        solver: str = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        unit: str = "character",
        vocabulary_size: int | None = None,
        min_count: int = 1,
        vocabulary: Any = None,
        unknown: bool = True,
        boundaries: bool = True,
        lowercase: bool = False,
        tokenizer: Callable[[str], Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.hidden = hidden
        self.alpha = alpha
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.unit = unit
        self.vocabulary_size = vocabulary_size
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.unknown = unknown
        self.boundaries = boundaries
        self.lowercase = lowercase
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Count the n-grams of documents in one pass, then fit the softmax to the counts.

        Parameters
        ----------
        documents : as for `NGramModel.fit`
            The documents.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        self._fit_tokenizer(documents)
        self._set_counts(*self._count(documents))
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
        self._validate_params()
        if not hasattr(self, "statistic_"):
            return self.fit(documents)
        self._set_counts(*merge_counted(self._require_counts(), self._count(documents)))
        return self

    def merge(self, other: Self) -> Self:
        """Merge with a model of other documents; returns the model of both parts.

        Parameters
        ----------
        other : fitted model with the same parameters
            It is left as it is.
        """
        if self.get_params() != other.get_params():
            raise ValueError("models that are merged must have the same parameters")
        merged = type(self)(**self.get_params())
        merged._set_counts(*merge_counted(self._require_counts(), other._require_counts()))  # noqa: SLF001
        return merged

    @classmethod
    def from_table(cls, contexts: Any, symbols: Any, probabilities: Any) -> Self:
        """The bigram model of a table of probabilities: its weights are their logarithms.

        Parameters
        ----------
        contexts, symbols, probabilities : see `NGramModel.from_table`
            The table.
        """
        table = NGramModel.from_table(contexts, symbols, probabilities)
        words = [each for each in table.symbols_ if each not in ("<unk>", END)]
        model = cls(
            2,
            unit="word",
            vocabulary=words,
            unknown=table.unknown,
            boundaries=table.boundaries,
            alpha=0.0,
        )
        model._validate_params()
        model._set_symbols(words)
        size = len(model.symbols_)
        rows = [table._follow([number]) for number in range(size)]  # noqa: SLF001 - a model
        rows.append(table._follow([]))  # noqa: SLF001
        model.params_ = [log_table(np.array(rows))[None]]
        model.n_documents_ = model.n_tokens_ = 0
        return model

    def _set_counts(self, symbols: list[Any], table: NgramCounts, documents: int) -> None:
        numbered = self._number_symbols(symbols, table)
        with monitor_fit(type(self).__name__, self.get_params), one_blas_thread():
            self._fit_softmax(ContextCounts.of(numbered, len(self.symbols_)))
        self.all_symbols_, self.statistic_ = symbols, table
        self.n_documents_, self.n_tokens_ = documents, int(table.counts.sum())

    def _fit_softmax(self, counts: ContextCounts) -> None:
        size = len(self.symbols_)
        if self.solver == "auto" and self.hidden is None and self.order == 2 and not self.alpha:
            totals = np.zeros((size + 1, size))
            np.add.at(totals, (counts.contexts[:, 0][counts.owner], counts.symbols), counts.counts)
            shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1)
            shares[totals.sum(axis=1) == 0] = 1 / size
            self.params_ = [log_table(shares)[None]]
            history = {"objective": np.array([objective(self.params_, counts, 0.0)[0]])}
            self.n_iter_, self.converged_, self.history_ = 1, True, history
            return
        draw = check_random_state(self.random_state).randint
        rng = np.random.default_rng(record_value(lambda: int(draw(2**31 - 1))))
        shapes = table_gradient_shapes(self.order, size, self.hidden)
        start = [np.zeros(shape) for shape in shapes]
        if self.hidden is not None:
            start = [rng.normal(size=shape) * (0.1 if len(shape) > 1 else 0) for shape in shapes]

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = objective(unflatten_params(flat, start), counts, self.alpha)
            return value, flatten_params(gradient)

        found = lbfgs(
            value_and_gradient, flatten_params(start), tol=self.tol, max_iter=self.max_iter
        )
        self.params_ = unflatten_params(found.x, start)
        for name, value in found.report.items():
            setattr(self, name, value)

    def word_vectors(self) -> tuple[list[Any], np.ndarray]:
        """The symbols and their rows of the table of the last place, of width `hidden` if given.

        For `tenfold.embeddings.layer_vectors`; a model of order 1 has no table.
        """
        check_is_fitted(self)
        if self.order == 1:
            raise ValueError("a SoftmaxLanguageModel of order 1 has no vectors: take order=2")
        return list(self.symbols_), self.params_[0][0, : len(self.symbols_)]

    @property
    def n_parameters_(self) -> int:
        """Number of all entries of `params_`."""
        return sum(array.size for array in self.params_)

    def _check_learned(self) -> None:
        """Raise an error if the arrays of a loaded model do not fit each other."""
        if not hasattr(self, "params_"):
            return
        wanted = table_gradient_shapes(self.order, len(self.symbols_), self.hidden)
        found = [np.shape(array) for array in self.params_]
        if found != wanted:
            raise ValueError(f"params_ have shapes {found}, not {wanted}")

    def _probabilities(self, documents: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        check_is_fitted(self)
        size = len(self.symbols_)
        end = self.vocabulary_.get(END, size)
        for symbols, starts, repeated in self._encode(documents, self._number, end):
            windows = count_windows(symbols, starts, self.order, size)
            ngrams = windows[repeated:].astype(np.int64)
            logs = np.empty(len(ngrams))
            for a in range(0, len(ngrams), _SCORED_SYMBOLS):
                part = ngrams[a : a + _SCORED_SYMBOLS]
                found = log_softmax(context_scores(self.params_, part[:, :-1])[0])
                logs[a : a + len(part)] = np.take_along_axis(found, part[:, -1:], 1)[:, 0]
            yield np.exp(logs), np.maximum(starts - repeated, 0)

    def _follow(self, symbols: list[int], /) -> np.ndarray:
        width = self.order - 1
        padded = [len(self.symbols_)] * width + list(symbols)
        context = np.array([padded[len(padded) - width :]], np.int64).reshape(1, width)
        return softmax(context_scores(self.params_, context)[0][0])
