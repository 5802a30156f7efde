"""Coherence of topics: how often their words occur together in documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.io.opener import is_rows_like
from tenfold.io.opener import open as open_rows
from tenfold.preprocessing.text.tokens import tokenize
from tenfold.topics._windows_numba import count_windows
from tenfold.topics.word_lists import check_word_lists, word_names

_WINDOWS = {"u_mass": 0, "npmi": 10, "uci": 10, "c_v": 110}  # words; 0: whole documents
_EPSILON = 1e-12  # added to probabilities of pairs


class WindowCounts(NamedTuple):
    """Statistic: how many windows there are, and in how many each pair of words occurs.

    Attributes
    ----------
    pairs : (r, r) windows with both words; the diagonal has those with one
    n : number of windows
    """

    pairs: np.ndarray
    n: int


def topic_coherence(
    topics: Sequence[Sequence[str]],
    documents: Any,
    *,
    measure: str = "c_v",
    names: Any = None,
    window: int | None = None,
    epsilon: float | None = None,
) -> np.ndarray:
    r"""Coherence of each topic, from counts of windows of text in which its words occur.

    ========  ======  ==========================================================================
    measure   window  mean over the words i, j of a topic of
    ========  ======  ==========================================================================
    "u_mass"  text    :math:`\log (n_{ij} + 1) / n_j`, j before i
    "uci"     10      pointwise mutual information :math:`\log p_{ij} / (p_i p_j)`
    "npmi"    10      the same over :math:`-\log p_{ij}`, so that it lies between -1 and 1
    "c_v"     110     cosine of the row of word i and the sum of all rows of the npmi matrix
    ========  ======  ==========================================================================

    Parameters
    ----------
    topics : list of lists of str
        The words of each topic, for example from `top_words`.
    documents : iterable of str, or of lists of str; or counts of words with `names`
        Texts, or their words in order; from counts (an array, a sparse matrix, `Rows`), a window is
        a whole document. The reference corpus need not be the training documents.
    measure : {"c_v", "npmi", "uci", "u_mass"}
        "c_v" agrees best with people's judgment in Röder et al.
    names : fitted `WordCounts`, or list of str
        The words of the columns, if documents are counts.
    window : int, optional
        Words in a window instead of those above; 0 for whole documents.
    epsilon : float, optional
        Added to the count of a pair for "u_mass" (1 by default), to its probability for the others
        (1e-12).

    Returns
    -------
    (n_topics,) array

    References
    ----------
    D. Mimno et al. (2011), Optimizing semantic coherence in topic models.
    M. Röder, A. Both and A. Hinneburg (2015), Exploring the space of topic coherence measures.

    Examples
    --------
    >>> documents = ["cat dog", "cat dog pet", "stock bond", "stock price bond"]
    >>> topics = [["cat", "dog"], ["cat", "bond"]]
    >>> topic_coherence(topics, documents, measure="npmi").round(3).tolist()
    [1.0, -0.95]
    """
    if measure not in _WINDOWS:
        raise ValueError(f"measure={measure!r} is not one of {tuple(_WINDOWS)}")
    topics = check_word_lists(topics)
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(w for t in topics for w in t))}
    if min((len(set(topic)) for topic in topics), default=0) < 2:
        raise ValueError("a topic needs at least two different words to be coherent")
    if names is not None:
        counts = _count_columns(vocabulary, documents, names)
    else:
        window = _WINDOWS[measure] if window is None else window
        counts = count_texts(vocabulary, documents, window)
    if counts.n == 0:
        raise ValueError("there are no documents to count words in")
    return np.array(
        [_coherence(counts, [vocabulary[w] for w in t], measure, epsilon) for t in topics]
    )


def count_texts(vocabulary: dict[str, int], documents: Iterable[Any], window: int) -> WindowCounts:
    """Windows of texts in which words occur together."""
    if isinstance(documents, str | bytes):
        raise TypeError("documents is one text: give a list of texts")
    if hasattr(documents, "columns") or isinstance(documents, Mapping):
        raise TypeError(
            f"documents are a list of texts, not {type(documents).__name__}: give one column of "
            "it, or `names` if its columns are counts of words"
        )
    known = {word.encode(): number for word, number in vocabulary.items()}
    pairs, n = np.zeros((len(known), len(known)), np.int64), 0
    for document in documents:
        is_text = isinstance(document, str | bytes)
        words = tokenize(document) if is_text else [str(word).encode() for word in document]
        numbers = np.fromiter((known.get(word, -1) for word in words), np.int64, len(words))
        n += count_windows(numbers, window or max(len(words), 1), pairs)
    return WindowCounts(pairs, n)


def _count_columns(vocabulary: dict[str, int], documents: Any, names: Any) -> WindowCounts:
    """The same from counts of words: windows are whole documents."""
    column_of = {word: column for column, word in enumerate(word_names(names).tolist())}
    unknown = [word for word in vocabulary if word not in column_of]
    if unknown:
        raise ValueError(f"words of the topics that no column counts: {unknown[:5]}")
    columns = np.array([column_of[word] for word in vocabulary])
    if not (is_rows_like(documents) or issparse(documents)):
        documents = np.asarray(documents)
    rows = documents if isinstance(documents, Rows) else open_rows(documents)
    return WindowCounts(*rows.total(count_documents, columns))


def count_documents(chunk: Chunk, columns: np.ndarray) -> WindowCounts:
    """Documents of a chunk in which words occur together."""
    X = chunk.X[:, columns]
    there = np.asarray((X if isinstance(X, np.ndarray) else X.toarray()) > 0, np.float64)
    return WindowCounts((there.T @ there).astype(np.int64), chunk.rows)


def _coherence(
    counts: WindowCounts, words: list[int], measure: str, epsilon: float | None
) -> float:
    """Coherence of one topic."""
    pairs = counts.pairs[np.ix_(words, words)].astype(np.float64)
    if measure == "u_mass":
        later, earlier = np.tril_indices(len(words), -1)
        n_earlier = np.diag(pairs)[earlier]
        there = n_earlier > 0  # a word that never occurs says nothing
        logs = np.log(pairs[later, earlier] + (1.0 if epsilon is None else epsilon))[there]
        return float((logs - np.log(n_earlier[there])).mean()) if there.any() else np.nan
    matrix = _mutual_information(
        pairs / counts.n, _EPSILON if epsilon is None else epsilon, normalize=measure != "uci"
    )
    if measure == "c_v":
        total = matrix.sum(axis=0)
        norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(total)
        cosines = np.divide(matrix @ total, norms, out=np.zeros(len(words)), where=norms > 0)
        return float(cosines.mean())
    return float(matrix[~np.eye(len(words), dtype=bool)].mean())


def _mutual_information(joint: np.ndarray, epsilon: float, *, normalize: bool) -> np.ndarray:
    """Pointwise mutual information of all pairs; 0 where a word does not occur."""
    single = np.diag(joint)
    product = np.outer(single, single)
    there = product > 0
    logs = np.log(joint + epsilon)
    values = np.where(there, logs - np.log(np.where(there, product, 1.0)), 0.0)
    if not normalize:
        return values
    return np.divide(values, -logs, out=np.ones_like(values), where=logs < 0)
