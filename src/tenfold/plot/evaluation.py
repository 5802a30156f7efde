"""Displays of predictions: confusion matrix, calibration, residuals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from tenfold.metrics._predictions import predictions
from tenfold.metrics.calibration import Calibration
from tenfold.metrics.confusion import ConfusionMatrix
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
)  # classes up to which cells are written on
_WHITE_TEXT_SHARE = 0.55  # share above which text is white


class ConfusionDisplay:
    """A confusion matrix as a heat map: colour is the share of the true class.

    Parameters
    ----------
    matrix : Confusion
        Counts.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    image_ : the heat map
    text_ : (k, k) what is written, None where nothing is

    Examples
    --------
    >>> shown = ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> shown.text_[0, 1].get_text().split()
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
            Rows, their labels and weights, as `tenfold.metrics.evaluation` takes them.
        ax : Axes, optional
            Where to draw.
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
            True labels, what was said, and weights.
        ax : Axes, optional
            Where to draw.
        """
        return cls(
            ConfusionMatrix.from_predictions(y, predicted, sample_weight=sample_weight)
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
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
        self.ax_.set(xlabel="said", ylabel="true", title=f"accuracy {self.matrix.accuracy:.3f}")
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
    """How often it happens against how probable it was said to be, over a histogram.

    Parameters
    ----------
    calibration : Calibration
        Bins.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    histogram_ax_ : the axes of the histogram, None if there is but one
    line_ : the calibration

    Examples
    --------
    >>> shown = CalibrationDisplay.from_predictions([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> shown.line_.get_ydata().tolist()
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
            Where to draw; the second is for the histogram.
        """
        made = Calibration.from_estimator(
            model, X, y, positive=positive, bins=bins, sample_weight=sample_weight
        )
        return cls(made).plot(ax)

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
            Where to draw; the second is for the histogram.
        """
        made = Calibration.from_predictions(
            y, probabilities, positive=positive, bins=bins, sample_weight=sample_weight
        )
        return cls(made).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or two of them, optional
            Where to draw; the second is for the histogram.
        """
        c = self.calibration
        self.ax_, self.histogram_ax_ = get_axes_pair(ax, (2, 1), (5.2, 5.6), height_ratios=(3, 1))
        self.figure_ = self.ax_.figure
        there = c.weight > 0
        self.ax_.plot([0, 1], [0, 1], ls=":", color=MUTED_COLOR, lw=1.5, zorder=1)
        self.ax_.vlines(
            c.predicted[there], c.predicted[there], c.observed[there], color=MUTED_COLOR, lw=2
        )
        look = {"color": palette_color(0), "lw": 2.2, "mec": "white", "ms": 8}
        [self.line_] = self.ax_.plot(c.predicted[there], c.observed[there], "o-", **look)
        what = "right" if c.positive is None else str(c.positive)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"share that is {what}")
        self.ax_.text(
            0.03, 0.97, self._summary(), va="top", color=TEXT_COLOR, transform=self.ax_.transAxes
        )
        lowest = self.ax_
        if self.histogram_ax_ is not None:
            lowest = self.histogram_ax_
            self._histogram(lowest)
        lowest.set_xlabel(f"predicted probability of {'what is said' if what == 'right' else what}")
        style_axes(self.ax_)
        return self

    def _summary(self) -> str:
        c = self.calibration
        return f"calibration error {format_number(c.expected_error)}\nBrier score {format_number(c.brier)}"

    def _histogram(self, ax: Any) -> None:
        edges = np.linspace(0, 1, len(self.calibration.weight) + 1)
        ax.stairs(self.calibration.weight, edges, fill=True, color=palette_color(0), alpha=0.75)
        ax.vlines(edges[1:-1], 0, self.calibration.weight[1:], color="white", lw=1)
        ax.set_ylabel("rows")
        style_axes(ax)


class ResidualsDisplay:
    """Residuals against predictions, beside a normal quantile plot or a histogram.

    Parameters
    ----------
    predicted, residuals : (n,) arrays
        Predictions, and truth less prediction.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    beside_ax_ : the axes of the second picture, None if there is but one
    points_, line_ : residuals, and their running mean

    Examples
    --------
    >>> shown = ResidualsDisplay.from_predictions([1.0, 2.0, 4.0], [1.0, 2.5, 3.0])
    >>> shown.points_.get_offsets()[:, 1].tolist()
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
        """Draw the residuals of a fitted regressor, of rows drawn from data of any kind.

        Parameters
        ----------
        model : fitted regressor
            Of tenfold or scikit-learn.
        X, y :
            Rows and their target, as `tenfold.metrics.evaluation` takes them.
        sample, seed : int
            How many rows to draw, and which.
        beside : {"quantiles", "histogram"}
            What stands beside.
        ax : Axes or two of them, optional
            Where to draw.
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
            Truth and predictions.
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
            Where to draw.
        beside : {"quantiles", "histogram"}
            What stands beside.
        """
        pictures = {"quantiles": self._quantiles, "histogram": self._histogram}
        if beside not in pictures:
            raise ValueError(f"beside={beside!r}: choose one of {sorted(pictures)}")
        self.ax_, self.beside_ax_ = get_axes_pair(ax, (1, 2), (9.2, 4.2), width_ratios=(3, 2))
        self.figure_ = self.ax_.figure
        few = len(self.residuals) < 500
        look = {"s": 22 if few else 10, "alpha": 0.6 if few else 0.35, "linewidths": 0}
        self.points_ = self.ax_.scatter(
            self.predicted, self.residuals, color=palette_color(0), **look
        )
        self.ax_.axhline(0, color=TEXT_COLOR, lw=1)
        [self.line_] = self.ax_.plot(
            *running_means(self.predicted, self.residuals),
            color=palette_color(1),
            lw=2.2,
            label="running mean",
        )
        self.ax_.set(xlabel="prediction", ylabel="truth \N{MINUS SIGN} prediction")
        self.ax_.legend(frameon=False, loc="best")
        style_axes(self.ax_)
        if self.beside_ax_ is not None:
            pictures[beside](self.beside_ax_)
            style_axes(self.beside_ax_)
        return self

    def _quantiles(self, ax: Any) -> None:
        """Sorted residuals against those of a normal distribution of the same mean and spread."""
        n = len(self.residuals)
        normal = ndtri((np.arange(n) + 0.5) / n)
        mean, spread = self.residuals.mean(), self.residuals.std()
        ax.axline((0, mean), slope=spread, color=TEXT_COLOR, lw=1)
        ax.plot(
            normal, np.sort(self.residuals), "o", color=palette_color(0), ms=3.5, alpha=0.6, mew=0
        )
        ax.set(xlabel="normal quantile", ylabel="residual, sorted")

    def _histogram(self, ax: Any) -> None:
        """Residuals, and the normal density of the same mean and spread."""
        mean, spread = self.residuals.mean(), self.residuals.std()
        ax.hist(self.residuals, "auto", density=True, color=palette_color(0), alpha=0.6, ec="white")
        low, high = ax.get_xlim()
        at = np.linspace(low, high, 300)
        if spread > 0:
            density = np.exp(-(((at - mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
            ax.plot(at, density, color=TEXT_COLOR, lw=1.5, label="normal")
            ax.legend(frameon=False)
        ax.set(xlabel="residual", ylabel="density")


def running_means(x: np.ndarray, y: np.ndarray, most: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Means of x and y over stretches of equally many points, in the order of x."""
    stretches = np.array_split(np.argsort(x, kind="stable"), min(most, max(len(x) // 15, 1)))
    at, means = (np.array([part[s].mean() for s in stretches]) for part in (x, y))
    return at, means
