"""Linear separability of two classes, and the perceptron's bound on mistakes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_X_y


class LinearSeparability(NamedTuple):
    """Whether two classes are linearly separable, with a certificate that one product checks.

    Attributes
    ----------
    separable : whether a plane has all rows strictly on their sides
    coef, intercept : such a plane, the second class above 0; None if there is none
    weights : (n_rows,) if there is none, weights of the rows, not negative, that sum to 1 in each
        class (through the origin: in all) and give the same point on both sides: the sum of
        y_i weights_i x_i is 0 for signs y_i
    """

    separable: bool
    coef: np.ndarray | None = None
    intercept: float | None = None
    weights: np.ndarray | None = None

    def __bool__(self) -> bool:
        return self.separable


def is_linearly_separable(X: Any, y: Any, *, fit_intercept: bool = True) -> LinearSeparability:
    r"""Find a plane that separates two classes, or prove that there is none.

    A linear program looks for the largest s such that :math:`y_i (w \cdot x_i + b) \ge s` for all
    rows with :math:`|w_j| \le 1`. If s is 0, its dual variables are the proof: they give a point
    in the convex hulls of both classes. All rows are held in memory.

    Parameters
    ----------
    X : (n_rows, n_features) array or sparse matrix
        The rows.
    y : (n_rows,) array
        Labels of two classes.
    fit_intercept : bool
        Whether the boundary may leave the origin.

    Returns
    -------
    Separability
        True or False in a condition.

    See Also
    --------
    novikoff_bound : Most mistakes of a perceptron on these rows.
    hard_margin : The separating plane of maximal margin.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.separability import is_linearly_separable
    >>> X = np.array([[2.0, 2], [-2, 2], [-2, -2], [2, -2]])
    >>> is_linearly_separable(X, [1, -1, 1, -1]).weights.tolist()
    [0.5, 0.5, 0.5, 0.5]
    >>> bool(is_linearly_separable(np.column_stack([X, X[:, 0] * X[:, 1]]), [1, -1, 1, -1]))
    True
    """
    Z = _signed_rows(X, y, fit_intercept=fit_intercept)
    middle = np.zeros(Z.shape[1])
    if fit_intercept and isinstance(Z, np.ndarray):  # centering keeps digits
        middle[:-1] = Z[:, -1] @ Z[:, :-1] / len(Z)
        Z = Z - np.multiply.outer(Z[:, -1], middle)
    size = abs(Z).max(axis=0)
    size = size if isinstance(Z, np.ndarray) else size.toarray().ravel()
    size[size == 0] = 1.0
    w, dual = _max_min_margin(Z / size)
    w = w / size
    if not (Z @ w > 0).all():
        return LinearSeparability(False, weights=dual * (2.0 if fit_intercept else 1.0))
    if not fit_intercept:
        return LinearSeparability(True, w, 0.0)
    return LinearSeparability(True, w[:-1], float(w[-1] - middle @ w))


def _signed_rows(X: Any, y: Any, *, fit_intercept: bool) -> Any:
    """Rows, perhaps with a one at the end, times their sign: w separates them if Zw > 0."""
    check: Any = check_X_y
    X, y = check(X, y, accept_sparse="csr", dtype=np.float64)
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) != 2:
        raise ValueError(
            f"{len(labels)} labels in y: two classes are needed; ask for each pair of classes, or "
            "for each class against all others"
        )
    signs = np.where(codes == 1, 1.0, -1.0)[:, None]
    ones = [np.ones((len(y), 1))] if fit_intercept else []
    if isinstance(X, np.ndarray):
        return np.hstack([X, *ones]) * signs
    from scipy import sparse

    return sparse.csr_array(sparse.hstack([X, *ones])).multiply(signs).tocsr()


def _max_min_margin(Z: Any) -> tuple[np.ndarray, np.ndarray]:
    """The w in [-1, 1]^p with the largest least entry of Zw, and the dual variables of the rows."""
    from scipy import sparse
    from scipy.optimize import linprog

    n, p = Z.shape
    stack = np.hstack if isinstance(Z, np.ndarray) else sparse.hstack
    below = stack([-Z, np.ones((n, 1))])  # s - z_i . w <= 0
    bounds = [(-1.0, 1.0)] * p + [(0.0, None)]
    found = linprog(np.append(np.zeros(p), -1.0), below, np.zeros(n), bounds=bounds, method="highs")
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    dual = np.maximum(-found.ineqlin.marginals, 0.0)
    return found.x[:-1], dual / max(dual.sum(), np.finfo(float).tiny)


def novikoff_bound(X: Any, y: Any, *, fit_intercept: bool = True) -> float:
    r"""Upper bound of the mistakes of a perceptron on these rows, in any order.

    That is :math:`(R / \gamma)^2`, with R the length of the longest row and :math:`\gamma` the
    margin of the widest separation through the origin; an intercept is a column of ones. The margin
    is the distance of the origin from the convex hull of the rows :math:`y_i x_i`. All rows are
    held in memory, dense.

    Parameters
    ----------
    X : (n_rows, n_features) array or sparse matrix
        The rows.
    y : (n_rows,) array
        Labels of two classes.
    fit_intercept : bool
        Whether the perceptron has an intercept.

    Returns
    -------
    float
        The bound; infinite if the classes cannot be separated.

    See Also
    --------
    is_linearly_separable : Whether the bound is finite.
    Perceptron : The model that it bounds.

    References
    ----------
    * A. B. Novikoff (1962). On convergence proofs on perceptrons. Symposium on the Mathematical
      Theory of Automata.

    Examples
    --------
    >>> from tenfold.linear.separability import novikoff_bound
    >>> round(novikoff_bound([[3.0, 4], [3, -4]], [1, -1], fit_intercept=False), 6)
    1.5625
    """
    if not is_linearly_separable(X, y, fit_intercept=fit_intercept):
        return float("inf")
    Z = _signed_rows(X, y, fit_intercept=fit_intercept)
    Z = Z if isinstance(Z, np.ndarray) else Z.toarray()
    longest = np.linalg.norm(Z, axis=1).max()
    return float(np.linalg.norm(min_norm_separator(Z / longest)) ** 2)


def min_norm_separator(Z: np.ndarray) -> np.ndarray:
    """The shortest w with Zw >= 1, by Lawson and Hanson's least distance programming."""
    from scipy.optimize import nnls

    E = np.vstack([Z.T, np.ones(len(Z))])
    target = np.append(np.zeros(Z.shape[1]), 1.0)
    r = target - E @ nnls(E, target)[0]
    return -r[:-1] / r[-1]
