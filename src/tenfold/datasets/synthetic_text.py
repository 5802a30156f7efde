"""Synthetic documents whose topics are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.datasets._base import Seed, check_count, check_scale
from tenfold.distributions._topic_documents import draw_topic_documents


def make_topic_documents(
    n_samples: int = 100,
    n_features: int = 50,
    *,
    n_components: int = 5,
    length: float = 100.0,
    doc_topic_prior: Any = 0.2,
    topic_word_prior: Any = 0.1,
    topics: Any = None,
    random_state: Seed = None,
) -> tuple[Any, np.ndarray, np.ndarray]:
    r"""Documents of the story of latent Dirichlet allocation, as counts of words.

    .. math:: \beta_k \sim \mathrm{Dir}(\eta), \quad \theta_d \sim \mathrm{Dir}(\alpha), \quad
              n_d \sim \mathrm{Poisson}(\text{length}), \quad
              z_{dn} \sim \theta_d, \quad w_{dn} \sim \beta_{z_{dn}}

    Parameters
    ----------
    n_samples : int
        Number of documents.
    n_features : int
        Number of words of the vocabulary.
    n_components : int
        Number of topics.
    length : float
        Mean number of words of a document; a document may be empty.
    doc_topic_prior : float or (n_components,) array
        Prior :math:`\alpha` of the shares of topics: small numbers make documents of few topics.
    topic_word_prior : float or (n_features,) array
        Prior :math:`\eta` of the words of a topic: small numbers make topics of few words.
    topics : (n_components, n_features) array, optional
        The topics, instead of drawing them; rows are divided by their sums. `n_features`,
        `n_components` and `topic_word_prior` then have no effect.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : CSR array of shape (n_samples, n_features)
        How often each word occurs in each document.
    shares : ndarray of shape (n_samples, n_components)
        Share :math:`\theta_{dk}` of each topic in each document.
    topics : ndarray of shape (n_components, n_features)
        Probability :math:`\beta_{kw}` of each word in each topic.

    See Also
    --------
    tenfold.LatentDirichletAllocation.sample : Documents like those of a fitted model.

    Examples
    --------
    >>> X, shares, topics = make_topic_documents(200, 30, n_components=3, random_state=0)
    >>> X.shape, shares.shape, topics.shape
    ((200, 30), (200, 3), (3, 30))
    """
    n = check_count("n_samples", n_samples)
    check_scale("length", length)
    rng = np.random.default_rng(random_state)
    if topics is None:
        n_words = check_count("n_features", n_features)
        eta = _check_prior("topic_word_prior", topic_word_prior, n_words)
        words = rng.dirichlet(eta, check_count("n_components", n_components))
    else:
        words = _check_topics(topics)
    shares = rng.dirichlet(_check_prior("doc_topic_prior", doc_topic_prior, len(words)), n)
    return draw_topic_documents(rng, shares, words, rng.poisson(length, n)), shares, words


def _check_prior(name: str, value: Any, size: int) -> np.ndarray:
    """Parameters of a Dirichlet distribution: one number, or one for each of its entries."""
    prior = np.asarray(value, dtype=float)
    if prior.shape not in ((), (size,)):
        raise ValueError(f"{name} has shape {prior.shape}: give a number, or {size} of them")
    if not np.all(np.isfinite(prior) & (prior > 0)):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return np.broadcast_to(prior, (size,))


def _check_topics(topics: Any) -> np.ndarray:
    """Rows that sum to one."""
    words = np.asarray(topics, dtype=float)
    if words.ndim != 2 or not words.size or not np.all(np.isfinite(words) & (words >= 0)):
        raise ValueError(
            "topics must be a table, a row of finite numbers that are not negative for each "
            f"topic; got shape {words.shape}"
        )
    sums = words.sum(axis=1, keepdims=True)
    if not sums.all():
        raise ValueError(f"topic {int(np.argmin(sums))} has no word: each row needs a positive sum")
    return words / sums
