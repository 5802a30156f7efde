"""Word vectors by a singular value decomposition of pointwise mutual information."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tenfold.base._sklearn import Interval
from tenfold.decomposition._eigensolvers import fix_signs, iterate_singular_vectors
from tenfold.embeddings._base import TABLE_CONSTRAINTS, WORD_CONSTRAINTS, TableEmbedding
from tenfold.engine.arrays import SparseSource
from tenfold.engine.rows import Rows

_OVERSAMPLES = 16


def positive_pmi(table: Any, *, shift: float = 1.0, smoothing: float = 0.75) -> Any:
    r"""Positive pointwise mutual information of words (rows) and contexts (columns).

    .. math:: \max\Big(\log \frac{c_{wv} \sum_u c_u^\alpha}{c_w \, c_v^\alpha} - \log k, \; 0\Big)

    Parameters
    ----------
    table : CSR array
        Weights :math:`c_{wv}` of words near each other.
    shift : float
        k: the larger, the fewer entries are left.
    smoothing : float
        Power :math:`\alpha` of the counts of contexts; below 1 rare contexts count less.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> table = csr_array(np.array([[0.0, 2.0], [2.0, 4.0]]))
    >>> positive_pmi(table, smoothing=1.0).toarray().round(3).tolist()
    [[0.0, 0.288], [0.288, 0.0]]
    """
    table = csr_array(table)
    rows = np.asarray(table.sum(axis=1), np.float64).ravel()
    contexts = np.asarray(table.sum(axis=0), np.float64).ravel() ** smoothing
    owners = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    ratio = table.data / rows[owners] * (contexts.sum() / contexts[table.indices])
    places = table.indices.copy(), table.indptr.copy()  # zeros are taken out in place
    information = csr_array((np.log(ratio / shift), *places), table.shape)
    information.data[information.data < 0] = 0
    information.eliminate_zeros()
    return information


class PPMIEmbedding(TableEmbedding):
    r"""Word vectors by a singular value decomposition of positive pointwise mutual information.

    .. math:: M_{wv} = \max\Big(\log \frac{P(w, v)}{P(w) P_\alpha(v)} - \log k, 0\Big)
              \approx U \Sigma V', \qquad \text{vectors } U \Sigma^p

    Skip-gram with k negative samples factorizes the same matrix without the maximum, implicitly.
    Here the counts come from one pass, nothing is drawn but the start of the decomposition, and
    models of parts of the documents merge exactly. A good choice for small corpora.

    Parameters
    ----------
    n_components : int
        Length of a vector.
    window : int
        Largest distance of two words that count as near.
    weighting : {"linear", "harmonic", "uniform"}
        What a pair at distance d counts: (window + 1 - d) / window, 1 / d, or 1.
    shift : float
        k, see above: as many negative samples.
    smoothing : float
        Power of the counts of contexts.
    singular_power : float
        p, power of the singular values.
    add_contexts : bool
        Whether to add the vectors of words as contexts.
    n_iter : int
        Iterations of the decomposition, each a product with the matrix and its transpose.
    min_count : int
        Words that occur less often have no vector; they keep their place in windows.
    max_words : int, optional
        Keep so many words, the most frequent.
    vocabulary : list, optional
        The words to keep, instead of choosing them.
    lowercase : bool
        Whether to convert texts to lower case first.
    tokenizer : callable, optional
        Function from a text to its words; by default runs of letters, digits and underscores.
    random_state : int, optional
        Seed of the start of the decomposition.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    words_ : list of the words, by falling count
    vocabulary_ : dict, word -> number
    counts_ : (n_words,) how often each occurs
    vectors_ : (n_words, n_components) their vectors
    context_vectors_ : (n_words, n_components) their vectors as contexts
    singular_values_ : (n_components,) of the matrix
    statistic_ : table of all words, for `partial_fit` and `merge`

    See Also
    --------
    GloVe, Word2Vec, WordVectors, tenfold.embeddings.count_cooccurrences

    References
    ----------
    O. Levy, Y. Goldberg, I. Dagan (2015), "Improving distributional similarity with lessons learned
    from word embeddings".
    O. Levy, Y. Goldberg (2014), "Neural word embedding as implicit matrix factorization".

    Examples
    --------
    >>> from tenfold import PPMIEmbedding
    >>> texts = ["the cat sleeps", "the dog sleeps", "a car drives", "a bus drives"] * 10
    >>> model = PPMIEmbedding(3, min_count=1, random_state=0).fit(texts)
    >>> model.most_similar("cat", n=1)[0][0]
    'dog'
    """

    _parameter_constraints = (
        WORD_CONSTRAINTS
        | TABLE_CONSTRAINTS
        | {
            "shift": [Interval(Real, 0, None, closed="neither")],
            "smoothing": [Interval(Real, 0, 1, closed="right")],
            "singular_power": [Interval(Real, 0, None, closed="left")],
            "add_contexts": ["boolean"],
            "n_iter": [Interval(Integral, 1, None, closed="left")],
        }
    )

    def __init__(
        self,
        n_components: int = 100,
        *,
        window: int = 5,
        weighting: str = "linear",
        shift: float = 1.0,
        smoothing: float = 0.75,
        singular_power: float = 0.5,
        add_contexts: bool = False,
        n_iter: int = 4,
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
        self.window = window
        self.weighting = weighting
        self.shift = shift
        self.smoothing = smoothing
        self.singular_power = singular_power
        self.add_contexts = add_contexts
        self.n_iter = n_iter
        self.min_count = min_count
        self.max_words = max_words
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.tokenizer = tokenizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn_vectors(self, table: Any) -> dict[str, Any]:
        M = positive_pmi(table, shift=self.shift, smoothing=self.smoothing).astype(np.float32)
        if M.nnz == 0:
            raise ValueError(f"no entry is positive after the shift by {self.shift}: lower it")
        rows = Rows(SparseSource(M))
        found = iterate_singular_vectors(
            rows, self.n_components, _OVERSAMPLES, self.n_iter, self._rng()
        )
        k = int((found.values > 1e-6 * found.values[0]).sum())
        V = fix_signs(found.directions[:k]).T
        values = found.values[:k]
        U = (M @ V.astype(np.float32)) / values
        scale = values**self.singular_power
        width = min(self.n_components, table.shape[0])
        vectors, contexts = (_pad_columns(part * scale, width) for part in (U, V))
        if self.add_contexts:
            vectors = vectors + contexts
        return {
            "vectors_": vectors,
            "context_vectors_": contexts,
            "singular_values_": np.pad(values, (0, width - k)),
        }


def _pad_columns(part: np.ndarray, width: int) -> np.ndarray:
    """Columns of zeros for singular values that vanish, in float32."""
    return np.pad(part, ((0, 0), (0, width - part.shape[1]))).astype(np.float32)
