r"""Gaussian components with correlations, and rows with missing entries.

With precision :math:`\Lambda`, the missing part m of a row is Gaussian given the observed part o,
with covariance :math:`\Lambda_{mm}^{-1}` about :math:`\mu_m - \Lambda_{mm}^{-1} \Lambda_{mo} (x_o -
\mu_o)`. Imputed by this conditional mean, a row has the Mahalanobis distance of its observed part;
the M-step adds the conditional covariance to the second moments. Rows that miss the same columns
are imputed together; chunks without missing entries use the components without this detour.

References
----------
Z. Ghahramani and M. I. Jordan (1994), Supervised learning from incomplete data via an EM approach.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from tenfold.mixture._moments import LOG_2PI, ComponentSums
from tenfold.mixture._protocols import Components
from tenfold.stats.missing_values import group_by_missing_columns


class CompleteComponents(Components, Protocol):
    """Gaussian components for rows without missing entries."""

    def statistic_from_moments(
        self, n: np.ndarray, sums: np.ndarray, squares: np.ndarray
    ) -> ComponentSums:
        """The statistic that `statistic` would give, from moments about the means."""
        ...

    def subtract(self, penalty: np.ndarray) -> Self:
        """Components with `log_joint` lower by `penalty`, (n_components,)."""
        ...


class _MissingPattern(NamedTuple):
    """Rows that miss the same columns."""

    rows: np.ndarray
    missing: np.ndarray  # numbers of the columns
    covariances: np.ndarray  # (k, m, m), of the missing entries given the observed ones


class _ImputedRows(NamedTuple):
    """Rows with the conditional means of each component in place of missing entries.

    Attributes
    ----------
    D : (k, n, p) differences from the means
    correction : (k, n) added to `log_joint`: a row with fewer entries has fewer factors
    patterns : which rows miss which columns
    """

    D: np.ndarray
    correction: np.ndarray
    patterns: list[_MissingPattern]


class MissingValueComponents(NamedTuple):
    """Components for chunks with missing entries (NaN); `complete` handles all other chunks."""

    complete: CompleteComponents
    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    factors: np.ndarray  # (k, p, p)

    @property
    def values_per_row(self) -> int:
        return self.complete.values_per_row

    def prepare(self, X: np.ndarray) -> Any:
        return self.impute(X) if np.isnan(X.sum()) else self.complete.prepare(X)

    def log_joint(self, view: Any) -> np.ndarray:
        if not isinstance(view, _ImputedRows):
            return self.complete.log_joint(view)
        Y = view.D @ self.factors
        return self.offsets[:, None] + view.correction - 0.5 * np.einsum("knp,knp->kn", Y, Y)

    def statistic(self, view: Any, R: np.ndarray) -> ComponentSums:
        if not isinstance(view, _ImputedRows):
            return self.complete.statistic(view, R)
        sums = np.einsum("kn,knp->kp", R, view.D)
        squares = np.swapaxes(view.D * R[:, :, None], 1, 2) @ view.D
        for rows, m, covariances in view.patterns:
            squares[:, m[:, None], m] += R[:, rows].sum(axis=1)[:, None, None] * covariances
        return self.complete.statistic_from_moments(R.sum(axis=1), sums, squares)

    def impute(self, X: np.ndarray) -> _ImputedRows:
        """Rows with the conditional means of each component in place of missing entries."""
        X = X.astype(np.float64)
        D = X[None] - self.means[:, None, :]
        correction, patterns = np.zeros(D.shape[:2]), []
        precisions = self.factors @ np.swapaxes(self.factors, 1, 2)
        for rows, m, o in group_by_missing_columns(X):
            precision = precisions[:, m[:, None], m]
            covariances = np.linalg.inv(precision)
            coefficients = covariances @ precisions[:, m[:, None], o]
            observed = D[:, rows[:, None], o]
            D[:, rows[:, None], m] = -observed @ np.swapaxes(coefficients, 1, 2)
            log_factor = 0.5 * (len(m) * LOG_2PI - np.linalg.slogdet(precision)[1])
            correction[:, rows] = log_factor[:, None]
            patterns.append(_MissingPattern(rows, m, covariances))
        return _ImputedRows(D, correction, patterns)

    def subtract(self, penalty: np.ndarray) -> MissingValueComponents:
        """Components with `log_joint` lower by `penalty`, (k,)."""
        complete = self.complete.subtract(penalty)
        return self._replace(complete=complete, offsets=self.offsets - penalty)
