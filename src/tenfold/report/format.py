"""Text of numbers, lists of names and metrics, as reports and the command line show them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

MINUS = "\N{MINUS SIGN}"
_ROUNDING = 1e-6  # of the scale of a figure: smaller values are shown as 0


def format_value(value: Any, digits: int = 3, *, scale: float = 0.0) -> str:
    """A number with its significant digits and thousands separators; anything else as text.

    Parameters
    ----------
    value : object
        A number, date, truth value or text; None and NaN are a dash.
    digits : int
        Significant digits of a number.
    scale : float
        Size of the numbers beside it: less than a millionth of it is rounding error, and 0.

    Examples
    --------
    >>> format_value(12345.678), format_value(0.01234), format_value(-2.0), format_value(None)
    ('12,346', '0.0123', '−2', '–')
    >>> format_value(4.2e-17, scale=0.1)
    '0'
    """
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "\N{EN DASH}"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if not isinstance(value, int | float | np.number):
        return str(value) or "(empty)"
    number = 0.0 if abs(float(value)) < _ROUNDING * abs(scale) else float(value)
    return _format_number(number, digits).replace("-", MINUS)


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


def format_fixed(value: float, decimals: int = 3) -> str:
    """A score with a fixed number of decimals, so that columns of scores line up."""
    if value is None or not np.isfinite(value):
        return "\N{EN DASH}"
    if abs(value) >= 1000:
        return format_value(value)
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", MINUS)


def format_rounded(value: float, digits: int = 3, *, scale: float = 0.0) -> str:
    """A number rounded to its first digits.

    Examples
    --------
    >>> format_rounded(34_397.2), format_rounded(0.123456)
    ('34,400', '0.123')
    """
    return format_value(float(f"{float(value):.{digits}g}"), digits, scale=scale)


def format_count(n: float) -> str:
    """A whole number with thousands separators."""
    return f"{int(n):,}"


def format_percent(share: float) -> str:
    r"""A share of one in percent, with more decimals near 0 and 1.

    Examples
    --------
    >>> format_percent(0.5), format_percent(0.974), format_percent(0.9996)
    ('50\xa0%', '97.4\xa0%', '99.96\xa0%')
    """
    to_end = min(share, 1 - share)
    decimals = 2 if 0 < to_end < 0.002 else 1 if 0 < to_end < 0.1 else 0
    text = f"{100 * share:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return f"{text}\N{NO-BREAK SPACE}%".replace("-", MINUS)


def format_duration(seconds: float) -> str:
    """A time in milliseconds, seconds or minutes."""
    if seconds < 0.0995:
        return f"{max(seconds * 1000, 1):.0f} ms"
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min"


def join_names(names: Iterable[str], *, most: int = 6) -> str:
    """Names as an enumeration; those beyond `most` are counted.

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


def shorten(text: str, most: int) -> str:
    """At most so many characters, the last an ellipsis where text was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def capitalize_first(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """The text with its first letter in lower case; abbreviations keep their capitals.

    Examples
    --------
    >>> lower_first("Logistic regression"), lower_first("SVM")
    ('logistic regression', 'SVM')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def short_title(title: str) -> str:
    """The title of a model up to a colon."""
    return title.split(":", maxsplit=1)[0]


class MetricLabel(NamedTuple):
    """Name and meaning of a metric.

    Attributes
    ----------
    title, meaning : what people call it, and what it measures
    form : "plain", or "share" for metrics shown in percent
    perfect : the best value; None if it is not known
    """

    title: str
    meaning: str
    form: str = "plain"
    perfect: float | None = 1.0


METRIC_LABELS = {
    "accuracy": MetricLabel("accuracy", "share of correct predictions", "share"),
    "balanced_accuracy": MetricLabel("balanced accuracy", "recall, averaged over classes", "share"),
    "roc_auc": MetricLabel(
        "ROC AUC", "probability that a positive row is ranked above a negative one"
    ),
    "roc_auc_ovr": MetricLabel("ROC AUC", "area under the ROC curve, averaged over classes"),
    "average_precision": MetricLabel("average precision", "area under the precision-recall curve"),
    "f1": MetricLabel("F1", "harmonic mean of precision and recall"),
    "f1_macro": MetricLabel("macro F1", "F1, averaged over classes"),
    "precision": MetricLabel("precision", "share of predicted positives that are correct", "share"),
    "recall": MetricLabel("recall", "share of positive rows that are found", "share"),
    "log_loss": MetricLabel(
        "log loss", "negative mean log-likelihood of the true class", perfect=0.0
    ),
    "brier_score": MetricLabel("Brier score", "mean squared error of probabilities", perfect=0.0),
    "r2": MetricLabel("R²", "share of the variance of the target that is explained"),
    "explained_variance": MetricLabel(
        "explained variance", "R² without the mean error of the predictions"
    ),
    "root_mean_squared_error": MetricLabel(
        "RMSE", "root of the mean squared error, in units of the target", perfect=0.0
    ),
    "mean_squared_error": MetricLabel("MSE", "mean squared error", perfect=0.0),
    "mean_absolute_error": MetricLabel(
        "MAE", "mean absolute error, in units of the target", perfect=0.0
    ),
    "median_absolute_error": MetricLabel(
        "median error", "median absolute error, in units of the target", perfect=0.0
    ),
    "silhouette": MetricLabel(
        "silhouette", "how much closer rows are to their own cluster than to the next, -1 to 1"
    ),
}


def metric_label(name: str) -> MetricLabel:
    """Name and meaning of a metric; one without an entry is called by its own name."""
    bare = name.removeprefix("neg_")
    label = METRIC_LABELS.get(bare)
    if label:
        return label
    return MetricLabel(bare.replace("_", " "), "", perfect=0.0 if bare != name else None)


def metric_title(name: str) -> str:
    """What people call a metric."""
    return metric_label(name).title


def display_value(name: str, value: float) -> float:
    """The value with its usual sign: inside tenfold larger is better, errors are shown positive."""
    return -value if name.startswith("neg_") else value


def format_score(name: str, value: float) -> str:
    """A score in the form of its metric: percent or a number."""
    value = display_value(name, value)
    if metric_label(name).form == "share":
        return format_percent(value)
    return format_fixed(value) if abs(value) < 10 else format_value(value, 4)


def format_aligned(name: str, value: float) -> str:
    """A score with three decimals, for columns of a table."""
    value = display_value(name, value)
    return format_fixed(value) if abs(value) < 100 else format_value(value, 4)


def format_interval(name: str, low: float, high: float) -> str:
    """The ends of an interval of a score, the smaller number first.

    Examples
    --------
    >>> format_interval("neg_log_loss", -0.5, -0.25)
    '0.250 to 0.500'
    """
    low, high = clip_interval(name, low, high)
    first, last = (high, low) if name.startswith("neg_") else (low, high)
    return f"{format_aligned(name, first)} to {format_aligned(name, last)}"


def clip_interval(name: str, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that a score can reach: no accuracy is above 1.

    Examples
    --------
    >>> clip_interval("accuracy", 0.9, 1.03)
    (0.9, 1.0)
    """
    perfect = metric_label(name).perfect
    return (low, high) if perfect is None else (low, min(high, display_value(name, perfect)))
