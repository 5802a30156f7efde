"""Search strategies (grid, random, refinement, successive halving) and the rules that pick a candidate."""

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
    """Number of the candidate with the largest mean score; the first of equal ones.

    Parameters
    ----------
    scores : (parts, candidates) array
        Larger is better; NaN never wins.
    """
    mean = scores.mean(axis=0)
    if np.isnan(mean).all():
        raise ValueError("no candidate has a score: all are NaN")
    return int(np.nanargmax(mean))


def one_standard_error(
    scores: np.ndarray, params: list[dict[str, Any]], simpler: Mapping[str, str] | None = None
) -> int:
    """Number of the simplest candidate within one standard error of the best.

    Parameters
    ----------
    scores : (parts, candidates) array
        Larger is better.
    params : list of dict
        The candidates.
    simpler : dict, optional
        "low" or "high" for each parameter: which values make a simpler model. Known by itself are
        C, alpha, degree, n_components and others.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.70, 0.79, 0.80], [0.72, 0.81, 0.84]])
    >>> one_standard_error(scores, [{"C": 0.1}, {"C": 1.0}, {"C": 10.0}])
    1
    """
    top = best_candidate(scores)
    error = scores[:, top].std(ddof=1) / np.sqrt(len(scores))
    near = np.flatnonzero(scores.mean(axis=0) >= scores[:, top].mean() - error)
    order = complexity_keys(params, simpler)
    return int(min(near, key=lambda i: (order[i], -scores[:, i].mean())))


def complexity_keys(params: list[dict[str, Any]], simpler: Mapping[str, str] | None) -> list[tuple]:
    """A key for each candidate, smaller for simpler ones."""
    known = _SIMPLER_VALUES | dict(simpler or {})
    names = [name for name in params[0] if name.rpartition("__")[2] in known or name in known]
    if not names:
        raise ValueError(
            f"which of {list(params[0])} makes a model simpler? Say it: "
            "simpler={'name': 'low'} (or 'high')"
        )
    return [tuple(_key(each[name], _direction(known, name)) for name in names) for each in params]


def _direction(known: Mapping[str, str], name: str) -> str:
    return known.get(name) or known[name.rpartition("__")[2]]


def _key(value: Any, direction: str) -> float:
    return float(value) if direction == "low" else -float(value)


_REFINE_SPAN = 3.0  # span on either side of the best value that a refinement looks at, at first


def grid_candidates(grid: Any) -> list[dict[str, Any]]:
    """Every combination of the values, in scikit-learn's order."""
    candidates = list(ParameterGrid(grid))
    if not candidates:
        raise ValueError("the grid is empty: give at least one value for a parameter")
    return candidates


def sample_candidates(grid: Any, n: int, seed: Any) -> list[dict[str, Any]]:
    """`n` draws; values may be lists or distributions of scipy.stats."""
    lists = all(not hasattr(values, "rvs") for values in _grid_values(grid))
    most = len(ParameterGrid(grid)) if lists else n
    return list(ParameterSampler(grid, min(n, most), random_state=seed))


def _grid_values(grid: Any) -> list[Any]:
    grids = [grid] if isinstance(grid, Mapping) else grid
    return [values for each in grids for values in each.values()]


def refine_grid(
    tried: list[dict[str, Any]], best: dict[str, Any], per_parameter: int = 5
) -> list[dict[str, Any]]:
    """New settings between the neighbours of the best one, for every number among them.

    Values that were tried in equal ratios are refined in equal ratios, others in equal steps. Whole
    numbers stay whole. Parameters that are no numbers keep their best value.

    Examples
    --------
    >>> tried = [{"alpha": a} for a in (0.1, 1.0, 10.0)]
    >>> [round(each["alpha"], 3) for each in refine_grid(tried, {"alpha": 1.0}, 3)]
    [0.316, 3.162]
    """
    grid = {name: _values_around(tried, name, value, per_parameter) for name, value in best.items()}
    known = {repr(sorted(each.items())) for each in tried}
    return [each for each in ParameterGrid(grid) if repr(sorted(each.items())) not in known]


def _values_around(tried: list[dict[str, Any]], name: str, value: Any, n: int) -> list[Any]:
    """Values around one that was tried, up to half-way to its neighbours on either side."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return [value]
    whole = isinstance(value, Integral)
    value = value if whole else float(value)
    seen = sorted({float(each[name]) for each in tried if isinstance(each.get(name), Real)})
    by_ratio = seen[0] > 0 and _is_log_spaced(seen)
    scale = np.log if by_ratio else np.asarray
    at = [float(scale(v)) for v in seen]
    here = float(scale(value))
    i = at.index(here)
    wide = np.log(_REFINE_SPAN) if by_ratio else max(abs(here), 1.0) / _REFINE_SPAN
    low = here - (here - at[i - 1] if i else wide) / 2
    high = here + (at[i + 1] - here if i + 1 < len(at) else wide) / 2
    points = np.linspace(low, high, n)
    points = np.exp(points) if by_ratio else points
    if whole:
        return sorted({round(p) for p in points.tolist()} | {int(value)})
    return sorted({*points.tolist(), value}) if n % 2 == 0 else _replace_nearest(points, value)


def _replace_nearest(points: np.ndarray, value: Any) -> list[Any]:
    """The points, their middle being the value itself to the last digit."""
    middle = int(np.argmin(np.abs(points - value)))
    return [value if i == middle else float(p) for i, p in enumerate(points)]


def _is_log_spaced(seen: list[float]) -> bool:
    """Whether values are spread over ratios rather than steps."""
    return len(seen) < 2 or seen[-1] / seen[0] > 2 * len(seen)


_MIN_ROWS_PER_FOLD = 50  # per part, in the first round


def halving_shares(n: int, parts: int, candidates: int, factor: float) -> list[float]:
    """Shares of the rows in each round; the last is all of them.

    Examples
    --------
    >>> halving_shares(100_000, 10, 27, 3.0)
    [0.1111111111111111, 0.3333333333333333, 1.0]
    """
    rounds = int(np.ceil(np.log(max(candidates, 1)) / np.log(factor)))
    most = int(np.log(max(n / (_MIN_ROWS_PER_FOLD * parts), 1.0)) / np.log(factor))
    return [factor**-r for r in range(min(rounds - 1, most), 0, -1)] + [1.0]


def subsample_split(split: Split, share: float, seed: int) -> Split:
    """The same parts with a share of the rows; rows of a smaller share are among the larger's."""
    if share >= 1:
        return split
    cells = len(split.train[0])
    out = np.random.default_rng(seed).random(len(split.cell)) >= share
    cell = np.where(out, cells, split.cell.astype(np.int32))
    train, test = (np.pad(np.stack(list(part)), ((0, 0), (0, 1))) for part in split[1:])
    return Split(cell.astype(np.min_scalar_type(cells)), train, test)


def survivors(scores: np.ndarray, factor: float) -> list[int]:
    """Numbers of the best candidates, one in `factor`, at least one, in their order."""
    mean = np.nan_to_num(scores.mean(axis=0), nan=-np.inf)
    keep = max(int(np.ceil(len(mean) / factor)), 1)
    return sorted(np.argsort(-mean, kind="stable")[:keep].tolist())


Utility = Callable[[Candidates, np.ndarray], np.ndarray]  # scores (parts, candidates) less costs


class SearchResult(NamedTuple):
    """Candidates that were judged, what was found, and the numbers of those that may win."""

    candidates: Candidates
    found: FoldScores
    may_win: list[int]

    def and_then(self, candidates: Candidates, found: FoldScores) -> SearchResult:
        """With more candidates, all of which may win too."""
        known = len(self.candidates)
        more = list(range(known, known + len(candidates)))
        both = concatenate_candidates(self.found, found)
        return SearchResult(self.candidates + candidates, both, self.may_win + more)


def search_all(trial: Evaluator, candidates: Candidates, *, train: bool) -> SearchResult:
    """Judge every candidate."""
    return SearchResult(
        candidates, trial.run(candidates, train=train), list(range(len(candidates)))
    )


def refine_search(
    trial: Evaluator, candidates: Candidates, worth: Utility, rounds: int, *, train: bool
) -> SearchResult:
    """Judge a grid, then finer ones around the best, so many times."""
    tried = search_all(trial, candidates, train=train)
    for _ in range(rounds):
        top = best_candidate(worth(tried.candidates, tried.found.test[:, :, 0]))
        new = refine_grid(tried.candidates, tried.candidates[top])
        if not new:
            break
        tried = tried.and_then(new, trial.run(new, train=train))
    return tried


def successive_halving(
    trial: Evaluator,
    candidates: Candidates,
    worth: Utility,
    factor: float,
    seed: int,
    *,
    train: bool,
) -> SearchResult:
    """Judge all on few rows, one in `factor` of them on `factor` times as many, and so on."""
    parts = sum(split.parts for split in trial.splits)
    rows = len(trial.splits[0].cell)
    tried: SearchResult | None = None
    for share in halving_shares(rows, parts, len(candidates), factor):
        thin = [subsample_split(split, share, seed) for split in trial.splits]
        here = concatenate_splits(
            [trial.on_split(split, candidates, train=train) for split in thin]
        )
        now = SearchResult(candidates, here, list(range(len(candidates))))
        tried = now if tried is None else tried._replace(may_win=[]).and_then(candidates, here)
        keep = survivors(worth(candidates, here.test[:, :, 0]), factor)
        candidates = [candidates[i] for i in keep]
    if tried is None:
        raise ValueError("there are no candidates")
    return tried


def concatenate_candidates(a: FoldScores, b: FoldScores) -> FoldScores:
    """The candidates of two runs one after the other."""
    train = None
    if a.train is not None and b.train is not None:
        train = np.concatenate([a.train, b.train], axis=1)
    models = [x + y for x, y in zip(a.models, b.models, strict=True)]
    seconds = a.fit_seconds + b.fit_seconds, a.score_seconds + b.score_seconds
    return FoldScores(np.concatenate([a.test, b.test], axis=1), train, models, *seconds)
