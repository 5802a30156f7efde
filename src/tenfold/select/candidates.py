"""Which settings a search tries: a grid, draws from distributions, or finer and finer grids."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

FACTOR = 3.0  # span on either side of the best value that a refinement looks at, at first


def on_grid(grid: Any) -> list[dict[str, Any]]:
    """Every combination of the values, in scikit-learn's order."""
    candidates = list(ParameterGrid(grid))
    if not candidates:
        raise ValueError("the grid is empty: give at least one value for a parameter")
    return candidates


def sampled(grid: Any, n: int, seed: Any) -> list[dict[str, Any]]:
    """`n` draws; values may be lists or distributions of scipy.stats."""
    lists = all(not hasattr(values, "rvs") for values in _values(grid))
    most = len(ParameterGrid(grid)) if lists else n
    return list(ParameterSampler(grid, min(n, most), random_state=seed))


def _values(grid: Any) -> list[Any]:
    grids = [grid] if isinstance(grid, Mapping) else grid
    return [values for each in grids for values in each.values()]


def refined(
    tried: list[dict[str, Any]], best: dict[str, Any], per_parameter: int = 5
) -> list[dict[str, Any]]:
    """New settings between the neighbours of the best one, for every number among them.

    Values that were tried in equal ratios are refined in equal ratios, others in equal steps. Whole
    numbers stay whole. Parameters that are no numbers keep their best value.

    Examples
    --------
    >>> tried = [{"alpha": a} for a in (0.1, 1.0, 10.0)]
    >>> [round(each["alpha"], 3) for each in refined(tried, {"alpha": 1.0}, 3)]
    [0.316, 3.162]
    """
    grid = {name: _between(tried, name, value, per_parameter) for name, value in best.items()}
    known = {repr(sorted(each.items())) for each in tried}
    return [each for each in ParameterGrid(grid) if repr(sorted(each.items())) not in known]


def _between(tried: list[dict[str, Any]], name: str, value: Any, n: int) -> list[Any]:
    """Values around one that was tried, up to half-way to its neighbours on either side."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return [value]
    whole = isinstance(value, Integral)
    value = value if whole else float(value)
    seen = sorted({float(each[name]) for each in tried if isinstance(each.get(name), Real)})
    by_ratio = seen[0] > 0 and _in_ratios(seen)
    scale = np.log if by_ratio else np.asarray
    at = [float(scale(v)) for v in seen]
    here = float(scale(value))
    i = at.index(here)
    wide = np.log(FACTOR) if by_ratio else max(abs(here), 1.0) / FACTOR
    low = here - (here - at[i - 1] if i else wide) / 2
    high = here + (at[i + 1] - here if i + 1 < len(at) else wide) / 2
    points = np.linspace(low, high, n)
    points = np.exp(points) if by_ratio else points
    if whole:
        return sorted({round(p) for p in points.tolist()} | {int(value)})
    return sorted({*points.tolist(), value}) if n % 2 == 0 else _with(points, value)


def _with(points: np.ndarray, value: Any) -> list[Any]:
    """The points, their middle being the value itself to the last digit."""
    middle = int(np.argmin(np.abs(points - value)))
    return [value if i == middle else float(p) for i, p in enumerate(points)]


def _in_ratios(seen: list[float]) -> bool:
    """Whether values are spread over ratios rather than steps."""
    return len(seen) < 2 or seen[-1] / seen[0] > 2 * len(seen)
