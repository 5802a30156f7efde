"""Completion of a small matrix step by step: the naive solution, and alternating minimization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.row_systems import observed_entries, solve_row_systems


class FactorStep(NamedTuple):
    """A half step of alternating minimization.

    Parameters
    ----------
    side : str
        "start", "users" or "items": which factors were just computed.
    U : ndarray of shape (n_users, K)
        Factors of the users; NaN before their first step.
    V : ndarray of shape (n_items, K)
        Factors of the items.
    cost : float
        J(U, V); NaN before the first step.
    """

    side: str
    U: np.ndarray
    V: np.ndarray
    cost: float

    @property
    def completed(self) -> np.ndarray:
        """The matrix U V'."""
        return self.U @ self.V.T


def naive_completion(Y: Any, regularization: float = 1.0) -> np.ndarray:
    r"""The matrix that fits known entries and is small elsewhere, entry by entry.

    It minimizes

    .. math:: J(X) = \tfrac12 \sum_{(a,i) \in D} (Y_{ai} - X_{ai})^2
              + \tfrac{\lambda}{2} \sum_{a,i} X_{ai}^2

    so that known entries become :math:`Y_{ai} / (1 + \lambda)` and all others 0: without ties
    between entries nothing is learned about what is missing.

    Parameters
    ----------
    Y : array of shape (n_users, n_items)
        Ratings, NaN where there is none.
    regularization : float, default=1.0
        :math:`\lambda`.

    Examples
    --------
    >>> import numpy as np
    >>> naive_completion([[5.0, np.nan], [1.0, 2.0]], 1.0).tolist()
    [[2.5, 0.0], [0.5, 1.0]]
    """
    if not regularization >= 0:
        raise ValueError(f"regularization={regularization}: it is at least 0")
    Y = np.asarray(Y, np.float64)
    return np.where(np.isnan(Y), 0.0, Y / (1.0 + regularization))


def alternating_steps(
    Y: Any, V: Any, regularization: float = 1.0, *, max_iter: int = 1000, tol: float = 1e-9
) -> Iterator[FactorStep]:
    r"""Half steps of alternating minimization of a matrix with missing entries.

    .. math:: J(U, V) = \tfrac12 \sum_{(a,i) \in D} (Y_{ai} - u_a^\top v_i)^2
              + \tfrac{\lambda}{2} \|U\|^2 + \tfrac{\lambda}{2} \|V\|^2

    With the items fixed the users are given in closed form, for rank one
    :math:`u_a = \sum_i Y_{ai} v_i / (\lambda + \sum_i v_i^2)` over the items that a has rated, and
    the other way round. J never rises; the limit is a stationary point, which depends on the start.

    Parameters
    ----------
    Y : array of shape (n_users, n_items)
        Ratings, NaN where there is none.
    V : array of shape (n_items,) or (n_items, K)
        Factors of the items to start from.
    regularization : float, default=1.0
        :math:`\lambda`, greater than 0.
    max_iter : int, default=1000
        Most rounds, of two half steps each.
    tol : float, default=1e-9
        The last round is the first in which J falls by at most this.

    Yields
    ------
    FactorStep
        The start, then users and items in turn.

    See Also
    --------
    ALS : the same for large tables, with biases and for new users.

    Examples
    --------
    >>> import numpy as np
    >>> steps = alternating_steps([[5, np.nan, 7], [1, 2, np.nan]], [2, 7, 8], 1.0)
    >>> start, users, items = (next(steps) for _ in range(3))
    >>> (users.U[:, 0] * [23, 27]).round(9).tolist(), round(items.cost, 6)
    ([22.0, 8.0], 21.694083)
    """
    if not regularization > 0:
        raise ValueError(f"regularization={regularization}: it is greater than 0")
    Y, V = np.asarray(Y, np.float64), np.asarray(V, np.float64)
    if Y.ndim != 2 or V.ndim not in (1, 2) or len(V) != Y.shape[1]:
        raise ValueError(
            f"Y of shape {Y.shape} and V of shape {V.shape}: V has a row of factors for each "
            "column of the matrix Y"
        )
    V = V.reshape(len(V), -1)
    U = np.full((len(Y), V.shape[1]), np.nan)
    yield FactorStep("start", U, V, np.nan)
    by_user, by_item = observed_entries(Y), observed_entries(Y.T)
    before = np.inf
    for _ in range(max_iter):
        U = _solve(by_user, V, regularization)
        yield FactorStep("users", U, V, _cost(Y, U, V, regularization))
        V = _solve(by_item, U, regularization)
        cost = _cost(Y, U, V, regularization)
        yield FactorStep("items", U, V, cost)
        if before - cost <= tol:
            return
        before = cost


def _solve(entries: tuple, factor: np.ndarray, ridge: float) -> np.ndarray:
    indptr, indices, values = entries
    return solve_row_systems(indptr, indices, None, values, factor, ridge=ridge).x


def _cost(Y: np.ndarray, U: np.ndarray, V: np.ndarray, ridge: float) -> float:
    errors = np.nan_to_num(Y - U @ V.T)
    return float(0.5 * (errors**2).sum() + 0.5 * ridge * ((U**2).sum() + (V**2).sum()))
