"""Word2vec: skip-gram and continuous bag of words with negative sampling."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np

from tenfold._compiled.dot_product import LANES
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.embeddings import _skip_gram_numba as compiled
from tenfold.embeddings._base import COUNT, WORD_CONSTRAINTS, EmbeddingModel
from tenfold.embeddings._corpus import OUTSIDE, read_corpus
from tenfold.embeddings._skip_gram_numba import STRATA
from tenfold.embeddings._strata import run_parts, run_strata
from tenfold.engine.arrays import ArraySource
from tenfold.engine.hooks import record_data
from tenfold.optim.convergence import until_converged

_SEGMENT_TOKENS = 65_536  # words whose pairs are made at a time; windows end at its bounds
_LOSS_TOKENS = 512  # words of a stretch of the corpus from which the loss is computed
_MAX_LOSS_STRIDE = 16  # stretches of which one counts, in a corpus that is long enough
_PARTS = 8  # of a segment, for threads
_FULL = 2.0**32


class WordTables(NamedTuple):
    """What the draws of words need.

    Attributes
    ----------
    keep : threshold of 32 bits below which an occurrence of a word is kept
    thresholds, aliases : alias table of the distribution of negatives
    """

    keep: np.ndarray
    thresholds: np.ndarray
    aliases: np.ndarray


class Word2Vec(EmbeddingModel):
    r"""Word2vec: vectors from which the words nearby can be told from random words.

    .. math:: \max \sum_{(w, v)} \Big[ \log \sigma(x_w' y_v)
              + \sum_{j=1}^{k} \log \sigma(-x_w' y_{v_j}) \Big], \qquad v_j \sim P_n

    over pairs of a word w and a word v near it; the k negatives are drawn by counts to the power of
    `negative_power`. Skip-gram has a pair for each two words within a window, CBOW one for each
    word, whose x is the mean of its window. The optimum of skip-gram, with vectors long enough, is
    the pointwise mutual information minus log k.

    Which words are dropped, how far windows reach and which negatives are drawn are functions of
    the seed and of the place of a word, and pairs are trained in groups that share no word: the
    vectors are the same for any number of threads.

    Parameters
    ----------
    n_components : int
        Length of a vector.
    algorithm : {"skip_gram", "cbow"}
        What predicts what. The steps of "cbow" follow each other in one thread.
    window : int
        Largest distance of two words; each word draws its own reach from 1 to this.
    negatives : int
        k, random words for each pair.
    negative_power : float
        Power of the counts by which they are drawn.
    subsample : float
        Frequent words are dropped at random, the more the larger their share is above this; 0 keeps
        all.
    learning_rate, min_learning_rate : float
        It falls in a line from the first to the last.
    epochs : int
        Passes over the corpus.
    add_contexts : bool
        Whether to add the vectors of words as contexts.
    min_count : int
        Words that occur less often are left out, before windows are laid.
    max_words : int, optional
        Keep so many words, the most frequent.
    vocabulary : list, optional
        The words to keep, instead of choosing them.
    lowercase : bool
        Whether to convert texts to lower case first.
    tokenizer : callable, optional
        Function from a text to its words; by default runs of letters, digits and underscores.
    random_state : int, optional
        Seed of all draws.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    words_, vocabulary_, counts_ : the words by falling count, their numbers and counts
    vectors_ : (n_words, n_components) their vectors
    context_vectors_ : (n_words, n_components) y of the objective
    n_tokens_, n_documents_ : words of the corpus, with those outside the vocabulary; documents
    n_iter_, history_ : epochs, and the mean loss ("objective") of the vectors after each, from the
        same samples every time: those of a sixteenth of the corpus, or of more if that is short

    See Also
    --------
    PPMIEmbedding, GloVe, WordVectors

    Notes
    -----
    The loss that other packages report is that of each sample just before its step. It flatters
    fast steps, which fit the vectors to the last few documents, and so rises towards the end of a
    fit, when the learning rate falls and the vectors get better for the corpus as a whole.

    References
    ----------
    T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean (2013), "Distributed representations of
    words and phrases and their compositionality".
    R. Gemulla, E. Nijkamp, P. J. Haas, Y. Sismanis (2011), "Large-scale matrix factorization with
    distributed stochastic gradient descent" (groups that share nothing).

    Examples
    --------
    >>> from tenfold import Word2Vec
    >>> texts = ["the cat sleeps here", "the dog sleeps here", "a car drives there"] * 200
    >>> model = Word2Vec(8, min_count=1, subsample=0, epochs=20, random_state=0).fit(texts)
    >>> model.most_similar("cat", n=1)[0][0]
    'dog'
    """

    _parameter_constraints = WORD_CONSTRAINTS | {
        "algorithm": [StrOptions({"skip_gram", "cbow"})],
        "negatives": [Interval(Integral, 1, None, closed="left")],
        "negative_power": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "min_learning_rate": [Interval(Real, 0, None, closed="left")],
        "epochs": [COUNT],
        "add_contexts": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        algorithm: str = "skip_gram",
        window: int = 5,
        negatives: int = 5,
        negative_power: float = 0.75,
        subsample: float = 1e-3,
        learning_rate: float = 0.025,
        min_learning_rate: float = 1e-4,
        epochs: int = 5,
        add_contexts: bool = False,
        min_count: int = 5,
        max_words: int | None = None,
        vocabulary: Any = None,
        lowercase: bool = True,
        tokenizer: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.window = window
        self.negatives = negatives
        self.negative_power = negative_power
        self.subsample = subsample
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.epochs = epochs
        self.add_contexts = add_contexts
        self.min_count = min_count
        self.max_words = max_words
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.tokenizer = tokenizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, documents: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Read the documents once, into a temporary file of word numbers, and train on it.

        Parameters
        ----------
        documents : iterable of str or of sequences of words, or path
            A list, a generator, a column of files of any size (`tenfold.Documents`), or the lines
            of a text file (`pathlib.Path`).
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            corpus = read_corpus(
                documents, self.vocabulary, lowercase=self.lowercase, tokenizer=self.tokenizer
            )
            kept = self._select(corpus.words, corpus.counts)
            numbers = np.full(len(corpus.words), OUTSIDE, np.int64)
            numbers[kept] = np.arange(len(kept))
            learned = self._word_attributes(corpus.words, corpus.counts, kept)
            tokens = corpus.renumber(numbers)
            for column in (tokens, corpus.starts):
                record_data(ArraySource(column[:, None]), None)
            learned |= self._train(tokens, corpus.starts, learned["counts_"])
            learned["n_tokens_"], learned["n_documents_"] = len(tokens), len(corpus.starts) - 1
            self._set_learned(learned)
        return self

    def _train(self, tokens: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
        rng, d = self._rng(), self.n_components
        width = -(-d // LANES) * LANES
        inputs, outputs = (np.zeros((len(counts), width), np.float32) for _ in range(2))
        inputs[:, :d] = (rng.random((len(counts), d)) - 0.5) / d
        seed, tables = int(rng.integers(2**62)), self._word_tables(counts)
        loop = until_converged((inputs, outputs), tol=-1.0, max_iter=self.epochs)
        for before in loop:
            vectors = (before[0].copy(), before[1].copy())
            self._run_epoch(tokens, starts, vectors, tables, seed, loop.n_iter)
            loss = self._mean_loss(tokens, starts, vectors, tables, seed)
            loop.update(vectors, objective=loss, change=1.0)
        x, y = (np.ascontiguousarray(part[:, :d]) for part in loop.state)
        vectors = {"vectors_": x + y if self.add_contexts else x, "context_vectors_": y}
        report = {name: loop.report[name] for name in ("n_iter_", "history_")}
        return vectors | report

    def _word_tables(self, counts: np.ndarray) -> WordTables:
        shares = counts / counts.sum()
        keep = np.ones(len(counts))
        if self.subsample > 0:
            keep = np.minimum(np.sqrt(self.subsample / shares) + self.subsample / shares, 1.0)
        keep = np.where(keep >= 1, _FULL, keep * _FULL).astype(np.uint64)
        return WordTables(keep, *alias_table(counts.astype(float) ** self.negative_power))

    def _run_epoch(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        vectors: tuple[np.ndarray, ...],
        tables: WordTables,
        seed: int,
        epoch: int,
    ) -> None:
        """Every segment of the corpus once."""
        n = len(tokens)
        train = self._train_skip_gram if self.algorithm == "skip_gram" else self._train_cbow
        for first in range(0, n, _SEGMENT_TOKENS):
            last = min(first + _SEGMENT_TOKENS, n)
            done = (epoch + first / n) / self.epochs
            rate = self.learning_rate - done * (self.learning_rate - self.min_learning_rate)
            segment = self._draw_segment(tokens, starts, (first, last), tables, seed + 4 * epoch)
            train(segment, vectors, tables, seed + 4 * epoch, np.float32(rate))

    def _mean_loss(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        vectors: tuple[np.ndarray, ...],
        tables: WordTables,
        seed: int,
    ) -> float:
        """Mean loss of the samples of stretches of the corpus; the same every time."""
        loss, count, n, seed = 0.0, 0, len(tokens), seed + 4 * self.epochs
        kernels: Any = compiled
        stride = min(max(n // _SEGMENT_TOKENS, 1), _MAX_LOSS_STRIDE)
        for first in range(0, n, stride * _LOSS_TOKENS):
            bounds = first, min(first + _LOSS_TOKENS, n)
            segment = self._draw_segment(tokens, starts, bounds, tables, seed)
            if self.algorithm == "skip_gram":
                samples = self._make_samples(segment, 0, len(segment[0]), tables, seed)
                part = kernels.skip_gram_loss(samples, len(samples), *vectors), len(samples)
            else:
                draws = seed + 2, self.negatives, *tables[1:]
                part = kernels.cbow_loss(*segment, *draws, *vectors)
            loss, count = loss + part[0], count + part[1]
        if not np.isfinite(loss):
            raise ValueError("the loss is not finite: take a smaller learning_rate")
        return loss / max(count, 1)

    def _draw_segment(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        bounds: tuple[int, int],
        tables: WordTables,
        seed: int,
    ) -> tuple[np.ndarray, ...]:
        """Words of a segment that are kept, their places, documents and reach."""
        first, last = bounds
        part = np.asarray(tokens[first:last])
        documents = np.searchsorted(starts, np.arange(first, last), side="right").astype(np.int32)
        kept, places = np.empty(len(part), np.int64), np.empty(len(part), np.int64)
        owners, reach = np.empty(len(part), np.int32), np.empty(len(part), np.int64)
        n = compiled.keep_tokens(part, documents, first, seed, tables.keep, kept, places, owners)
        compiled.draw_windows(places, n, seed + 1, self.window, reach)
        return kept[:n], places[:n], owners[:n], reach[:n]

    def _make_samples(self, segment: Any, a: int, b: int, tables: Any, seed: int) -> np.ndarray:
        """Samples (input word, output word, label) of the kept words from a to b."""
        n, make = len(segment[0]), cast("Any", compiled.make_samples)
        samples = np.empty(((b - a) * 2 * self.window * (1 + self.negatives), 3), np.int32)
        m = make(*segment, a, b, n, self.window, seed + 2, self.negatives, *tables[1:], samples)
        return samples[:m]

    def _train_skip_gram(
        self, segment: Any, vectors: Any, tables: Any, seed: int, rate: np.float32
    ) -> None:
        cuts = np.linspace(0, len(segment[0]), _PARTS + 1).astype(int)
        parts: list[Any] = [None] * _PARTS
        step: Any = compiled.train_group

        def make(number: int) -> None:
            a, b = int(cuts[number]), int(cuts[number + 1])
            samples = self._make_samples(segment, a, b, tables, seed)
            grouped, offsets = np.empty_like(samples), np.empty(STRATA**2 + 1, np.int64)
            compiled.group_samples(samples, len(samples), grouped, offsets)
            parts[number] = grouped, offsets

        def train(group: int) -> None:
            for samples, offsets in parts:
                step(samples, offsets[group], offsets[group + 1], *vectors, rate)

        run_parts(make, _PARTS)
        run_strata(train)

    def _train_cbow(
        self, segment: Any, vectors: Any, tables: Any, seed: int, rate: np.float32
    ) -> None:
        train: Any = compiled.train_cbow
        train(*segment, seed + 2, self.negatives, *tables[1:], *vectors, rate)


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds of 32 bits and aliases: draw i uniformly, keep it below its threshold.

    Examples
    --------
    >>> thresholds, aliases = alias_table(np.array([3.0, 1.0]))
    >>> (thresholds / 2**32).tolist(), aliases.tolist()
    ([1.0, 0.5], [0, 0])
    """
    n = len(weights)
    share = weights * (n / weights.sum())
    thresholds, aliases = np.ones(n), np.arange(n, dtype=np.int32)
    small = np.flatnonzero(share < 1).tolist()
    large = np.flatnonzero(share >= 1).tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        thresholds[low], aliases[low] = share[low], high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            small.append(large.pop())
    return (thresholds * _FULL).astype(np.uint64), aliases
