"""Feature maps of an encoded table: splines, products, Nystroem kernel features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

_INSPECTED_ROWS = 5000  # rows that are looked at
_MIN_CONTINUOUS_VALUES = 10  # a column of no more different values is no continuous one


class EncodedTable:
    """An encoded table, as the makers of models see it.

    Parameters
    ----------
    X : (n, p) array or CSR matrix
        Encoded rows to learn from.
    task : str
        "regression", "two-class" or "multi-class".
    k : int or None
        Number of classes.
    seed : int
        For drawn features.
    """

    def __init__(self, X: Any, task: str, k: int | None, seed: int) -> None:
        self.task, self.k, self.seed = task, k, seed
        self.n, self.p = X.shape
        self.sparse = issparse(X)
        step = max(self.n // _INSPECTED_ROWS, 1)
        self.seen: Any = X[::step]

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return self.k is not None

    @cached_property
    def continuous(self) -> list[int]:
        """Numbers of the columns with many different values."""
        if self.sparse:
            return []
        columns = enumerate(np.sort(self.seen, axis=0).T)
        return [j for j, x in columns if np.count_nonzero(np.diff(x)) >= _MIN_CONTINUOUS_VALUES]

    @cached_property
    def counts(self) -> bool:
        """Whether no entry is negative, as in counts of words."""
        return bool(self.seen.min() >= 0)

    @cached_property
    def yes_or_no(self) -> np.ndarray:
        """(p,) whether a column holds zeros and ones alone."""
        return ((self.seen == 0) | (self.seen == 1)).all(axis=0)


_MAX_CENTERS = 500
_ROWS_PER_CENTER = 2
KERNEL_WIDTHS = (0.35, 0.7, 1.4)  # widths in units of the typical distance between rows
FEW_KNOTS = 5
_DISTANCE_ROWS = 300  # rows whose distances are looked at


def spline_features(facts: EncodedTable, knots: int, degree: int = 3) -> Any:
    """Splines of each continuous column, knots at its quantiles; other columns stay.

    Beyond the outermost knots a curve is flat, so that no outlier is carried far away.
    """
    places = np.linspace(0.01, 0.99, knots)
    alike: dict[int, list[tuple[int, np.ndarray]]] = {}  # columns by how many knots they have
    for j in facts.continuous:
        at = np.unique(np.quantile(facts.seen[:, j], places))
        alike.setdefault(len(at), []).append((j, at))
    curves = []
    for count, columns in alike.items():
        if count > 1:
            own = np.column_stack([at for _, at in columns])
            options: Any = {"knots": own, "extrapolation": "constant"}
            curve = SplineTransformer(degree=degree, include_bias=False, **options)
            curves.append((f"curves of {count}", curve, [j for j, _ in columns]))
    return ColumnTransformer(curves, remainder="passthrough", sparse_threshold=0.0)


def clip_and_scale(facts: EncodedTable) -> list[tuple[str, Any]]:
    """Columns cut at their first and last percent, of unit variance: a line between two knots."""
    return [("cut", spline_features(facts, 2, degree=1)), ("scale", StandardScaler())]


def product_features(facts: EncodedTable) -> Any:
    """Columns, their squares and products of pairs, all of unit variance."""
    pairs = PolynomialFeatures(2, include_bias=False)
    return Pipeline([*clip_and_scale(facts), ("pairs", pairs), ("scale again", StandardScaler())])


def kernel_features(facts: EncodedTable, spread: float) -> Any:
    """Gaussian bumps around rows drawn at random, in coordinates in which they are a kernel.

    Curves of each column stand beside them, so that bumps need only say what columns do together.
    """
    centres = int(min(_MAX_CENTERS, max(facts.n // _ROWS_PER_CENTER, 10)))
    gamma = 1 / (spread * median_distance(facts)) ** 2
    near = Nystroem(gamma=gamma, n_components=centres, random_state=facts.seed)
    near = Pipeline([*clip_and_scale(facts), ("bumps", near)])
    if not facts.continuous:
        return near
    return FeatureUnion([("curves", spline_features(facts, FEW_KNOTS)), ("near", near)])


def median_distance(facts: EncodedTable) -> float:
    """Median distance between rows."""
    rng = np.random.default_rng(facts.seed)
    rows = rng.permutation(len(facts.seen))[:_DISTANCE_ROWS]
    return float(np.median(pdist(np.asarray(facts.seen[rows], np.float64)))) or 1.0
