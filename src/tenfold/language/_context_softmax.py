"""The softmax of a sum of table rows, one for each symbol of a context, on counts of n-grams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.neural._minibatch import BatchGradient, PartWorkers
from tenfold.sequence._ngram_counts import NgramCounts

_PART_CONTEXTS = 512
_LOG_OF_ZERO = -60.0  # such a probability is below 1e-26


class ContextCounts(NamedTuple):
    """Counts of n-grams, by context.

    Attributes
    ----------
    contexts : (m, n - 1) distinct contexts; the last column is the last symbol
    totals : (m,) counts of the contexts
    first : (m + 1,) where the symbols after each context begin
    owner, symbols, counts : of each n-gram its context, last symbol and count
    size : number of symbols
    """

    contexts: np.ndarray
    totals: np.ndarray
    first: np.ndarray
    owner: np.ndarray
    symbols: np.ndarray
    counts: np.ndarray
    size: int

    @classmethod
    def of(cls, table: NgramCounts, size: int) -> ContextCounts:
        """Group a table, whose rows are in lexicographic order, by context."""
        contexts = table.ngrams[:, :-1].astype(np.int64)
        new = np.ones(len(contexts), bool)
        new[1:] = (contexts[1:] != contexts[:-1]).any(axis=1)
        owner = np.cumsum(new) - 1
        first = np.append(np.flatnonzero(new), len(contexts))
        counts = table.counts.astype(float)
        totals = np.bincount(owner, counts)
        symbols = table.ngrams[:, -1].astype(np.int64)
        return cls(contexts[new], totals, first, owner, symbols, counts, size)


def log_table(probabilities: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities; those of zero are finite."""
    return np.log(np.maximum(probabilities, np.exp(_LOG_OF_ZERO)))


def table_gradient_shapes(order: int, size: int, hidden: int | None) -> list[tuple[int, ...]]:
    """Shapes of the parameters: tables, and biases where no table is; weights of hidden units."""
    width = size if hidden is None else hidden
    tables = [(order - 1, size + 1, width)] if order > 1 else []
    if hidden is None:
        return tables or [(size,)]
    return [*tables, (hidden,), (hidden, size), (size,)]


def context_scores(
    params: list[np.ndarray], contexts: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores (m, symbols) after contexts, and the outputs of the hidden units, if there are any."""
    tables = params[0] if params[0].ndim == 3 else None
    rest = params if tables is None else params[1:]
    width = params[0].shape[-1]
    sums = np.zeros((len(contexts), width))
    for place in range(contexts.shape[1]):  # table 0 is that of the last symbol
        sums += np.take(tables[place], contexts[:, -1 - place], axis=0)  # pyright: ignore[reportOptionalSubscript]
    if rest:
        sums += rest[0]
    if len(rest) < 3:
        return sums, None
    hidden = np.tanh(sums)
    return hidden @ rest[1] + rest[2], hidden


def objective(
    params: list[np.ndarray], counts: ContextCounts, alpha: float
) -> tuple[float, list[np.ndarray]]:
    """Mean loss of a symbol with the penalty, and its gradient; the same bits on any threads."""

    def compute(a: int, b: int) -> BatchGradient:
        return _part_gradient(params, counts, a, b)

    total = PartWorkers(_PART_CONTEXTS).gradient(len(counts.contexts), compute)
    n = total.weight
    value = total.loss + alpha / 2 * sum(float(np.vdot(p, p)) for p in params)
    gradient = [(g + alpha * p) / n for g, p in zip(total.arrays, params, strict=True)]
    return value / n, gradient


def _part_gradient(params: list, counts: ContextCounts, a: int, b: int) -> BatchGradient:
    """Loss and gradient of contexts a to b."""
    contexts, totals = counts.contexts[a:b], counts.totals[a:b]
    scores, hidden = context_scores(params, contexts)
    scores -= scores.max(axis=1, keepdims=True)
    span = slice(counts.first[a], counts.first[b])
    at = (counts.owner[span] - a, counts.symbols[span])
    weights = np.exp(scores)
    sums = weights.sum(axis=1)
    loss = float(totals @ np.log(sums) - counts.counts[span] @ scores[at])
    gradient = weights
    gradient *= (totals / sums)[:, None]
    gradient[at] -= counts.counts[span]
    found: list[np.ndarray] = []
    if hidden is not None:
        found = [hidden.T @ gradient, gradient.sum(axis=0)]
        gradient = (gradient @ params[-2].T) * (1 - hidden * hidden)
    if params[0].ndim == 3:
        found = [_table_gradients(params[0], contexts, gradient), *_biases(gradient, found)]
    else:
        found = [gradient.sum(axis=0), *found]
    return BatchGradient(loss, float(totals.sum()), found)


def _biases(gradient: np.ndarray, found: list[np.ndarray]) -> list[np.ndarray]:
    """Gradients after the tables: none without hidden layer, which has no biases of its own."""
    return [gradient.sum(axis=0), *found] if found else []


def _table_gradients(tables: np.ndarray, contexts: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Sums of the gradient over the contexts with each symbol, for each place."""
    found = np.zeros_like(tables)
    rows = np.ascontiguousarray(gradient)
    for place in range(contexts.shape[1]):
        labels = np.ascontiguousarray(contexts[:, -1 - place])
        add_rows_by_label(rows, rows[:0, 0], labels, found[place], np.zeros(tables.shape[1]))
    return found
