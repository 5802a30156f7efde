"""The leaderboard of a study: rows, which the terminal and the page share, and explanation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.automl.result import Attempt, Study
from tenfold.report.format import (
    capitalize_first,
    clip_interval,
    format_aligned,
    format_duration,
    format_interval,
    lower_first,
    metric_label,
    metric_title,
    short_title,
)
from tenfold.report.summary import format_params
from tenfold.report.svg import Limits, draw_whisker, pad_limits

_EXTRA_METRICS = 2  # columns beside the deciding score


class LeaderboardRow(NamedTuple):
    """A line of the leaderboard; scores and time are pairs of a text and a number to sort by.

    Attributes
    ----------
    title, params : name of the model, and its parameters
    is_chosen, is_best, is_reference : its role
    score : mean of the deciding score over the folds
    ends, interval : 95 % interval of that mean, as numbers (None for a single fold) and as text
    others : means of further scores
    train : mean score on training rows
    time : of all folds
    """

    title: str
    params: str
    is_chosen: bool
    is_best: bool
    is_reference: bool
    score: tuple[str, float]
    ends: Limits | None
    interval: str
    others: list[tuple[str, float]]
    train: tuple[str, float]
    time: tuple[str, float]

    def whisker(self, limits: Limits) -> Markup:
        """The mean and its interval, drawn."""
        mean, (low, high) = self.score[1], self.ends or (self.score[1], self.score[1])
        return draw_whisker(mean, low, high, limits, "main" if self.is_chosen else "grey")


def explain_leaderboard(study: Study) -> str:
    """How models were compared, and why the chosen one was."""
    meaning = metric_label(study.metric).meaning
    metric = capitalize_first(metric_title(study.metric)) + (f" ({meaning})" if meaning else "")
    method = f"All models were compared by {study.folds}-fold cross-validation. {metric} decides."
    best, chosen = study.best, study.chosen
    if chosen is best:
        alone = (
            "" if study.settings.get("prefer") == "best" else ", and no simpler model is near it"
        )
        return f"{method} {chosen.title} has the highest mean{alone}."
    return (
        f"{method} {best.title} has the highest mean; {lower_first(chosen.title)} is simpler and "
        "within one standard error of it, and was chosen."
    )


def extra_metrics(study: Study) -> list[str]:
    """Names of further scores that have a column."""
    return [name for name in study.best.others if name != study.metric][:_EXTRA_METRICS]


def leaderboard_rows(study: Study) -> list[LeaderboardRow]:
    """Finished attempts, the best first."""
    return [_leaderboard_row(study, attempt) for attempt in study.ranking]


def _leaderboard_row(study: Study, attempt: Attempt) -> LeaderboardRow:
    name, ends = study.metric, _mean_interval(study, attempt)
    train = float(np.mean(attempt.train)) if len(attempt.train) else np.nan
    means = {other: _mean_of(attempt, other) for other in extra_metrics(study)}
    return LeaderboardRow(
        title=short_title(attempt.title),
        params=format_params(attempt),
        is_chosen=attempt is study.chosen,
        is_best=attempt is study.best,
        is_reference=attempt.is_reference,
        score=(format_aligned(name, attempt.mean), attempt.mean),
        ends=ends,
        interval="" if ends is None else format_interval(name, *ends),
        others=[(format_aligned(other, value), value) for other, value in means.items()],
        train=(format_aligned(name, train), train),
        time=(format_duration(attempt.seconds), attempt.seconds),
    )


def _mean_of(attempt: Attempt, name: str) -> float:
    return float(np.mean(attempt.others[name])) if name in attempt.others else np.nan


def _mean_interval(study: Study, attempt: Attempt) -> Limits | None:
    if len(attempt.scores) < 2:
        return None
    interval = attempt.interval()
    return clip_interval(study.metric, interval.low, interval.high)


def leaderboard_limits(study: Study) -> Limits:
    """Limits of the drawn intervals; a far baseline is left outside, or it would squeeze them."""
    ends = {
        each.key: _mean_interval(study, each) or (each.mean, each.mean) for each in study.ranking
    }
    values = [end for pair in ends.values() for end in pair]
    better = [end for key, pair in ends.items() if key != "baseline" for end in pair]
    if better and max(better) - min(better) < 0.5 * (max(values) - min(values)):
        return pad_limits(better, 0.12)
    return pad_limits(values, 0.06)
