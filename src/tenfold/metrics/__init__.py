"""Metrics that merge: exact, from one pass, on arrays, files and clusters.

Names are lazy, but those that are also the name of their module: imported first, they stay.
"""

from tenfold.lazy import homes, lazily
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
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted([*_WHERE, "Confusion", "confusion", "evaluate", "metric"])  # noqa: PLE0605
__getattr__, __dir__ = lazily(__name__, _WHERE)
