"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

MINUS = "\N{MINUS SIGN}"


def shown(value: Any, digits: int = 3) -> str:
    """A number with as many digits as matter, thousands apart; anything else as text.

    Examples
    --------
    >>> shown(12345.678), shown(0.01234), shown(-2.0), shown(None)
    ('12,346', '0.0123', '−2', '–')
    """
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "\N{EN DASH}"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if not isinstance(value, int | float | np.number):
        return str(value) or "(empty)"
    return _number(float(value), digits).replace("-", MINUS)


def _number(value: float, digits: int) -> str:
    size = abs(value)
    if not np.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if size >= 1e15 or 0 < size < 1e-5:
        return f"{value:.{digits - 1}e}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}" if size >= 10_000 else f"{value:.0f}"  # years have no comma
    places = digits - 1 - (int(np.floor(np.log10(size))) if size > 0 else 0)
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: float, places: int = 3) -> str:
    """A score with fixed places, so that columns of scores line up."""
    if value is None or not np.isfinite(value):
        return "\N{EN DASH}"
    if abs(value) >= 1000:
        return shown(value)
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", MINUS)


def about(value: float, digits: int = 3) -> str:
    """A number of which only the first digits matter.

    Examples
    --------
    >>> about(34_397.2), about(0.123456)
    ('34,400', '0.123')
    """
    return shown(float(f"{float(value):.{digits}g}"), digits)


def count(n: float) -> str:
    """A whole number with its thousands apart."""
    return f"{int(n):,}"


def percent(share: float) -> str:
    r"""A share of one as per cent, with a digit more near both ends.

    Examples
    --------
    >>> percent(0.5), percent(0.974), percent(0.9996)
    ('50\xa0%', '97.4\xa0%', '99.96\xa0%')
    """
    near = min(share, 1 - share)
    places = 2 if 0 < near < 0.002 else 1 if 0 < near < 0.1 else 0
    text = f"{100 * share:.{places}f}"
    text = text.rstrip("0").rstrip(".") if places else text
    return f"{text}\N{NO-BREAK SPACE}%".replace("-", MINUS)


def seconds(time: float) -> str:
    """A time in the unit that suits it."""
    if time < 0.0995:
        return f"{max(time * 1000, 1):.0f} ms"
    if time < 99.5:
        return f"{time:.1f} s" if time < 9.95 else f"{time:.0f} s"
    return f"{time / 60:.1f} min"
