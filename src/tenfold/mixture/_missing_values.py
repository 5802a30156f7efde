r"""Gaussian components with correlations, and rows with missing entries.

With precision :math:`\Lambda`, the missing part m of a row is Gaussian given the part o that is
there, with covariance :math:`\Lambda_{mm}^{-1}` about :math:`\mu_m - \Lambda_{mm}^{-1}
\Lambda_{mo} (x_o - \mu_o)`. Filled in by that, a row has the square of the distance that the part
which is there has, and the M-step wants its moments and the covariance of what is missing. Rows
that miss the same columns are treated together; rows without gaps take the way they always take.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.mixture._moments import LOG_2PI, ApartMoments, PackedMoments, TiedMoments


class _MissingPattern(NamedTuple):
    """Rows that miss the same columns."""

    rows: np.ndarray
    missing: np.ndarray  # numbers of the columns
    covariances: np.ndarray  # (k, m, m), of what is missing given the rest


class _FilledRows(NamedTuple):
    """Rows as each component would fill them in.

    Attributes
    ----------
    D : (k, n, p) differences from the means
    lift : (k, n) what is added to the score, since there are fewer entries
    patterns : which rows miss what
    """

    D: np.ndarray
    lift: np.ndarray
    patterns: list[_MissingPattern]


class MissingValueComponents(NamedTuple):
    """Components that take rows with gaps (NaN); those of `inner` take all others."""

    inner: Any
    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    factors: np.ndarray  # (k, p, p)
    origin: np.ndarray  # (p,)

    @property
    def numbers(self) -> int:
        return self.inner.numbers

    def view(self, X: np.ndarray) -> Any:
        return self.filled(X) if np.isnan(X.sum()) else self.inner.view(X)

    def scores(self, view: Any) -> np.ndarray:
        if not isinstance(view, _FilledRows):
            return self.inner.scores(view)
        Y = view.D @ self.factors
        return self.offsets[:, None] + view.lift - 0.5 * np.einsum("knp,knp->kn", Y, Y)

    def statistic(self, view: Any, R: np.ndarray) -> Any:
        if not isinstance(view, _FilledRows):
            return self.inner.statistic(view, R)
        sums = np.einsum("kn,knp->kp", R, view.D)
        squares = np.swapaxes(view.D * R[:, :, None], 1, 2) @ view.D
        for rows, m, covariances in view.patterns:
            squares[:, m[:, None], m] += R[:, rows].sum(axis=1)[:, None, None] * covariances
        return self._as_inner(R.sum(axis=1), sums, squares)

    def filled(self, X: np.ndarray) -> _FilledRows:
        """Rows as each component would fill them in."""
        X = X.astype(np.float64)
        D = X[None] - self.means[:, None, :]
        lift, patterns = np.zeros(D.shape[:2]), []
        precisions = self.factors @ np.swapaxes(self.factors, 1, 2)
        for rows, m, there in _group_by_missing_columns(X):
            within = precisions[:, m[:, None], m]
            covariances = np.linalg.inv(within)
            pull = covariances @ precisions[:, m[:, None], there]
            known = D[:, rows[:, None], there]
            D[:, rows[:, None], m] = -known @ np.swapaxes(pull, 1, 2)
            lost = 0.5 * (len(m) * LOG_2PI - np.linalg.slogdet(within)[1])
            lift[:, rows] = lost[:, None]
            patterns.append(_MissingPattern(rows, m, covariances))
        return _FilledRows(D, lift, patterns)

    def lowered(self, by: np.ndarray) -> MissingValueComponents:
        """The same with lower scores."""
        inner = self.inner._replace(offsets=self.inner.offsets - by)
        return self._replace(inner=inner, offsets=self.offsets - by)

    def _as_inner(self, n: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> Any:
        """Moments about the means in the form in which chunks without gaps have them."""
        kind = _MOMENTS_OF_COMPONENTS[type(self.inner).__name__]
        if kind is ApartMoments:
            return ApartMoments(n, np.concatenate([sums[:, :, None], squares], axis=2))
        M = self.means - self.origin
        cross = sums[:, :, None] * M[:, None, :]
        both = n[:, None, None] * M[:, :, None] * M[:, None, :]
        squares = squares + cross + np.swapaxes(cross, 1, 2) + both
        sums = sums + n[:, None] * M
        if kind is TiedMoments:
            return TiedMoments(n, np.vstack([sums, squares.sum(axis=0)]))
        a, b = np.triu_indices(len(self.origin))
        return PackedMoments(n, np.hstack([sums, squares[:, a, b]]))


_MOMENTS_OF_COMPONENTS = {
    "ApartComponents": ApartMoments,
    "PackedComponents": PackedMoments,
    "TiedComponents": TiedMoments,
}


def _group_by_missing_columns(X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each set of missing columns: the rows, these columns, and the other columns.

    Examples
    --------
    >>> nan = np.nan
    >>> for rows, missing, there in _group_by_missing_columns(
    ...     np.array([[1, nan], [1, 2], [3, nan]])
    ... ):
    ...     print(rows, missing, there)
    [0 2] [1] [0]
    """
    gaps = np.isnan(X)
    some = np.flatnonzero(gaps.any(axis=1))
    groups: dict[bytes, list[int]] = {}
    for row, bits in zip(some.tolist(), np.packbits(gaps[some], axis=1), strict=True):
        groups.setdefault(bits.tobytes(), []).append(row)
    return [
        (np.array(rows), np.flatnonzero(gaps[rows[0]]), np.flatnonzero(~gaps[rows[0]]))
        for rows in groups.values()
    ]
