"""Expectation-maximization from user-supplied E- and M-steps; the likelihood never decreases.

    E: posterior of the latent variables given the parameters
    M: parameters given the posterior of the latent variables

For every q, log p(x) = sum_z q log p(x, z) + H(q) + KL(q || p(z | x)). The E-step makes the last
term zero and the M-step increases the first, so no iteration decreases the log-likelihood.

Mixture models have a loop of their own, `mixture/_base.py`, whose `tol` is an absolute gain per
row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import until_converged

_ROUNDING_RATIO = 1e-10  # of the log-likelihood: a smaller decrease is rounding

EStep = Callable[[Any], tuple[Any, float]]
MStep = Callable[[Any], Any]


class LikelihoodDecreasedError(ArithmeticError):
    """An iteration of EM has decreased the log-likelihood: one of the two steps is wrong."""


class EMResult(NamedTuple):
    """Result of EM.

    Attributes
    ----------
    parameters : those of the best initialization
    expectations : result of the E-step for them
    log_likelihood : of the parameters
    report : n_iter_, converged_ and history_; its "objective" is minus the log-likelihood before
        each iteration
    starts : array of shape (n_init,), final log-likelihood of each initialization
    """

    parameters: Any
    expectations: Any
    log_likelihood: float
    report: dict[str, Any]
    starts: np.ndarray


def expectation_maximization(
    e_step: EStep,
    m_step: MStep,
    init: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_init: int = 1,
    random_state: int = 0,
    check_increase: bool = True,
) -> EMResult:
    r"""Maximize a likelihood with latent variables by EM.

    .. math:: \theta \leftarrow \arg\max_{\theta'} \sum_z p(z \mid x, \theta)
              \log p(x, z \mid \theta')

    Parameters
    ----------
    e_step : callable
        Parameters -> (expectations, log-likelihood of the parameters).
    m_step : callable
        Expectations -> parameters. It need not maximize, only improve (generalized EM).
    init : parameters or callable
        Initial parameters; or `init(rng)`, which draws them with a numpy Generator.
    tol : float
        Converged when an iteration increases the log-likelihood by at most this share of it.
    max_iter : int
        Maximum number of iterations per initialization.
    n_init : int
        Number of initializations, of which the best is kept. More than one needs a callable.
    random_state : int
        Seed of the initializations.
    check_increase : bool
        Whether a decrease of the log-likelihood is an error. Hard assignments or a prior increase
        another function: let the E-step return that one.

    Returns
    -------
    EMResult

    Raises
    ------
    LikelihoodDecreasedError
        If an iteration decreases the log-likelihood by more than rounding.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), "Maximum likelihood from incomplete data via
    the EM algorithm", Journal of the Royal Statistical Society B 39.

    Examples
    --------
    One of two coins is drawn and tossed ten times, five times over; which coin is latent:

    >>> import numpy as np
    >>> from tenfold.inference.em import expectation_maximization
    >>> heads = np.array([5, 9, 8, 4, 7])
    >>> def e_step(p):
    ...     joint = 0.5 * p ** heads[:, None] * (1 - p) ** (10 - heads[:, None])
    ...     return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1)).sum()
    >>> def m_step(which):
    ...     return heads @ which / (10 * which.sum(axis=0))
    >>> result = expectation_maximization(e_step, m_step, np.array([0.6, 0.5]))
    >>> result.parameters.round(2).tolist()
    [0.8, 0.52]
    """
    is_random = callable(init)
    if n_init > 1 and not is_random:
        raise ValueError(f"n_init={n_init} runs would be identical: give a callable init(rng)")
    rng = np.random.default_rng(random_state)
    runs = [
        _run_em(e_step, m_step, init(rng) if is_random else init, tol, max_iter, check_increase)
        for _ in range(n_init)
    ]
    log_likelihoods = np.array([run.log_likelihood for run in runs])
    return runs[int(log_likelihoods.argmax())]._replace(starts=log_likelihoods)


def _run_em(
    e_step: EStep, m_step: MStep, init: Any, tol: float, max_iter: int, check_increase: bool
) -> EMResult:
    """EM from one initialization."""
    loop = until_converged((init, -np.inf), tol=tol, max_iter=max_iter)
    for parameters, previous in loop:
        expectations, log_likelihood = e_step(parameters)
        _check_likelihood(previous, float(log_likelihood), loop.n_iter, check_increase)
        gain = (log_likelihood - previous) / max(abs(log_likelihood), np.finfo(float).tiny)
        loop.update(
            (m_step(expectations), float(log_likelihood)),
            objective=-log_likelihood,
            change=abs(gain),
        )
    parameters, previous = loop.state
    expectations, log_likelihood = e_step(parameters)
    _check_likelihood(previous, float(log_likelihood), loop.n_iter, check_increase)
    return EMResult(
        parameters, expectations, float(log_likelihood), loop.report, np.array([log_likelihood])
    )


def _check_likelihood(
    previous: float, log_likelihood: float, n_iter: int, check_increase: bool
) -> None:
    if np.isnan(log_likelihood):
        raise ArithmeticError(f"the log-likelihood is NaN after {n_iter} iterations")
    if check_increase and log_likelihood < previous - _ROUNDING_RATIO * abs(previous):
        raise LikelihoodDecreasedError(
            f"iteration {n_iter} decreased the log-likelihood from {previous:.10g} to "
            f"{log_likelihood:.10g}, which EM cannot do: check that the E-step uses "
            "the parameters it is given, and that the M-step maximizes the expected log p(x, z), "
            "prior of z included; or pass check_increase=False."
        )
