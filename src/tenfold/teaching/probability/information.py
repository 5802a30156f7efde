r"""Entropy, cross-entropy and divergence, their inequalities, and the evidence lower bound.

All in nats, along the last axis, with 0 log 0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr, xlogy

from tenfold.math.links import log_sum_exp


class InequalitySides(NamedTuple):
    """Both sides of an inequality: the larger first."""

    larger: Any
    smaller: Any


class EvidenceDecomposition(NamedTuple):
    """log p(x) and the three terms that it is the sum of.

    Attributes
    ----------
    log_evidence : log p(x)
    expected_log_joint : mean of log p(x, z) under Q
    entropy : entropy of Q
    divergence : KL(Q || p(z | x)), the gap of the lower bound
    """

    log_evidence: Any
    expected_log_joint: Any
    entropy: Any
    divergence: Any

    @property
    def elbo(self) -> Any:
        """Evidence lower bound: expected log joint plus entropy, never above log p(x)."""
        return self.expected_log_joint + self.entropy


def entropy(p: Any) -> np.ndarray:
    r"""Entropy :math:`-\sum_i p_i \log p_i`: 0 for a certain outcome, at most log k.

    Examples
    --------
    >>> entropy([0.25, 0.25, 0.25, 0.25]).round(4), entropy([1.0, 0.0])
    (np.float64(1.3863), np.float64(0.0))
    """
    p = np.asarray(p, np.float64)
    return -xlogy(p, p).sum(axis=-1) + 0.0


def cross_entropy(p: Any, q: Any) -> np.ndarray:
    r"""Cross-entropy :math:`-\sum_i p_i \log q_i`: least, and the entropy of p, at q = p.

    Examples
    --------
    >>> cross_entropy([0.5, 0.5], [0.9, 0.1]).round(4)
    np.float64(1.204)
    """
    return -xlogy(np.asarray(p, np.float64), np.asarray(q, np.float64)).sum(axis=-1) + 0.0


def kl_divergence(p: Any, q: Any) -> np.ndarray:
    r"""Kullback-Leibler divergence :math:`\sum_i p_i \log (p_i / q_i)`; infinite if q misses p.

    Examples
    --------
    >>> kl_divergence([0.5, 0.5], [0.9, 0.1]).round(4), kl_divergence([0.5, 0.5], [1, 0])
    (np.float64(0.5108), np.float64(inf))
    """
    return rel_entr(np.asarray(p, np.float64), np.asarray(q, np.float64)).sum(axis=-1)


def log_sum_inequality(a: Any, b: Any) -> InequalitySides:
    r"""Both sides of :math:`\sum a_i \log (a_i / b_i) \ge (\sum a_i) \log (\sum a_i / \sum b_i)`.

    Examples
    --------
    >>> [float(side.round(4)) for side in log_sum_inequality([1, 2], [3, 1])]
    [0.2877, -0.863]
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return InequalitySides(rel_entr(a, b).sum(axis=-1), rel_entr(a.sum(axis=-1), b.sum(axis=-1)))


def gibbs_inequality(p: Any, q: Any) -> InequalitySides:
    """Both sides of H(p, q) >= H(p); equal if and only if q is p.

    Examples
    --------
    >>> [float(side.round(4)) for side in gibbs_inequality([0.5, 0.5], [0.9, 0.1])]
    [1.204, 0.6931]
    """
    return InequalitySides(cross_entropy(p, q), entropy(p))


def jensen_inequality(f: Callable[[np.ndarray], Any], values: Any, p: Any) -> InequalitySides:
    """Both sides of E f(X) >= f(E X), for a convex f; of a concave f the smaller comes first.

    Examples
    --------
    >>> [float(side) for side in jensen_inequality(np.square, [0.0, 2.0], [0.5, 0.5])]
    [2.0, 1.0]
    """
    values, p = np.asarray(values, np.float64), np.asarray(p, np.float64)
    return InequalitySides((p * f(values)).sum(axis=-1), f((p * values).sum(axis=-1)))


def complete_log_likelihood(log_joint: Any, z: Any) -> float:
    r"""Complete-data log-likelihood :math:`\sum_i \log p(x_i, z_i)`, for known latent variables.

    Parameters
    ----------
    log_joint : (n, k) array
        log p(x_i, z = j).
    z : (n,) array
        Index of the latent class of each row.

    Examples
    --------
    >>> round(complete_log_likelihood(np.log([[0.1, 0.2], [0.3, 0.4]]), [1, 0]), 6)
    -2.813411
    """
    log_joint = np.asarray(log_joint, np.float64)
    return float(log_joint[np.arange(len(log_joint)), np.asarray(z)].sum())


def expected_complete_log_likelihood(log_joint: Any, R: Any) -> float:
    r"""Expected complete-data log-likelihood under responsibilities R.

    .. math:: \sum_i \sum_j R_{ij} \log p(x_i, z_i = j)

    The M-step of EM maximizes it. Classes of responsibility 0 contribute nothing.

    Examples
    --------
    >>> log_joint = np.log([[0.1, 0.2], [0.3, 0.4]])
    >>> known = expected_complete_log_likelihood(log_joint, [[0, 1], [1, 0]])
    >>> bool(np.isclose(known, complete_log_likelihood(log_joint, [1, 0])))
    True
    """
    return float(_weighted_logs(R, log_joint).sum())


def _weighted_logs(Q: Any, logs: Any) -> np.ndarray:
    """Q times logs, where 0 times minus infinity is 0."""
    Q, logs = np.broadcast_arrays(np.asarray(Q, np.float64), np.asarray(logs, np.float64))
    return np.where(Q > 0, Q, 0.0) * np.where(Q > 0, logs, 0.0)


def evidence_decomposition(log_joint: Any, Q: Any) -> EvidenceDecomposition:
    r"""The log-evidence as an exact sum, for any distribution Q of the latent variable.

    .. math:: \log p(x) = E_Q \log p(x, z) + H(Q) + \mathrm{KL}(Q \,\|\, p(z \mid x))

    Parameters
    ----------
    log_joint : (k,) or (n, k) array
        log p(x, z = j).
    Q : the same shape
        Probabilities of the latent classes.

    Examples
    --------
    >>> terms = evidence_decomposition(np.log([0.1, 0.3]), [0.5, 0.5])
    >>> bool(np.isclose(terms.log_evidence, terms.elbo + terms.divergence))
    True
    >>> float(evidence_decomposition(np.log([0.1, 0.3]), [0.25, 0.75]).divergence.round(12))
    0.0
    """
    log_joint, Q = np.asarray(log_joint, np.float64), np.asarray(Q, np.float64)
    evidence = log_sum_exp(log_joint)
    log_posterior = log_joint - np.asarray(evidence)[..., None]
    divergence = (xlogy(Q, Q) - _weighted_logs(Q, log_posterior)).sum(axis=-1)
    return EvidenceDecomposition(
        evidence, _weighted_logs(Q, log_joint).sum(axis=-1), entropy(Q), divergence
    )
