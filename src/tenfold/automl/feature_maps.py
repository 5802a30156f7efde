"""Feature maps of an encoded table: splines, products, Nystroem kernel features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from tenfold.kernel.nystroem import Nystroem
from tenfold.preprocessing.polynomial_features import PolynomialFeatures

_INSPECTED_ROWS = 5000  # rows from which properties of columns are inferred
_MIN_CONTINUOUS_VALUES = 10  # distinct values from which a column counts as continuous


class EncodedTable:
    """Properties of an encoded table on which model configurations depend.

    Parameters
    ----------
    X : (n_rows, n_columns) array or CSR matrix
        Encoded training rows.
    task : str
        "regression", "two-class" or "multi-class".
    k : int or None
        Number of classes.
    seed : int
        Seed of random features.
    n_training : int, optional
        Rows on which the chosen model will be fitted; those of X by default.
    """

    def __init__(
        self, X: Any, task: str, k: int | None, seed: int, n_training: int | None = None
    ) -> None:
        self.task, self.k, self.seed = task, k, seed
        self.n, self.p = X.shape
        self.n_training = n_training or self.n
        self.sparse = issparse(X)
        step = max(self.n // _INSPECTED_ROWS, 1)
        self.sample: Any = X[::step]

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return self.k is not None

    @cached_property
    def continuous(self) -> list[int]:
        """Indices of the columns with many distinct values."""
        if self.sparse:
            return []
        columns = enumerate(np.sort(self.sample, axis=0).T)
        return [j for j, x in columns if np.count_nonzero(np.diff(x)) >= _MIN_CONTINUOUS_VALUES]

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether no entry is negative, as in word counts."""
        return bool(self.sample.min() >= 0)

    @cached_property
    def is_binary(self) -> np.ndarray:
        """(n_columns,) whether a column holds only zeros and ones."""
        return ((self.sample == 0) | (self.sample == 1)).all(axis=0)


_MAX_CENTERS = 500
_ROWS_PER_CENTER = 2
KERNEL_WIDTHS = (0.35, 0.7, 1.4)  # widths in units of the typical distance between rows
FEW_KNOTS = 5
_DISTANCE_ROWS = 300  # rows whose distances are computed


def spline_features(encoded: EncodedTable, knots: int, degree: int = 3) -> Any:
    """Splines of each continuous column, knots at its quantiles; other columns pass unchanged.

    Beyond the outermost knots the splines are constant, which bounds the effect of outliers.
    """
    levels = np.linspace(0.01, 0.99, knots)
    by_count: dict[int, list[tuple[int, np.ndarray]]] = {}  # columns by number of distinct knots
    for j in encoded.continuous:
        at = np.unique(np.quantile(encoded.sample[:, j], levels))
        by_count.setdefault(len(at), []).append((j, at))
    splines = []
    for count, columns in by_count.items():
        if count > 1:
            positions = np.column_stack([at for _, at in columns])
            options: Any = {"knots": positions, "extrapolation": "constant"}
            spline = SplineTransformer(degree=degree, include_bias=False, **options)
            splines.append((f"splines of {count} knots", spline, [j for j, _ in columns]))
    return ColumnTransformer(splines, remainder="passthrough", sparse_threshold=0.0)


def clip_and_scale(encoded: EncodedTable) -> list[tuple[str, Any]]:
    """Columns clipped at their 1st and 99th percentile and scaled: linear splines of two knots."""
    return [("clip", spline_features(encoded, 2, degree=1)), ("scale", StandardScaler())]


def product_features(encoded: EncodedTable) -> Any:
    """Columns, their squares and products of pairs, all of unit variance."""
    pairs = PolynomialFeatures(2, include_bias=False)
    return Pipeline([*clip_and_scale(encoded), ("pairs", pairs), ("scale again", StandardScaler())])


def kernel_features(encoded: EncodedTable, spread: float) -> Any:
    """Nystroem features of a Gaussian kernel around random rows, and splines of each column.

    The splines model the columns one by one, so that the kernel is needed for interactions only.
    """
    n_centers = int(min(_MAX_CENTERS, max(encoded.n // _ROWS_PER_CENTER, 10)))
    gamma = 1 / (spread * median_distance(encoded)) ** 2
    kernel = Nystroem(gamma=gamma, n_components=n_centers, random_state=encoded.seed)
    kernel_map = Pipeline([*clip_and_scale(encoded), ("kernel", kernel)])
    if not encoded.continuous:
        return kernel_map
    return FeatureUnion([("splines", spline_features(encoded, FEW_KNOTS)), ("kernel", kernel_map)])


def median_distance(encoded: EncodedTable) -> float:
    """Median distance between rows."""
    rng = np.random.default_rng(encoded.seed)
    rows = rng.permutation(len(encoded.sample))[:_DISTANCE_ROWS]
    return float(np.median(pdist(np.asarray(encoded.sample[rows], np.float64)))) or 1.0
