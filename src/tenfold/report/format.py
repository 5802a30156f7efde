"""Numbers, lists of names and metrics as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

MINUS = "\N{MINUS SIGN}"


def format_value(value: Any, digits: int = 3) -> str:
    """A number with as many digits as matter, thousands apart; anything else as text.

    Examples
    --------
    >>> format_value(12345.678), format_value(0.01234), format_value(-2.0), format_value(None)
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
    return _format_number(float(value), digits).replace("-", MINUS)


def _format_number(value: float, digits: int) -> str:
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


def format_fixed(value: float, places: int = 3) -> str:
    """A score with fixed places, so that columns of scores line up."""
    if value is None or not np.isfinite(value):
        return "\N{EN DASH}"
    if abs(value) >= 1000:
        return format_value(value)
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", MINUS)


def format_rounded(value: float, digits: int = 3) -> str:
    """A number of which only the first digits matter.

    Examples
    --------
    >>> format_rounded(34_397.2), format_rounded(0.123456)
    ('34,400', '0.123')
    """
    return format_value(float(f"{float(value):.{digits}g}"), digits)


def format_count(n: float) -> str:
    """A whole number with its thousands apart."""
    return f"{int(n):,}"


def format_percent(share: float) -> str:
    r"""A share of one as per cent, with a digit more near both ends.

    Examples
    --------
    >>> format_percent(0.5), format_percent(0.974), format_percent(0.9996)
    ('50\xa0%', '97.4\xa0%', '99.96\xa0%')
    """
    near = min(share, 1 - share)
    places = 2 if 0 < near < 0.002 else 1 if 0 < near < 0.1 else 0
    text = f"{100 * share:.{places}f}"
    text = text.rstrip("0").rstrip(".") if places else text
    return f"{text}\N{NO-BREAK SPACE}%".replace("-", MINUS)


def format_duration(time: float) -> str:
    """A time in the unit that suits it."""
    if time < 0.0995:
        return f"{max(time * 1000, 1):.0f} ms"
    if time < 99.5:
        return f"{time:.1f} s" if time < 9.95 else f"{time:.0f} s"
    return f"{time / 60:.1f} min"


def join_names(names: Iterable[str], *, most: int = 6) -> str:
    """Names in one sentence: a, b and c; the tail is counted.

    Examples
    --------
    >>> join_names("abc"), join_names("abcdef", most=3)
    ('a, b and c', 'a, b, c and 3 more')
    """
    names = [str(name) for name in names]
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def capitalize_first(text: str) -> str:
    """As the first word of a sentence."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """Inside a sentence; an abbreviation keeps its capitals.

    Examples
    --------
    >>> lower_first("Logistic regression"), lower_first("SVM")
    ('logistic regression', 'SVM')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def short_title(title: str) -> str:
    """The name of a model without what is said about it after a colon."""
    return title.split(":", maxsplit=1)[0]


class MetricLabel(NamedTuple):
    """How a score is called and what it means."""

    title: str
    means: str
    form: str = "plain"  # or "share": a part of the rows
    perfect: float | None = 1.0


METRIC_LABELS = {
    "accuracy": MetricLabel("accuracy", "share of rows that are right", "share"),
    "balanced_accuracy": MetricLabel(
        "balanced accuracy", "mean over classes of the share right", "share"
    ),
    "roc_auc": MetricLabel("ROC AUC", "how often a positive row is ranked above a negative one"),
    "roc_auc_ovr": MetricLabel("ROC AUC", "the same, each class against the rest, averaged"),
    "average_precision": MetricLabel("average precision", "mean precision over all thresholds"),
    "f1": MetricLabel("F1", "harmonic mean of precision and recall"),
    "f1_macro": MetricLabel(
        "F1, all classes alike", "harmonic mean of precision and recall, averaged"
    ),
    "precision": MetricLabel("precision", "share of alarms that are true", "share"),
    "recall": MetricLabel("recall", "share of positives that are found", "share"),
    "log_loss": MetricLabel(
        "log loss", "cost of probabilities; sure and wrong costs most", perfect=0.0
    ),
    "brier_score": MetricLabel("Brier score", "mean squared error of probabilities", perfect=0.0),
    "r2": MetricLabel("R²", "share of the differences that is explained"),
    "explained_variance": MetricLabel("explained variance", "the same, but for an offset"),
    "root_mean_squared_error": MetricLabel(
        "RMSE", "typical error; large ones weigh more", perfect=0.0
    ),
    "mean_squared_error": MetricLabel("mean squared error", "mean of squared errors", perfect=0.0),
    "mean_absolute_error": MetricLabel("mean absolute error", "mean size of an error", perfect=0.0),
    "median_absolute_error": MetricLabel(
        "median error", "half of the errors are smaller", perfect=0.0
    ),
    "silhouette": MetricLabel(
        "silhouette", "how much nearer rows are to their own group than to the next"
    ),
}


def metric_label(name: str) -> MetricLabel:
    """What is known of a score; an unknown one is called by its name."""
    bare = name.removeprefix("neg_")
    known = METRIC_LABELS.get(bare)
    if known:
        return known
    return MetricLabel(bare.replace("_", " "), "", perfect=0.0 if bare != name else None)


def metric_title(name: str) -> str:
    """The name in plain words."""
    return metric_label(name).title


def display_value(name: str, value: float) -> float:
    """The value as people know it: errors are positive."""
    return -value if name.startswith("neg_") else value


def format_score(name: str, value: float) -> str:
    """The value in the form that suits its score."""
    value = display_value(name, value)
    if metric_label(name).form == "share":
        return format_percent(value)
    return format_fixed(value) if abs(value) < 10 else format_value(value, 4)


def format_aligned(name: str, value: float) -> str:
    """The value with three places, for columns of a table."""
    value = display_value(name, value)
    return format_fixed(value) if abs(value) < 100 else format_value(value, 4)
