"""The header of a report: headline, score gauge, key figures; its warnings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.result import Attempt, Finding, Study
from tenfold.report.format import (
    display_value,
    format_count,
    format_duration,
    format_percent,
    format_rounded,
    format_score,
    format_value,
    lower_first,
    metric_label,
    metric_title,
)

TASK_TITLES = {
    "regression": "Regression",
    "two-class": "Binary classification",
    "multi-class": "Multiclass classification",
    "clusters": "Clustering",
}
SEVERITY_CLASSES = {"alarm": "bad", "warning": "warn", "note": "note"}  # the gravest first


class Emphasis(NamedTuple):
    """A sentence with a part that stands out."""

    before: str
    emphasis: str = ""
    after: str = ""

    def __str__(self) -> str:
        return "".join(self)


class Fact(NamedTuple):
    """A key figure: name, value, detail."""

    name: str
    value: str
    detail: str


class GaugeMark(NamedTuple):
    """A labelled position on the gauge, in percent."""

    position: float
    value: str
    label: str
    kind: str

    @property
    def side(self) -> str:
        """Where the label is anchored, so that it stays inside."""
        return "left" if self.position < 20 else "right" if self.position > 78 else "mid"


class Gauge(NamedTuple):
    """The test score between the baseline and a perfect score; positions in percent."""

    label: str
    score: GaugeMark
    interval: tuple[float, float]
    baseline: GaugeMark
    perfect: GaugeMark
    reference: GaugeMark | None


def source_name(shown: str) -> str:
    """The last part of a path; anything else as it is."""
    return shown if " " in shown else shown.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def headline(study: Study) -> Emphasis:
    """The quality of the model in one sentence."""
    if study.clusters is not None:
        return Emphasis("The rows form ", f"{len(study.clusters.sizes)} clusters", ".")
    if study.chosen.key == "baseline":
        return Emphasis("These columns contain ", "no reliable signal", f" about {study.target}.")
    scores, baseline = holdout_scores(study), finished_attempt(study, "baseline")
    if baseline is not None and scores.get(study.metric, np.inf) <= baseline.mean:
        return Emphasis("On test rows it is ", "no better than the baseline", ".")
    if study.task == "regression":
        return _regression_headline(study)
    if study.metric.startswith("roc_auc") and study.task == "two-class":
        positive = (study.classes or [""])[-1]
        share = format_percent(scores[study.metric])
        return Emphasis("It ranks a true ", f"“{positive}” first in {share}", " of pairs.")
    share = format_percent(scores["accuracy"])
    return Emphasis(f"It predicts {study.target} correctly for ", share, " of test rows.")


def _regression_headline(study: Study) -> Emphasis:
    r2 = holdout_scores(study).get("r2", np.nan)
    if r2 < 0.05:
        return Emphasis("These columns explain ", "almost nothing", f" of {study.target}.")
    share = format_percent(r2)
    return Emphasis("It explains ", share, f" of the variance of {study.target}.")


def lead(study: Study) -> Emphasis:
    """Comparison with the baseline, with the other models, and with boosted trees."""
    if study.clusters is not None:
        return _cluster_lead(study)
    n_models, first = len(study.ranking), _compare_to_baseline(study)
    if study.chosen.key == "baseline":
        return Emphasis(f"{first}None of the {n_models - 1} models is clearly better.")
    title = lower_first(study.chosen.title)
    if study.chosen is study.best:
        reason = f", the best of {n_models}. "
    else:
        reason = ", the simplest within one standard error of the best. "
    return Emphasis(f"{first}The model is ", title, reason + _compare_to_reference(study))


def _cluster_lead(study: Study) -> Emphasis:
    share = float(np.sum(study.clusters.variance[:2])) if study.clusters is not None else 0.0
    return Emphasis(
        "Without a target, tenfold searches for clusters of similar rows. The first two principal "
        f"components explain {format_percent(min(share, 1.0))} of the variance."
    )


def _compare_to_baseline(study: Study) -> str:
    baseline, scores = finished_attempt(study, "baseline"), holdout_scores(study)
    if study.task == "regression":
        name = "neg_root_mean_squared_error"
        if name not in scores or study.test is None:
            return ""
        deviation = float(np.std(study.test.y))
        return (
            f"Its root mean squared error is {format_rounded(-scores[name])}; predicting the mean "
            f"gives {format_rounded(deviation)}. "
        )
    if baseline is None or "accuracy" not in scores:
        return ""
    is_deciding = study.metric == "accuracy"
    accuracy = baseline.scores if is_deciding else baseline.others.get("accuracy", [np.nan])
    own_accuracy = (
        "" if is_deciding else f"; the model reaches {format_percent(scores['accuracy'])}"
    )
    return (
        f"Always predicting “{_most_frequent_class(study)}” has an accuracy of "
        f"{format_percent(float(np.mean(accuracy)))}{own_accuracy}. "
    )


def _compare_to_reference(study: Study) -> str:
    reference = reference_attempt(study)
    if reference is None:
        return ""
    gap = study.chosen.mean - reference.mean
    error = float(np.nanmax([study.chosen.error, reference.error, 1e-12]))
    scores = (
        f"{format_score(study.metric, reference.mean)} against "
        f"{format_score(study.metric, study.chosen.mean)}"
    )
    if abs(gap) <= 2 * error:
        return f"Boosted trees, the reference, score about the same in cross-validation: {scores}."
    if gap > 0:
        return f"Boosted trees, the reference, score lower in cross-validation: {scores}."
    return f"Boosted trees, the reference, score higher in cross-validation: {scores}."


def score_gauge(study: Study) -> Gauge | None:
    """Where the test score lies between the baseline and a perfect score; None without a test."""
    if study.test is None:
        return None
    name, baseline = study.metric, finished_attempt(study, "baseline")
    perfect = metric_label(name).perfect
    reference = reference_attempt(study)
    floor = study.chosen.mean if baseline is None else baseline.mean
    score = study.test.scores.get(name, study.chosen.mean)
    values = [floor, score] + ([] if reference is None else [reference.mean])
    end = display_value(name, perfect) if perfect is not None else max(values)
    start = min(values) if end >= max(values) else max(values)
    low, high = study.test.intervals.get(name, (score, score))

    def position(value: float) -> float:
        return float(np.clip(100 * (value - start) / ((end - start) or 1), 0, 100))

    def mark(value: float, label: str, kind: str) -> GaugeMark:
        return GaugeMark(position(value), format_score(name, value), label, kind)

    title = metric_title(name)
    return Gauge(
        f"{title} {format_score(name, score)}, between the baseline and a perfect score",
        mark(score, f"{title} on the test part", "up"),
        (position(low), max(position(high) - position(low), 0.0)),
        mark(floor, "baseline", "down"),
        GaugeMark(100.0, format_score(name, end), "perfect", "down last"),
        None if reference is None else mark(reference.mean, "boosted trees (reference)", "deep"),
    )


def key_facts(study: Study) -> list[Fact]:
    """Rows, test rows, model and time."""
    n_columns = len([name for name in study.kinds if name != study.target])
    rows = Fact("Rows", format_count(study.n_rows), f"{format_count(n_columns)} columns")
    model = Fact("Model", study.chosen.title, format_params(study.chosen, most=3))
    seconds = format_duration(study.seconds)
    if study.clusters is not None:
        return [rows, model, Fact("Time", seconds, f"{len(study.ranking)} numbers of clusters")]
    test = Fact(
        "Test part",
        f"{format_count(study.n_test)} rows",
        f"held out; {format_count(study.n_train)} for training",
    )
    return [rows, test, model, Fact("Time", seconds, f"{len(study.ranking)} models")]


def format_params(attempt: Attempt, most: int | None = None) -> str:
    """Parameters of a model as text."""
    pairs = [f"{key.split('__')[-1]} = {format_value(v)}" for key, v in attempt.params.items()]
    return ", ".join(pairs[:most])


def reference_attempt(study: Study) -> Attempt | None:
    """The model that is there for comparison only, if it was finished."""
    return next((attempt for attempt in study.ranking if attempt.is_reference), None)


def finished_attempt(study: Study, key: str) -> Attempt | None:
    """A finished attempt by its key."""
    return next((attempt for attempt in study.ranking if attempt.key == key), None)


def holdout_scores(study: Study) -> dict[str, float]:
    """Scores on the test part; none without a target."""
    return {} if study.test is None else study.test.scores


def _most_frequent_class(study: Study) -> Any:
    if study.test is None or study.classes is None:
        return ""
    return study.classes[int(np.bincount(study.test.y.astype(int)).argmax())]


def sort_findings(findings: list[Finding]) -> list[tuple[str, str]]:
    """Pairs of a class of the style sheet and a text, the gravest first."""
    order = list(SEVERITY_CLASSES)
    ranked = sorted(findings, key=lambda finding: order.index(finding.severity))
    return [(SEVERITY_CLASSES[finding.severity], finding.text) for finding in ranked]
