"""The interface of a metric: a mergeable statistic of rows, and a value of the total."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_NO_WEIGHTS = np.empty(0)


class Metric:
    """Base class of metrics: a mergeable statistic of rows and a value; greater is better.

    Derive from it to define a metric: `tenfold.metrics.evaluate` and cross-validation accept such
    an object wherever they accept a name.

    Attributes
    ----------
    name : str
        Its name; that of scikit-learn's scorer where there is one.
    wants : str
        The predictions it needs: "values" (of a regressor), "labels" (class indices),
        "probabilities" (n_rows, n_classes), or "scores": (n_rows,) for two classes, else
        (n_rows, n_classes).

    Examples
    --------
    The share of predictions within 1 of the target:

    >>> import numpy as np
    >>> class Near(Metric):
    ...     name, wants = "near", "values"
    ...
    ...     def part(self, y, predicted, w, k):
    ...         w = np.ones(len(y)) if w is None else w
    ...         return w @ (abs(y - predicted) <= 1), w.sum()
    ...
    ...     def value(self, statistic):
    ...         return statistic[0] / statistic[1]
    >>> from tenfold import LinearRegression
    >>> from tenfold.metrics import evaluate
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 4.0, 2.0])
    >>> evaluate(LinearRegression().fit(X, y), X, y, metrics=Near())
    {'near': 0.6666666666666666}
    """

    name: str
    wants: str

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> Any:
        """The statistic of some rows; two of them merge by `tenfold.engine.merge`.

        Parameters
        ----------
        y : array of shape (n_rows,) or (n_rows, n_targets)
            Class indices 0 .. k-1, or the targets of a regression.
        predicted : array
            Predictions of the kind that `wants` names.
        w : array of shape (n_rows,) or None
            Weights.
        k : int or None
            Number of classes.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define part(y, predicted, w, k)")

    def value(self, statistic: Any) -> float:
        """The value of the merged statistic of all rows.

        Parameters
        ----------
        statistic : object
            Merged results of `part`.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define value(statistic)")

    def __repr__(self) -> str:
        return f"<metric {self.name}>"


class WeightedLossSum(NamedTuple):
    """Weighted sum of losses of each target, (q,), and the total weight."""

    loss: np.ndarray
    weight: float


class MeanLoss(Metric):
    """Negative mean of a loss over rows, averaged over targets."""

    def part(
        self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /
    ) -> WeightedLossSum:
        losses = self.losses(y, predicted, k)
        if w is None:
            return WeightedLossSum(losses.sum(axis=0), float(len(losses)))
        w = np.asarray(w, np.float64)
        return WeightedLossSum(w @ losses, float(w.sum()))

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        """Loss of each row and target, (n, q)."""
        raise NotImplementedError(f"{type(self).__name__} has to define losses(y, predicted, k)")

    def value(self, statistic: WeightedLossSum) -> float:
        return -float(self.transform_mean(safe_divide(statistic.loss, statistic.weight)).mean())

    def transform_mean(self, means: np.ndarray) -> np.ndarray:
        """Transformation of the mean loss of each target."""
        return means


def safe_divide(a: Any, b: Any) -> Any:
    """The quotient a / b; 0 / 0 is NaN (undefined), a / 0 is infinite.

    Examples
    --------
    >>> [float(safe_divide(*pair)) for pair in [(1, 2), (1, 0), (0, 0)]]
    [0.5, inf, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b)


def as_weight_array(w: Any) -> np.ndarray:
    """Weights for the compiled loops: float64, empty if there are none."""
    return _NO_WEIGHTS if w is None else np.ascontiguousarray(w, np.float64)


def as_class_indices(numbers: Any) -> np.ndarray:
    """Class indices for the compiled loops: int64."""
    return np.ascontiguousarray(numbers, np.int64)
