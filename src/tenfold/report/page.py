"""The whole page: one file, no request to anywhere."""

from __future__ import annotations

import os
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import tenfold
from tenfold.report.data import data_section
from tenfold.report.findings import findings_list
from tenfold.report.groups import groups_section
from tenfold.report.html import Html, tag
from tenfold.report.made import made_section
from tenfold.report.mattering import mattering_section
from tenfold.report.mistakes import mistakes_section
from tenfold.report.more_rows import more_rows_section
from tenfold.report.telling import telling_section
from tenfold.report.tried import tried_section
from tenfold.report.using import using_section
from tenfold.report.verdict import hero
from tenfold.report.wrong_and_right import judged_section
from tenfold.study.explaining import Explanation, explain_study
from tenfold.study.result import Study
from tenfold.study.whole_files import write_text

Part = tuple[str, str, Any]  # anchor, title, contents

MARK = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><g fill="currentColor">'
    '<rect x="1" y="3" width="18" height="2.6" rx="1.3" opacity=".3"/>'
    '<rect x="1" y="8.7" width="12" height="2.6" rx="1.3" opacity=".6"/>'
    '<rect x="1" y="14.4" width="6" height="2.6" rx="1.3"/></g></svg>'
)


def write(
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
    write_text(path, page(study, explanation=explanation))
    return path


def page(study: Study, *, explanation: Explanation | None = None) -> str:
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
    parts = [part for part in _parts(study, explanation) if part[2] is not None]
    body = tag(
        "body",
        _contents(parts),
        tag("main", _top(), hero(study), [_section(*part) for part in parts], _footer()),
        tag("div", id="tip", role="status"),
    )
    return f"<!doctype html>\n{tag('html', _head(study), body, lang='en')}\n"


def _parts(study: Study, found: Explanation | None) -> list[Part]:
    """Sections in the order in which a reader asks."""
    curve = None if found is None else found.curve
    order = [] if found is None else [each.column for each in found.importances]
    title = study.chosen.title
    return [
        ("heed", "What should I know first?", findings_list(study.warnings)),
        ("groups", "Which groups are there?", groups_section(study) if study.clusters else None),
        ("data", "What are the data?", data_section(study, order)),
        ("tried", "What was tried?", None if study.clusters else tried_section(study)),
        ("judged", "Where is it right and wrong?", judged_section(study)),
        ("rows", "Would more rows help?", curve and more_rows_section(curve, study.metric, title)),
        (
            "columns",
            "Which columns matter?",
            found and found.importances and mattering_section(found),
        ),
        (
            "mistakes",
            "Where is it most wrong?",
            found and found.mistakes and mistakes_section(found),
        ),
        ("use", "How do I use it?", using_section(study)),
        ("models", "How do these models work?", telling_section(study)),
        ("made", "How was this made?", made_section(study)),
    ]


def _section(anchor: str, title: str, contents: Html) -> Html:
    return tag("section", tag("h2", title), contents, id=anchor)


def _contents(parts: list[Part]) -> Html:
    links = [tag("a", title, href=f"#{anchor}") for anchor, title, _ in parts]
    return tag("nav", links, class_="contents", aria_label="Contents")


def _head(study: Study) -> Html:
    about = study.target or "groups"
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
