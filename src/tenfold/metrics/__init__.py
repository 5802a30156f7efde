"""Metrics that merge: exact, from one pass, on arrays, files and clusters.

Names are lazy, but those that are also the name of their module: imported first, they stay.
"""

from typing import Any

from tenfold.metrics.confusion import Confusion as Confusion
from tenfold.metrics.evaluate import confusion as confusion
from tenfold.metrics.evaluate import evaluate as evaluate
from tenfold.metrics.metric import metric as metric

_OFFERS = {
    "calibration": ("Calibration",),
    "clusters": ("silhouette",),
    "curves": ("OperatingPoint", "PrecisionRecall", "Roc"),
    "metric": ("METRICS", "Metric", "default_metric"),
    "outcomes": ("Outcomes",),
    "predicting": ("predictions",),
    "probability_metrics": ("perplexity",),
}
_WHERE = {name: module for module, names in _OFFERS.items() for name in names}

__all__ = sorted([*_WHERE, "Confusion", "confusion", "evaluate", "metric"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'tenfold.metrics' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tenfold.metrics.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
