r"""Moments of rows with missing entries (NaN), which merge, and EM on them.

Rows of one class that miss the same columns enter the likelihood of a Gaussian through the moments
of their observed columns alone. `IncompleteScatters` keeps these as triangular factors, at most as
many rows as there are columns for each class and set of missing columns, so that it merges like the
moments of complete rows; `complete_scatters` runs EM on it,

.. math:: E(x_m \mid x_o) = \mu_m - \Lambda_{mm}^{-1} \Lambda_{mo} (x_o - \mu_o), \qquad
          \operatorname{Cov}(x_m \mid x_o) = \Lambda_{mm}^{-1},

to the maximum-likelihood means and covariances, without further passes over the rows. Shapes use k
classes and p features.

References
----------
R. J. A. Little and D. B. Rubin (2002), Statistical Analysis with Missing Data, chapter 11.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import class_sums
from tenfold.stats.class_moments import ClassScatters, class_scatters, expand_to_classes
from tenfold.stats.moments import Moments, TriangularFactor

_TOL = 1e-9  # change of means and covariances, in standard deviations, at which EM stops
_MAX_ITER = 10_000
_MIN_RECIPROCAL_CONDITION = 1e-12  # of the correlations within EM


class IncompleteScatters(NamedTuple):
    """Moments of rows within k classes, some of which have missing entries.

    Attributes
    ----------
    n : (k,) weight of each class
    rows : (k,) rows of positive weight in each class
    complete : moments of the rows without missing entries
    factors : factor of the rows [x_o 1] of each class and set of observed columns; the key is the
        number of the class and the packed bits of the missing columns, in hexadecimal digits
    """

    n: np.ndarray
    rows: np.ndarray
    complete: ClassScatters
    factors: dict[str, TriangularFactor]

    def merge(self, other: IncompleteScatters | ClassScatters | Moments) -> IncompleteScatters:
        if not isinstance(other, IncompleteScatters):
            other = _as_incomplete(other)
        factors = dict(self.factors)
        for key, factor in other.factors.items():
            factors[key] = factors[key].merge(factor) if key in factors else factor
        n, rows = self.n + other.n, self.rows + other.rows
        return IncompleteScatters(n, rows, self.complete.merge(other.complete), factors)

    def merge_after(self, other: ClassScatters | Moments) -> IncompleteScatters:
        """Merge moments of complete rows, which come before these."""
        return _as_incomplete(other).merge(self)

    def expand_to_classes(self, positions: np.ndarray, k: int) -> IncompleteScatters:
        """The same statistic among k classes, of which these are at `positions`."""
        factors = {}
        for key, factor in self.factors.items():
            c, columns = key.split(":")
            factors[f"{positions[int(c)]}:{columns}"] = factor
        n, rows = (expand_to_classes(part, positions, k) for part in (self.n, self.rows))
        return IncompleteScatters(n, rows, self.complete.expand_to_classes(positions, k), factors)


def _as_incomplete(s: ClassScatters | Moments) -> IncompleteScatters:
    """Moments of complete rows, without rows that miss entries."""
    if isinstance(s, Moments):
        n, rows = np.array([s.n]), np.array([float(s.rows)])
        s = ClassScatters(n, s.mean[None], s.scatter[None], rows)
    return IncompleteScatters(s.n, s.rows, s, {})


@np.errstate(over="ignore", invalid="ignore")
def incomplete_scatters(rows: Any, k: int, per_class: bool) -> IncompleteScatters:
    """Moments of k classes from rows of which some have missing entries.

    Examples
    --------
    >>> from tenfold.engine import Chunk
    >>> rows = Chunk(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, np.nan]]), np.zeros(3, np.int64))
    >>> s = incomplete_scatters(rows, 1, True)
    >>> s.n.tolist(), s.complete.n.tolist(), s.factors["0:40"].R.shape
    ([3.0], [1.0], (2, 2))
    """
    X, y, w = rows.X, rows.y, rows.weights().astype(np.float64)
    n, counts = (class_sums(np.empty((len(y), 0)), y, v, k)[0] for v in (w, 1.0 * (w > 0)))
    missing = np.isnan(X)
    complete = ~missing.any(axis=1)
    factors: dict[str, TriangularFactor] = {}
    for key, rows_of_key, observed in _group_rows(missing, y, ~complete & (w > 0)):
        part = X[np.ix_(rows_of_key, observed)].astype(np.float64)
        Z = np.hstack([part, np.ones((len(part), 1))])
        factors[key] = TriangularFactor.of(Z, w[rows_of_key])
    return IncompleteScatters(n, counts, _scatters_of(rows, complete, k, per_class), factors)


def _scatters_of(rows: Any, complete: np.ndarray, k: int, per_class: bool) -> ClassScatters:
    """Moments of the complete rows."""
    if complete.any():
        w = None if rows.w is None else rows.w[complete]
        return class_scatters(
            rows._replace(X=rows.X[complete], y=rows.y[complete], w=w), k, per_class
        )
    p = rows.X.shape[1]
    scatter = np.zeros((k if per_class else 1, p, p))
    return ClassScatters(np.zeros(k), np.zeros((k, p)), scatter, np.zeros(k))


def _group_rows(
    missing: np.ndarray, y: np.ndarray, chosen: np.ndarray
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Key, rows and observed columns of each class and set of missing columns.

    Rows that miss all columns say nothing about means and covariances, and are left out.
    """
    rows = np.flatnonzero(chosen & ~missing.all(axis=1))
    groups: dict[str, list[int]] = {}
    for row, bits in zip(rows.tolist(), np.packbits(missing[rows], axis=1), strict=True):
        groups.setdefault(f"{y[row]}:{bits.tobytes().hex()}", []).append(row)
    return [
        (key, np.array(part), np.flatnonzero(~missing[part[0]]))
        for key, part in sorted(groups.items())
    ]


class _StackedFactors(NamedTuple):
    """The factors of the classes in one array, rows of a class after each other.

    Attributes
    ----------
    Z : (m, p) square root of the weight times entries, 0 where they are missing
    root : (m,) square roots of the weights
    group : (m,) class and set of missing columns to which a row belongs
    label, weight : (g,) class and weight of each group
    missing : (g, p) its missing columns
    """

    Z: np.ndarray
    root: np.ndarray
    group: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    missing: np.ndarray

    @classmethod
    def stack(cls, factors: dict[str, TriangularFactor], p: int) -> _StackedFactors:
        """All factors below each other, by class."""
        keys = sorted(factors, key=lambda key: (int(key.split(":")[0]), key))
        label = np.array([int(key.split(":")[0]) for key in keys], np.int64)
        bits = [np.frombuffer(bytes.fromhex(key.split(":")[1]), np.uint8) for key in keys]
        missing = np.unpackbits(np.reshape(bits, (len(keys), -1)), axis=1, count=p).astype(bool)
        parts, roots = [], []
        for key, gone in zip(keys, missing, strict=True):
            R = factors[key].R
            part = np.zeros((len(R), p))
            part[:, ~gone] = R[:, :-1]
            parts.append(part)
            roots.append(R[:, -1])
        group = np.repeat(np.arange(len(keys)), [len(part) for part in parts])
        weight = np.array([root @ root for root in roots])
        return cls(np.vstack(parts), np.concatenate(roots), group, label, weight, missing)


class GaussianMoments(NamedTuple):
    """Means (k, p) and covariances (k or 1, p, p) of classes."""

    means: np.ndarray
    covariances: np.ndarray


def complete_scatters(s: IncompleteScatters) -> tuple[ClassScatters, bool]:
    """Moments of maximum likelihood, as if no entry were missing, and whether EM converged.

    Their means and covariances are those of Gaussian classes that maximize the likelihood of the
    observed entries; the covariance is pooled where the scatter of the complete rows is.

    Examples
    --------
    The second column follows the first; its mean follows that of all first entries:

    >>> from tenfold.engine import Chunk
    >>> X = np.array([[0.0, 0.0], [1.0, 2.1], [2.0, 3.9], [9.0, np.nan]])
    >>> s = incomplete_scatters(Chunk(X, np.zeros(4, np.int64)), 1, True)
    >>> complete_scatters(s)[0].mean.round(3).tolist()
    [[3.0, 5.9]]
    """
    p, pooled = s.complete.mean.shape[1], len(s.complete.scatter) < len(s.n)
    if not s.factors:
        state, converged = GaussianMoments(s.complete.mean, s.complete.covariances()), True
    else:
        groups = _StackedFactors.stack(s.factors, p)
        state, converged = _run_em(s.complete, groups, pooled, s.n)
    n = s.n.sum(keepdims=True) if pooled else s.n
    scatter = state.covariances * n[:, None, None]
    return ClassScatters(s.n, state.means, scatter, s.rows), converged


def _run_em(
    complete: ClassScatters, groups: _StackedFactors, pooled: bool, n: np.ndarray
) -> tuple[GaussianMoments, bool]:
    """EM from the means and variances of the observed entries."""
    state = _initial_moments(complete, groups, pooled)
    for _ in range(_MAX_ITER):
        following = _em_iteration(complete, groups, pooled, state)
        deviation = np.sqrt(np.einsum("cpp->cp", following.covariances))
        deviation = np.where(deviation > 0, deviation, 1.0)
        shift = np.abs(following.means - state.means) / deviation
        scale = deviation[:, :, None] * deviation[:, None, :]
        change = np.abs(following.covariances - state.covariances) / scale
        state = following
        if max(shift[n > 0].max(initial=0.0), change.max()) <= _TOL:
            return state, True
    return state, False


def _initial_moments(
    complete: ClassScatters, groups: _StackedFactors, pooled: bool
) -> GaussianMoments:
    """Means and variances of the observed entries, without correlations."""
    p = complete.mean.shape[1]
    seen = ~groups.missing[groups.group]
    observed = np.repeat(complete.n[:, None], p, axis=1)
    sums, label = observed * complete.mean, groups.label[groups.group]
    np.add.at(observed, label, seen * groups.root[:, None] ** 2)
    np.add.at(sums, label, groups.Z * groups.root[:, None])
    everywhere = sums.sum(axis=0) / np.where(observed.sum(axis=0) > 0, observed.sum(axis=0), 1)
    means = np.where(observed > 0, sums / np.where(observed > 0, observed, 1), everywhere)
    D = np.where(seen, groups.Z - groups.root[:, None] * means[label], 0.0)
    shift = complete.mean - means
    squares = complete.n[:, None] * shift**2
    if pooled:
        squares[:1] += np.einsum("cpp->cp", complete.scatter)
    else:
        squares += np.einsum("cpp->cp", complete.scatter)
    np.add.at(squares, label, D**2)
    if pooled:
        squares, observed = squares.sum(axis=0, keepdims=True), observed.sum(axis=0, keepdims=True)
    variances = squares / np.where(observed > 0, observed, 1)
    spread = squares.sum(axis=0) / np.where(observed.sum(axis=0) > 0, observed.sum(axis=0), 1)
    variances = np.where(observed > 0, variances, spread)
    return GaussianMoments(means, variances[:, :, None] * np.eye(p))


def _em_iteration(
    complete: ClassScatters, groups: _StackedFactors, pooled: bool, state: GaussianMoments
) -> GaussianMoments:
    """Conditional moments of the missing entries, then maximum likelihood."""
    k = len(state.means)
    label = groups.label[groups.group]
    D = groups.Z - groups.root[:, None] * state.means[label]
    D[groups.missing[groups.group]] = 0.0
    cut = np.searchsorted(label, np.arange(k + 1))
    squares = _fill_missing(D, cut, groups, state, pooled)
    shift = complete.mean - state.means
    n, sums = complete.n.copy(), complete.n[:, None] * shift
    np.add.at(n, groups.label, groups.weight)
    for c in range(k):
        part, at = D[cut[c] : cut[c + 1]], 0 if pooled else c
        sums[c] += groups.root[cut[c] : cut[c + 1]] @ part
        squares[at] += part.T @ part + complete.n[c] * np.multiply.outer(shift[c], shift[c])
    squares += complete.scatter
    move = sums / np.where(n > 0, n, 1)[:, None]
    between = n[:, None, None] * move[:, :, None] * move[:, None, :]
    if pooled:
        covariances = (squares - between.sum(axis=0)) / n.sum()
    else:
        covariances = (squares - between) / np.where(n > 0, n, 1)[:, None, None]
    return GaussianMoments(state.means + move, covariances)


def _fill_missing(
    D: np.ndarray, cut: np.ndarray, groups: _StackedFactors, state: GaussianMoments, pooled: bool
) -> np.ndarray:
    """Write conditional means into D; the sums of conditional covariances, like the covariances.

    Sets of equally many missing columns are solved together.
    """
    precisions = _invert_covariances(state.covariances)
    products = np.empty_like(D)
    for c in range(len(cut) - 1):
        rows = slice(cut[c], cut[c + 1])
        products[rows] = D[rows] @ precisions[0 if pooled else c]
    squares = np.zeros_like(state.covariances)
    sizes = groups.missing.sum(axis=1)
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        columns = np.nonzero(groups.missing[chosen])[1].reshape(len(chosen), size)
        at = np.zeros_like(chosen) if pooled else groups.label[chosen]
        place = at[:, None, None], columns[:, :, None], columns[:, None, :]
        conditional = np.linalg.inv(precisions[place])
        np.add.at(squares, place, groups.weight[chosen][:, None, None] * conditional)
        position = np.full(len(sizes), -1)
        position[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(position[groups.group] >= 0)
        own = position[groups.group[rows]]
        cells = rows[:, None], columns[own]
        D[cells] = -np.einsum("nij,nj->ni", conditional[own], products[cells])
    return squares


def _invert_covariances(C: np.ndarray) -> np.ndarray:
    """Precisions; correlations that are singular get a small ridge."""
    deviation = np.sqrt(np.einsum("cpp->cp", C))
    deviation = np.where(deviation > 0, deviation, 1.0)
    scale = deviation[:, :, None] * deviation[:, None, :]
    values, V = np.linalg.eigh(C / scale)
    floor = _MIN_RECIPROCAL_CONDITION * np.maximum(values[:, -1:], 1.0)
    values = np.maximum(values, floor)
    return (V / values[:, None, :]) @ np.swapaxes(V, 1, 2) / scale
