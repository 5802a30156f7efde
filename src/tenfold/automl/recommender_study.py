"""From a table of ratings to an evaluated recommender."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import tenfold
from tenfold.automl.config import LearnCallbacks, LearnConfig
from tenfold.automl.task_scores import RECOMMENDATION
from tenfold.engine.atomic import write_atomic
from tenfold.recommend.evaluation import evaluate_ranking
from tenfold.recommend.ratings import open_ratings
from tenfold.recommend.splits import LastRatings, UserHoldout
from tenfold.recommend.table_columns import (
    RatingTable,
    find_rating_columns,
    is_count_name,
    read_rating_table,
)

_MAX_COLUMNS = 4  # user, item, rating and time: a table with more is no table of ratings
_MIN_ROWS = 50
_MAX_STARS = 25  # different ratings; more are counts
_MAX_SAMPLED_ROWS = 2_000_000  # ratings up to which the posterior is sampled
_LIST_LENGTH = 10


class RecommenderCandidate(NamedTuple):
    """A recommender that is tried."""

    key: str
    title: str
    model: Any


class RecommenderAttempt(NamedTuple):
    """How a recommender did on held-out ratings.

    Attributes
    ----------
    key, title : str
    params : dict
        Parameters that differ from the defaults.
    score : float
        RMSE, or NDCG at 10.
    seconds : float
    """

    key: str
    title: str
    params: dict[str, Any]
    score: float
    seconds: float


@dataclass(repr=False)
class RecommenderStudy:
    """What `tenfold.learn` found out about a table of ratings.

    Printed, it is the leaderboard and the test of the chosen recommender.

    Attributes
    ----------
    shown : str
        The table in words.
    n_rows, n_users, n_items : int
        Its size.
    columns : dict
        Names of the columns of user, item, rating and time.
    metric : {"rmse", "ndcg"}
        What decided: the error of ratings, or the quality of top lists.
    split : str
        How ratings were held out, in words.
    attempts : list of RecommenderAttempt
        All candidates, best first.
    test : dict
        Metrics of the chosen model on ratings that were held out for the end.
    popular : dict
        The same metrics of lists of the most popular items.
    model : recommender
        The chosen one, fitted on all ratings.
    """

    shown: str
    n_rows: int
    n_users: int
    n_items: int
    columns: dict[str, str]
    metric: str
    split: str
    attempts: list[RecommenderAttempt]
    test: dict[str, float]
    popular: dict[str, float]
    model: Any
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)
    task: str = RECOMMENDATION

    def __repr__(self) -> str:
        size = f"{self.n_users:,} users, {self.n_items:,} items"
        return f"<Study of {self.shown} ({size}): {self._describe_choice()}>"

    def __str__(self) -> str:
        title = {"rmse": "RMSE", "ndcg": "NDCG at 10"}[self.metric]
        width = max(len(attempt.title) for attempt in self.attempts)
        lines = [f"{title} on held-out ratings:"]
        lines += [f"  {a.title:<{width}}  {a.score:.4f}  {a.seconds:6.1f} s" for a in self.attempts]
        lines += ["", f"Test on {self.split}: {self._describe_choice()}."]
        return "\n".join([*lines, self.advice] if self.advice else lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _describe_choice(self) -> str:
        error = f"RMSE {self.test['rmse']:.4f}, " if "rmse" in self.test else ""
        popular = f"most popular items: {self.popular['ndcg']:.4f}"
        return f"{self.chosen.title}: {error}NDCG at 10 {self.test['ndcg']:.4f} ({popular})"

    @property
    def advice(self) -> str:
        """What to do if everybody's favorites make better lists; empty otherwise."""
        if self.test["ndcg"] >= self.popular["ndcg"]:
            return ""
        return (
            "The most popular items make better top lists than this model, which was chosen to "
            "predict ratings: for lists, fit tenfold.ImplicitALS to the same table."
        )

    @property
    def chosen(self) -> RecommenderAttempt:
        """The best candidate."""
        return self.attempts[0]

    def metrics(self) -> dict[str, Any]:
        """All results in types that JSON has."""
        names = ("shown", "n_rows", "n_users", "n_items", "columns", "task", "metric", "split")
        return {name: getattr(self, name) for name in names} | {
            "chosen": self.chosen.key,
            "attempts": [attempt._asdict() for attempt in self.attempts],
            "test": self.test,
            "most_popular": self.popular,
            "advice": self.advice,
            "seconds": self.seconds,
        }

    def save(self, folder: Any) -> dict[str, Path]:
        """Write `model.tenfold` and `metrics.json`.

        Parameters
        ----------
        folder : path
            Created if it does not exist.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"model": folder / "model.tenfold", "metrics": folder / "metrics.json"}
        self.model.save(paths["model"])
        write_atomic(paths["metrics"], json.dumps(self.metrics(), indent=2) + "\n")
        return paths


def is_rating_table(records: Any, config: LearnConfig) -> bool:
    """Whether to recommend: if it is asked for, or if the columns are user, item and rating."""
    if config.task is not None or config.models is not None:
        return config.task == RECOMMENDATION
    roles = find_rating_columns(records.names)
    if len(records.names) > _MAX_COLUMNS or records.n_rows < _MIN_ROWS:
        return False
    if not {"user", "item"} <= roles.keys() or len(roles) < len(records.names):
        return False
    rated = "rating" in roles and records.types[roles["rating"]] == "number"
    return config.target in {None, roles["rating"]} if rated else config.target is None


def run_recommenders(
    records: Any, config: LearnConfig, callbacks: LearnCallbacks
) -> RecommenderStudy:
    """Study of a table of ratings."""
    start = perf_counter()
    callbacks.stage("Reading the ratings")
    table = read_rating_table(records, config.target)
    if len(table.value) < _MIN_ROWS:
        raise ValueError(f"{len(table.value)} ratings are too few: at least {_MIN_ROWS} are needed")
    explicit = _has_stars(table)
    metric = "rmse" if explicit else "ndcg"
    callbacks.message(_describe(table, explicit=explicit))
    train, test = _hold_out(table, config)
    inner, valid = _hold_out(train, config)
    callbacks.stage("Trying recommenders")
    attempts, best = _try_candidates(inner, valid, config, callbacks, explicit=explicit)
    callbacks.stage("Evaluating on the held-out ratings")
    fitted = _renew(best).fit(train.pairs, train.value)
    scores, popular = _test_scores(fitted, test, explicit=explicit)
    callbacks.stage(f"Fitting {attempts[0].title} on all ratings")
    columns = {role: name for role, name in table.columns.items() if name}
    named = {role: columns.get(role) for role in ("user", "item", "rating")}
    study = RecommenderStudy(
        shown=records.shown,
        n_rows=len(table.value),
        n_users=len(table.users),
        n_items=len(table.items),
        columns=columns,
        metric=metric,
        split=f"{'random' if table.time is None else 'the last'} ratings of each user",
        attempts=attempts,
        test=scores,
        popular=popular,
        model=_renew(best).fit(open_ratings(records, **named, duplicates=best._duplicates)),  # noqa: SLF001
        seconds=perf_counter() - start,
        settings=config.settings(),
    )
    if config.output is not None:
        study.save(config.output)
    return study


def _try_candidates(
    train: RatingTable,
    valid: RatingTable,
    config: LearnConfig,
    callbacks: LearnCallbacks,
    *,
    explicit: bool,
) -> tuple[list[RecommenderAttempt], Any]:
    """All attempts within the time, best first, and the best recommender."""
    metric, sign = ("rmse", 1) if explicit else ("ndcg", -1)
    end, attempts, models = perf_counter() + 60 * config.minutes, [], {}
    for candidate in _candidates(train.value, config.seed, explicit=explicit):
        if attempts and perf_counter() > end:
            callbacks.message(f"{candidate.title} was left out: the time is up.")
            continue
        attempts.append(_evaluate(candidate, train, valid, metric))
        models[candidate.key] = candidate.model
        callbacks.message(f"{candidate.title}: {metric} {attempts[-1].score:.4f}")
    attempts.sort(key=lambda attempt: sign * attempt.score)
    return attempts, models[attempts[0].key]


def _has_stars(table: RatingTable) -> bool:
    """Whether values are ratings: no counts by their name, and not as many as counts have."""
    values = table.value
    if is_count_name(table.columns.get("rating", "")) and (values >= 0).all():
        return False
    return 1 < len(np.unique(values)) <= _MAX_STARS or bool((values < 0).any())


def _describe(table: RatingTable, *, explicit: bool) -> str:
    what = "ratings" if explicit else "counts of what users did, not ratings"
    columns = table.columns
    return (
        f"{len(table.value):,} {what} of {len(table.items):,} items ({columns['item']}) by "
        f"{len(table.users):,} users ({columns['user']}): a recommender is learned. Set a task to "
        "learn something else."
    )


def _hold_out(table: RatingTable, config: LearnConfig) -> tuple[RatingTable, RatingTable]:
    """Training part and held-out part: the last ratings of each user, or random ones."""
    share = float(config.test_share)
    split: Any = UserHoldout(1, n_held=share, random_state=config.seed)
    if table.time is not None:
        split = LastRatings(table.time, n_held=share)
    first, second = next(split.split(table.pairs))
    return table.take(first), table.take(second)


def _candidates(values: np.ndarray, seed: int, *, explicit: bool) -> list[RecommenderCandidate]:
    if not explicit:
        found = [
            RecommenderCandidate(
                f"implicit_als_{k}_{weight}",
                f"Implicit ALS, {k} factors, confidence {weight}",
                tenfold.ImplicitALS(k, confidence=weight, random_state=seed),
            )
            for k, weight in ((16, 0.2), (16, 1.0), (16, 5.0), (64, 0.2), (64, 1.0))
        ]
        if (values > 0).all():  # it takes every pair as liked
            bpr = tenfold.BPR(random_state=seed)
            found.append(RecommenderCandidate("bpr", "BPR, 32 factors", bpr))
        return found
    found = [RecommenderCandidate("biases", "Biases alone", tenfold.ALS(0))]
    near = tenfold.KNNRecommender(
        metric="pearson", center="baseline", shrinkage=50, min_similarity=0.0
    )
    found.append(RecommenderCandidate("knn", "Nearest users", near))
    for k in (5, 20):
        for lam in (0.05, 0.1, 0.15):
            model = tenfold.ALS(k, regularization=lam, random_state=seed)
            found.append(
                RecommenderCandidate(f"als_{k}_{lam}", f"ALS, {k} factors, penalty {lam}", model)
            )
    if len(values) <= _MAX_SAMPLED_ROWS:
        sampler = tenfold.BayesianPMF(random_state=seed)
        found.append(RecommenderCandidate("bayesian_pmf", "Bayesian PMF, 10 factors", sampler))
    return found


def _evaluate(
    candidate: RecommenderCandidate, train: RatingTable, valid: RatingTable, metric: str
) -> RecommenderAttempt:
    start = perf_counter()
    model = _renew(candidate.model).fit(train.pairs, train.value)
    if metric == "rmse":
        score = float(np.sqrt(np.mean((model.predict(valid.pairs) - valid.value) ** 2)))
    else:
        score = evaluate_ranking(model, valid.pairs, k=_LIST_LENGTH).values()["ndcg"]
    defaults = type(model)().get_params()
    params = {
        name: value
        for name, value in model.get_params().items()
        if value != defaults[name] and name != "random_state"
    }
    return RecommenderAttempt(candidate.key, candidate.title, params, score, perf_counter() - start)


def _test_scores(
    model: Any, test: RatingTable, *, explicit: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Metrics of the model and of lists of popular items."""
    scores = evaluate_ranking(model, test.pairs, k=_LIST_LENGTH).values()
    popular = evaluate_ranking(model, test.pairs, k=_LIST_LENGTH, popular=True).values()
    if explicit:
        errors = model.predict(test.pairs) - test.value
        scores |= {"rmse": float(np.sqrt(np.mean(errors**2))), "mae": float(np.abs(errors).mean())}
    return scores, popular


def _renew(model: Any) -> Any:
    """The same recommender without what it learned."""
    return type(model)(**model.get_params())
