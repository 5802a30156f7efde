"""The choice of a model by the one-standard-error rule, and its fit on all training rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.candidates import CandidateModel
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.lazy_transform import add_target
from tenfold.automl.preparation import TrainingData
from tenfold.automl.result import Attempt
from tenfold.automl.schema import ExpectedColumn, cells_to_records, encode_cells
from tenfold.automl.table_model import TableModel, error_quantiles
from tenfold.automl.target import Target, TargetScale
from tenfold.automl.task_scores import TaskScoring
from tenfold.automl.tuner import TuningProblem, fit_tuned, fit_tuned_on_rows, tune_models
from tenfold.model_selection.cv_data import is_native


def best_attempt(attempts: list[Attempt]) -> Attempt:
    """The highest mean score of all that can be chosen; of equals the simplest."""
    return max((a for a in attempts if a.eligible), key=lambda a: (a.mean, -a.simplicity))


def simplest_within_one_se(attempts: list[Attempt], best: Attempt) -> Attempt:
    """The simplest within one standard error of the best; of equally simple ones the better."""
    bar = best.mean - best.error
    near = [a for a in attempts if a.eligible and (a is best or a.mean >= bar)]
    return min(near, key=lambda a: (a.simplicity, -a.mean))


def explain_choice(best: Attempt, chosen: Attempt, metric: str) -> str:
    """Why this model was chosen."""
    if chosen is best:
        return f"{chosen.title} has the best mean {metric}, {best.mean:.4f}, and is chosen."
    return (
        f"{chosen.title} is chosen: the simplest model within one standard error "
        f"({best.error:.4f}) of the best, {best.title} ({metric} {best.mean:.4f} against "
        f"{chosen.mean:.4f})."
    )


class FinalFit(NamedTuple):
    """The chosen model and what it needs."""

    encoder: Any
    model: Any
    scale: TargetScale | None
    params: dict[str, Any]


def fit_final(
    rung: CandidateModel,
    data: TrainingData,
    task: str,
    scoring: TaskScoring,
    encoder: Any,
    seed: int,
) -> FinalFit:
    """Fit the encoder and the model of a rung on all rows to learn from."""
    part = cells_to_records(data.cells) if data.in_memory else data.records.pick(data.rows)
    encoder = encoder.fit(part)
    scale = TargetScale.of(data.y) if scoring.k is None else None
    X, y = encode_cells(encoder, data.cells), scale_target(data.choosing_y, scale)
    choice = tune_models(
        rung.make(EncodedTable(X, task, scoring.k, seed)), TuningProblem(X, y, scoring.tuning, seed)
    )
    if data.in_memory or not is_native(choice.recipe.model):
        return FinalFit(encoder, fit_tuned(choice, X, y), scale, choice.said)
    rows = add_target(encoder.rows(part), scale_target(data.y, scale))
    return FinalFit(encoder, fit_tuned_on_rows(choice, rows), scale, choice.said)


def scale_target(y: np.ndarray, scale: TargetScale | None) -> np.ndarray:
    """The target as models see it."""
    return y if scale is None else scale.forward(y)


def make_table_model(
    done: FinalFit, chosen: Attempt, target: Target, kinds: dict[str, Any], y: np.ndarray
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
        model.interval_, model.residuals_ = error_quantiles(errors), len(errors)
    stamp_metadata(model, chosen.title)
    return model


def stamp_metadata(model: Any, title: str) -> None:
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
) -> dict[str, ExpectedColumn]:
    """The columns that a model looks at."""
    used = {n: k for n, k in kinds.items() if k.kind not in {"identifier", "constant"}}
    return {
        name: ExpectedColumn(types[name], kind.kind, list(kind.examples), kind.low, kind.high)
        for name, kind in used.items()
        if name != target
    }
