r"""Fisher's identity: the gradient of a likelihood with latent variables.

.. math:: \nabla \log p(x) = \sum_z p(z \mid x) \, \nabla \log p(x, z)

An E-step gives the gradient of the marginal likelihood, so that it can be ascended instead of
maximizing the expected complete-data likelihood as EM does. The two share their stationary points;
EM sets the expected gradient to zero in each iteration, which is not a gradient step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.inference.em import EMResult
from tenfold.optim.quasi_newton import lbfgs

Joint = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def fisher_gradient(log_joint: Any, gradients: Any) -> np.ndarray:
    r"""Gradient of the log-likelihood of all rows, by Fisher's identity.

    .. math:: \nabla \sum_i \log p(x_i) = \sum_i \sum_z p(z \mid x_i) \, \nabla \log p(x_i, z)

    Parameters
    ----------
    log_joint : (n_rows, n_states) array
        log p(x_i, z) for each row and each value of its latent variable.
    gradients : (n_rows, n_states, n_parameters) array
        Their gradients.

    Returns
    -------
    (n_parameters,) array

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), "Maximum likelihood from incomplete data via
    the EM algorithm", Journal of the Royal Statistical Society B 39.

    Examples
    --------
    Two coins, of which one is drawn and tossed once; parameters are the log-odds of heads:

    >>> import numpy as np
    >>> from tenfold.inference import fisher_gradient
    >>> heads, p = np.array([[1.0], [1.0], [0.0]]), np.array([0.8, 0.4])
    >>> log_joint = np.log(0.5 * np.where(heads == 1, p, 1 - p))
    >>> gradients = (heads - p)[:, :, None] * np.eye(2)
    >>> fisher_gradient(log_joint, gradients).round(4).tolist()
    [0.0667, 0.1]
    """
    log_joint, gradients = np.asarray(log_joint, np.float64), np.asarray(gradients, np.float64)
    R = np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True))
    return np.einsum("nk,nkd->d", R, gradients)


def maximize_marginal_likelihood(
    joint: Joint, init: Any, *, tol: float = 1e-6, max_iter: int = 1000
) -> EMResult:
    r"""Maximize a likelihood with latent variables by L-BFGS with Fisher's gradient.

    .. math:: \max_\theta \sum_i \log \sum_z p(x_i, z; \theta)

    Parameters
    ----------
    joint : callable
        Parameters (n_parameters,) -> log p(x_i, z), (n_rows, n_states), and their gradients,
        (n_rows, n_states, n_parameters). Any real numbers must be possible parameters.
    init : (n_parameters,) array
        Where to begin.
    tol : float
        Converged when no entry of the gradient of the mean log-likelihood exceeds this.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    EMResult
        Its expectations are the posterior probabilities of the latent variables.

    See Also
    --------
    expectation_maximization : The same maximum by E- and M-steps.

    Examples
    --------
    Waiting times of two kinds; parameters are the log-odds of the second kind and the log rates:

    >>> import numpy as np
    >>> from tenfold.inference import maximize_marginal_likelihood
    >>> rng = np.random.default_rng(0)
    >>> x = np.append(rng.exponential(1, 400), rng.exponential(20, 400))
    >>> def joint(theta):
    ...     log_odds, rates = theta[0], np.exp(theta[1:])
    ...     log_weights = -np.logaddexp(0, [log_odds, -log_odds])
    ...     log_joint = log_weights + theta[1:] - rates * x[:, None]
    ...     gradients = np.zeros((len(x), 2, 3))
    ...     gradients[:, :, 0] = np.array([0.0, 1.0]) - np.exp(log_weights[1])
    ...     gradients[:, 0, 1], gradients[:, 1, 2] = 1 - rates[0] * x, 1 - rates[1] * x
    ...     return log_joint, gradients
    >>> result = maximize_marginal_likelihood(joint, [0.0, 0.0, -1.0])
    >>> (1 / np.exp(result.parameters[1:])).round(1).tolist()
    [1.2, 18.9]
    """

    def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
        log_joint, gradients = joint(theta)
        n = len(log_joint)
        value = float(np.logaddexp.reduce(log_joint, axis=1).sum())
        return -value / n, -fisher_gradient(log_joint, gradients) / n

    solution = lbfgs(cost, np.array(init, np.float64), tol=tol, max_iter=max_iter)
    log_joint, _ = joint(solution.x)
    log_likelihoods = np.logaddexp.reduce(log_joint, axis=1)
    posterior = np.exp(log_joint - log_likelihoods[:, None])
    total = float(log_likelihoods.sum())
    return EMResult(solution.x, posterior, total, solution.report, np.array([total]))
