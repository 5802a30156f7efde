r"""Collinear columns: which linear combination of the others each one is, and the null space.

If :math:`X v + c = 0` for every row, then :math:`(w, b)` and :math:`(w + t v, b + t c)` predict the
same for every t: the coefficients are not identifiable.
"""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np

from tenfold.inspection._moment_root import MomentRoot, column_norms, root_from_rows
from tenfold.io.opener import open as open_rows

_MAX_ROUNDING_FACTOR = 1000  # times machine epsilon: smaller residuals are rounding errors
_MAX_PRINTED_TERMS = 8  # terms of a combination that are printed


class LinearDependence(NamedTuple):
    """A redundant column: ``x_column = X @ weights + constant``.

    Attributes
    ----------
    column : its index
    kind : "constant", "duplicate", "multiple", "one-hot" (all sum to 1) or "combination"
    exact : whether it holds up to rounding
    residual_share : norm of the residual relative to that of the centered column, 0 to 1
    weights : (n_features,) of the columns before it; negligible terms are 0
    constant : number
    """

    column: int
    kind: str
    exact: bool
    residual_share: float
    weights: np.ndarray
    constant: float

    def describe(self, names: list[str]) -> str:
        """One line of text."""
        name, terms = names[self.column], np.flatnonzero(self.weights)
        if self.kind == "constant":
            return f"{name} is constant: {self.constant:.4g}"
        if self.kind == "duplicate":
            line = f"{name} is a duplicate of {names[terms[0]]}"
        elif self.kind == "one-hot":
            line = f"{name} is one-hot with {', '.join(names[i] for i in terms)}: they sum to 1"
        else:
            parts = [f"{self.weights[i]:+.4g} {names[i]}" for i in terms[:_MAX_PRINTED_TERMS]]
            parts += [f"... {len(terms) - _MAX_PRINTED_TERMS} more"] * (
                len(terms) > _MAX_PRINTED_TERMS
            )
            line = f"{name} = {' '.join(parts)}" + f" {self.constant:+.4g}" * bool(self.constant)
        return (
            line
            if self.exact
            else f"{line} (nearly: {self.residual_share:.2g} of its deviation is left)"
        )


class RedundancyReport(NamedTuple):
    """Result of `find_redundant_columns`; prints as a report.

    Attributes
    ----------
    names : names of the columns
    dependences : one `LinearDependence` for each redundant column, in the order of the columns
    independent : (r,) indices of columns that span all others
    rank : number of columns that are not exactly redundant
    condition : condition number of the standardized columns, infinite if some are exactly redundant
    null_space : (n_features + 1, m), last row for the intercept, or (n_features, m) without one;
        each column is a direction that changes no prediction
    """

    names: list[str]
    dependences: list[LinearDependence]
    independent: np.ndarray
    rank: int
    condition: float
    null_space: np.ndarray

    def __str__(self) -> str:
        p, n_redundant = len(self.names), len(self.dependences)
        head = (
            f"{n_redundant} of {p} columns redundant, rank {self.rank}, "
            f"condition {self.condition:.3g}"
        )
        lines = [f"  {d.describe(self.names)}" for d in self.dependences]
        m = self.null_space.shape[1]
        null_line = [f"{m} direction(s) change no prediction: null_space"] if m else []
        return "\n".join([head, *lines, *null_line])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def find_redundant_columns(
    X: Any, *, intercept: bool = True, near: float = 0.01, names: Any = None
) -> RedundancyReport:
    """Find the columns that are constant, duplicates or combinations of the columns before them.

    One pass over the rows; a second one, by QR, if there is something to find.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    intercept : bool
        Whether the model has an intercept: then a constant column is redundant, and so is the
        last of a full group of indicators.
    near : float
        A column is nearly redundant if its residual share is below this.
    names : list of str, optional
        Names of the columns, by default those of the table or x0, x1, ...

    Returns
    -------
    RedundancyReport

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import find_redundant_columns
    >>> x, z = np.random.default_rng(0).normal(size=(2, 50))
    >>> print(find_redundant_columns(np.column_stack([x, z, x, 2 * x - z + 3, np.full(50, 7.0)])))
    3 of 5 columns redundant, rank 2, condition inf
      x2 is a duplicate of x0
      x3 = +2 x0 -1 x1 +3
      x4 is constant: 7
    3 direction(s) change no prediction: null_space
    """
    rows = open_rows(X)
    root = root_from_rows(rows, intercept=intercept, min_eigenvalue=near**2)
    names = names or rows.names or [f"x{j}" for j in range(rows.n_features)]
    A = root.R / column_norms(root.R)
    independent, redundant = _split_columns(A, near)
    dependences = [_make_dependence(root, independent, *args) for args in redundant]
    exact = [d for d in dependences if d.exact]
    directions = [_null_direction(d, intercept=intercept) for d in exact]
    N = np.reshape(directions, (len(exact), rows.n_features + intercept)).T
    condition = np.inf if exact else float(np.linalg.cond(A))
    rank = rows.n_features - len(exact)
    return RedundancyReport(
        list(names), dependences, np.array(independent, int), rank, condition, N
    )


def _split_columns(
    A: np.ndarray, near: float
) -> tuple[list[int], list[tuple[int, np.ndarray, float]]]:
    """Independent columns; for each other its coefficients in them, and the residual share.

    Gram-Schmidt from left to right, with one reorthogonalization.
    """
    Q, T = np.empty(A.shape), np.zeros((A.shape[1], A.shape[1]))  # A[:, independent] = Q T
    independent, redundant = [], []
    for j, a in enumerate(A.T):
        k = len(independent)
        coordinates, residual = _project(Q[:, :k], a)
        residual_share = float(np.linalg.norm(residual))
        if residual_share > near:
            Q[:, k], T[:k, k], T[k, k] = residual / residual_share, coordinates, residual_share
            independent.append(j)
        else:
            redundant.append((j, np.linalg.solve(T[:k, :k], coordinates), residual_share))
    return independent, redundant


def _project(Q: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of a along orthonormal columns Q, and the residual."""
    first = Q.T @ a
    second = Q.T @ (a - Q @ first)  # one reorthogonalization is enough
    return first + second, a - Q @ (first + second)


def _make_dependence(
    root: MomentRoot, independent: list[int], j: int, c: np.ndarray, residual_share: float
) -> LinearDependence:
    """Dependence of column j with coefficients c in the first independent columns."""
    rounding, sizes = _MAX_ROUNDING_FACTOR * root.noise, column_norms(root.R)
    c = np.where(np.abs(c) > max(np.sqrt(rounding), residual_share), c, 0.0)
    weights = np.zeros(len(sizes))
    w = c * sizes[j] / sizes[independent[: len(c)]]
    weights[independent[: len(c)]] = np.where(np.abs(w - np.rint(w)) <= rounding, np.rint(w), w)
    constant = float(root.origin[j] - weights @ root.origin)
    size = sizes[j] / np.sqrt(root.n)
    tolerance = max(np.sqrt(rounding), 3 * residual_share)
    constant = constant if abs(constant) > tolerance * size or not c.any() else 0.0
    kind = _dependence_kind(weights[weights != 0], constant, tolerance)
    return LinearDependence(j, kind, residual_share <= rounding, residual_share, weights, constant)


def _dependence_kind(terms: np.ndarray, constant: float, tolerance: float) -> str:
    """Kind of dependence with these weights and constant."""
    if len(terms) == 0:
        return "constant"
    if len(terms) == 1:
        return "duplicate" if abs(terms[0] - 1) <= tolerance and constant == 0 else "multiple"
    is_one_hot = np.abs(terms + 1).max() <= tolerance and abs(constant - 1) <= tolerance
    return "one-hot" if is_one_hot else "combination"


def _null_direction(d: LinearDependence, *, intercept: bool) -> np.ndarray:
    """The change of the coefficients (and the intercept) that changes no prediction."""
    v = -d.weights
    v[d.column] = 1.0
    return np.append(v, -d.constant) if intercept else v


def equivalent_coefficients(w: Any, null_space: np.ndarray, t: Any) -> np.ndarray:
    """Other coefficients that predict the same for every row: ``w + null_space @ t``.

    Parameters
    ----------
    w : (n_features + 1,) or (n_features,) array
        Coefficients, with the intercept at the end if `null_space` has a row for it.
    null_space : (n_features + 1, m) or (n_features, m) array
        Of `find_redundant_columns`.
    t : float or (m,) array
        Step along each direction.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.inspection.collinearity import equivalent_coefficients, find_redundant_columns
    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    >>> report = find_redundant_columns(X, intercept=False)
    >>> w = equivalent_coefficients([1.0, 1.0], report.null_space, 1000.0)
    >>> w.tolist(), (X @ w).tolist()
    ([-999.0, 1001.0], [2.0, 4.0, 8.0])
    """
    w = np.asarray(w, dtype=np.float64)
    if len(w) != len(null_space):
        raise ValueError(
            f"{len(w)} coefficients for a null space of {len(null_space)}: with an intercept, "
            "append it, np.append(model.coef_, model.intercept_)"
        )
    return w + null_space @ np.broadcast_to(t, null_space.shape[1])
