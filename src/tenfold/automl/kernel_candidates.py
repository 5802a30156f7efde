"""Configurations of neighbors, kernel machines and Gaussian processes for `tenfold.learn`.

Their time grows with the square or the cube of the rows, and their models keep rows. So each has a
largest table; below it pilot fits, extrapolated with the exponent of growth, decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tenfold
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.model_config import HyperparameterRange, ModelConfig

_MAX_COLUMNS = 600  # columns beyond which distances are slow, and say little
_MAX_NEIGHBOR_ROWS = 200_000  # rows that a model of neighbors may keep
_MAX_SVM_ROWS = 20_000
_MANY_SVM_ROWS = 2_000  # rows beyond which fewer values are tried
_MIDDLE_C = 3.0  # where there is no grid
_MAX_GP_ROWS, _MAX_GP_CLASS_ROWS = 1_200, 600  # Cholesky factors are cubic, and one per class
_MAX_GP_CLASSES = 4
_MAX_GP_COLUMNS = 60
_MAX_SCALED_COLUMNS = 8  # columns up to which each has a length scale of its own
_NEIGHBORS = (1, 3, 5, 10, 20, 40)


def neighbor_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Nearest neighbors: their number and weights are tuned."""
    name = "KNeighborsClassifier" if encoded.classifies else "KNeighborsRegressor"
    ks = [k for k in _NEIGHBORS if k <= max(encoded.n // 3, 1)]
    if encoded.classifies:
        ks = [k for k in ks if k > 1] or ks  # one neighbor is always certain
    grid = {"n_neighbors": ks, "weights": ["uniform", "distance"]}
    return [ModelConfig(_make(name), grid)]


def kernel_svm_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Support vector machine with a Gaussian kernel: C and gamma are tuned."""
    scale = _gamma_scale(encoded)
    few = encoded.n <= _MANY_SVM_ROWS
    grid = {
        "C": [0.1, 1.0, 10.0, 100.0] if few else [1.0, 10.0],
        "gamma": [
            float(f"{scale * factor:.3g}") for factor in ((0.2, 1.0, 5.0) if few else (0.3, 1.0))
        ],
    }
    if not encoded.classifies:
        return [ModelConfig(_make("SVR", C=_MIDDLE_C, gamma=scale), grid)]
    from sklearn.calibration import CalibratedClassifierCV

    options: Any = {"ensemble": False, "cv": 3}
    return [
        ModelConfig(
            _make("SVC", C=_MIDDLE_C, gamma=scale), grid, wrapper=CalibratedClassifierCV(**options)
        )
    ]


def kernel_svm_ranges(encoded: EncodedTable) -> dict[str, HyperparameterRange]:
    """C, and gamma around the inverse of the columns times their variance."""
    scale = _gamma_scale(encoded)
    return {
        "C": HyperparameterRange(0.1, 1000.0),
        "gamma": HyperparameterRange(0.05 * scale, 10 * scale),
    }


def _gamma_scale(encoded: EncodedTable) -> float:
    spread = float(np.asarray(encoded.sample, np.float64).var()) or 1.0
    return 1.0 / (encoded.p * spread)


def gaussian_process_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Gaussian process with an RBF kernel: amplitude, length scales and noise by the evidence."""
    from tenfold.kernel.base import ConstantKernel, WhiteKernel
    from tenfold.kernel.stationary import RBF

    length = np.sqrt(encoded.p) * np.ones(encoded.p if encoded.p <= _MAX_SCALED_COLUMNS else 1)
    smooth = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(_scalar(length), (1e-2, 1e3))
    if encoded.classifies:
        return [ModelConfig(_make("GaussianProcessClassifier", kernel=smooth, random_state=0))]
    kernel = smooth + WhiteKernel(0.1, (1e-4, 1e1))
    return [ModelConfig(_make("GaussianProcessRegressor", kernel=kernel, random_state=0))]


def _scalar(values: np.ndarray) -> Any:
    return float(values[0]) if len(values) == 1 else values


def _make(name: str, **settings: Any) -> Any:
    return getattr(tenfold, name)(**settings)


def find_neighbor_obstacle(encoded: EncodedTable) -> str | None:
    """Exclude tables whose distances are slow or whose rows are too many to keep."""
    return _wide(encoded) or _long(encoded, _MAX_NEIGHBOR_ROWS)


def find_svm_obstacle(encoded: EncodedTable) -> str | None:
    """Exclude tables of more rows than a kernel machine fits in time."""
    return _wide(encoded) or _long(encoded, _MAX_SVM_ROWS)


def find_gaussian_process_obstacle(encoded: EncodedTable) -> str | None:
    """Exclude tables of many rows, columns or classes."""
    if encoded.sparse or encoded.p > _MAX_GP_COLUMNS:
        return f"{encoded.p:,} encoded columns are too many for it"
    if encoded.k is not None and encoded.k > _MAX_GP_CLASSES:
        return f"{encoded.k:,} classes are too many for it"
    return _long(encoded, _MAX_GP_CLASS_ROWS if encoded.classifies else _MAX_GP_ROWS)


def _wide(encoded: EncodedTable) -> str | None:
    if encoded.sparse or encoded.p > _MAX_COLUMNS:
        return f"{encoded.p:,} encoded columns are too many for it"
    return None


def _long(encoded: EncodedTable, most: int) -> str | None:
    rows = encoded.n_training
    return f"{rows:,} training rows are too many for it" if rows > most else None
