"""Warnings in plain words, the gravest first."""

from __future__ import annotations

from tenfold.report.html import Html, tag
from tenfold.study.result import Finding

LOOKS = {"alarm": "bad", "warning": "warn", "note": "note"}
TRIANGLE = (
    '<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" '
    'stroke-linejoin="round" stroke-linecap="round" aria-hidden="true">'
    '<path d="M10 3 18 17H2Z"/><path d="M10 8.2v4M10 14.6v.1"/></svg>'
)
CIRCLE = (
    '<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" '
    'stroke-linecap="round" aria-hidden="true">'
    '<circle cx="10" cy="10" r="7.4" style="fill:none"/><path d="M10 9.4v4.2M10 6.5v.1"/></svg>'
)


def findings_list(findings: list[Finding]) -> Html | None:
    """One line each; None if there is nothing to say."""
    if not findings:
        return None
    order = list(LOOKS)
    ranked = sorted(findings, key=lambda each: order.index(each.severity))
    return tag("ul", [_line(each) for each in ranked], class_="findings")


def _line(each: Finding) -> Html:
    look = LOOKS[each.severity]
    sign = Html(CIRCLE if look == "note" else TRIANGLE)
    return tag("li", sign, tag("div", each.text), class_=look)
