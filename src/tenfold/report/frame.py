"""What every page has: its head, the contents beside it, the mark on top, the last line."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from typing import Any

import tenfold
from tenfold.report.html import Html, tag

Part = tuple[str, str, Any]  # anchor, title, contents

MARK = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><g fill="currentColor">'
    '<rect x="1" y="3" width="18" height="2.6" rx="1.3" opacity=".3"/>'
    '<rect x="1" y="8.7" width="12" height="2.6" rx="1.3" opacity=".6"/>'
    '<rect x="1" y="14.4" width="6" height="2.6" rx="1.3"/></g></svg>'
)


def framed(about: str, hero: Html, parts: list[Part]) -> str:
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
