r"""The last digits of a hinge SVM: rows on the margin boundaries as equations.

Near the minimum it is known which rows lie outside the margin (alpha = 0), within it (alpha = c)
and on its boundaries. The latter are few, and

.. math:: w = \sum_i \alpha_i y_i x_i, \qquad y_i (w \cdot x_i + b) = 1 \text{ on the boundaries}

is a linear system in w, b and their multipliers.
"""

from __future__ import annotations

import numpy as np

from tenfold.linear.svm.problem import Certificate, Problem, account, certificate
from tenfold.rows import Rows

MOST_ROWS = 4  # times the columns, on the boundaries: more is not near the minimum


def polished(
    rows: Rows, problem: Problem, T: np.ndarray, alpha: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Certificate]:
    """Rows [w b] and multipliers (m, n), each score made exact where that closes its gap.

    `most` (m, n) are the upper bounds of the multipliers.
    """
    before = certificate(rows, problem, T, alpha)
    between = (alpha > 0) & (alpha < most)
    held = np.where(between, 0.0, alpha)
    rest = rows.total(account, problem, T, held, np.ones(len(T))).u.sum(axis=1)
    exact, prices = T.copy(), alpha.copy()
    for c in range(len(T)):
        numbers = np.flatnonzero(between[c])
        if 0 < len(numbers) <= MOST_ROWS * T.shape[1]:
            A = signed_rows(rows, problem, numbers, int(problem.labels[c]))
            exact[c], found = on_boundaries(A, rest[c], problem)
            prices[c, numbers] = np.clip(found, 0.0, most[c, numbers])
    after = certificate(rows, problem, exact, prices)
    better = after.gap < before.gap
    proof = (np.where(better, a, b) for a, b in zip(after, before, strict=True))
    keep = better[:, None]
    return np.where(keep, exact, T), np.where(keep, prices, alpha), Certificate(*proof)


def signed_rows(rows: Rows, problem: Problem, numbers: np.ndarray, label: int) -> np.ndarray:
    """Some rows y [x 1] of one score, dense."""
    part = rows.take(numbers)
    X = part.X if isinstance(part.X, np.ndarray) else part.X.toarray()
    sign = np.where(part.y == label, 1.0, -1.0)
    return sign[:, None] * np.column_stack([X, np.full(len(X), float(problem.intercept))])


def on_boundaries(
    A: np.ndarray, rest: np.ndarray, problem: Problem
) -> tuple[np.ndarray, np.ndarray]:
    """[w b] and multipliers a with K [w b] = rest + A'a and A [w b] = 1, K the penalty."""
    k, q = A.shape
    K = np.diag(np.append(np.ones(q - 1), problem.ridge if problem.intercept else 1.0))
    rest = rest * np.append(np.ones(q - 1), float(problem.intercept))
    system = np.block([[K, -A.T], [A, np.zeros((k, k))]])
    found = np.linalg.lstsq(system, np.append(rest, np.ones(k)), rcond=1e-13)[0]
    return found[:q], found[q:]
