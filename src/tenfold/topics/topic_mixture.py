"""Admixture of topics by maximum likelihood: probabilistic latent semantic analysis, KL-NMF."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Transformer
from tenfold.engine.carried_columns import CarriedColumns
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.topics._admixture_numba import mix_documents, sum_log_shares
from tenfold.topics._bags import Bags, bags_of_words
from tenfold.topics._completion import completion_perplexity
from tenfold.topics._document_sampler import SamplesDocuments
from tenfold.topics._variational import perplexity
from tenfold.topics._word_sums import allocate_sums, dense_sums

_TINY = 1e-300
_EARLY_ITERATIONS = 10
_ROUNDING = 1e-12  # gain for each word that is none


class MixSums(NamedTuple):
    """Statistic of a pass.

    Attributes
    ----------
    words : sums by word and topic of n_dw theta_dk / p_dw
    log_probability : of the words
    log_shares : sum of the logs of the shares of topics
    n_words : weight of the words
    """

    words: Any
    log_probability: float
    log_shares: float
    n_words: float


class MixSettings(NamedTuple):
    """Prior of the shares, rounds for a document, and the change at which it is done."""

    prior: float
    max_rounds: int
    tol: float
    model_name: str


class MixState(NamedTuple):
    """Words of the topics (V, K), shares of all documents (n, K), the objective, its last gain."""

    topics: np.ndarray
    shares: np.ndarray
    objective: float
    gain: float = 0.0


class TopicMixture(SamplesDocuments, ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Admixture of topics by EM: every word of a document comes from one of K topics.

    .. math:: \max_{\theta, \beta} \sum_{dw} n_{dw} \log \sum_k \theta_{dk} \beta_{kw}, \qquad
              \sum_k \theta_{dk} = 1, \; \sum_w \beta_{kw} = 1

    Also called probabilistic latent semantic analysis. It is non-negative matrix factorization in
    the Kullback-Leibler divergence: with :math:`W_{dk} = n_d \theta_{dk}`, the log-likelihood is
    :math:`-D(X \,\|\, W \beta)` up to a constant. `LatentDirichletAllocation` averages over the
    shares and the words of topics, where this model maximizes. `sample` draws the shares of new
    documents from the prior, which without `doc_topic_prior` is uniform.

    Parameters
    ----------
    n_components : int
        Number of topics.
    doc_topic_prior, topic_word_prior : float
        Added to the expected words of each topic in a document, and of each word in a topic; 0 is
        maximum likelihood, else the maximum a posteriori with Dirichlet priors of 1 + this.
    max_iter : int
        Most iterations, each a pass over the documents.
    tol : float
        Converged when an iteration raises the objective by less than this for each word, and by
        less than the one before.
    n_rounds : int
        Updates of the shares of a document in each pass.
    transform_max_iter, transform_tol : int, float
        For new documents: most updates, and the mean change of a share at which they end.
    n_init : int
        Fits from other first topics, of which the best is kept.
    init : (n_components, n_features) array, optional
        Topics to begin with, instead of random ones.
    n_jobs : int, optional
        Threads; all by default. It does not affect the result.
    verbose : int
        Whether to show progress.
    random_state : int, optional
        Seed of the first topics.

    Attributes
    ----------
    components_ : (n_components, n_features) probabilities of the words of each topic
    log_likelihood_ : of the training documents, in the last iteration
    n_iter_, converged_, history_ : of EM; "objective" is minus the log-likelihood (and log-prior)

    See Also
    --------
    LatentDirichletAllocation : With priors, which are averaged over.
    MultinomialMixture : One topic for the whole document.

    References
    ----------
    T. Hofmann (1999), Probabilistic latent semantic indexing.
    E. Gaussier and C. Goutte (2005), Relation between PLSA and NMF and implications.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import TopicMixture
    >>> X = np.array([[4, 2, 0, 0], [2, 1, 0, 0], [0, 0, 3, 3], [2, 1, 2, 2]])
    >>> model = TopicMixture(2, random_state=0, tol=1e-9, max_iter=500).fit(X)
    >>> model.components_[model.components_[:, 0].argsort()].round(3).tolist()
    [[0.0, 0.0, 0.5, 0.5], [0.667, 0.333, 0.0, 0.0]]
    """

    _sparse_ok = True
    _chunk_rows = 512
    _law_params = {"n_components": 3, "tol": 1e-3, "transform_max_iter": 20}
    _law_rows = 4000
    _learned_shapes = {"components_": "m p"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "doc_topic_prior": [Interval(Real, 0, None, closed="left")],
        "topic_word_prior": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "transform_max_iter": [Interval(Integral, 1, None, closed="left")],
        "transform_tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": ["array-like", None],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float = 0.0,
        topic_word_prior: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_rounds: int = 5,
        transform_max_iter: int = 200,
        transform_tol: float = 1e-6,
        n_init: int = 1,
        init: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_rounds = n_rounds
        self.transform_max_iter = transform_max_iter
        self.transform_tol = transform_tol
        self.n_init = n_init
        self.init = init
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _check_learned(self) -> None:
        if len(self.components_) != self.n_components:
            raise ValueError(f"{len(self.components_)} topics, not {self.n_components}")

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n_init = self.n_init if self.init is None else 1
        fits = [self._fit_once(rows, self._first_topics(rows, rng)) for _ in range(n_init)]
        return min(fits, key=lambda fit: fit["history_"]["objective"][-1])

    def _first_topics(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        V, K = rows.n_features, self.n_components
        if self.init is None:
            topics = rng.gamma(100.0, 0.01, (V, K))
        else:
            topics = np.asarray(self.init, np.float64).T
            if topics.shape != (V, K) or (topics < 0).any() or not np.isfinite(topics).all():
                raise ValueError(
                    f"init has shape {topics.shape[::-1]}: give a row of {V} word weights, not "
                    f"negative, for each of the {K} topics"
                )
        return _normalize(topics)

    def _fit_once(self, rows: Rows, topics: np.ndarray) -> dict[str, Any]:
        settings = MixSettings(
            float(self.doc_topic_prior), int(self.n_rounds), 0.0, type(self).__name__
        )
        sums, columns = rows.carry(sum_mixtures, None, topics, settings, durable=True)
        state = self._maximize(topics, sums, columns)
        loop = until_converged(state, tol=self.tol, max_iter=self.max_iter)
        for now in loop:
            columns = CarriedColumns.of((now.shares,))
            sums, columns = rows.carry(sum_mixtures, columns, now.topics, settings, durable=True)
            reached = self._maximize(now.topics, sums, columns)
            gain = (now.objective - reached.objective) / max(sums.n_words, 1.0)
            # topics that are still alike drift apart slowly, then faster: that is no convergence
            early = loop.n_iter < _EARLY_ITERATIONS and gain > _ROUNDING
            change = np.inf if early or gain > now.gain > 0 else abs(gain)
            loop.update(reached._replace(gain=gain), objective=reached.objective, change=change)
        return {
            "components_": np.ascontiguousarray(loop.state.topics.T).astype(rows.dtype),
            "log_likelihood_": float(sums.log_probability) if loop.n_iter else -np.inf,
            **loop.report,
        }

    def _maximize(self, topics: np.ndarray, sums: MixSums, columns: CarriedColumns) -> MixState:
        """The words of the topics that are best for the expected topics of all words."""
        if not np.isfinite(sums.log_probability):
            raise ValueError(
                "some word of the documents has no probability in any topic: add a small number to "
                "init, give topic_word_prior, or leave out counts that are next to nothing"
            )
        objective = -sums.log_probability - self.doc_topic_prior * sums.log_shares
        if self.topic_word_prior:
            objective -= self.topic_word_prior * np.log(np.maximum(topics, _TINY)).sum()
        new = dense_sums(sums.words, len(topics)) * topics + self.topic_word_prior
        return MixState(_normalize(new, topics), columns.array(0), float(objective))

    def _new_documents(self) -> MixSettings:
        """Settings for documents whose shares are sought."""
        return MixSettings(
            float(self.doc_topic_prior),
            int(self.transform_max_iter),
            float(self.transform_tol),
            type(self).__name__,
        )

    @property
    def _topics(self) -> np.ndarray:
        return np.ascontiguousarray(self.components_.T, np.float64)

    def transform(self, X: Any) -> np.ndarray:
        """Share of each topic in each document, (n_documents, n_components).

        The shares maximize the likelihood with the topics as they are: a concave problem.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents. Words that no topic knows are left out.
        """
        check_is_fitted(self)
        return self._map_rows(X, document_shares, self._topics, self._new_documents())

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-probability of the words of each document with its best shares, (n_documents,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents; one with a word that no topic knows has -inf.
        """
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
            return rows.each(document_logs, self._topics, self._new_documents())

    def score(self, X: Any, y: Any = None) -> float:
        """Log-probability of all words, with the best shares of each document.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        y : None
            Not used.
        """
        return float(self._log_sums(X).log_probability)

    def perplexity(self, X: Any) -> float:
        """exp(-log-probability per word), with shares that have seen these words.

        For an honest number see `completion_perplexity`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        """
        sums = self._log_sums(X)
        return perplexity(sums.log_probability, sums.n_words)

    def completion_perplexity(self, X: Any, *, random_state: int = 0) -> float:
        """exp(-mean log-probability) of half of the words of each document, given the other half.

        The halves are those of `LatentDirichletAllocation.completion_perplexity`. Infinite where
        a word has no probability in the topics of its document: see `topic_word_prior`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            Documents that were not trained on.
        random_state : int
            Seed of the halves.
        """
        check_is_fitted(self)
        settings, topics = self._new_documents(), self._topics
        with self._work_context():
            rows = self._rows(X, reset=False)
            return completion_perplexity(rows, topics, random_state, infer_shares, topics, settings)

    def _share_prior(self) -> np.ndarray:
        return np.full(len(self.components_), 1.0 + self.doc_topic_prior)

    def _log_sums(self, X: Any) -> MixLogSums:
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
            return rows.total(sum_logs, self._topics, self._new_documents())


class MixLogSums(NamedTuple):
    """Log-probability of words, and their weight."""

    log_probability: float
    n_words: float


def _normalize(topics: np.ndarray, instead: np.ndarray | None = None) -> np.ndarray:
    """Columns over their sums; a topic that no word has chosen stays as it was."""
    sums = topics.sum(axis=0)
    if instead is None:
        if not (sums > 0).all():
            raise ValueError("init has a topic without words")
        return topics / sums
    return np.where(sums > 0, topics / np.where(sums > 0, sums, 1.0), instead)


def _run(bags: Bags, topics: np.ndarray, settings: MixSettings) -> Any:
    """Shares of the documents and their log-probabilities, without sums."""
    n, K = len(bags.weights), topics.shape[1]
    shares, logs = np.full((n, K), 1.0 / K), np.empty(n)
    none = np.empty(0, np.int64), np.empty((0, 0))
    mix_documents(*bags, topics, *settings[:3], shares, *none, logs)
    return shares, logs


def sum_mixtures(
    chunk: Chunk, columns: tuple[np.ndarray] | None, topics: np.ndarray, settings: MixSettings
) -> tuple[MixSums, tuple[np.ndarray]]:
    """Update the shares of the documents of a chunk, and sum what the next topics need."""
    bags = bags_of_words(chunk, settings.model_name)
    V, K = topics.shape
    slots, statistic, table = allocate_sums(bags.words, V, K)
    shares = np.full((chunk.rows, K), 1.0 / K) if columns is None else columns[0].copy()
    logs = np.empty(chunk.rows)
    mix_documents(*bags, topics, *settings[:3], shares, slots, table, logs)
    logs_of_words = np.where(bags.weights > 0, bags.weights * logs, 0.0).sum()
    log_shares = sum_log_shares(shares, bags.weights) if settings.prior else 0.0
    n_words = float(bags.weights @ bags.lengths)
    return MixSums(statistic, float(logs_of_words), log_shares, n_words), (shares,)


def document_shares(chunk: Chunk, topics: np.ndarray, settings: MixSettings) -> np.ndarray:
    """Shares of the topics of each document."""
    bags = bags_of_words(chunk, settings.model_name)
    return _run(bags, topics, settings)[0].astype(chunk.X.dtype)


def document_logs(chunk: Chunk, topics: np.ndarray, settings: MixSettings) -> np.ndarray:
    """Log-probability of the words of each document."""
    bags = bags_of_words(chunk, settings.model_name)
    return _run(bags, topics, settings)[1].astype(chunk.X.dtype)


def sum_logs(chunk: Chunk, topics: np.ndarray, settings: MixSettings) -> MixLogSums:
    """Log-probability of the words of a chunk."""
    bags = bags_of_words(chunk, settings.model_name)
    logs = _run(bags, topics, settings)[1]
    total = np.where(bags.weights > 0, bags.weights * logs, 0.0).sum()
    return MixLogSums(float(total), float(bags.weights @ bags.lengths))


def infer_shares(bags: Bags, topics: np.ndarray, settings: MixSettings) -> np.ndarray:
    """Shares of the topics of bags of words."""
    return _run(bags, topics, settings)[0]
