"""Features in which a linear model is no longer linear in the columns: curves, products, bumps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from tenfold.study.facts import Facts

MOST_CENTRES = 500
ROWS_PER_CENTRE = 2
SPREADS = (0.35, 0.7, 1.4)  # widths in units of the typical distance between rows
FEW_KNOTS = 5
COMPARED = 300  # rows whose distances are looked at


def splines(facts: Facts, knots: int, degree: int = 3) -> Any:
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


def without_tails(facts: Facts) -> list[tuple[str, Any]]:
    """Columns cut at their first and last percent, of unit variance: a line between two knots."""
    return [("cut", splines(facts, 2, degree=1)), ("scale", StandardScaler())]


def products(facts: Facts) -> Any:
    """Columns, their squares and products of pairs, all of unit variance."""
    pairs = PolynomialFeatures(2, include_bias=False)
    return Pipeline([*without_tails(facts), ("pairs", pairs), ("scale again", StandardScaler())])


def bumps(facts: Facts, spread: float) -> Any:
    """Gaussian bumps around rows drawn at random, in coordinates in which they are a kernel.

    Curves of each column stand beside them, so that bumps need only say what columns do together.
    """
    centres = int(min(MOST_CENTRES, max(facts.n // ROWS_PER_CENTRE, 10)))
    gamma = 1 / (spread * typical_distance(facts)) ** 2
    near = Nystroem(gamma=gamma, n_components=centres, random_state=facts.seed)
    near = Pipeline([*without_tails(facts), ("bumps", near)])
    if not facts.continuous:
        return near
    return FeatureUnion([("curves", splines(facts, FEW_KNOTS)), ("near", near)])


def typical_distance(facts: Facts) -> float:
    """Median distance between rows."""
    rng = np.random.default_rng(facts.seed)
    rows = rng.permutation(len(facts.seen))[:COMPARED]
    return float(np.median(pdist(np.asarray(facts.seen[rows], np.float64)))) or 1.0
