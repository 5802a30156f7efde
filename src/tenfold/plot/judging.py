"""How right a classifier is: confusion and calibration."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.metrics.calibration import Calibration
from tenfold.metrics.confusion import Confusion
from tenfold.metrics.evaluate import confusion
from tenfold.plot.style import FAINT, INK, axes, clean, colour, number

SHARES_UP_TO, COUNTS_UP_TO = 8, 16  # classes up to which cells are written on
DARK = 0.55  # share above which text is white


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

    def __init__(self, matrix: Confusion) -> None:
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
            Rows, their labels and weights, as `tenfold.metrics.evaluate` takes them.
        ax : Axes, optional
            Where to draw.
        """
        return cls(confusion(model, X, y, sample_weight=sample_weight)).plot(ax)

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
        return cls(Confusion.from_predictions(y, predicted, sample_weight=sample_weight)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        k = len(self.matrix.classes)
        side = min(2.6 + 0.58 * k, 9.0)
        self.ax_ = axes(ax, (side + 0.9, side))
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
        if k <= COUNTS_UP_TO:
            for at, count in np.ndenumerate(self.matrix.counts):
                self.text_[at] = self._write(
                    at, count, float(shares[at]), with_share=k <= SHARES_UP_TO
                )
        bar = self.figure_.colorbar(self.image_, ax=self.ax_, shrink=0.82, aspect=25)
        bar.set_label("share of the true class", color=INK)
        bar.outline.set_visible(False)
        clean(self.ax_, grid=False)
        self.ax_.spines[:].set_visible(False)
        self.ax_.tick_params(length=0)
        return self

    def _write(self, at: tuple, count: float, share: float, *, with_share: bool) -> Any:
        if count == 0 and not with_share:
            return None
        text = f"{count:.0f}" if float(count).is_integer() else f"{count:.3g}"
        text += f"\n{100 * share:.3g}%" if with_share else ""
        hue = "white" if share > DARK else FAINT if count == 0 else INK
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
        self.ax_, self.histogram_ax_ = two_axes(ax, (2, 1), (5.2, 5.6), height_ratios=(3, 1))
        self.figure_ = self.ax_.figure
        there = c.weight > 0
        self.ax_.plot([0, 1], [0, 1], ls=":", color=FAINT, lw=1.5, zorder=1)
        self.ax_.vlines(
            c.predicted[there], c.predicted[there], c.observed[there], color=FAINT, lw=2
        )
        look = {"color": colour(0), "lw": 2.2, "mec": "white", "ms": 8}
        [self.line_] = self.ax_.plot(c.predicted[there], c.observed[there], "o-", **look)
        what = "right" if c.positive is None else str(c.positive)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"share that is {what}")
        self.ax_.text(
            0.03, 0.97, self._summary(), va="top", color=INK, transform=self.ax_.transAxes
        )
        lowest = self.ax_
        if self.histogram_ax_ is not None:
            lowest = self.histogram_ax_
            self._histogram(lowest)
        lowest.set_xlabel(f"predicted probability of {'what is said' if what == 'right' else what}")
        clean(self.ax_)
        return self

    def _summary(self) -> str:
        c = self.calibration
        return f"calibration error {number(c.expected_error)}\nBrier score {number(c.brier)}"

    def _histogram(self, ax: Any) -> None:
        edges = np.linspace(0, 1, len(self.calibration.weight) + 1)
        ax.stairs(self.calibration.weight, edges, fill=True, color=colour(0), alpha=0.75)
        ax.vlines(edges[1:-1], 0, self.calibration.weight[1:], color="white", lw=1)
        ax.set_ylabel("rows")
        clean(ax)


def two_axes(ax: Any, shape: tuple[int, int], size: tuple[float, float], **ratios: Any) -> Any:
    """Two axes: those of a new figure, the two given, or the one given and None."""
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(
            *shape, figsize=size, layout="constrained", sharex="col", gridspec_kw=ratios
        )[1]
    given = np.array(ax, dtype=object).ravel()
    return given[:2] if len(given) > 1 else (given[0], None)
