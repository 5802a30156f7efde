"""Displays of predictions: confusion matrix, calibration, residuals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from tenfold.metrics._predictions import predictions
from tenfold.metrics.calibration import Calibration
from tenfold.metrics.confusion import ConfusionMatrix
from tenfold.metrics.coverage import interval_coverage
from tenfold.metrics.evaluation import confusion_matrix, open_evaluation_rows
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    get_axes_pair,
    palette_color,
    style_axes,
)

_MAX_CLASSES_WITH_SHARES, _MAX_CLASSES_WITH_COUNTS = (
    8,
    16,
)  # number of classes up to which cells show shares, and counts
_WHITE_TEXT_SHARE = 0.55  # share above which text is white


class ConfusionDisplay:
    """A confusion matrix as a heat map: color is the share of the true class.

    Parameters
    ----------
    matrix : Confusion
        Counts.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    image_ : the heat map
    text_ : (n_classes, n_classes) text of the cells, None where there is none

    Examples
    --------
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.text_[0, 1].get_text().split()
    ['1', '50%']
    """

    def __init__(self, matrix: ConfusionMatrix) -> None:
        self.matrix = matrix

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw the confusion matrix of a fitted classifier, on rows of any kind.

        Parameters
        ----------
        model : fitted classifier
            Of tenfold or scikit-learn.
        X, y, sample_weight :
            Rows, their labels and weights, as for `tenfold.metrics.evaluate`.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        return cls(confusion_matrix(model, X, y, sample_weight=sample_weight)).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw the confusion matrix of labels in memory.

        Parameters
        ----------
        y, predicted, sample_weight : (n,) arrays
            True labels, predicted labels, and weights.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        return cls(
            ConfusionMatrix.from_predictions(y, predicted, sample_weight=sample_weight)
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        k = len(self.matrix.classes)
        side = min(2.6 + 0.58 * k, 9.0)
        self.ax_ = get_axes(ax, (side + 0.9, side))
        self.figure_ = self.ax_.figure
        shares = np.nan_to_num(self.matrix.shares)
        self.image_ = self.ax_.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        names = [str(label) for label in self.matrix.classes]
        slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        fits = max(map(len, names)) <= max(14 - k, 4)  # letters below a cell
        self.ax_.set_xticks(range(k), names, **({} if fits else slanted))
        self.ax_.set_yticks(range(k), names)
        self.ax_.set(
            xlabel="predicted", ylabel="true", title=f"accuracy {self.matrix.accuracy:.3f}"
        )
        self.text_ = np.full((k, k), None, dtype=object)
        if k <= _MAX_CLASSES_WITH_COUNTS:
            for at, count in np.ndenumerate(self.matrix.counts):
                self.text_[at] = self._write(
                    at, count, float(shares[at]), with_share=k <= _MAX_CLASSES_WITH_SHARES
                )
        bar = self.figure_.colorbar(self.image_, ax=self.ax_, shrink=0.82, aspect=25)
        bar.set_label("share of the true class", color=TEXT_COLOR)
        bar.outline.set_visible(False)
        style_axes(self.ax_, grid=False)
        self.ax_.spines[:].set_visible(False)
        self.ax_.tick_params(length=0)
        return self

    def _write(self, at: tuple, count: float, share: float, *, with_share: bool) -> Any:
        if count == 0 and not with_share:
            return None
        text = f"{count:.0f}" if float(count).is_integer() else f"{count:.3g}"
        text += f"\n{100 * share:.3g}%" if with_share else ""
        hue = "white" if share > _WHITE_TEXT_SHARE else MUTED_COLOR if count == 0 else TEXT_COLOR
        size = "medium" if with_share else "small"
        return self.ax_.text(*at[::-1], text, ha="center", va="center", color=hue, fontsize=size)


class CalibrationDisplay:
    """Observed frequency against predicted probability, above a histogram.

    Parameters
    ----------
    calibration : Calibration
        Bins.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    histogram_ax_ : the axes of the histogram, None if there is only one
    line_ : the calibration curve

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> display.line_.get_ydata().tolist()
    [0.5, 1.0]
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, positive: Any = None, bins: int = 10,
        sample_weight: Any = None, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the calibration of a fitted classifier, on rows of any kind.

        Parameters
        ----------
        model, X, y, positive, bins, sample_weight :
            As `tenfold.metrics.Calibration.from_estimator` takes them.
        ax : Axes or two of them, optional
            Axes to draw into; the second is for the histogram.
        """
        calibration = Calibration.from_estimator(
            model, X, y, positive=positive, bins=bins, sample_weight=sample_weight
        )
        return cls(calibration).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: Any, probabilities: Any, *, positive: Any = None, bins: int = 10,
        sample_weight: Any = None, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the calibration of probabilities in memory.

        Parameters
        ----------
        y, probabilities, positive, bins, sample_weight :
            As `tenfold.metrics.Calibration.from_predictions` takes them.
        ax : Axes or two of them, optional
            Axes to draw into; the second is for the histogram.
        """
        calibration = Calibration.from_predictions(
            y, probabilities, positive=positive, bins=bins, sample_weight=sample_weight
        )
        return cls(calibration).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or two of them, optional
            Axes to draw into; the second is for the histogram.
        """
        c = self.calibration
        self.ax_, self.histogram_ax_ = get_axes_pair(ax, (2, 1), (5.2, 5.6), height_ratios=(3, 1))
        self.figure_ = self.ax_.figure
        occupied = c.weight > 0
        self.ax_.plot([0, 1], [0, 1], ls=":", color=MUTED_COLOR, lw=1.5, zorder=1)
        self.ax_.vlines(
            c.predicted[occupied],
            c.predicted[occupied],
            c.observed[occupied],
            color=MUTED_COLOR,
            lw=2,
        )
        style = {"color": palette_color(0), "lw": 2.2, "mec": "white", "ms": 8}
        [self.line_] = self.ax_.plot(c.predicted[occupied], c.observed[occupied], "o-", **style)
        what = "correct" if c.positive is None else str(c.positive)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"share that is {what}")
        self.ax_.text(
            0.03, 0.97, self._summary(), va="top", color=TEXT_COLOR, transform=self.ax_.transAxes
        )
        bottom_ax = self.ax_
        if self.histogram_ax_ is not None:
            bottom_ax = self.histogram_ax_
            self._histogram(bottom_ax)
        bottom_ax.set_xlabel(
            f"predicted probability of {'the predicted class' if c.positive is None else what}"
        )
        style_axes(self.ax_)
        return self

    def _summary(self) -> str:
        c = self.calibration
        error, brier = format_number(c.expected_error), format_number(c.brier)
        return f"calibration error {error}\nBrier score {brier}"

    def _histogram(self, ax: Any) -> None:
        edges = np.linspace(0, 1, len(self.calibration.weight) + 1)
        ax.stairs(self.calibration.weight, edges, fill=True, color=palette_color(0), alpha=0.75)
        ax.vlines(edges[1:-1], 0, self.calibration.weight[1:], color="white", lw=1)
        ax.set_ylabel("rows")
        style_axes(ax)


class ResidualsDisplay:
    """Residuals against predictions, next to a normal quantile plot or a histogram.

    Parameters
    ----------
    predicted, residuals : (n,) arrays
        Predictions, and targets minus predictions.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    beside_ax_ : the axes of the second picture, None if there is only one
    points_, line_ : residuals and their running mean

    Examples
    --------
    >>> display = ResidualsDisplay.from_predictions([1.0, 2.0, 4.0], [1.0, 2.5, 3.0])
    >>> display.points_.get_offsets()[:, 1].tolist()
    [0.0, -0.5, 1.0]
    """

    def __init__(self, predicted: Any, residuals: Any) -> None:
        self.predicted, self.residuals = np.asarray(predicted, float), np.asarray(residuals, float)
        if self.predicted.shape != self.residuals.shape or self.predicted.ndim != 1:
            raise ValueError("predictions and residuals must be one number per row: one target")

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, sample: int = 2000, seed: int = 0,
        beside: str = "quantiles", ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the residuals of a fitted regressor on a sample of rows of any kind.

        Parameters
        ----------
        model : fitted regressor
            Of tenfold or scikit-learn.
        X, y :
            Rows and their target, as for `tenfold.metrics.evaluate`.
        sample, seed : int
            Number of sampled rows, and the seed.
        beside : {"quantiles", "histogram"}
            The second plot.
        ax : Axes or two of them, optional
            Axes to draw into; a new figure by default.
        """
        rows = open_evaluation_rows(model, X, y, None).sample(sample, seed)
        predicted = predictions(model, rows.X, "values")
        return cls(predicted, rows.y - predicted).plot(ax, beside=beside)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, beside: str = "quantiles", ax: Any = None
    ) -> Self:
        """Draw the residuals of predictions in memory.

        Parameters
        ----------
        y, predicted : (n,) arrays
            Targets and predictions.
        beside, ax :
            As for `from_estimator`.
        """
        predicted = np.asarray(predicted, float)
        return cls(predicted, np.asarray(y, float) - predicted).plot(ax, beside=beside)

    def plot(self, ax: Any = None, *, beside: str = "quantiles") -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or two of them, optional
            Axes to draw into; a new figure by default.
        beside : {"quantiles", "histogram"}
            The second plot.
        """
        panels = {"quantiles": self._quantiles, "histogram": self._histogram}
        if beside not in panels:
            raise ValueError(f"beside={beside!r}: choose one of {sorted(panels)}")
        self.ax_, self.beside_ax_ = get_axes_pair(ax, (1, 2), (9.2, 4.2), width_ratios=(3, 2))
        self.figure_ = self.ax_.figure
        few = len(self.residuals) < 500
        style = {"s": 22 if few else 10, "alpha": 0.6 if few else 0.35, "linewidths": 0}
        self.points_ = self.ax_.scatter(
            self.predicted, self.residuals, color=palette_color(0), **style
        )
        self.ax_.axhline(0, color=TEXT_COLOR, lw=1)
        [self.line_] = self.ax_.plot(
            *running_means(self.predicted, self.residuals),
            color=palette_color(1),
            lw=2.2,
            label="running mean",
        )
        self.ax_.set(xlabel="prediction", ylabel="target \N{MINUS SIGN} prediction")
        self.ax_.legend(frameon=False, loc="best")
        style_axes(self.ax_)
        if self.beside_ax_ is not None:
            panels[beside](self.beside_ax_)
            style_axes(self.beside_ax_)
        return self

    def _quantiles(self, ax: Any) -> None:
        """Sorted residuals against normal quantiles of the same mean and standard deviation."""
        n = len(self.residuals)
        normal = ndtri((np.arange(n) + 0.5) / n)
        mean, deviation = self.residuals.mean(), self.residuals.std()
        ax.axline((0, mean), slope=deviation, color=TEXT_COLOR, lw=1)
        ax.plot(
            normal, np.sort(self.residuals), "o", color=palette_color(0), ms=3.5, alpha=0.6, mew=0
        )
        ax.set(xlabel="normal quantile", ylabel="residual, sorted")

    def _histogram(self, ax: Any) -> None:
        """Residuals, and the normal density of the same mean and standard deviation."""
        mean, deviation = self.residuals.mean(), self.residuals.std()
        ax.hist(self.residuals, "auto", density=True, color=palette_color(0), alpha=0.6, ec="white")
        low, high = ax.get_xlim()
        x = np.linspace(low, high, 300)
        if deviation > 0:
            density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (
                deviation * np.sqrt(2 * np.pi)
            )
            ax.plot(x, density, color=TEXT_COLOR, lw=1.5, label="normal")
            ax.legend(frameon=False)
        ax.set(xlabel="residual", ylabel="density")


def running_means(x: np.ndarray, y: np.ndarray, most: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Means of x and y over consecutive groups of equal size, in the order of x."""
    groups = np.array_split(np.argsort(x, kind="stable"), min(most, max(len(x) // 15, 1)))
    at, means = (np.array([part[s].mean() for s in groups]) for part in (x, y))
    return at, means


def coverage_curve(
    y: Any, mean: Any, std: Any, *, label: str | None = None, sample_weight: Any = None,
    ax: Any = None
) -> Any:  # fmt: skip
    """Share of targets inside prediction intervals against the level that they promise.

    Below the dotted line intervals are too narrow, above it too wide.

    Parameters
    ----------
    y, mean, std, sample_weight :
        As `tenfold.metrics.interval_coverage` takes them.
    label : str, optional
        Name in the legend; the calibration error is written beside it.
    ax : Axes, optional
        Axes to draw into; several models may share them.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = coverage_curve([0.0, 0.5, 3.0], [0, 0, 0], [1, 1, 1], label="too narrow")
    >>> ax.get_legend().get_texts()[0].get_text()
    'too narrow, error 0.15'
    """
    ax = get_axes(ax)
    found = interval_coverage(y, mean, std, sample_weight=sample_weight)
    if not ax.lines:
        ax.plot([0, 1], [0, 1], ls=":", color=MUTED_COLOR, lw=1.5, zorder=1)
    color = palette_color(len(ax.lines) - 1)
    text = f"{label}, error {found.error:.2f}" if label else f"error {found.error:.2f}"
    ax.plot(found.levels, found.coverage, "o-", color=color, lw=2, ms=4, mec="white", label=text)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set(xlabel="level of the interval", ylabel="share of targets inside")
    ax.legend(loc="upper left", frameon=False)
    style_axes(ax)
    return ax
