"""The choice of a model by the one-standard-error rule, and its fit on all training rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.candidates import CandidateModel
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.hyperparameter_tuner import (
    TuningProblem,
    fit_tuned_on_all,
    fit_tuned_on_rows,
    tune_models,
)
from tenfold.automl.lazy_transform import add_target
from tenfold.automl.preparation import TrainingData
from tenfold.automl.result import Attempt
from tenfold.automl.schema import ExpectedColumn, cells_to_records, encode_cells
from tenfold.automl.table_model import TableModel, error_quantiles
from tenfold.automl.target import Target, TargetScale
from tenfold.automl.task_scores import TaskScoring
from tenfold.ensemble.voting import VotingClassifier, VotingRegressor
from tenfold.model_selection.cv_data import is_native


def best_attempt(attempts: list[Attempt]) -> Attempt:
    """The eligible attempt with the highest mean score; of equals the simplest."""
    eligible = [attempt for attempt in attempts if attempt.eligible]
    if not eligible:
        notes = "; ".join(dict.fromkeys(f"{a.title} {a.note}" for a in attempts if a.note))
        raise ValueError(f"no model could be fitted to this table: {notes}")
    return max(eligible, key=lambda a: (a.mean, -a.simplicity))


def simplest_within_one_se(attempts: list[Attempt], best: Attempt) -> Attempt:
    """The simplest attempt within one standard error of the best; of equals the better one."""
    threshold = best.mean - best.error
    within = [a for a in attempts if a.eligible and (a is best or a.mean >= threshold)]
    return min(within, key=lambda a: (a.simplicity, -a.mean))


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
    """The fitted model, its encoder, the scale of the target, and hyperparameters."""

    encoder: Any
    model: Any
    scale: TargetScale | None
    params: dict[str, Any]


def fit_final(
    candidate: CandidateModel,
    data: TrainingData,
    task: str,
    scoring: TaskScoring,
    encoder: Any,
    seed: int,
) -> FinalFit:
    """Fit the encoder and the model of a candidate on all training rows."""
    part = cells_to_records(data.cells) if data.in_memory else data.records.pick(data.rows)
    encoder = encoder.fit(part)
    scale = TargetScale.of(data.y) if scoring.k is None else None
    X, y = encode_cells(encoder, data.cells), scale_target(data.choosing_y, scale)
    configs = candidate.make_configs(EncodedTable(X, task, scoring.k, seed))
    tuned = tune_models(configs, TuningProblem(X, y, scoring.tuning, seed))
    if data.in_memory or not is_native(tuned.config.model):
        return FinalFit(encoder, fit_tuned_on_all(tuned, X, y), scale, tuned.description)
    rows = add_target(encoder.rows(part), scale_target(data.y, scale))
    return FinalFit(encoder, fit_tuned_on_rows(tuned, rows), scale, tuned.description)


def combine_fits(fits: dict[str, FinalFit], weights: dict[str, float]) -> FinalFit:
    """One fit that predicts the weighted mean of several; their encoders are alike."""
    first = next(iter(fits.values()))
    shares = [weights[key] for key in fits]
    if first.scale is not None:
        model: Any = VotingRegressor([], weights=shares)
    else:
        model = VotingClassifier([], voting="soft", weights=shares)
    model.set_fitted({key: fit.model for key, fit in fits.items()})
    return first._replace(model=model, params=dict(weights))


def scale_target(y: np.ndarray, scale: TargetScale | None) -> np.ndarray:
    """The standardized target of a regression; class indices unchanged."""
    return y if scale is None else scale.forward(y)


def make_table_model(
    fit: FinalFit, chosen: Attempt, target: Target, kinds: dict[str, Any], y: np.ndarray
) -> TableModel:
    """The fit as one `TableModel`; scores are added after the test."""
    model: Any = TableModel()
    scale, types = fit.scale, fit.encoder.types_
    model.task_, model.target_, model.classes_ = target.task, target.name, target.classes
    model.encoder_, model.model_, model.scale_ = fit.encoder, fit.model, scale
    model.columns_ = expected_columns(kinds, types, target.name)
    model.interval_, model.residuals_ = None, 0
    if scale is not None and chosen.predictions is not None:
        errors = scale.forward(y) - scale.forward(chosen.predictions)
        model.interval_, model.residuals_ = error_quantiles(errors), len(errors)
    stamp_metadata(model, chosen.title)
    return model


def stamp_metadata(model: Any, title: str) -> None:
    """Set title, time and library versions of a model."""
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
    """The input columns of a model."""
    used = {n: k for n, k in kinds.items() if k.kind not in {"identifier", "constant"}}
    return {
        name: ExpectedColumn(types[name], kind.kind, list(kind.examples), kind.low, kind.high)
        for name, kind in used.items()
        if name != target
    }
