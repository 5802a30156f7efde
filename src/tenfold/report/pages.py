"""The report of a study as one self-contained page."""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import tenfold
from tenfold.automl.explainer import explain_study
from tenfold.automl.explanation import Explanation
from tenfold.automl.result import Study
from tenfold.engine.atomic import write_atomic
from tenfold.report.dataset import clusters_section, data_section
from tenfold.report.evaluation import evaluation_section
from tenfold.report.feature_effects import (
    importance_section,
    learning_curve_section,
    worst_errors_section,
)
from tenfold.report.format import format_count, format_value
from tenfold.report.model_cards import model_cards_section
from tenfold.report.summary import findings_list, hero, leaderboard_section
from tenfold.report.svg import Html, joined, tag

Part = tuple[str, str, Any]  # anchor, title, contents

MARK = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><g fill="currentColor">'
    '<rect x="1" y="3" width="18" height="2.6" rx="1.3" opacity=".3"/>'
    '<rect x="1" y="8.7" width="12" height="2.6" rx="1.3" opacity=".6"/>'
    '<rect x="1" y="14.4" width="6" height="2.6" rx="1.3"/></g></svg>'
)


def render_page(about: str, hero: Html, parts: list[Part]) -> str:
    """A page as one string of HTML; parts without contents are left out."""
    parts = [part for part in parts if part[2]]
    body = tag(
        "body",
        _contents(parts),
        tag("main", _top(), hero, [_section(*part) for part in parts], _footer()),
        tag("div", id="tip", role="status"),
    )
    return f"<!doctype html>\n{tag('html', _head(about), body, lang='en')}\n"


def _section(anchor: str, title: str, contents: Html) -> Html:
    return tag("section", tag("h2", title), contents, id=anchor)


def _contents(parts: list[Part]) -> Html:
    links = [tag("a", title, href=f"#{anchor}") for anchor, title, _ in parts]
    return tag("nav", links, class_="contents", aria_label="Contents")


def _head(about: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{about}: a tenfold report"),
        tag("style", Html(_asset("page.css"))),
        tag("script", Html(_asset("page.js"))),
    )


def _asset(name: str) -> str:
    return files("tenfold.report").joinpath(name).read_text(encoding="utf-8")


def _top() -> Html:
    return tag(
        "div",
        tag("span", Html(MARK), "tenfold", class_="brand"),
        tag("span", class_="space"),
        tag("span", f"{datetime.now().astimezone():%-d %B %Y}", class_="when"),
        tag(
            "button", "Dark", id="theme", type="button", class_="js-only", aria_label="Switch theme"
        ),
        class_="top",
    )


def _footer() -> Html:
    words = (
        f"Made by tenfold {tenfold.__version__}. This page is one file and asks nothing of the "
        "network."
    )
    return tag("footer", words)


PACKAGES = ("tenfold", "numpy", "scipy", "scikit-learn")


def provenance_section(study: Study) -> Html:
    """What is needed to do it again."""
    settings = {name: _format_setting(value) for name, value in study.settings.items()}
    versions = {"Python": platform.python_version()}
    versions |= {name: _version(name) for name in PACKAGES}
    return joined(
        tag("p", _honesty(study), class_="say"),
        tag("div", pairs("Settings", settings), pairs("Versions", versions), class_="figures"),
    )


def _honesty(study: Study) -> str:
    if study.test is None:
        used = f"{format_count(study.n_choosing)} of {format_count(study.n_rows)} rows were used."
        return f"{used} The same seed gives the same groups."
    used = (
        f"{format_count(study.n_choosing)} of them chose"
        if study.n_choosing < study.n_train
        else "they chose"
    )
    return (
        f"{format_count(study.n_test)} rows were sealed before anything was learned and opened once, "
        f"after the choice. {format_count(study.n_train)} rows were for learning; {used} the model by "
        f"{study.folds} folds. What was learned from a table, such as means and levels, was "
        "learned inside each fold. The same data, settings and seed give the same result."
    )


def pairs(title: str, values: dict[str, str]) -> Html:
    """Names and values under a title."""
    rows = [joined(tag("dt", name), tag("dd", value)) for name, value in values.items()]
    return tag("figure", tag("h4", title), tag("dl", rows, class_="pairs"))


def _format_setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_format_setting(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_format_setting(v) for v in value) or "none"
    return "default" if value is None else format_value(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


SHOWN = 4  # columns in the example of a request
WORDS = r"\b(?:import|from|for|in|as|with)\b|^(?:tenfold|curl)\b"
PIECES = re.compile(rf"(?P<c>#[^\n]*)|(?P<s>\"[^\"\n]*\"|'[^'\n]*')|(?P<k>{WORDS})", re.MULTILINE)


def usage_section(study: Study) -> Html:
    """Three short programs."""
    parts = [("From Python", _python(study)), ("From the shell", _shell(study))]
    if study.task != "clusters":
        parts.append(("As a service on this machine", _service(study)))
    blocks = [
        tag(
            "div",
            tag("h4", title, tag("button", "Copy", type="button", class_="copy js-only")),
            tag("pre", tag("code", highlight_code(text))),
        )
        for title, text in parts
    ]
    return joined(
        tag(
            "p",
            "The model lies beside this page as ",
            tag("code", "model.tenfold"),
            ": arrays and plain settings. Loading it executes nothing. It takes tables like the "
            "one it learned from; columns are found by name, and what it has never seen is "
            "handled.",
            class_="say",
        ),
        tag("div", blocks, class_="uses"),
    )


def _python(study: Study) -> str:
    lines = [
        "import tenfold",
        "",
        'model = tenfold.load("model.tenfold")',
        'model.predict("new.csv")',
    ]
    if study.task == "regression":
        lines.append('model.predict_interval("new.csv", level=0.9)')
    elif study.task != "clusters":
        lines.append('model.predict_proba("new.csv")')
    return "\n".join(lines)


def _shell(study: Study) -> str:
    more = " --interval 0.9" if study.task == "regression" else " --probabilities"
    more = "" if study.task == "clusters" else more
    lines = [f"tenfold predict model.tenfold new.csv \\\n    -o out.csv{more}"]
    if study.task != "clusters":
        lines += [
            "tenfold evaluate model.tenfold newer.csv",
            "tenfold explain model.tenfold new.csv --row 1",
        ]
    return "\n".join([*lines, "tenfold show model.tenfold"])


def _service(study: Study) -> str:
    names = [name for name, kind in study.kinds.items() if name != study.target]
    used = [n for n in names if study.kinds[n].kind not in ("identifier", "constant")]
    row = json.dumps(
        {name: _example(study.kinds[name]) for name in used[:SHOWN]}, ensure_ascii=False
    )
    body = f"{row[:-1]}, ...}}" if len(used) > SHOWN else row
    quoted = body.replace("'", "'\\''")
    start = "tenfold serve model.tenfold --port 8000"
    return f"{start}\n\ncurl localhost:8000/predict -d '{{\"rows\": [\n  {quoted}\n]}}'"


def _example(kind: Any) -> Any:
    first = (kind.examples or [None])[0]
    if kind.kind == "number" and first is not None:
        try:
            return float(f"{float(first):.6g}")
        except ValueError:
            return str(first)
    return None if first is None else str(first)[:40]


def highlight_code(text: str) -> Html:
    """Keywords, strings and comments in their colours."""
    parts: list[Any] = []
    end = 0
    for piece in PIECES.finditer(text):
        parts += [text[end : piece.start()], tag("span", piece.group(), class_=piece.lastgroup)]
        end = piece.end()
    return joined(parts, text[end:])


def write_report(
    study: Study, path: str | os.PathLike[str], *, explanation: Explanation | None = None
) -> Path:
    """Write the page of a study; it appears complete or not at all.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    path : path
        Of the page, such as ``report.html``.
    explanation : Explanation, optional
        If it is there already; otherwise the model is explained on the study's test rows.

    Returns
    -------
    Path
        Where the page lies.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, render_report(study, explanation=explanation))
    return path


def render_report(study: Study, *, explanation: Explanation | None = None) -> str:
    """The page of a study as one string of HTML.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    explanation : Explanation, optional
        If it is there already.
    """
    if explanation is None and study.test is not None:
        explanation = explain_study(study)
    return render_page(study.target or "groups", hero(study), _parts(study, explanation))


def _parts(study: Study, found: Explanation | None) -> list[Part]:
    """Sections in the order in which a reader asks."""
    curve = None if found is None else found.curve
    order = [] if found is None else [each.column for each in found.importances]
    title = study.chosen.title
    return [
        ("heed", "What should I know first?", findings_list(study.warnings)),
        ("groups", "Which groups are there?", clusters_section(study) if study.clusters else None),
        ("data", "What are the data?", data_section(study, order)),
        ("tried", "What was tried?", None if study.clusters else leaderboard_section(study)),
        ("judged", "Where is it right and wrong?", evaluation_section(study)),
        (
            "rows",
            "Would more rows help?",
            curve and learning_curve_section(curve, study.metric, title),
        ),
        (
            "columns",
            "Which columns matter?",
            found and found.importances and importance_section(found),
        ),
        (
            "mistakes",
            "Where is it most wrong?",
            found and found.mistakes and worst_errors_section(found),
        ),
        ("use", "How do I use it?", usage_section(study)),
        ("models", "How do these models work?", model_cards_section(study)),
        ("made", "How was this made?", provenance_section(study)),
    ]
