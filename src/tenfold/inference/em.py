"""Expectation-maximization from user-supplied E- and M-steps, with a check that the likelihood never decreases.

    E: what is hidden, given the parameters          M: the parameters, given what is hidden

For every q, log p(x) = sum_z q log p(x, z) + H(q) + KL(q || p(z | x)). The E-step makes the last
term zero and the M-step raises the first, so no round lowers the log-likelihood.
[000, 4.2.1; 001, 4.6; 002, 8.4; 003, 16.5; 004, 9.3]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import until_converged

_ROUNDING_RATIO = 1e-10  # of the log-likelihood: a fall by less is rounding

EStep = Callable[[Any], tuple[Any, float]]
MStep = Callable[[Any], Any]


class LikelihoodDecreasedError(ArithmeticError):
    """A round of EM has lowered the log-likelihood: one of the two steps is wrong."""


class EMResult(NamedTuple):
    """Where EM came to rest.

    Attributes
    ----------
    parameters : those of the best start
    expectations : what the E-step says about them
    log_likelihood : of the parameters
    report : n_iter_, converged_ and history_; its "objective" is minus the log-likelihood before
        each round
    starts : log-likelihood at the end of each start
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
    r"""Climb a likelihood with hidden variables.

    .. math:: \theta \leftarrow \arg\max_{\theta'} \sum_z p(z \mid x, \theta)
              \log p(x, z \mid \theta')

    Parameters
    ----------
    e_step : callable
        Parameters -> (expectations, log-likelihood of the parameters).
    m_step : callable
        Expectations -> parameters. It need not find the maximum, only something better.
    start : parameters or callable
        Where to begin; or `start(rng)`, which draws parameters with a numpy Generator.
    tol : float
        Converged when a round raises the log-likelihood by at most this share of it.
    max_iter : int
        Most rounds of a start.
    n_init : int
        Number of starts, of which the best is kept. More than one needs a callable `start`.
    random_state : int
        Seed of the starts.
    watch : bool
        Whether a fall of the log-likelihood is an error. Hard assignments or a prior raise another
        function: let the E-step return that one.

    Returns
    -------
    Climbed

    Raises
    ------
    LikelihoodFellError
        If a round lowers the log-likelihood by more than rounding explains.

    Examples
    --------
    Two coins are drawn from a bag and thrown ten times each; which coin it was is hidden:

    >>> import numpy as np
    >>> from tenfold.inference.em import expectation_maximization
    >>> heads = np.array([5, 9, 8, 4, 7])
    >>> def e_step(p):
    ...     joint = 0.5 * p ** heads[:, None] * (1 - p) ** (10 - heads[:, None])
    ...     return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1)).sum()
    >>> def m_step(which):
    ...     return heads @ which / (10 * which.sum(axis=0))
    >>> found = expectation_maximization(e_step, m_step, np.array([0.6, 0.5]))
    >>> found.parameters.round(2).tolist()
    [0.8, 0.52]
    """
    drawn = callable(init)
    if n_init > 1 and not drawn:
        raise ValueError(f"n_init={n_init} starts would all be alike: give start(rng), which draws")
    rng = np.random.default_rng(random_state)
    found = [
        _run_em(e_step, m_step, init(rng) if drawn else init, tol, max_iter, check_increase)
        for _ in range(n_init)
    ]
    heights = np.array([each.log_likelihood for each in found])
    return found[int(heights.argmax())]._replace(starts=heights)


def _run_em(
    e_step: EStep, m_step: MStep, start: Any, tol: float, max_iter: int, watch: bool
) -> EMResult:
    """Go up from one start."""
    loop = until_converged((start, -np.inf), tol=tol, max_iter=max_iter)
    for parameters, before in loop:
        expectations, height = e_step(parameters)
        _check_likelihood(before, float(height), loop.n_iter, watch)
        gain = (height - before) / max(abs(height), np.finfo(float).tiny)
        loop.update((m_step(expectations), float(height)), objective=-height, change=abs(gain))
    parameters, before = loop.state
    expectations, height = e_step(parameters)
    _check_likelihood(before, float(height), loop.n_iter, watch)
    return EMResult(parameters, expectations, float(height), loop.report, np.array([height]))


def _check_likelihood(before: float, height: float, n_iter: int, watch: bool) -> None:
    if np.isnan(height):
        raise ArithmeticError(f"the log-likelihood is NaN after {n_iter} rounds")
    if watch and height < before - _ROUNDING_RATIO * abs(before):
        raise LikelihoodDecreasedError(
            f"round {n_iter} lowered the log-likelihood from {before:.10g} to {height:.10g}. EM "
            "cannot do that: check that the E-step uses the parameters it is given, and that the "
            "M-step maximises the expected log p(x, z), prior of z included; or pass watch=False."
        )
