"""The chosen model: settings chosen once more, then fitted on all rows to learn from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.cells import Cells
from tenfold.select.data import is_ours
from tenfold.study.encoding import as_records, encoded
from tenfold.study.facts import Facts
from tenfold.study.held_out_errors import quantiles
from tenfold.study.ladder import Rung
from tenfold.study.mapped import with_target
from tenfold.study.matching import Expected
from tenfold.study.result import Attempt
from tenfold.study.scoring import Scoring
from tenfold.study.table_model import TableModel
from tenfold.study.targets import Target, TargetScale
from tenfold.study.tuning import Problem, fitted, fitted_on_rows, tuned


class Learning(NamedTuple):
    """Rows to learn from.

    Attributes
    ----------
    records : all rows, without the target
    rows : numbers of the rows to learn from
    y : their target
    cells, choosing_y : those of them that models were chosen by
    """

    records: Any
    rows: np.ndarray
    y: np.ndarray
    cells: Cells
    choosing_y: np.ndarray

    @property
    def in_memory(self) -> bool:
        """Whether models were chosen by all rows to learn from."""
        return len(self.choosing_y) == len(self.y)


class Finished(NamedTuple):
    """The chosen model and what it needs."""

    encoder: Any
    model: Any
    scale: TargetScale | None
    params: dict[str, Any]


def finished(
    rung: Rung, data: Learning, task: str, scoring: Scoring, encoder: Any, seed: int
) -> Finished:
    """Fit the encoder and the model of a rung on all rows to learn from."""
    part = as_records(data.cells) if data.in_memory else data.records.pick(data.rows)
    encoder = encoder.fit(part)
    scale = TargetScale.of(data.y) if scoring.k is None else None
    X, y = encoded(encoder, data.cells), seen(data.choosing_y, scale)
    choice = tuned(rung.make(Facts(X, task, scoring.k, seed)), Problem(X, y, scoring.tuning, seed))
    if data.in_memory or not is_ours(choice.recipe.model):
        return Finished(encoder, fitted(choice, X, y), scale, choice.said)
    rows = with_target(encoder.rows(part), seen(data.y, scale))
    return Finished(encoder, fitted_on_rows(choice, rows), scale, choice.said)


def seen(y: np.ndarray, scale: TargetScale | None) -> np.ndarray:
    """The target as models see it."""
    return y if scale is None else scale.forward(y)


def table_model(
    done: Finished, chosen: Attempt, target: Target, kinds: dict[str, Any], y: np.ndarray
) -> TableModel:
    """All of it as one model of tables; scores are added when the test is open."""
    model: Any = TableModel()
    scale, types = done.scale, done.encoder.types_
    model.task_, model.target_, model.classes_ = target.task, target.name, target.classes
    model.encoder_, model.model_, model.scale_ = done.encoder, done.model, scale
    model.columns_ = expected_columns(kinds, types, target.name)
    model.interval_, model.residuals_ = None, 0
    if scale is not None and chosen.predictions is not None:
        errors = scale.forward(y) - scale.forward(chosen.predictions)
        model.interval_, model.residuals_ = quantiles(errors), len(errors)
    signed(model, chosen.title)
    return model


def signed(model: Any, title: str) -> None:
    """Say what the model is, when it was made, and with what."""
    import sklearn

    import tenfold

    model.title_, model.scores_ = title, {}
    model.created_ = datetime.now(UTC).isoformat(timespec="seconds")
    model.versions_ = {
        "tenfold": tenfold.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def expected_columns(
    kinds: dict[str, Any], types: dict[str, str], target: str | None
) -> dict[str, Expected]:
    """The columns that a model looks at."""
    used = {n: k for n, k in kinds.items() if k.kind not in {"identifier", "constant"}}
    return {
        name: Expected(types[name], kind.kind, list(kind.examples), kind.low, kind.high)
        for name, kind in used.items()
        if name != target
    }
