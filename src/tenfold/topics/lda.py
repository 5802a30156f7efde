"""Latent Dirichlet allocation by variational Bayes, in batches or online, or by Gibbs sampling."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.topics._bags import bags_of_words
from tenfold.topics._completion import completion_perplexity
from tenfold.topics._document_sampler import SamplesDocuments
from tenfold.topics._gibbs import sample_topics
from tenfold.topics._online import learn_batches, total_weight, update_from_rows
from tenfold.topics._priors import draw_topics, resolve_alpha, resolve_eta, start_from
from tenfold.topics._variational import (
    InferenceSettings,
    LearnedPriors,
    TopicParameters,
    TopicTable,
    ascend,
    document_bounds,
    document_topics,
    evaluate,
    infer_mean_topics,
    pass_settings,
    perplexity,
    sum_bounds,
    topic_table,
)

_FEW_DOCUMENTS = 512
_AUTO_STARTS = 5
_PRIOR = [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"auto"}), None]


class LatentDirichletAllocation(SamplesDocuments, ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Latent Dirichlet allocation: documents as mixtures of topics, topics as mixtures of words.

    .. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \beta_k \sim \mathrm{Dir}(\eta), \quad
              z_{dn} \sim \theta_d, \quad w_{dn} \sim \beta_{z_{dn}}

    Variational Bayes maximizes a bound of the log-probability of the words,

    .. math:: \sum_d \Bigl( \sum_w n_{dw} \log \sum_k e^{E \log\theta_{dk} + E \log\beta_{kw}}
              - \mathrm{KL}(q(\theta_d) \,\|\, p(\theta_d)) \Bigr)
              - \sum_k \mathrm{KL}(q(\beta_k) \,\|\, p(\beta_k)) .

    Parameters and attributes are those of `sklearn.decomposition.LatentDirichletAllocation`, and
    there is more: priors that are learned or differ between topics and words, weights of documents,
    a bound that never falls, Gibbs sampling, documents in files. The start of a document does not
    depend on random numbers, nor the result on the number of threads.

    Parameters
    ----------
    n_components : int
        Number of topics.
    doc_topic_prior : float, (n_components,) array, "auto" or None
        Prior :math:`\alpha` of the topics of a document; None is 1 / n_components. "auto" learns
        one number for each topic, starting there.
    topic_word_prior : float, (n_features,) array, (n_components, n_features) array, "auto" or None
        Prior :math:`\eta` of the words of a topic; None is 1 / n_components. "auto" learns one
        number. A matrix makes seeded topics, see `seed_topics`.
    learning_method : {"batch", "online", "gibbs"}
        "batch" updates the topics once for each pass over the documents; "online" after each
        `batch_size` documents, which are drawn in random order; "gibbs" samples the topic of every
        word (counts must be whole numbers), a sweep for each pass.
    learning_decay, learning_offset : float
        Online: the n-th batch has the weight (offset + n) ** -decay.
    max_iter : int
        Passes over the documents. Gibbs sampling needs a hundred and more; the topics are the mean
        of the second half of its sweeps.
    batch_size : int
        Documents between updates of "online" and `partial_fit`.
    evaluate_every : int
        Look for convergence every so many passes; 0 or less: never, do `max_iter` passes. The
        first eight passes of "batch" are shorter, and none of them is the last one.
    total_samples : int
        Documents of the whole corpus, for `partial_fit`.
    perp_tol : float
        Converged when the perplexity of the training documents changes by less.
    mean_change_tol : float
        A document is done when its topic parameters change by less on average; the first passes
        of "batch" stop earlier, which saves time and leads to better topics.
    max_doc_update_iter : int
        Most rounds for a document.
    n_jobs : int, optional
        Threads; all by default. It does not affect the result.
    verbose : int
        Whether to show progress.
    random_state : int, optional
        Seed of the first topics, of batches and of samples.
    init : (n_components, n_features) array, optional
        Topics to begin with, such as `components_` of another model, instead of random ones.
    n_init : int or "auto"
        Fits from other first topics, of which the one with the best bound is kept. "auto" is 5 for
        up to 512 documents, where the first topics matter most, else 1; 1 for "gibbs".

    Attributes
    ----------
    components_ : (n_components, n_features) Dirichlet parameters of the topics; rows over their
        sums are the words' probabilities
    exp_dirichlet_component_ : (n_components, n_features) exp of the expected log-probabilities
    doc_topic_prior_, topic_word_prior_ : the priors; numbers, or arrays where they differ
    bound_ : perplexity of the training documents, as `perplexity` computes it
    n_iter_, n_batch_iter_ : passes, and updates of the topics
    converged_ : whether a look for convergence found a change below `perp_tol`
    history_ : dict of arrays; "objective" is minus the bound after each pass (by "gibbs": minus the
        log-probability of words and topics)

    See Also
    --------
    TopicMixture : The same without priors, by maximum likelihood.
    WordCounts : Documents as counts; `fit_rows` for files of text larger than memory.
    top_words, topic_coherence, choose_topics

    References
    ----------
    D. Blei, A. Ng and M. Jordan (2003), Latent Dirichlet allocation.
    M. Hoffman, D. Blei and F. Bach (2010), Online learning for latent Dirichlet allocation.
    T. Griffiths and M. Steyvers (2004), Finding scientific topics.
    D. Newman, A. Asuncion, P. Smyth and M. Welling (2009), Distributed algorithms for topic models.

    Examples
    --------
    >>> from tenfold import LatentDirichletAllocation, WordCounts, top_words
    >>> documents = ["dog cat dog", "cat dog pet", "stock bond stock", "bond price bond"]
    >>> counts = WordCounts()
    >>> X = counts.fit_transform(documents)
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> sorted(top_words(model, counts, n=2))
    [['bond', 'stock'], ['dog', 'cat']]
    """

    _sparse_ok = True
    _chunk_rows = 512
    _law_params = {"n_components": 3, "max_iter": 4, "max_doc_update_iter": 15}
    _law_rows = 4000
    _learned_shapes = {
        "components_": "m p",
        "exp_dirichlet_component_": "m p",
        "doc_topic_prior_": "m | ()",
        "topic_word_prior_": "m p | p | ()",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "doc_topic_prior": _PRIOR,
        "topic_word_prior": _PRIOR,
        "learning_method": [StrOptions({"batch", "online", "gibbs"})],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 0, None, closed="neither")],
        "evaluate_every": [Interval(Integral, None, None, closed="neither")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "perp_tol": [Interval(Real, 0, None, closed="left")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "init": ["array-like", None],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        learning_method: str = "batch",
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        max_iter: int = 10,
        batch_size: int = 128,
        evaluate_every: int = -1,
        total_samples: float = 1e6,
        perp_tol: float = 1e-1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        init: Any = None,
        n_init: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.init = init
        self.n_init = n_init

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def random_state_(self) -> np.random.RandomState:
        """A generator of the seed, under scikit-learn's name."""
        check_is_fitted(self)
        return check_random_state(self.random_state)

    @property
    def _settings(self) -> InferenceSettings:
        return InferenceSettings(
            int(self.max_doc_update_iter), float(self.mean_change_tol), type(self).__name__
        )

    @property
    def _learned_priors(self) -> LearnedPriors:
        names = (self.doc_topic_prior, self.topic_word_prior)
        return LearnedPriors(*(isinstance(prior, str) for prior in names))

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        fits = [self._fit_once(rows, rng) for _ in range(self._count_starts(rows))]
        return min(fits, key=lambda learned: learned["bound_"])

    def _count_starts(self, rows: Rows) -> int:
        """Number of fits: given, or several where documents are few."""
        if self.init is not None:
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        n = total_weight(rows)
        return _AUTO_STARTS if n <= _FEW_DOCUMENTS and self.learning_method != "gibbs" else 1

    def _fit_once(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        start = self._start(rows, rng)
        if self.learning_method == "gibbs":
            seed = int(rng.integers(2**62))
            parameters, report = sample_topics(rows, start, self._learned_priors, self, seed)
        elif self.learning_method == "online":
            parameters, report = learn_batches(rows, start, self, rng)
        else:
            return self._fit_batch(rows, start)
        learned = self._finalize(parameters, rows.dtype)
        return learned | report | self._training_perplexity(rows, learned)

    def _start(self, rows: Rows, rng: np.random.Generator) -> TopicParameters:
        K, V = self.n_components, rows.n_features
        alpha = resolve_alpha(self.doc_topic_prior, K)
        eta = resolve_eta(self.topic_word_prior, K, V)
        if self.init is None:
            return TopicParameters(draw_topics(rng, V, K, eta), alpha, eta)
        total = float(rows.total(sum_words, type(self).__name__))
        return TopicParameters(start_from(self.init, V, K, eta, total), alpha, eta)

    def _fit_batch(self, rows: Rows, start: TopicParameters) -> dict[str, Any]:
        settings, learned = self._settings, self._learned_priors
        every = self.evaluate_every
        used = self._pass_settings(0)
        first = evaluate(rows, start, used, learned)
        loop = until_converged(first, tol=self.perp_tol, max_iter=self.max_iter)
        for now in loop:
            used = self._pass_settings(loop.n_iter + 1)
            reached = ascend(rows, now, used, learned)
            if reached is None:
                loop.update(now, objective=-now.bound, change=np.inf, stuck=True)
                continue
            change = np.inf
            if every > 0 and (loop.n_iter + 1) % every == 0:
                change = abs(reached.perplexity - now.checked) if used == settings else np.inf
                reached = reached._replace(checked=reached.perplexity)
            loop.update(reached, objective=-reached.bound, change=change)
        found = self._finalize(loop.state.parameters, rows.dtype)
        found |= loop.report | {"n_batch_iter_": loop.n_iter + 1}
        if every <= 0:  # no convergence was asked for
            found["warning_"] = ""
        if rows.dtype == np.float32 or used != settings:  # of the topics as `perplexity` takes them
            return found | self._training_perplexity(rows, found)
        return found | {"bound_": loop.state.perplexity}

    def _pass_settings(self, number: int) -> InferenceSettings:
        """Settings of a pass: the first ones are short where topics begin alike.

        The last one is not short, nor those from which priors learn.
        """
        if number >= self.max_iter or self.init is not None or any(self._learned_priors):
            return self._settings
        return pass_settings(self._settings, number)

    def _finalize(self, parameters: TopicParameters, dtype: np.dtype) -> dict[str, Any]:
        topics, alpha, eta = parameters
        components = np.ascontiguousarray(topics.T).astype(dtype)
        given = topic_table(TopicParameters(components.T.astype(np.float64), alpha, eta))
        expected = (given.table * np.exp(given.log_scales)[:, None]).T.astype(dtype)
        vector = self.doc_topic_prior is not None and not np.isscalar(self.doc_topic_prior)
        alpha_learned = vector or isinstance(self.doc_topic_prior, str)
        if eta.size == 1:
            prior: Any = float(eta[0, 0])
        else:
            prior = eta[:, 0].astype(dtype) if eta.shape[1] == 1 else eta.T.astype(dtype)
        return {
            "components_": components,
            "exp_dirichlet_component_": np.ascontiguousarray(expected),
            "doc_topic_prior_": alpha.astype(dtype) if alpha_learned else float(alpha[0]),
            "topic_word_prior_": prior,
        }

    def _training_perplexity(self, rows: Rows, learned: dict[str, Any]) -> dict[str, Any]:
        given = self._table(learned)
        sums = rows.total(sum_bounds, given, self._settings)
        return {"bound_": perplexity(given.bound + sums.bound, sums.n_words)}

    def _table(self, learned: dict[str, Any] | None = None) -> TopicTable:
        """The learned topics as inference takes them."""
        return topic_table(self._parameters(learned))

    def _parameters(self, learned: dict[str, Any] | None = None) -> TopicParameters:
        learned = vars(self) if learned is None else learned
        K, V = learned["components_"].shape
        topics = np.ascontiguousarray(learned["components_"].T, np.float64)
        alpha = resolve_alpha(learned["doc_topic_prior_"], K)
        return TopicParameters(topics, alpha, resolve_eta(learned["topic_word_prior_"], K, V))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the topics with more documents, by online variational Bayes.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents; `total_samples` says how many the corpus has.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weights of the documents.

        Returns
        -------
        self
        """
        self._validate_params()
        is_first = not hasattr(self, "components_")
        with self._work_context():
            rows = self._rows(X, y, sample_weight, reset=is_first)
            start = self._start(rows, self._rng()) if is_first else self._parameters()
            done = 1 if is_first else self.n_batch_iter_
            parameters, done = update_from_rows(rows, start, self, done)
            self._set_learned(self._finalize(parameters, rows.dtype) | {"n_batch_iter_": done})
        return self

    def transform(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """Share of each topic in each document, (n_documents, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        normalize : bool
            Whether shares sum to 1; else they are the Dirichlet parameters.
        """
        check_is_fitted(self, "components_")
        return self._map_rows(X, document_topics, self._table(), self._settings, bool(normalize))

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, sample_weight: Any = None, *, normalize: bool = True
    ) -> np.ndarray:
        """Fit, then transform the same documents.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        y : None
            Not used.
        sample_weight : array or column name, optional
            Weights of the documents.
        normalize : bool
            As in `transform`.
        """
        return self.fit(X, y, sample_weight).transform(X, normalize=normalize)

    def score(self, X: Any, y: Any = None) -> float:
        """Bound of the log-probability of the documents, topics' part included.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        y : None
            Not used.
        """
        given, sums = self._bound_sums(X)
        return float(given.bound + sums.bound)

    def score_samples(self, X: Any) -> np.ndarray:
        """Bound of the log-probability of each document given the topics, (n_documents,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        """
        check_is_fitted(self, "components_")
        return self._map_rows(X, document_bounds, self._table(), self._settings)

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """exp(-bound per word), as scikit-learn defines it: the topics' part is included.

        `completion_perplexity` compares models better: the bounds of two models differ by more than
        their fit.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The documents.
        sub_sampling : bool
            Whether X stands for `total_samples` documents like these.
        """
        given, sums = self._bound_sums(X)
        ratio = float(self.total_samples) / sums.n if sub_sampling else 1.0
        return perplexity(ratio * sums.bound + given.bound, ratio * sums.n_words)

    def completion_perplexity(self, X: Any, *, random_state: int = 0) -> float:
        """exp(-mean log-probability) of half of the words of each document, given the other half.

        Each occurrence of a word falls into one half by a hash of seed, document and word. No bound
        is involved, so this number can be compared with that of any other model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            Documents that were not trained on.
        random_state : int
            Seed of the halves.
        """
        check_is_fitted(self, "components_")
        parameters = self._parameters()
        topics = parameters.topics / parameters.topics.sum(axis=0)
        with self._work_context():
            rows = self._rows(X, reset=False)
            return completion_perplexity(
                rows,
                topics,
                random_state,
                infer_mean_topics,
                topic_table(parameters),
                self._settings,
            )

    def _share_prior(self) -> np.ndarray:
        return resolve_alpha(self.doc_topic_prior_, len(self.components_))

    def _bound_sums(self, X: Any) -> tuple[TopicTable, Any]:
        check_is_fitted(self, "components_")
        given = self._table()
        with self._work_context():
            return given, self._rows(X, reset=False).total(sum_bounds, given, self._settings)


def sum_words(chunk: Chunk, model_name: str) -> float:
    """Weight of all words."""
    bags = bags_of_words(chunk, model_name)
    return float(bags.weights @ bags.lengths)
