"""An ensemble of the evaluated models: weights from their out-of-fold predictions."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from tenfold.automl.result import Attempt
from tenfold.automl.task_scores import TaskScoring

KEY, TITLE = "ensemble", "Ensemble"
_SIMPLICITY = 20  # it is the least simple of all candidates
_MAX_MEMBERS = 8  # candidates with the best scores, from which members are drawn
_DRAWS = 20  # members that are drawn one by one, with replacement
_MAX_ROWS = 10_000  # rows on which weights are chosen
_MIN_WEIGHT = 0.08  # members with less are left out


def evaluate_ensemble(
    attempts: list[Attempt], scoring: TaskScoring, y: np.ndarray, fold: np.ndarray, seed: int
) -> Attempt | None:
    """The cross-validated ensemble of finished attempts; None if there are fewer than two.

    The prediction of a row is a mean of the out-of-fold predictions of other models. Its weights
    were chosen on the other folds, so that the scores are as honest as those of a single model.

    Parameters
    ----------
    attempts : list of Attempt
        The evaluated candidates.
    scoring : TaskScoring
        The scores.
    y, fold : (n_rows,) arrays
        Target of the selection rows, and the fold in which each was held out.
    seed : int
        Of the rows on which weights are chosen.

    References
    ----------
    Caruana, R., Niculescu-Mizil, A., Crew, G., Ksikes, A. (2004). Ensemble Selection from Libraries
    of Models.
    """
    start = perf_counter()
    members = _members(attempts)
    if len(members) < 2:
        return None
    outputs = np.stack([np.asarray(member.predictions) for member in members])
    blended = np.empty_like(outputs[0])
    scores = []
    for i in range(int(fold.max()) + 1):
        held_out = fold == i
        weights = select_weights(outputs[:, ~held_out], y[~held_out], scoring, seed)
        blended[held_out] = np.tensordot(weights, outputs[:, held_out], axes=1)
        scores.append(scoring.scores(y[held_out], blended[held_out]))
    final = select_weights(outputs, y, scoring, seed)
    others = {name: np.array([each[name] for each in scores]) for name in scoring.names}
    return Attempt(
        key=KEY,
        title=TITLE,
        params=_name_weights(members, final),
        scores=others[scoring.deciding],
        others=others,
        train=np.array([]),
        seconds=perf_counter() - start,
        eligible=bool(np.count_nonzero(final) > 1),
        simplicity=_SIMPLICITY,
        predictions=blended,
    )


def select_weights(
    outputs: np.ndarray, y: np.ndarray, scoring: TaskScoring, seed: int = 0
) -> np.ndarray:
    """Weights of members, which sum to one, by greedy forward selection with replacement.

    Parameters
    ----------
    outputs : (n_members, n_rows) or (n_members, n_rows, n_classes) array
        Predictions of each member.
    y : (n_rows,) array
        Values, or class indices.
    scoring : TaskScoring
        The score by which hyperparameters are tuned decides.
    seed : int
        Of the rows that are used, if there are many.

    Examples
    --------
    >>> from tenfold.automl.task_scores import make_scoring
    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> outputs = np.stack([y + [1, -1, 1, -1], y - [1, -1, 1, -1], y + 5])
    >>> select_weights(outputs, y, make_scoring("regression", y, None, None)).tolist()
    [0.5, 0.5, 0.0]
    """
    if len(y) > _MAX_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(len(y), _MAX_ROWS, replace=False))
        outputs, y = outputs[:, rows], y[rows]
    counts, total = np.zeros(len(outputs)), np.zeros_like(outputs[0])
    best, best_score = counts.copy(), -np.inf
    for drawn in range(1, _DRAWS + 1):
        scores = [scoring.score(y, (total + each) / drawn, scoring.tuning) for each in outputs]
        chosen = int(np.argmax(scores))
        counts[chosen] += 1
        total = total + outputs[chosen]
        if scores[chosen] > best_score:
            best, best_score = counts.copy(), scores[chosen]
    weights = best / best.sum()
    weights[weights < _MIN_WEIGHT] = 0.0
    return weights / weights.sum()


def _members(attempts: list[Attempt]) -> list[Attempt]:
    """Finished attempts of models that may be chosen, the best first."""
    usable = [
        attempt
        for attempt in attempts
        if attempt.eligible and attempt.predictions is not None and attempt.key != "baseline"
    ]
    return sorted(usable, key=lambda attempt: -attempt.mean)[:_MAX_MEMBERS]


def _name_weights(members: list[Attempt], weights: np.ndarray) -> dict[str, Any]:
    pairs = zip(members, weights, strict=True)
    return {member.key: round(float(weight), 3) for member, weight in pairs if weight > 0}
