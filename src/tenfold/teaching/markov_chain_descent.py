"""Stochastic gradient descent on rows that a Markov chain visits, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.optim.convergence import DivergenceError, Minimum
from tenfold.optim.schedules import PowerDecay, as_schedule


def markov_chain_gradient_descent(
    gradient: Callable[[np.ndarray, int], np.ndarray],
    x0: Any,
    transitions: Any,
    *,
    learning_rate: Any = None,
    n_steps: int = 10_000,
    average_from: int = 1,
    start: int = 0,
    random_state: int = 0,
) -> Minimum:
    r"""Steps along gradients of rows that a Markov chain visits.

    .. math:: i_{t+1} \sim P(i_t, \cdot), \qquad
              \theta_{t+1} = \theta_t - \eta_t \nabla f_{i_t}(\theta_t)

    Rows need not be drawn independently: if the chain has one stationary distribution
    :math:`\pi`, the mean of the iterates goes to the minimum of :math:`\sum_i \pi_i f_i` for convex
    losses and step lengths with :math:`\sum \eta_t = \infty`,
    :math:`\sum \eta_t^2 \log t < \infty`. With equal rows of P this is stochastic gradient descent.

    Parameters
    ----------
    gradient : callable
        `gradient(theta, i)` is the gradient of the loss of row i.
    x0 : (n_params,) array
        Initial parameters.
    transitions : (n, n) array
        Probabilities P of the next row.
    learning_rate : float or callable, optional
        Length of step t = 1, 2, ..., see `tenfold.optim.schedules`; t^-0.75 by default.
    n_steps : int
        Number of steps.
    average_from : int
        The result is the mean of the iterates from this step on.
    start : int
        First row.
    random_state : int
        Seed of the chain.

    Returns
    -------
    Minimum
        `x` is the mean of the iterates, `value` the length of the last gradient (losses are not
        evaluated), `gradient` the last gradient. The chain ends after `n_steps`, and nothing is
        said about convergence.

    References
    ----------
    Sun, T., Sun, Y. and Yin, W. (2018). On Markov chain gradient descent.

    Examples
    --------
    A walk on a ring of five numbers finds their mean:

    >>> import numpy as np
    >>> from tenfold.teaching import markov_chain_gradient_descent
    >>> numbers = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    >>> ring = (np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)) / 2
    >>> found = markov_chain_gradient_descent(lambda x, i: x - numbers[i], [0.0], ring)
    >>> bool(abs(found.x[0] - 4) < 0.3)
    True
    """
    P = np.asarray(transitions, np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"transitions must be square, and have the shape {P.shape}")
    wrong = np.flatnonzero((P < 0).any(axis=1) | (np.abs(P.sum(axis=1) - 1) > 1e-9))
    if len(wrong):
        raise ValueError(f"row {wrong[0]} of transitions is no distribution")
    rate = as_schedule(PowerDecay(delta=0.75) if learning_rate is None else learning_rate)
    draws = np.random.default_rng(random_state).random(n_steps)
    reached = np.cumsum(P, axis=1)
    x, mean, g, at = np.array(x0, np.float64), np.array(x0, np.float64), np.zeros(0), start
    for t in range(1, n_steps + 1):
        g = np.asarray(gradient(x, at), np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # divergence raises its own error
            x = x - rate(t) * g
        if not np.isfinite(x).all():
            raise DivergenceError(f"parameters are not finite after step {t}", rate(t) / 10)
        mean = x if t <= average_from else mean + (x - mean) / (t - average_from + 1)
        at = min(int(np.searchsorted(reached[at], draws[t - 1], "right")), len(P) - 1)
    report = {"n_iter_": n_steps, "converged_": False, "history_": {}}
    return Minimum(mean, float(np.linalg.norm(g)), g, report)
