"""Weights of linear models, per standard deviation of what they weigh."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.study.explaining.encoded_rows import EncodedRows, outputs_of
from tenfold.study.explaining.explanation import Weights


def linear_parts(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (p, outputs) and offsets of a model that is linear in its encoded columns.

    Regressions are given in units of the target (of its logarithm, if that was learned).
    """
    inner = model.model_
    if getattr(inner, "coef_", None) is None or hasattr(inner, "steps"):
        return None
    weights = np.atleast_2d(np.asarray(inner.coef_, np.float64)).T
    offset = np.atleast_1d(np.asarray(getattr(inner, "intercept_", 0.0), np.float64))
    if model.scale_ is not None:
        scale = model.scale_
        weights, offset = weights * scale.scale, offset * scale.scale + scale.mean
    return weights, offset


def weights_of(rows: EncodedRows) -> Weights | None:
    """Weights of a linear model times the spread of their columns; None for other models."""
    parts = linear_parts(rows.model)
    if parts is None or len(parts[0]) != rows.X.shape[1]:
        return None
    encoder = rows.model.encoder_
    values = parts[0] * rows.X.std(axis=0, dtype=np.float64)[:, None]
    names = [str(name) for name in encoder.get_feature_names_out()]
    return Weights(names, list(encoder.origin_), values, outputs_of(rows.model))
