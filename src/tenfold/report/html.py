"""Markup that cannot be broken by data: whatever is not `Html` already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

VOID = {"br", "hr", "img", "input", "meta", "link", "wbr"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def joined(*children: Any) -> Html:
    """Children one after the other; None is nothing, lists are walked, plain text is escaped."""
    return Html("".join(_markup(child) for child in children))


def _markup(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str | bytes):
        return joined(*child)
    return escape(str(child), quote=False)


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; `class_` and `aria_label` become class and aria-label, None is left out.

    Examples
    --------
    >>> print(tag("p", "a < b", class_="lead"))
    <p class="lead">a &lt; b</p>
    """
    pairs = "".join(_pair(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Html(f"<{name}{pairs}>")
    return Html(f"<{name}{pairs}>{joined(*children)}</{name}>")


def breakable(name: str) -> Html:
    """A name that may go on in the next line after an underscore.

    Examples
    --------
    >>> print(breakable("total_rent"))
    total_<wbr>rent
    """
    first, *others = name.split("_")
    return joined(first, [joined("_", tag("wbr"), part) for part in others])


def _pair(key: str, value: Any) -> str:
    return f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
