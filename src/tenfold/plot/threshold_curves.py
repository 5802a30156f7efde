"""ROC and precision-recall displays with the operating point."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.math.decision_costs import cost_class_weights
from tenfold.metrics.threshold_curves import (
    OperatingPoint,
    PrecisionRecallCurve,
    RocCurve,
    ThresholdCurve,
)
from tenfold.plot.style import (
    COLORS,
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    legend_outside,
    palette_color,
    style_axes,
)

MAX_LINE_POINTS = 4000  # of a plotted line
_MAX_LEGEND_CURVES = 16  # curves named in the legend


class ThresholdCurveDisplay:
    """One curve or several, by name; base class of the ROC and precision-recall displays."""

    kind: type[ThresholdCurve]
    labels: tuple[str, str]  # of x and y
    corner: str  # legend location that does not cover the curve

    def __init__(self, curves: Any, *, costs: Any = None, prevalence: float | None = None) -> None:
        self.curves = curves if isinstance(curves, dict) else {None: curves}
        self.costs, self.prevalence = costs, prevalence

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        positive: Any = None,
        sample_weight: Any = None,
        costs: Any = None,
        prevalence: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of a fitted classifier, on rows of any kind.

        Parameters
        ----------
        model : fitted classifier
            Of tenfold or scikit-learn.
        X, y, sample_weight :
            Rows, their labels and weights, as for `tenfold.metrics.evaluate`.
        positive : label, optional
            The positive class. By default the second of two; of more, each has a curve.
        costs, prevalence, ax : optional
            As for the display itself, and where to draw.
        """
        if positive is None and len(model.classes_) > 2:
            curves: Any = cls.kind.of_classes(model, X, y, sample_weight=sample_weight)
        else:
            curves = cls.kind.from_estimator(
                model, X, y, positive=positive, sample_weight=sample_weight
            )
        return cls(curves, costs=costs, prevalence=prevalence).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        *,
        positive: Any = None,
        sample_weight: Any = None,
        costs: Any = None,
        prevalence: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of scores in memory.

        Parameters
        ----------
        y, scores, positive, sample_weight :
            As `tenfold.metrics.RocCurve.from_predictions` takes them.
        costs, prevalence, ax : optional
            As for the display itself, and where to draw.
        """
        curve = cls.kind.from_predictions(y, scores, positive=positive, sample_weight=sample_weight)
        return cls(curve, costs=costs, prevalence=prevalence).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        alone = len(self.curves) == 1
        self.ax_ = get_axes(ax, (5.2, 4.8) if alone else (6.8, 4.8))
        self.figure_ = self.ax_.figure
        self._draw_baseline()
        self.lines_ = [
            self._draw_curve(
                curve,
                name,
                {"color": palette_color(i), "ls": "--" if i >= len(COLORS) else "-", "lw": 2.2},
            )
            for i, (name, curve) in enumerate(self.curves.items())
        ]
        self.point_ = None
        if alone:
            [curve] = self.curves.values()
            self.point_ = RocCurve(curve.table).operating_point(self.costs, self.prevalence)
            self._draw_point(curve, self.point_)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        self.ax_.set(xlabel=self.labels[0], ylabel=self.labels[1])
        self.ax_.set_aspect("equal")
        style_axes(self.ax_)
        if alone:
            self.ax_.legend(loc=self.corner, frameon=False)
        elif len(self.curves) <= _MAX_LEGEND_CURVES:
            legend_outside(self.ax_)
        return self

    def _draw_curve(self, curve: Any, name: Any, style: dict) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _draw_curve")

    def _draw_baseline(self) -> None:
        """The curve of random guessing."""
        raise NotImplementedError(f"{type(self).__name__} has to define _draw_baseline")

    def _draw_point(self, curve: Any, point: OperatingPoint) -> None:
        raise NotImplementedError(f"{type(self).__name__} has to define _draw_point")

    def _annotate(self, x: float, y: float, point: OperatingPoint, toward: tuple[int, int]) -> None:
        """The operating point and its threshold."""
        self.ax_.plot(x, y, "o", color=TEXT_COLOR, ms=8, mec="white", mew=1.2, zorder=5)
        why = "largest TPR \N{MINUS SIGN} FPR"
        if self.costs is not None:
            why = f"least cost, {format_number(point.cost)} per row"
        text = f"{why}\nthreshold {format_number(point.threshold)}"
        sides = ("right", "left")[toward[0] > 0], ("top", "bottom")[toward[1] > 0]
        box = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}
        self.ax_.annotate(
            text, (x, y), toward, textcoords="offset points", ha=sides[0], va=sides[1],
            color=TEXT_COLOR, fontsize="small", zorder=6, bbox=box,
        )  # fmt: skip


class RocDisplay(ThresholdCurveDisplay):
    """ROC curves, with the operating point of largest TPR - FPR or of least expected cost.

    Lines of equal cost are straight; the faint one touches the curve where cost is least.

    Parameters
    ----------
    curves : Roc, or dict from names to Roc
        What to draw.
    costs : (2, 2) array, optional
        Cost of predicting negative, positive (columns) for negative, positive rows (rows).
    prevalence : float, optional
        Share of positive rows where the model will be used; by default that of the rows.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    lines_, point_ : the curves, and the operating point of the only one (of several: None)

    Examples
    --------
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.lines_[0].get_label(), display.point_.threshold
    ('AUC 0.750', 0.8)
    """

    kind = RocCurve

    labels = ("false positive rate", "true positive rate")
    corner = "lower right"

    def _draw_curve(self, curve: RocCurve, name: Any, style: dict) -> Any:
        area = f"AUC {curve.auc:.3f}" + (f" ± {curve.error:.1g}" if curve.error else "")
        label = area if name is None else f"{name}: {area}"
        x, y = thin_line(curve.fpr, curve.tpr)
        return self.ax_.plot(x, y, label=label, zorder=3, **style)[0]

    def _draw_baseline(self) -> None:
        self.ax_.plot([0, 1], [0, 1], ls=":", color=MUTED_COLOR, lw=1.5, zorder=1)

    def _draw_point(self, curve: RocCurve, point: OperatingPoint) -> None:
        alarm, miss = (1.0, 1.0) if self.costs is None else cost_class_weights(self.costs)
        share = curve.prevalence if self.prevalence is None else self.prevalence
        odds = 1.0 if self.costs is None else ((1 - share) * alarm) / max(share * miss, 1e-300)
        self.ax_.axline(
            (point.fpr, point.tpr), slope=odds, color=MUTED_COLOR, lw=1, ls="--", zorder=1
        )
        self._annotate(point.fpr, point.tpr, point, (12, -10) if point.tpr > 0.25 else (12, 10))


class PrecisionRecallDisplay(ThresholdCurveDisplay):
    """Precision against recall, with the same operating point as the ROC curve.

    Parameters
    ----------
    curves : PrecisionRecall, or dict from names to PrecisionRecall
        What to draw.
    costs : (2, 2) array, optional
        Cost of predicting negative, positive (columns) for negative, positive rows (rows).
    prevalence : float, optional
        Share of positive rows where the model will be used; by default that of the rows.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    lines_, point_ : the curves, and the operating point of the only one (of several: None)

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.lines_[0].get_label()
    'average precision 0.833'
    """

    kind = PrecisionRecallCurve
    labels = ("recall", "precision")
    corner = "lower left"

    def _draw_curve(self, curve: PrecisionRecallCurve, name: Any, style: dict) -> Any:
        value = f"{curve.average_precision:.3f}" + (f" ± {curve.error:.1g}" if curve.error else "")
        label = f"average precision {value}" if name is None else f"{name}: AP {value}"
        x, y = thin_line(curve.recall[::-1], curve.precision[::-1])
        return self.ax_.step(x, y, where="pre", label=label, zorder=3, **style)[0]

    def _draw_baseline(self) -> None:
        if len(self.curves) == 1:
            [curve] = self.curves.values()
            self.ax_.axhline(curve.prevalence, ls=":", color=MUTED_COLOR, lw=1.5, zorder=1)

    def _draw_point(self, curve: PrecisionRecallCurve, point: OperatingPoint) -> None:
        at = len(curve.precision) - 1 - point.place  # the ROC curve begins at the other end
        x, y = float(curve.recall[at]), float(curve.precision[at])
        self._annotate(x, y, point, (-12, -12) if x > 0.5 else (12, -12))


def thin_line(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thin a line to points that are evenly spaced along it."""
    if len(x) <= MAX_LINE_POINTS:
        return x, y
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    indices = np.searchsorted(length, np.linspace(0, length[-1], MAX_LINE_POINTS))
    indices = np.unique(np.minimum(indices, len(x) - 1))
    return x[indices], y[indices]
