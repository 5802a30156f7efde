r"""Margins of linear classifiers: distances to the boundary, support vectors, regularization.

For scores f(x) = w x + b and labels y = -1 or +1 the margin of a row is y f(x), its distance to the
boundary `y f(x) / |w|`, and the margin boundaries f = -1 and f = +1 lie `1 / |w|` from it. A
model of more than two classes has such a boundary for each class, against the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.linear.svm._objective import DualityCertificate, duality_certificate


def _signs(model: Any, y: Any) -> np.ndarray:
    """Labels as -1 and +1: (n,) for two classes, else (n, k), +1 in the column of the class."""
    y = np.asarray(y)
    if len(model.coef_) == 1:
        return np.where(y == model.classes_[1], 1.0, -1.0)
    return np.where(y[:, None] == model.classes_, 1.0, -1.0)


def _coef_norms(model: Any) -> Any:
    """Length of w: a number for two classes, else (k,)."""
    size = np.sqrt((model.coef_.astype(np.float64) ** 2).sum(axis=1))
    return float(size[0]) if len(size) == 1 else size


def margins(model: Any, X: Any, y: Any) -> np.ndarray:
    """Margin y f(x) of each row, (n,) or (n, k): positive if right, at least 1 if free of loss."""
    return _signs(model, y) * model.decision_function(X)


def signed_distances(model: Any, X: Any) -> np.ndarray:
    """Signed distance `f(x) / |w|` of each row to the boundary, (n,) or (n, k)."""
    return model.decision_function(X) / _coef_norms(model)


def geometric_margins(model: Any, X: Any, y: Any) -> np.ndarray:
    """Distance of each row to the boundary, negative on the wrong side; the least is the margin."""
    return _signs(model, y) * signed_distances(model, X)


def margin_width(model: Any) -> Any:
    """Distance `1 / |w|` from the boundary to the margin boundaries f = -1 and f = +1."""
    return 1.0 / _coef_norms(model)


def project_onto_boundary(model: Any, X: np.ndarray) -> np.ndarray:
    """The points of the boundary of two classes that lie nearest to the rows."""
    w = model.coef_[0].astype(np.float64)
    return np.asarray(X) - np.multiply.outer(signed_distances(model, X), w / _coef_norms(model))


def support_vectors(model: Any, X: Any, y: Any, tol: float = 1e-6) -> np.ndarray:
    """Numbers of the rows on a margin boundary, within it, or on the wrong side of it."""
    within = margins(model, X, y) <= 1 + tol
    return np.flatnonzero(within if within.ndim == 1 else within.any(axis=1))


def intercept_from_multipliers(score: Any, y: Any, alpha: Any, most: Any) -> float:
    """The intercept, from the multipliers of a hinge SVM that does not penalize it.

    Rows with 0 < alpha < most lie on a margin boundary, where y (score + b) = 1; b is the mean of
    these values. If there are none, b is not unique: rows with alpha = 0 lie outside the margin,
    those with alpha = most within, and b is the middle of what that leaves.

    Parameters
    ----------
    score : (n,) array
        w x of each row, without the constant.
    y : (n,) array
        Signs, -1 or +1.
    alpha : (n,) array
        Multipliers.
    most : float or (n,) array
        Their upper bound, C (times weights).

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([-2.0, -1.0, 0.5, 1.0, 2.0]), np.array([-1, -1, -1, 1, 1])
    >>> intercept_from_multipliers(2 / 3 * x, y, np.array([0, 1 / 18, 1, 1, 1 / 18]), 1.0)
    -0.3333...
    """
    score, y, alpha = (np.asarray(a, np.float64) for a in (score, y, alpha))
    exact = y - score  # b of a row on its margin boundary
    eps = 1e-9 * np.broadcast_to(most, alpha.shape)
    low, high = alpha <= eps, alpha >= most - eps
    on = ~(low | high)
    if on.any():
        return float(exact[on].mean())
    below = exact[np.where(y > 0, low, high)].max(initial=-np.inf)
    above = exact[np.where(y > 0, high, low)].min(initial=np.inf)
    finite = [bound for bound in (below, above) if np.isfinite(bound)]
    return float(np.mean(finite))


def c_from_strength(strength: float, n: int, *, loss: str = "mean", half: bool = True) -> float:
    r"""C of ``LinearSVC`` for an objective that has the strength at its penalty.

    ========================================  ======================================
    objective                                 call
    ========================================  ======================================
    mean loss + lambda/2 :math:`|w|^2`        c_from_strength(lambda, n)
    mean loss + lambda :math:`|w|^2`          c_from_strength(lambda, n, half=False)
    sum of losses + lambda/2 :math:`|w|^2`    c_from_strength(lambda, n, loss="sum")
    c times mean loss + 1/2 :math:`|w|^2`     c_from_strength(1 / c, n)
    ========================================  ======================================

    The same turns C into a strength: `c_from_strength` is its own inverse.

    Examples
    --------
    >>> c_from_strength(0.5, 4), c_from_strength(c_from_strength(0.5, 4), 4)
    (0.5, 0.5)
    """
    if loss not in ("mean", "sum"):
        raise ValueError(f"loss={loss!r}: choose 'mean' or 'sum'")
    return 1.0 / (strength * (n if loss == "mean" else 1) * (1 if half else 2))


def reference_margin_objective(gamma: Any, gamma_ref: float, alpha: float) -> float:
    """Mean hinge of distances in units of a reference margin, plus alpha / gamma_ref^2.

    With `gamma_ref = 1 / |w|` this is the mean hinge of the margins plus `alpha |w|^2`.

    Examples
    --------
    >>> reference_margin_objective([2.0, 0.5, -1.0], gamma_ref=1.0, alpha=0.25)
    1.083...
    """
    losses = np.maximum(0.0, 1.0 - np.asarray(gamma, np.float64) / gamma_ref)
    return float(losses.mean() + alpha / gamma_ref**2)


class MarginPath(NamedTuple):
    """What becomes of the margin as C grows, one entry for each C (two classes).

    Attributes
    ----------
    C : the values
    width : distance from the boundary to the margin boundaries, `1 / |w|`
    hinge : mean hinge loss
    support : number of support vectors
    errors : share of rows on the wrong side, or on the boundary
    coef, intercept : (., p) and (.,) the models
    """

    C: np.ndarray
    width: np.ndarray
    hinge: np.ndarray
    support: np.ndarray
    errors: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def margin_path(model: Any, X: Any, y: Any, costs: Any) -> MarginPath:
    """Fit a two-class SVM for each C: from a margin that holds all rows to one that holds none.

    Parameters
    ----------
    model : LinearSVC
        Its other parameters.
    X, y : rows in memory and their labels
    costs : array
        Values of C, `np.inf` for a hard margin; see `c_from_strength` for other parametrisations.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.svm.linear_svc import LinearSVC
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    >>> path = margin_path(LinearSVC(loss="hinge"), X, y, [0.25, 1.0, np.inf])
    >>> path.width.round(3).tolist()
    [2.0, 1.0, 1.0]
    """
    points = []
    for C in costs:
        fitted: Any = clone(model)
        fitted.set_params(C=C).fit(X, y)
        z = margins(fitted, X, y)
        hinge, within = np.maximum(0.0, 1.0 - z).mean(), len(support_vectors(fitted, X, y))
        numbers = (C, margin_width(fitted), hinge, within, (z <= 0).mean())
        points.append((*numbers, fitted.coef_[0], fitted.intercept_[0]))
    return MarginPath(*(np.array(part) for part in zip(*points, strict=True)))


def dual_certificate(model: Any, X: Any, y: Any, sample_weight: Any = None) -> DualityCertificate:
    """Primal and dual value of a fitted LinearSVC, their gap, and complementary slackness.

    Computed anew from the rows of the fit; the multipliers are those of the model where it has
    them, else the slopes of its losses. Not for ``C=np.inf``, whose `gap_` is exact.

    Parameters
    ----------
    model : LinearSVC
        Fitted.
    X, y, sample_weight : the data of the fit

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.svm.linear_svc import LinearSVC
    >>> X, y = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1, 0])
    >>> proof = dual_certificate(LinearSVC(loss="hinge", C=10).fit(X, y), X, y)
    >>> proof.primal.round(5).tolist(), bool(proof.gap[0] < 1e-6)
    ([0.25], True)
    """
    unfitted: Any = clone(model)
    rows = unfitted._training_rows(X, y, sample_weight)  # noqa: SLF001 - classes as numbers
    T = np.column_stack([model.coef_, model.intercept_]).astype(np.float64)
    alpha = None
    if hasattr(model, "support_"):
        alpha = np.zeros((len(T), rows.n_rows))
        alpha[:, model.support_] = np.abs(model.dual_coef_)
    return duality_certificate(rows, unfitted.problem(rows), T, alpha)
