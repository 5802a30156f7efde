r"""The hyperplane of maximal margin between two linearly separable classes.

.. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + \tfrac{\kappa}{2} b^2
          \quad \text{where} \quad y_i (w \cdot x_i + b) \ge 1 \text{ for all } i

A least-distance problem, solved by non-negative least squares (Lawson and Hanson, ch. 23): its
residual vanishes exactly when nothing is feasible. Then the constraints that bind are solved as
equations, so that the result is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.separability import is_linearly_separable
from tenfold.linear.svm._objective import SVMObjective
from tenfold.math.labels import labels_to_signs

_INTERCEPT_FEATURE = 100.0  # constant feature beside rows of length 1: a negligible penalty on b
_MIN_RESIDUAL = 1e-11  # squared residual, of at most 1, below which the classes are not separable
_CLOSE_ROWS = 1 + 1e-6  # times the least margin: rows at which a linear program ends
_MAX_PAIRED = 100  # rows of a class among which the closest pair is looked for
_THIN_TOL = 1e-5  # the same where the margin itself is near rounding
_KKT_TOL = 1e-9  # relative error of the optimality conditions
_MAX_ITER = 50  # changes of the active set


class HardMargin(NamedTuple):
    """A plane, and the multipliers of the rows, which are not zero for support vectors alone.

    Attributes
    ----------
    w, b : (n_features,) normal and intercept; the margin is 1 / |w|
    alpha : (n_rows,) multipliers, with w = sum alpha_i y_i x_i
    """

    w: np.ndarray
    b: float
    alpha: np.ndarray


def hard_margin(X: Any, y: Any, *, intercept: bool = True, scaling: float = np.inf) -> HardMargin:
    """The plane of maximal margin between the rows of two classes, all in memory.

    Parameters
    ----------
    X : (n_rows, n_features) array
        Rows.
    y : (n_rows,) array
        Labels of two classes, such as -1 and +1, 0 and 1, or words; the plane has the second, in
        sorted order, on its positive side.
    intercept : bool
        Whether the plane may be off the origin.
    scaling : float
        b^2 is penalized by 1 / scaling^2; infinite: not at all.

    Returns
    -------
    HardMargin

    See Also
    --------
    LinearSVC : With ``C=np.inf`` the same for more than two classes, and with soft margins.
    is_linearly_separable : Whether there is such a plane.

    References
    ----------
    * C. L. Lawson, R. J. Hanson (1974). Solving Least Squares Problems, chapter 23.
    * V. Vapnik (1995). The Nature of Statistical Learning Theory, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> found = hard_margin(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1, -1]))
    >>> found.w.round(12).tolist(), found.alpha.round(12).tolist()
    ([0.5, 0.5], [0.25, 0.25])
    >>> round(hard_margin([[1.0], [3.0]], ["cat", "dog"]).b, 9)
    -2.0
    """
    free = intercept and np.isinf(scaling)
    X, y = np.asarray(X, np.float64), _signs(y)
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X of shape {X.shape} needs as many rows as there are labels, {len(y)}")
    origin = X.mean(axis=0) if free else np.zeros(X.shape[1])
    size = np.sqrt(((X - origin) ** 2).sum(axis=1).max(initial=0.0)) or 1.0
    step = (_INTERCEPT_FEATURE if free else scaling / size) if intercept else 0.0
    A = y[:, None] * np.column_stack([(X - origin) / size, np.full(len(X), step)])
    found = _least_distance(A)
    if found is None:
        return _thin_margin(X, y, free=free)
    theta, alpha = found
    if free:
        A[:, -1] = y
        theta[-1] *= step
        theta, alpha = _refine_active_set(A, theta, alpha, 0.0)
    else:
        theta, alpha = _refine_active_set(A, theta, alpha, 1.0)
        theta[-1] *= step
    w = theta[:-1] / size
    return HardMargin(w, float(theta[-1] - w @ origin), alpha / size**2)


def _signs(y: Any) -> np.ndarray:
    """Labels of two classes as -1 and +1."""
    labels = np.unique(y)
    if np.ndim(y) != 1 or len(labels) != 2:
        raise ValueError(
            f"a margin lies between two classes, but y of shape {np.shape(y)} has "
            f"{len(labels)} labels: take two classes, or one against all others"
        )
    return labels_to_signs(y, labels)


def _least_distance(A: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest theta with A theta >= 1, and alpha >= 0 with theta = A' alpha.

    None if there is none, or none that rounding lets us see.
    """
    from scipy.optimize import nnls

    E = np.vstack([A.T, np.ones(len(A))])
    u, _ = nnls(E, np.append(np.zeros(A.shape[1]), 1.0), maxiter=30 * max(E.shape))
    residual = 1.0 - u.sum()  # squared
    if residual <= _MIN_RESIDUAL:
        return None
    return A.T @ u / residual, u / residual


def _thin_margin(X: np.ndarray, y: np.ndarray, *, free: bool) -> HardMargin:
    """The hard margin of classes that lie close together, from the plane of a linear program.

    Squares of a margin below 1e-5 of the size of the rows are lost in rounding. In units of the
    margin, about a point between the classes, the optimality conditions are solved accurately.
    """
    plane = is_linearly_separable(X, y) if free else None
    if plane is None or plane.coef is None or plane.intercept is None:
        raise ValueError(
            "no plane separates the classes, so there is no hard margin: give a finite C (a soft "
            "margin), or add features"
        )
    margins = y * (X @ plane.coef + plane.intercept)
    close = margins <= _CLOSE_ROWS * margins.min()
    origin = _midpoint(X[close & (y < 0)][:_MAX_PAIRED], X[close & (y > 0)][:_MAX_PAIRED])
    size = margins.min() / np.linalg.norm(plane.coef)
    A = y[:, None] * np.column_stack([(X - origin) / size, np.ones(len(X))])
    theta, alpha = _refine_active_set(A, np.zeros(A.shape[1]), close.astype(np.float64), 0.0)
    error = np.abs(np.append(theta[:-1], 0.0) - A.T @ alpha).max()
    if (A @ theta).min() < 1 - _THIN_TOL or error > _THIN_TOL * np.abs(theta).max():
        raise ValueError(
            "a plane separates the classes, but by so little that rounding hides the widest "
            "margin: give a finite C (a soft margin), or center and scale the features"
        )
    w = theta[:-1] / size
    return HardMargin(w, float(theta[-1] - w @ origin), alpha / size**2)


def _midpoint(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The point half-way between the closest rows of two classes."""
    squares = ((first[:, None] - second) ** 2).sum(axis=2)
    i, j = np.unravel_index(squares.argmin(), squares.shape)
    return (first[i] + second[j]) / 2


def _refine_active_set(
    A: np.ndarray, theta: np.ndarray, alpha: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same with the binding constraints as equations; `ridge` is the weight of the constant."""
    from scipy.optimize import nnls

    K = np.append(np.ones(len(theta) - 1), ridge)
    binding = np.flatnonzero(alpha > 0)
    multipliers = alpha[binding]
    for _ in range(_MAX_ITER):
        theta = _solve_equalities(A[binding], K)
        multipliers, error = nnls(A[binding].T, K * theta)
        margins = A @ theta
        if error > _KKT_TOL * np.linalg.norm(theta):
            binding = binding[multipliers > 0]
        elif margins.min() < 1 - _KKT_TOL:
            binding = np.union1d(binding, [margins.argmin()])
        else:
            break
    alpha = np.zeros(len(A))
    alpha[binding] = multipliers
    return theta, alpha


def _solve_equalities(B: np.ndarray, K: np.ndarray) -> np.ndarray:
    """The theta of least theta' K theta with B theta = 1."""
    k, q = B.shape
    system = np.block([[np.diag(K), -B.T], [B, np.zeros((k, k))]])
    return np.linalg.lstsq(system, np.append(np.zeros(q), np.ones(k)), rcond=1e-13)[0][:q]


def hard_margin_per_class(
    X: np.ndarray, y: np.ndarray, problem: SVMObjective
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [w b] and multipliers (m, n) of each class against the rest."""
    found = []
    for label in problem.labels:
        sign = np.where(y == label, 1.0, -1.0)
        found.append(hard_margin(X, sign, intercept=problem.intercept, scaling=problem.scaling))
    return np.array([[*f.w, f.b] for f in found]), np.array([f.alpha for f in found])
