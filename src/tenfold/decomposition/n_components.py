"""The number of principal components, by the likelihood or the prediction of held-out rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import single_chunk_moments
from tenfold.io.opener import open as open_rows
from tenfold.math.linalg import to_dense
from tenfold.stats.moments import Moments

_MAX_COLUMNS = 5000  # each fold has a covariance
_MAX_CANDIDATES = 100
_CRITERIA = ("log_likelihood", "prediction")


class ComponentCurve(NamedTuple):
    """Held-out scores of several numbers of principal components.

    Attributes
    ----------
    n_components : the best number
    candidates : (m,) numbers of components, ascending
    log_likelihood : (m,) mean log-likelihood of a held-out row under probabilistic PCA
    prediction_error : (m,) mean squared error of an entry of a held-out row, predicted from the
        other entries of the row
    reconstruction_error : (m,) mean squared distance of a held-out row from its projection; it
        falls with every component, and chooses nothing by itself
    retained : (m,) share of the variance of all rows in the first components
    """

    n_components: int
    candidates: np.ndarray
    log_likelihood: np.ndarray
    prediction_error: np.ndarray
    reconstruction_error: np.ndarray
    retained: np.ndarray


def cross_validate_components(
    X: Any,
    numbers: Iterable[int] | None = None,
    *,
    folds: int = 5,
    criterion: str = "log_likelihood",
) -> ComponentCurve:
    r"""Choose the number of principal components by cross-validation, in one pass.

    Row i belongs to fold i mod `folds`. The pass keeps the second moments of each fold; those of
    the training rows are merged, and all scores of all numbers of components follow from moments:

    .. math:: -\tfrac12 \Bigl(p \log 2\pi + \log|C_k| + \operatorname{tr}(C_k^{-1} S)\Bigr), \qquad
              \frac1p \sum_j \frac{(P_k S P_k)_{jj}}{(P_k)_{jj}^2}

    with the covariance C of probabilistic PCA on the training rows, its inverse P, and the second
    moments S of the held-out rows about the training mean.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    numbers : list of int, optional
        Candidates; by default all, or 100 of them, evenly spread by their logarithm.
    folds : int
        Number of folds.
    criterion : {"log_likelihood", "prediction"}
        What decides: the likelihood of held-out rows, or the error of entries that are predicted
        from the other entries of their row.

    Returns
    -------
    ComponentCurve

    See Also
    --------
    PCA : `n_components="cv"` chooses by the likelihood.
    choose_components : The same of mixtures.

    References
    ----------
    M. E. Tipping and C. M. Bishop (1999), Probabilistic principal component analysis.

    R. Bro, K. Kjeldahl, A. K. Smilde and H. A. L. Kiers (2008), Cross-validation of component
    models: a critical look at current methods.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10)) + 0.5 * rng.normal(size=(300, 10))
    >>> cross_validate_components(X).n_components
    3
    """
    if criterion not in _CRITERIA:
        raise ValueError(f"criterion={criterion!r} is not one of {_CRITERIA}")
    rows = X if isinstance(X, Rows) else open_rows(X)
    _check_size(rows, folds)
    parts = rows.total(fold_moments, folds)
    if not all(np.isfinite(part.scatter).all() for part in parts):
        raise ValueError("cross-validation of components needs finite numbers, without NaN")
    fewest = min(rows.n_rows - part.rows for part in parts)
    candidates = _choose_candidates(numbers, min(rows.n_features - 1, fewest - 1))
    scores = np.sum([_score_fold(parts, f, candidates) for f in range(folds)], axis=0)
    log_likelihood, prediction, reconstruction = scores / sum(part.n for part in parts)
    best = (log_likelihood if criterion == "log_likelihood" else -prediction).argmax()
    values = np.linalg.eigvalsh(_merge_all(parts).scatter)[::-1]
    retained = np.cumsum(values)[candidates - 1] / (values.sum() or 1.0)
    return ComponentCurve(
        int(candidates[best]), candidates, log_likelihood, prediction, reconstruction, retained
    )


def _check_size(rows: Rows, folds: int) -> None:
    if not 2 <= folds <= rows.n_rows // 2:
        raise ValueError(
            f"folds={folds} of {rows.n_rows} rows: take at least 2 folds, of at least 2 rows each"
        )
    if not 2 <= rows.n_features <= _MAX_COLUMNS:
        raise ValueError(
            f"cross-validation of components needs 2 to {_MAX_COLUMNS} columns, not "
            f"{rows.n_features}: give a number or a share of the variance"
        )


def fold_moments(chunk: Chunk, folds: int) -> tuple[Moments, ...]:
    """Moments of the rows of each fold; row i belongs to fold i mod `folds`."""
    X = to_dense(chunk.X)
    p = X.shape[1]
    parts = []
    for f in range(folds):
        rows = slice((f - chunk.first) % folds, None, folds)
        w = None if chunk.w is None else chunk.w[rows]
        own = Chunk(X[rows], None, w)
        if own.rows == 0 or own.weight == 0:
            parts.append(Moments(0.0, np.zeros(p), np.zeros((p, p)), 0))
        else:
            parts.append(single_chunk_moments(own, False))
    return tuple(parts)


def _choose_candidates(numbers: Iterable[int] | None, most: int) -> np.ndarray:
    if numbers is None:
        if most <= _MAX_CANDIDATES:
            return np.arange(1, max(most, 1) + 1)
        return np.unique(np.geomspace(1, most, _MAX_CANDIDATES).astype(int))
    candidates = np.unique(np.array(list(numbers), np.int64))
    if not len(candidates) or candidates[0] < 1 or candidates[-1] > most:
        raise ValueError(f"numbers of components lie between 1 and {most}, not {candidates}")
    return candidates


def _merge_all(parts: Iterable[Moments]) -> Moments:
    first, *others = parts
    for other in others:
        first = first.merge(other)
    return first


def _score_fold(parts: tuple[Moments, ...], f: int, candidates: np.ndarray) -> np.ndarray:
    """Sums of log-likelihood, prediction error and reconstruction error over a fold, (3, m)."""
    train = _merge_all(part for g, part in enumerate(parts) if g != f)
    test = parts[f]
    shift = test.mean - train.mean
    S = test.scatter / (test.n or 1.0) + np.multiply.outer(shift, shift)
    values, U = np.linalg.eigh(train.scatter / train.n)
    values, U = np.maximum(values[::-1], 0.0), U[:, ::-1]
    SU = S @ U
    G = U.T @ SU
    scores = [_score_components(int(k), values, (S.diagonal(), U, SU, G)) for k in candidates]
    return test.n * np.array(scores).T


def _score_components(
    k: int, values: np.ndarray, test: tuple[np.ndarray, ...]
) -> tuple[float, float, float]:
    """Scores of the first k components; `test` holds diag S, U, S U and U' S U."""
    squares, U, SU, G = test
    p = len(values)
    floor = np.finfo(np.float64).eps * max(values.sum(), np.finfo(np.float64).tiny)
    noise = max(values[k:].sum() / (p - k), floor)
    variances = np.maximum(values[:k], noise)
    along = G.diagonal()[:k]
    rest = max(float(squares.sum() - along.sum()), 0.0)
    logs = p * np.log(2 * np.pi) + np.log(variances).sum() + (p - k) * np.log(noise)
    log_likelihood = -0.5 * (logs + (along / variances).sum() + rest / noise)
    V = U[:, :k] * (1 - noise / variances)
    precision = 1 - (V * U[:, :k]).sum(axis=1)  # diagonal, times the noise
    moved = squares - 2 * (V * SU[:, :k]).sum(axis=1) + ((V @ G[:k, :k]) * V).sum(axis=1)
    errors = np.maximum(moved, 0.0) / np.maximum(precision, floor / noise) ** 2
    return float(log_likelihood), float(errors.mean()), rest
