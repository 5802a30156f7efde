"""How far a regressor is off: residuals, and whether they are normal."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from tenfold.metrics.evaluate import opened
from tenfold.metrics.predicting import predictions
from tenfold.plot.judging import two_axes
from tenfold.plot.style import INK, clean, colour


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
            Rows and their target, as `tenfold.metrics.evaluate` takes them.
        sample, seed : int
            How many rows to draw, and which.
        beside : {"quantiles", "histogram"}
            What stands beside.
        ax : Axes or two of them, optional
            Where to draw.
        """
        rows = opened(model, X, y, None).sample(sample, seed)
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
        self.ax_, self.beside_ax_ = two_axes(ax, (1, 2), (9.2, 4.2), width_ratios=(3, 2))
        self.figure_ = self.ax_.figure
        few = len(self.residuals) < 500
        look = {"s": 22 if few else 10, "alpha": 0.6 if few else 0.35, "linewidths": 0}
        self.points_ = self.ax_.scatter(self.predicted, self.residuals, color=colour(0), **look)
        self.ax_.axhline(0, color=INK, lw=1)
        [self.line_] = self.ax_.plot(
            *running_means(self.predicted, self.residuals),
            color=colour(1),
            lw=2.2,
            label="running mean",
        )
        self.ax_.set(xlabel="prediction", ylabel="truth \N{MINUS SIGN} prediction")
        self.ax_.legend(frameon=False, loc="best")
        clean(self.ax_)
        if self.beside_ax_ is not None:
            pictures[beside](self.beside_ax_)
            clean(self.beside_ax_)
        return self

    def _quantiles(self, ax: Any) -> None:
        """Sorted residuals against those of a normal distribution of the same mean and spread."""
        n = len(self.residuals)
        normal = ndtri((np.arange(n) + 0.5) / n)
        mean, spread = self.residuals.mean(), self.residuals.std()
        ax.axline((0, mean), slope=spread, color=INK, lw=1)
        ax.plot(normal, np.sort(self.residuals), "o", color=colour(0), ms=3.5, alpha=0.6, mew=0)
        ax.set(xlabel="normal quantile", ylabel="residual, sorted")

    def _histogram(self, ax: Any) -> None:
        """Residuals, and the normal density of the same mean and spread."""
        mean, spread = self.residuals.mean(), self.residuals.std()
        ax.hist(self.residuals, "auto", density=True, color=colour(0), alpha=0.6, ec="white")
        low, high = ax.get_xlim()
        at = np.linspace(low, high, 300)
        if spread > 0:
            density = np.exp(-(((at - mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
            ax.plot(at, density, color=INK, lw=1.5, label="normal")
            ax.legend(frameon=False)
        ax.set(xlabel="residual", ylabel="density")


def running_means(x: np.ndarray, y: np.ndarray, most: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Means of x and y over stretches of equally many points, in the order of x."""
    stretches = np.array_split(np.argsort(x, kind="stable"), min(most, max(len(x) // 15, 1)))
    at, means = (np.array([part[s].mean() for s in stretches]) for part in (x, y))
    return at, means
