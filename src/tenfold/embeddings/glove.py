"""GloVe: word vectors whose dot products are logarithms of co-occurrence counts."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tenfold._compiled.dot_product import LANES
from tenfold._compiled.row_systems import solve_row_systems
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.embeddings._base import COUNT, TABLE_CONSTRAINTS, WORD_CONSTRAINTS, TableEmbedding
from tenfold.embeddings._glove_numba import train_entries
from tenfold.embeddings._skip_gram_numba import STRATA
from tenfold.embeddings._strata import run_parts, run_strata
from tenfold.optim.convergence import until_converged

_POSITIVE = Interval(Real, 0, None, closed="neither")
_ALS_PARTS = 64  # of the rows, for threads


class GloveState(NamedTuple):
    """Vectors and contexts with their biases, and sums of squared gradients."""

    vectors: np.ndarray
    contexts: np.ndarray
    vector_squares: np.ndarray
    context_squares: np.ndarray


class GloVe(TableEmbedding):
    r"""GloVe: vectors whose dot products are logarithms of co-occurrence counts.

    .. math:: \min \sum_{ij} f(X_{ij})
              \big( w_i' \tilde w_j + b_i + \tilde b_j - \log X_{ij} \big)^2,
              \qquad f(x) = \min\big( (x / x_{\max})^{\alpha}, 1 \big)

    over the entries of the table of words near each other. The vectors are the sums
    :math:`w_i + \tilde w_i`. Entries are visited in groups that share no word, so AdaGrad runs on
    all threads and gives the same bits on any number of them.

    Parameters
    ----------
    n_components : int
        Length of a vector.
    window : int
        Largest distance of two words that count as near.
    weighting : {"harmonic", "linear", "uniform"}
        What a pair at distance d counts: 1 / d, (window + 1 - d) / window, or 1.
    x_max, alpha : float
        Of the weight f.
    solver : {"adagrad", "als"}
        Stochastic steps, or alternating weighted least squares: each word's vector in turn is the
        exact minimum given those of all contexts, and the reverse. The latter needs no learning
        rate; its time grows with the square of `n_components`.
    learning_rate : float
        Of "adagrad".
    ridge : float
        Penalty of squared entries, of "als".
    epochs : int
        Most passes over the table.
    tol : float, optional
        Stop when a pass changes the objective by less than this share of it.
    add_contexts : bool
        Whether to add the vectors of words as contexts.
    min_count, max_words, vocabulary, lowercase, tokenizer : see `PPMIEmbedding`
        Words.
    random_state : int, optional
        Seed of the start and of the order of entries.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    words_, vocabulary_, counts_ : the words by falling count, their numbers and counts
    vectors_ : (n_words, n_components) their vectors
    context_vectors_ : (n_words, n_components) their vectors as contexts
    bias_, context_bias_ : (n_words,) b of the objective
    n_iter_, converged_, history_ : passes, and the objective after each ("objective")
    statistic_ : table of all words, for `partial_fit` and `merge`

    See Also
    --------
    PPMIEmbedding, Word2Vec, WordVectors

    References
    ----------
    J. Pennington, R. Socher, C. D. Manning (2014), "GloVe: global vectors for word representation".

    Examples
    --------
    >>> from tenfold import GloVe
    >>> texts = ["the cat sleeps", "the dog sleeps", "a car drives", "a bus drives"] * 10
    >>> model = GloVe(4, min_count=1, epochs=50, random_state=0).fit(texts)
    >>> model.similarity("cat", "dog") > model.similarity("cat", "bus")
    True
    """

    _parameter_constraints = (
        WORD_CONSTRAINTS
        | TABLE_CONSTRAINTS
        | {
            "x_max": [_POSITIVE],
            "alpha": [Interval(Real, 0, None, closed="left")],
            "solver": [StrOptions({"adagrad", "als"})],
            "learning_rate": [_POSITIVE],
            "ridge": [_POSITIVE],
            "epochs": [COUNT],
            "tol": [Interval(Real, 0, None, closed="left"), None],
            "add_contexts": ["boolean"],
        }
    )

    def __init__(
        self,
        n_components: int = 100,
        *,
        window: int = 10,
        weighting: str = "harmonic",
        x_max: float = 100.0,
        alpha: float = 0.75,
        solver: str = "adagrad",
        learning_rate: float = 0.05,
        ridge: float = 0.1,
        epochs: int = 25,
        tol: float | None = None,
        add_contexts: bool = True,
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
        self.x_max = x_max
        self.alpha = alpha
        self.solver = solver
        self.learning_rate = learning_rate
        self.ridge = ridge
        self.epochs = epochs
        self.tol = tol
        self.add_contexts = add_contexts
        self.min_count = min_count
        self.max_words = max_words
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.tokenizer = tokenizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn_vectors(self, table: Any) -> dict[str, Any]:
        rng = self._rng()
        weights = np.minimum((table.data / self.x_max) ** self.alpha, 1.0)
        problem = csr_array((np.log(table.data), table.indices, table.indptr), table.shape)
        state = _initial_state(table.shape[0], self.n_components, rng)
        if self.solver == "als":
            loop = self._run_als(problem, weights, state)
        else:
            loop = self._run_adagrad(problem, weights, state, rng)
        d, state = self.n_components, loop.state
        vectors, contexts = state.vectors[:, :d], state.contexts[:, :d]
        total = vectors + contexts if self.add_contexts else vectors.copy()
        return {
            "vectors_": np.ascontiguousarray(total, np.float32),
            "context_vectors_": np.ascontiguousarray(contexts, np.float32),
            "bias_": state.vectors[:, d].astype(np.float32),
            "context_bias_": state.contexts[:, d + 1].astype(np.float32),
            **loop.report,
            **({"warning_": ""} if self.tol is None else {}),
        }

    def _run_adagrad(
        self, problem: Any, weights: np.ndarray, state: GloveState, rng: np.random.Generator
    ) -> Any:
        rows = np.repeat(np.arange(problem.shape[0]), np.diff(problem.indptr))
        columns = problem.indices.astype(np.int64)
        group = (rows % STRATA) * STRATA + columns % STRATA
        order = rng.permutation(len(rows))
        order = order[np.argsort(group[order], kind="stable")]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=STRATA**2))])
        arrays: Any = (
            rows[order],
            columns[order],
            problem.data[order].astype(np.float32),
            weights[order].astype(np.float32),
        )
        step: Any = train_entries
        rate, losses = np.float32(self.learning_rate), np.zeros(STRATA**2)
        loop = until_converged(state, tol=self._tolerance(), max_iter=self.epochs)
        for now in loop:
            parts: Any = tuple(part.copy() for part in now)

            def train(number: int, parts: Any = parts) -> None:
                a, b = bounds[number], bounds[number + 1]
                losses[number] = step(*arrays, a, b, *parts, rate)

            run_strata(train)
            loss = _check_finite(float(losses.sum()))
            loop.update(
                GloveState(*parts), objective=loss, change=_relative_change(loop.objectives, loss)
            )
        return loop

    def _run_als(self, problem: Any, weights: np.ndarray, state: GloveState) -> Any:
        """Alternate between vectors and contexts, each the exact minimum given the other."""
        d, entries = self.n_components, csr_array((weights, problem.indices, problem.indptr))
        sides = ((problem, entries), (problem.T.tocsr(), entries.T.tocsr()))
        loop = until_converged(state, tol=self._tolerance(), max_iter=self.epochs)
        for now in loop:
            vectors, contexts = now.vectors.astype(np.float64), now.contexts.astype(np.float64)
            _solve_side(*sides[0], vectors, contexts, (d, d + 1), self.ridge)
            _solve_side(*sides[1], contexts, vectors, (d + 1, d), self.ridge)
            rows = np.repeat(np.arange(problem.shape[0]), np.diff(problem.indptr))
            products = np.einsum("ij,ij->i", vectors[rows], contexts[problem.indices])
            loss = float(weights @ np.square(products - problem.data))
            squares = np.square(vectors[:, : d + 1]).sum() + np.square(contexts[:, :d]).sum()
            squares += np.square(contexts[:, d + 1]).sum()
            loss = _check_finite(loss + self.ridge * float(squares))
            after = now._replace(vectors=vectors, contexts=contexts)
            loop.update(after, objective=loss, change=_relative_change(loop.objectives, loss))
        return loop

    def _tolerance(self) -> float:
        return -1.0 if self.tol is None else self.tol


def _initial_state(n: int, d: int, rng: np.random.Generator) -> GloveState:
    """Small random vectors. Column d of vectors is the bias, d + 1 of contexts; the others are 1.

    Sums of squared gradients of these ones are infinite, so that no step changes them.
    """
    width = -(-(d + 2) // LANES) * LANES
    arrays = []
    for one in (d + 1, d):
        vectors = np.zeros((n, width), np.float32)
        vectors[:, : d + 2] = (rng.random((n, d + 2)) - 0.5) / d
        vectors[:, one] = 1
        squares = np.ones((n, width), np.float32)
        squares[:, one] = np.inf
        arrays.append((vectors, squares))
    (vectors, vector_squares), (contexts, context_squares) = arrays
    return GloveState(vectors, contexts, vector_squares, context_squares)


def _solve_side(
    problem: Any,
    weights: Any,
    own: np.ndarray,
    other: np.ndarray,
    columns: tuple[int, int],
    ridge: float,
) -> None:
    """Replace each row of `own` by its minimum; columns are that of its bias and of its one."""
    bias, one = columns
    d = min(columns)
    factor = np.ascontiguousarray(other[:, [*range(d), bias]])  # `other` has its one there
    target = problem.data - other[problem.indices, one]
    cuts = np.linspace(0, len(own), min(_ALS_PARTS, len(own)) + 1).astype(int)

    def solve(part: int) -> None:
        a, b = cuts[part], cuts[part + 1]
        first, last = problem.indptr[a], problem.indptr[b]
        w = weights.data[first:last]
        solved = solve_row_systems(
            problem.indptr[a : b + 1] - first,
            problem.indices[first:last],
            w,
            w * target[first:last],
            factor,
            ridge=ridge,
        ).x
        own[a:b, :d], own[a:b, bias] = solved[:, :d], solved[:, d]

    run_parts(solve, len(cuts) - 1)


def _relative_change(objectives: list[float], loss: float) -> float:
    """Change of the objective since the last pass, relative to it; infinite in the first pass."""
    if not objectives:
        return float("inf")
    return abs(objectives[-1] - loss) / max(abs(objectives[-1]), 1e-300)


def _check_finite(loss: float) -> float:
    if not np.isfinite(loss):
        raise ValueError("the objective of GloVe is not finite: take a smaller learning_rate")
    return loss
