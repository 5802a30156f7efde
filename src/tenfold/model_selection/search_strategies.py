"""Search strategies (grid, random, refinement, successive halving) and selection rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from tenfold.model_selection._evaluation import Evaluator, FoldScores, concatenate_splits
from tenfold.model_selection._fold_models import Candidates
from tenfold.model_selection.splits import Split

# parameters whose lower ("low") or higher ("high") values make a simpler model
_SIMPLER_VALUES = {
    "C": "low",
    "alpha": "high",
    "degree": "low",
    "l1_ratio": "high",
    "lambda_": "high",
    "max_depth": "low",
    "n_clusters": "low",
    "n_components": "low",
    "n_features_to_select": "low",
    "n_neighbors": "high",
    "reg_param": "high",
    "shrinkage": "high",
    "var_smoothing": "high",
}


def best_candidate(scores: np.ndarray) -> int:
    """Index of the candidate with the largest mean score; the first of equal ones.

    Parameters
    ----------
    scores : (n_folds, n_candidates) array
        Larger is better; NaN is never chosen.
    """
    mean = scores.mean(axis=0)
    if np.isnan(mean).all():
        raise ValueError("no candidate has a score: all are NaN")
    return int(np.nanargmax(mean))


def one_standard_error(
    scores: np.ndarray, params: list[dict[str, Any]], simpler: Mapping[str, str] | None = None
) -> int:
    """Index of the simplest candidate within one standard error of the best.

    Parameters
    ----------
    scores : (n_folds, n_candidates) array
        Larger is better.
    params : list of dict
        The candidates.
    simpler : dict, optional
        "low" or "high" for each parameter: which values make a simpler model. Known are C, alpha,
        degree, n_components and others.

    Returns
    -------
    int

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.70, 0.79, 0.80], [0.72, 0.81, 0.84]])
    >>> one_standard_error(scores, [{"C": 0.1}, {"C": 1.0}, {"C": 10.0}])
    1
    """
    best = best_candidate(scores)
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    eligible = np.flatnonzero(scores.mean(axis=0) >= scores[:, best].mean() - error)
    keys = complexity_keys(params, simpler)
    return int(min(eligible, key=lambda i: (keys[i], -scores[:, i].mean())))


def complexity_keys(params: list[dict[str, Any]], simpler: Mapping[str, str] | None) -> list[tuple]:
    """A sort key for each candidate, smaller for simpler ones."""
    directions = _SIMPLER_VALUES | dict(simpler or {})
    names = [n for n in params[0] if n.rpartition("__")[2] in directions or n in directions]
    if not names:
        raise ValueError(
            f"it is not known which values of {list(params[0])} make a model simpler: give "
            "simpler={'name': 'low'} (or 'high')"
        )
    for name in names:
        if not all(isinstance(each.get(name), Real) for each in params):
            raise ValueError(
                f"the rule 'one_standard_error' compares {name!r}, which is not a number in every "
                "candidate: give simpler={...} for parameters that all have, or rule='best'"
            )
    return [
        tuple(_key(each[name], _direction(directions, name)) for name in names) for each in params
    ]


def _direction(directions: Mapping[str, str], name: str) -> str:
    return directions.get(name) or directions[name.rpartition("__")[2]]


def _key(value: Any, direction: str) -> float:
    return float(value) if direction == "low" else -float(value)


_REFINE_SPAN = 3.0  # factor by which a refinement exceeds a best value at the edge of the grid


def grid_candidates(grid: Any) -> list[dict[str, Any]]:
    """Every combination of the values, in scikit-learn's order."""
    candidates = list(ParameterGrid(grid))
    if not candidates:
        raise ValueError("the grid is empty: give at least one value for a parameter")
    return candidates


def sample_candidates(grid: Any, n: int, seed: Any) -> list[dict[str, Any]]:
    """`n` draws; values may be lists or distributions of scipy.stats."""
    is_finite = all(not hasattr(values, "rvs") for values in _grid_values(grid))
    limit = len(ParameterGrid(grid)) if is_finite else n
    return list(ParameterSampler(grid, min(n, limit), random_state=seed))


def _grid_values(grid: Any) -> list[Any]:
    grids = [grid] if isinstance(grid, Mapping) else grid
    return [values for each in grids for values in each.values()]


def refine_grid(
    tried: list[dict[str, Any]], best: dict[str, Any], per_parameter: int = 5
) -> list[dict[str, Any]]:
    """A finer grid around the best candidate, between its neighbors.

    Log-spaced values are refined in equal ratios, others in equal steps; integers stay integers.
    Parameters that are not finite numbers keep their best value.

    Examples
    --------
    >>> tried = [{"alpha": a} for a in (0.1, 1.0, 10.0)]
    >>> [round(each["alpha"], 3) for each in refine_grid(tried, {"alpha": 1.0}, 3)]
    [0.316, 3.162]
    """
    grid = {name: _values_around(tried, name, value, per_parameter) for name, value in best.items()}
    keys = {repr(sorted(each.items())) for each in tried}
    return [each for each in ParameterGrid(grid) if repr(sorted(each.items())) not in keys]


def _values_around(tried: list[dict[str, Any]], name: str, value: Any, n: int) -> list[Any]:
    """Values around the best one, up to half-way to its neighbors on either side."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return [value]
    is_integer = isinstance(value, Integral)
    value = value if is_integer else float(value)
    if not np.isfinite(value):
        return [value]
    given = [float(each[name]) for each in tried if isinstance(each.get(name), Real)]
    values = sorted({v for v in given if np.isfinite(v)})  # beyond them lies no middle
    is_log = values[0] > 0 and _is_log_spaced(values)
    transform = np.log if is_log else np.asarray
    grid = [float(transform(v)) for v in values]
    center = float(transform(value))
    i = grid.index(center)
    margin = np.log(_REFINE_SPAN) if is_log else max(abs(center), 1.0) / _REFINE_SPAN
    low = center - (center - grid[i - 1] if i else margin) / 2
    high = center + (grid[i + 1] - center if i + 1 < len(grid) else margin) / 2
    points = np.linspace(low, high, n)
    points = np.exp(points) if is_log else points
    if is_integer:
        return sorted({round(p) for p in points.tolist()} | {int(value)})
    return sorted({*points.tolist(), value}) if n % 2 == 0 else _replace_nearest(points, value)


def _replace_nearest(points: np.ndarray, value: Any) -> list[Any]:
    """The points, the nearest one replaced by the value itself."""
    nearest = int(np.argmin(np.abs(points - value)))
    return [value if i == nearest else float(p) for i, p in enumerate(points)]


def _is_log_spaced(values: list[float]) -> bool:
    """Whether values are spread over ratios rather than steps."""
    return len(values) < 2 or values[-1] / values[0] > 2 * len(values)


_MIN_ROWS_PER_FOLD = 50  # in the first iteration of successive halving


def halving_shares(n_rows: int, n_folds: int, n_candidates: int, factor: float) -> list[float]:
    """Shares of the rows in each iteration; the last is all of them.

    Examples
    --------
    >>> halving_shares(100_000, 10, 27, 3.0)
    [0.1111111111111111, 0.3333333333333333, 1.0]
    """
    n_iterations = int(np.ceil(np.log(max(n_candidates, 1)) / np.log(factor)))
    limit = int(np.log(max(n_rows / (_MIN_ROWS_PER_FOLD * n_folds), 1.0)) / np.log(factor))
    return [factor**-i for i in range(min(n_iterations - 1, limit), 0, -1)] + [1.0]


def subsample_split(split: Split, share: float, seed: int) -> Split:
    """The same folds with a share of the rows; the rows of a smaller share are nested."""
    if share >= 1:
        return split
    n_cells = len(split.train[0])
    is_unused = np.random.default_rng(seed).random(len(split.cell)) >= share
    cell = np.where(is_unused, n_cells, split.cell.astype(np.int32))
    train, test = (
        np.pad(np.stack(list(part)), ((0, 0), (0, 1))) for part in (split.train, split.test)
    )
    return Split(cell.astype(np.min_scalar_type(n_cells)), train, test, split.order)


def survivors(scores: np.ndarray, factor: float) -> list[int]:
    """Indices of the best candidates, one in `factor`, at least one, in their order."""
    mean = np.nan_to_num(scores.mean(axis=0), nan=-np.inf)
    n_kept = max(int(np.ceil(len(mean) / factor)), 1)
    return sorted(np.argsort(-mean, kind="stable")[:n_kept].tolist())


Utility = Callable[[Candidates, np.ndarray], np.ndarray]  # scores (folds, candidates) less costs


class SearchResult(NamedTuple):
    """Candidates, their scores, and the indices of those that may be chosen."""

    candidates: Candidates
    scores: FoldScores
    eligible: list[int]

    def extend(self, candidates: Candidates, scores: FoldScores) -> SearchResult:
        """With more candidates, all of which are eligible."""
        n = len(self.candidates)
        added = list(range(n, n + len(candidates)))
        joined = concatenate_candidates(self.scores, scores)
        return SearchResult(self.candidates + candidates, joined, self.eligible + added)


def search_all(evaluator: Evaluator, candidates: Candidates, *, train: bool) -> SearchResult:
    """Score every candidate."""
    scores = evaluator.run(candidates, train=train)
    return SearchResult(candidates, scores, list(range(len(candidates))))


def refine_search(
    evaluator: Evaluator, candidates: Candidates, utility: Utility, rounds: int, *, train: bool
) -> SearchResult:
    """Score a grid, then finer ones around the best candidate."""
    result = search_all(evaluator, candidates, train=train)
    for _ in range(rounds):
        best = best_candidate(utility(result.candidates, result.scores.test[:, :, 0]))
        finer = refine_grid(result.candidates, result.candidates[best])
        if not finer:
            break
        result = result.extend(finer, evaluator.run(finer, train=train))
    return result


def successive_halving(
    evaluator: Evaluator,
    candidates: Candidates,
    utility: Utility,
    factor: float,
    seed: int,
    *,
    train: bool,
) -> SearchResult:
    """Score all on few rows, one in `factor` of them on `factor` times as many, and so on."""
    n_folds = sum(split.parts for split in evaluator.splits)
    n_rows = len(evaluator.splits[0].cell)
    result: SearchResult | None = None
    for share in halving_shares(n_rows, n_folds, len(candidates), factor):
        splits = [subsample_split(split, share, seed) for split in evaluator.splits]
        scores = concatenate_splits(
            [evaluator.on_split(split, candidates, train=train) for split in splits]
        )
        if result is None:
            result = SearchResult(candidates, scores, list(range(len(candidates))))
        else:
            result = result._replace(eligible=[]).extend(candidates, scores)
        kept = survivors(utility(candidates, scores.test[:, :, 0]), factor)
        candidates = [candidates[i] for i in kept]
    if result is None:
        raise ValueError("there are no candidates")
    return result


def concatenate_candidates(a: FoldScores, b: FoldScores) -> FoldScores:
    """The candidates of both."""
    train = None
    if a.train is not None and b.train is not None:
        train = np.concatenate([a.train, b.train], axis=1)
    models = [x + y for x, y in zip(a.models, b.models, strict=True)]
    seconds = a.fit_seconds + b.fit_seconds, a.score_seconds + b.score_seconds
    return FoldScores(np.concatenate([a.test, b.test], axis=1), train, models, *seconds)
