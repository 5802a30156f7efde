"""Leave-one-out in closed form, where the model has one."""

from __future__ import annotations

import numpy as np

from tenfold.estimator import OnePass
from tenfold.metrics.metric import Metric
from tenfold.rows import Chunk
from tenfold.select.data import Data
from tenfold.select.fitting import Candidates
from tenfold.select.splits import Split, leaves_one_out

PER_ROW = {
    "neg_mean_squared_error": np.square,
    "neg_root_mean_squared_error": np.abs,
    "neg_mean_absolute_error": np.abs,
    "neg_max_error": np.abs,
}


def left_one_out(
    data: Data, split: Split, candidates: Candidates, metrics: list[Metric]
) -> np.ndarray | None:
    """Scores (rows, candidates, metrics) without a refit: None where there is no closed form."""
    model = data.model
    names = [metric.name for metric in metrics]
    if not (leaves_one_out(split) and all(name in PER_ROW for name in names)):
        return None
    if not isinstance(model, OnePass) or not hasattr(model, "_left_out"):
        return None
    s = model._statistic(data.rows)
    if not model._suffices(s, data.rows.n_rows - 1, data.rows.dtype, candidates):
        return None
    y = data.rows.each(target)
    scores = np.empty((len(y), len(candidates), len(metrics)))
    for c, made in enumerate(model._made_from(s, data.rows.dtype, candidates)):
        leaf = made._left_out(s)
        if leaf is None:
            return None
        errors = y - data.rows.each(*leaf).reshape(y.shape)
        if not np.isfinite(errors).all():  # a row that alone decides a coefficient
            return None
        for m, name in enumerate(names):
            each = PER_ROW[name](errors)
            scores[:, c, m] = -(each if each.ndim == 1 else each.mean(axis=1))
    return scores


def target(chunk: Chunk) -> np.ndarray:
    """The target of a chunk."""
    return chunk.y.astype(np.float64)
