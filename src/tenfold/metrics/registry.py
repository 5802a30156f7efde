"""Metrics by name."""

from __future__ import annotations

from typing import Any

from tenfold.metrics.base import Metric
from tenfold.metrics.classification import LABEL_METRICS, PROBABILITY_METRICS
from tenfold.metrics.ranking import RANKING_METRICS
from tenfold.metrics.regression import REGRESSION_METRICS

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in [*LABEL_METRICS, *PROBABILITY_METRICS, *RANKING_METRICS, *REGRESSION_METRICS]
}


def get_metric(which: Any) -> Metric:
    """Look up a metric by name; a Metric object is returned unchanged.

    Parameters
    ----------
    which : str or Metric
        A name (that of scikit-learn's scorer), or a metric object.

    Returns
    -------
    Metric

    Examples
    --------
    >>> get_metric("neg_log_loss").wants
    'probabilities'
    """
    if isinstance(which, str):
        if which not in METRICS:
            raise ValueError(f"there is no metric {which!r}; there are {', '.join(METRICS)}")
        return METRICS[which]
    if not all(hasattr(which, part) for part in ("name", "wants", "part", "value")):
        raise TypeError(
            f"{which!r} is not a metric: give a name such as 'accuracy', or a "
            "tenfold.metrics.Metric with name, wants, part(y, predicted, w, k) and value(statistic)"
        )
    return which


def default_metric(is_classifier: bool) -> Metric:
    """Accuracy for classifiers, R^2 for regressors.

    Parameters
    ----------
    is_classifier : bool
        Whether the model predicts labels.
    """
    return METRICS["accuracy" if is_classifier else "r2"]


__all__ = ["METRICS", "Metric", "default_metric", "get_metric"]
