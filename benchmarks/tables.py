"""Small tables with a label and a number per row; standardised, so that both sides converge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

BUNDLED = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
    "breast-cancer": datasets.load_breast_cancer,
}


class Small(NamedTuple):
    """Rows, a label for classifiers, a number for regressors."""

    X: np.ndarray
    label: np.ndarray
    number: np.ndarray


def small_tables() -> dict[str, Small]:
    tables = {name: _labelled(*load(return_X_y=True)) for name, load in BUNDLED.items()}
    tables["diabetes"] = _numbered(*datasets.load_diabetes(return_X_y=True))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    y = X @ rng.standard_normal(20) + 2 * rng.standard_normal(5000)
    return tables | {"5000x20": _numbered(X, y)}


def _labelled(X: np.ndarray, y: np.ndarray) -> Small:
    return Small(StandardScaler().fit_transform(X), y, y.astype(float))


def _numbered(X: np.ndarray, y: np.ndarray) -> Small:
    return Small(StandardScaler().fit_transform(X), (y > np.median(y)).astype(int), y)
