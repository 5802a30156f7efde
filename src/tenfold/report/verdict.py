"""The first screen: one sentence, what it is to be compared with, and a ruler."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import about, count, percent, seconds, shown
from tenfold.report.ruler import attempt_of, ruler, sealed_scores, yardstick
from tenfold.report.scores import written
from tenfold.report.words import within
from tenfold.study.result import Attempt, Study

TASKS = {
    "regression": "Predicting a number",
    "two-class": "Telling two classes apart",
    "multi-class": "Telling classes apart",
    "clusters": "Looking for groups",
}


def hero(study: Study) -> Html:
    """Kicker, headline, paragraph, ruler, facts."""
    kicker = tag(
        "div",
        TASKS[study.task],
        " · ",
        tag("b", place(study.shown)),
        class_="kicker",
        title=study.shown,
    )
    return tag(
        "header",
        kicker,
        tag("h1", headline(study)),
        tag("p", lead(study), class_="lead"),
        None if study.test is None else ruler(study),
        facts(study),
        class_="hero",
    )


def place(shown: str) -> str:
    """The last part of a path; anything else as it is."""
    return shown if " " in shown else shown.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def headline(study: Study) -> Html:
    """How good it is, in one sentence."""
    if study.clusters is not None:
        return joined("The rows fall into ", em(f"{len(study.clusters.sizes)} groups"), ".")
    if study.chosen.key == "baseline":
        return joined("These columns say ", em("nothing certain"), f" about {study.target}.")
    scores, base = sealed_scores(study), attempt_of(study, "baseline")
    if base is not None and scores.get(study.metric, np.inf) <= base.mean:
        return joined("On unseen rows it is ", em("no better than guessing"), f" {study.target}.")
    if study.task == "regression":
        return _explained(study)
    if study.metric.startswith("roc_auc") and study.task == "two-class":
        first = (study.classes or [""])[-1]
        share = em(percent(scores[study.metric]))
        return joined(share, f" of the time, it ranks a true “{first}” first.")
    return joined(
        f"It gets {study.target} right for ", em(percent(scores["accuracy"])), " of unseen rows."
    )


def _explained(study: Study) -> Html:
    r2 = sealed_scores(study).get("r2", np.nan)
    if r2 < 0.05:
        return joined("These columns explain ", em("almost nothing"), f" of {study.target}.")
    return joined("It explains ", em(percent(r2)), f" of the differences in {study.target}.")


def lead(study: Study) -> Html:
    """What that is worth: against guessing, against the other models, against the yardstick."""
    if study.clusters is not None:
        return _lead_of_groups(study)
    tried = len(study.ranked)
    parts: list[Any] = [_against_guessing(study), " "]
    if study.chosen.key == "baseline":
        parts.append(f"None of the {tried - 1} models that were tried does clearly better.")
        return joined(parts)
    title = tag("b", within(study.chosen.title))
    if study.chosen is study.best:
        parts += ["The model is ", title, f", the best of {tried} that were tried."]
    else:
        parts += ["The model is ", title, ", the simplest within one standard error of the best."]
    return joined(parts, " ", _against_yardstick(study))


def _lead_of_groups(study: Study) -> Html:
    share = float(np.sum(study.clusters.variance[:2])) if study.clusters is not None else 0.0
    return joined(
        "There was no target, so tenfold looked for groups of rows that resemble each other. "
        f"The two main directions carry {percent(min(share, 1.0))} of all variance: the map below "
        "shows that much of the truth."
    )


def _against_guessing(study: Study) -> Html:
    base = attempt_of(study, "baseline")
    scores = sealed_scores(study)
    if study.task == "regression":
        name = "neg_root_mean_squared_error"
        if name not in scores:
            return Html("")
        error, spread = -scores[name], float(np.std(study.test.y)) if study.test else np.nan
        return joined(
            f"Its typical error is {about(error)}; always guessing the mean misses by "
            f"{about(spread)}."
        )
    if base is None or "accuracy" not in scores:
        return Html("")
    right = base.scores if study.metric == "accuracy" else base.others.get("accuracy", [np.nan])
    most = f"“{_most_frequent(study)}”"
    return joined(
        f"Always saying {most} would be right for {percent(float(np.mean(right)))}"
        + (
            "."
            if study.metric == "accuracy"
            else f"; it is right for {percent(scores['accuracy'])}."
        )
    )


def _against_yardstick(study: Study) -> Html:
    stick = yardstick(study)
    if stick is None:
        return Html("")
    gap = study.chosen.mean - stick.mean
    noise = float(np.nanmax([study.chosen.error, stick.error, 1e-12]))
    here = f"{written(study.metric, stick.mean)} against {written(study.metric, study.chosen.mean)}"
    if abs(gap) <= 2 * noise:
        return joined(
            f"Boosted trees, the yardstick, are no better and no worse on the folds: {here}."
        )
    if gap > 0:
        return joined(f"It beats boosted trees, the yardstick, which reach {here} on the folds.")
    return joined(f"Boosted trees, the yardstick, would do better here: {here} on the folds.")


def facts(study: Study) -> Html:
    """Four numbers that everybody asks for."""
    n_columns = len([name for name in study.kinds if name != study.target])
    rows = ("Rows", count(study.n_rows), f"{count(n_columns)} columns")
    if study.clusters is not None:
        took = ("Time", seconds(study.seconds), f"{len(study.ranked)} numbers of groups tried")
        return _tiles(rows, ("Model", study.chosen.title, _params(study.chosen)), took)
    split = (
        "Judged on",
        f"{count(study.n_test)} rows",
        f"sealed until the end; {count(study.n_train)} to learn from",
    )
    took = ("Time", seconds(study.seconds), f"{len(study.ranked)} models, {study.folds} folds each")
    return _tiles(rows, split, ("Model", study.chosen.title, _params(study.chosen)), took)


def _tiles(*tiles: tuple[str, str, str]) -> Html:
    cells = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", more)))
        for name, value, more in tiles
    ]
    return tag("dl", cells, class_="facts")


def _params(attempt: Attempt) -> str:
    pairs = [f"{key.split('__')[-1]} = {shown(value)}" for key, value in attempt.params.items()]
    return ", ".join(pairs[:3])


def em(words: str) -> Html:
    """Words that stand out."""
    return tag("em", words)


def _most_frequent(study: Study) -> Any:
    if study.test is None or study.classes is None:
        return ""
    return study.classes[int(np.bincount(study.test.y.astype(int)).argmax())]
