"""Search for better settings of the best candidates, if the best model is wanted.

Grids within every fold cost many fits of candidates that may not win. So, of tables that are not
small, candidates with many settings start with their defaults. Then settings of the best of them
are drawn: two of three near the best so far, the third anywhere. Each is evaluated on the folds of
the study, and dropped as soon as it is behind. Settings that come near the best are of use to an
ensemble, as they err elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.automl.candidate_runner import FIT_ERRORS, CandidateRunner
from tenfold.automl.candidates import CandidateModel
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.fold_store import FoldResult
from tenfold.automl.model_config import HyperparameterRange, ModelConfig
from tenfold.automl.result import Attempt
from tenfold.callbacks.fingerprint import digest

_MIN_ROWS = 1_000  # training rows below which grids are cheap
_MAX_SEARCHED = 2  # candidates whose settings are searched
_PATIENCE = 25  # settings in a row without progress, after which a search ends
_MAX_BEHIND = 2.0  # standard deviations of the folds behind the best: not searched
_NEARLY_BEST = 0.25  # standard deviations of the folds behind the best: of use to an ensemble
_MAX_MEMBERS = 3  # settings that are kept for an ensemble, beside the best
_KEY_LETTERS = 12  # of the hash of settings
_NEAR = 0.25  # width of a step near the best, as a fraction of a range


@dataclass
class HyperparameterSearch:
    """Search for settings of one candidate.

    Attributes
    ----------
    candidate : whose settings are searched
    attempt : the best so far
    ranges : of the settings
    origin : settings to begin near, as far as they are numbers
    settings : the best so far, None for those of the grid
    tried, idle : numbers of settings, and of those since the last progress
    seconds, n_folds : time of all settings, and the number of their folds
    finished : candidates with settings of which all folds were run, and their attempts
    """

    candidate: CandidateModel
    attempt: Attempt
    ranges: dict[str, HyperparameterRange]
    origin: dict[str, Any]
    settings: dict[str, Any] | None = None
    tried: int = 0
    idle: int = 0
    seconds: float = 0.0
    n_folds: int = 0
    finished: list[tuple[CandidateModel, Attempt]] = field(default_factory=list)

    @property
    def fold_seconds(self) -> float:
        """Mean time of a fold; zero before the first."""
        return self.seconds / max(self.n_folds, 1)

    @property
    def tuned_candidate(self) -> CandidateModel:
        """The candidate with the best settings."""
        if self.settings is None:
            return self.candidate
        return fix_settings(self.candidate, self.settings)

    @property
    def members(self) -> list[tuple[CandidateModel, Attempt]]:
        """Some that are nearly as good as the best, for an ensemble."""
        others = [pair for pair in self.finished if pair[1].fold_params != self.attempt.fold_params]
        return sorted(others, key=lambda pair: -pair[1].mean)[:_MAX_MEMBERS]

    def draw(self, seed: int) -> dict[str, Any]:
        """The next settings: two of three have some changed, the third has all."""
        rng = np.random.default_rng([seed, self.tried])
        known = {} if self.tried % 3 == 2 else self.settings or self.origin
        changed = set(rng.permutation(list(self.ranges))[: rng.integers(1, len(self.ranges) + 1)])
        return {
            name: _draw_setting(each, known.get(name), rng, is_kept=name not in changed)
            for name, each in self.ranges.items()
        }


def _draw_setting(
    values: HyperparameterRange, known: float | None, rng: np.random.Generator, *, is_kept: bool
) -> float:
    """A value near a known one, or that itself; any value if none is known."""
    if known is None:
        return values.draw(rng)
    return known if is_kept else values.draw_near(known, rng, _NEAR)


def start_with_defaults(candidate: CandidateModel) -> CandidateModel:
    """The candidate without its grid, if its settings will be searched and rows are not few."""
    if candidate.find_ranges is None:
        return candidate

    def make_configs(encoded: EncodedTable) -> list[ModelConfig]:
        configs = candidate.make_configs(encoded)
        return configs if encoded.n_training < _MIN_ROWS else [replace(configs[0], grid={})]

    return replace(candidate, make_configs=make_configs)


def fix_settings(candidate: CandidateModel, settings: dict[str, Any]) -> CandidateModel:
    """The candidate with these settings instead of a grid."""

    def make_configs(encoded: EncodedTable) -> list[ModelConfig]:
        config = candidate.make_configs(encoded)[0]
        model: Any = clone(config.model)
        model.set_params(**settings)
        described = config.description | settings
        return [replace(config, model=model, grid={}, description=described)]

    return replace(candidate, make_configs=make_configs)


def start_searches(
    runner: CandidateRunner, candidates: list[CandidateModel], attempts: list[Attempt]
) -> list[HyperparameterSearch]:
    """Searches for the best of the candidates whose settings have ranges.

    Parameters
    ----------
    runner : CandidateRunner
        With the folds, and the time that is left.
    candidates : list of CandidateModel
        The candidates.
    attempts : list of Attempt
        Evaluations of some of them.
    """
    finished = {a.key: a for a in attempts if a.eligible and len(a.scores) == runner.folds.k}
    if not finished or runner.budget.left <= 0:
        return []
    best = max(finished.values(), key=lambda attempt: attempt.mean)
    lowest = best.mean - _MAX_BEHIND * float(np.std(best.scores, ddof=1))
    table = runner.describe_fold(runner.folds[0])
    found = [
        _start_search(candidate, finished[candidate.key], table)
        for candidate in candidates
        if candidate.find_ranges is not None
        and candidate.key in finished
        and finished[candidate.key].mean >= lowest
    ]
    return sorted(found, key=lambda search: -search.attempt.mean)[:_MAX_SEARCHED]


def _start_search(
    candidate: CandidateModel, attempt: Attempt, table: EncodedTable
) -> HyperparameterSearch:
    ranges: Any = candidate.find_ranges
    key = f"{candidate.key}-start"
    start = replace(candidate, key=key), replace(attempt, key=key)
    given = candidate.make_configs(table)[0].model.get_params() | attempt.params
    known = {name: given[name] for name in ranges(table)}
    origin = {name: value for name, value in known.items() if isinstance(value, int | float)}
    return HyperparameterSearch(candidate, attempt, ranges(table), origin, finished=[start])


def run_searches(runner: CandidateRunner, searches: list[HyperparameterSearch]) -> None:
    """Draw settings in turns until the time is up, or there is no progress."""
    if not searches:
        return
    titles = " and ".join(search.candidate.title for search in searches)
    runner.callbacks.stage(f"Searching hyperparameters of {titles}")
    while active := [search for search in searches if _may_go_on(search, runner)]:
        _try_settings(min(active, key=lambda search: search.tried), runner)
    for search in searches:
        if search.tried:
            runner.callbacks.message(_describe_search(search))
    runner.callbacks.stage("Trying models")


def _may_go_on(search: HyperparameterSearch, runner: CandidateRunner) -> bool:
    """Whether there was progress lately, and one fold fits into the time that is left."""
    return search.idle < _PATIENCE and runner.budget.left > search.fold_seconds


def _try_settings(search: HyperparameterSearch, runner: CandidateRunner) -> None:
    """Evaluate the next settings fold by fold, and keep them if they are better, or nearly."""
    settings = search.draw(runner.seed)
    tuned = fix_settings(search.candidate, settings)
    named = replace(tuned, key=f"{search.candidate.key}-{search.tried}")
    stored = replace(tuned, key=f"{named.key}-{_hash_settings(settings)}")
    metric = runner.scoring.tuning
    done: list[FoldResult] = []
    search.tried, search.idle = search.tried + 1, search.idle + 1
    try:
        while len(done) < runner.folds.k:
            if runner.budget.left < search.fold_seconds:
                return
            done.append(runner.run_fold(stored, len(done)))
            search.seconds, search.n_folds = search.seconds + done[-1].seconds, search.n_folds + 1
            if is_far_behind(done, search.attempt, metric):
                return
    except FIT_ERRORS:
        return
    search.finished.append((named, runner.make_attempt(named, done, None)))
    if np.mean([result.scores[metric] for result in done]) > search.attempt.others[metric].mean():
        search.attempt = runner.make_attempt(tuned, done, None)
        search.settings, search.idle = settings, 0


def _hash_settings(settings: dict[str, Any]) -> str:
    """Part of the key of stored folds: in a resumed study the same draw may give others."""
    return digest(settings).rpartition(":")[2][:_KEY_LETTERS]


def is_far_behind(done: list[FoldResult], best: Attempt, metric: str) -> bool:
    """Whether settings are of no use, by the folds that are done."""
    scores, known = np.array([result.scores[metric] for result in done]), best.others[metric]
    behind = float(np.mean(known[: len(scores)] - scores))
    return behind > _NEARLY_BEST * float(np.std(known, ddof=1))


def _describe_search(search: HyperparameterSearch) -> str:
    found = "none is better" if search.settings is None else "the best of them is kept"
    settings = "1 setting" if search.tried == 1 else f"{search.tried} settings"
    return (
        f"{search.candidate.title}: {settings} more were tried on the same folds in the time that "
        f"was left; {found}."
    )
