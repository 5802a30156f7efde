"""Bias-variance decomposition, and scores of several models with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from tenfold.model_selection.confidence_intervals import (
    ConfidenceInterval,
    bootstrap_interval,
    fold_interval,
)
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    legend_outside,
    palette_color,
    style_axes,
)

_LOG_SCALE_RATIO = 12.0  # largest over least error from which the axis is logarithmic


class BiasVarianceDisplay:
    """Noise, squared bias and variance against flexibility, and their sum.

    Parameters
    ----------
    values : sequence
        What differs between the models: numbers, or names.
    noise, bias2, variance, error : (k,) arrays
        The parts, and their sum.
    training : (k,) array, optional
        Error on the training rows.
    name : str
        What `values` are.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    lines_ : dict from names to lines
    """

    def __init__(
        self, values: Any, noise: Any, bias2: Any, variance: Any, error: Any, *,
        training: Any = None, name: str = "flexibility"
    ) -> None:  # fmt: skip
        self.values, self.name, self.training = list(values), name, training
        self.noise, self.bias2, self.variance, self.error = noise, bias2, variance, error

    @classmethod
    def from_curve(cls, curve: Any, *, name: str = "flexibility", ax: Any = None) -> Self:
        """Draw the result of `tenfold.teaching.learning_theory.complexity_curve`.

        Parameters
        ----------
        curve : FlexibilityCurve
            The parts of the error for each model.
        name : str
            What differs between the models.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        BiasVarianceDisplay
        """
        parts = (curve.noise, curve.bias2, curve.variance, curve.error)
        return cls(curve.values, *parts, training=curve.training, name=name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a line for each part and for their sum.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        self.ax_ = get_axes(ax, (7.4, 4.4))
        self.figure_ = self.ax_.figure
        numeric = all(isinstance(value, int | float | np.number) for value in self.values)
        x = np.array(self.values, float) if numeric else np.arange(len(self.values))
        looks = {
            "expected error": (
                self.error,
                {"color": TEXT_COLOR, "lw": 2.6, "marker": "o", "ms": 4},
            ),
            "variance": (self.variance, {"color": palette_color(1), "lw": 2}),
            "bias²": (self.bias2, {"color": palette_color(0), "lw": 2}),
            "noise": (self.noise, {"color": palette_color(2), "lw": 2, "ls": "--"}),
            "training error": (self.training, {"color": palette_color(3), "lw": 1.6, "ls": ":"}),
        }
        drawn = {name: (y, style) for name, (y, style) in looks.items() if y is not None}
        self.lines_ = {
            name: self.ax_.plot(x, y, label=name, **style)[0] for name, (y, style) in drawn.items()
        }
        best = int(np.argmin(self.error))
        self.ax_.axvline(x[best], color=MUTED_COLOR, lw=1, zorder=0)
        if np.max(self.error) > _LOG_SCALE_RATIO * np.min(self.error):
            self.ax_.set_yscale("log")
            self.ax_.set_ylim(bottom=np.min(self.noise) / 20, top=2 * np.max(self.error))
        if not numeric or len(x) <= 12:
            self.ax_.set_xticks(x, [str(value) for value in self.values])
        self.ax_.set(xlabel=self.name, ylabel="mean squared error")
        style_axes(self.ax_)
        legend_outside(self.ax_)
        return self


def fitted_curves(result: Any, *, max_fits: int = 40, ax: Any = None) -> Any:
    """Fitted curves of a model on many training sets, their mean, and the true function.

    The distance of the mean from the true function is the bias, the spread of the curves the
    variance.


    Parameters
    ----------
    result : BiasVariance
        Of data with one column, found with `x` in order.
    most : int
        Most curves to draw.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    x = np.asarray(result.x)
    if x.ndim != 2 or x.shape[1] != 1:
        raise ValueError(f"curves are drawn over one column, but x has shape {x.shape}")
    order = np.argsort(x[:, 0])
    ax = get_axes(ax, (5.2, 4.0))
    for i, fit in enumerate(result.fits[:max_fits]):
        label = "fits" if i == 0 else None
        ax.plot(x[order, 0], fit[order], color=palette_color(5), lw=0.8, alpha=0.45, label=label)
    ax.plot(x[order, 0], result.truth[order], color=TEXT_COLOR, lw=2, ls="--", label="truth")
    ax.plot(x[order, 0], result.mean_fit[order], color=palette_color(1), lw=2.4, label="mean fit")
    ax.set(xlabel="x", ylabel="y")
    style_axes(ax)
    return ax


class ModelComparisonDisplay:
    """Scores of models with their intervals, the best on top.

    Parameters
    ----------
    intervals : dict from names to Interval
        Value and ends of each model.
    scores : dict from names to arrays, optional
        Single scores, such as those of folds, drawn as faint dots.
    name : str
        What the score is.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    order_ : names from top to bottom
    """

    def __init__(
        self,
        intervals: Mapping[str, ConfidenceInterval],
        *,
        scores: Any = None,
        name: str = "score",
    ) -> None:
        self.intervals, self.scores, self.name = dict(intervals), scores or {}, name

    @classmethod
    def from_scores(
        cls, scores: Mapping[str, Any], *, level: float = 0.95, name: str = "score", ax: Any = None
    ) -> Self:
        """Draw scores of folds, with corrected intervals of their means.

        Parameters
        ----------
        scores : dict from names to (folds,) or (repeats, folds) arrays
            Scores of each model.
        level : float
            Of the intervals.
        name : str
            What the score is.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ModelComparisonDisplay
        """
        intervals = {model: fold_interval(each, level=level) for model, each in scores.items()}
        return cls(intervals, scores=scores, name=name).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Mapping[str, Any],
        metric: Callable[..., float],
        *,
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a metric of predictions on the same rows, with bootstrap intervals.

        Parameters
        ----------
        y : (n,) array
            True values or labels.
        predicted : dict from names to arrays
            Predictions of each model.
        metric : callable
            ``metric(y, predicted)``.
        level : float
            Of the intervals.
        name : str, optional
            What the metric is; its own name by default.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ModelComparisonDisplay
        """
        options: dict[str, Any] = {"level": level, "method": "percentile"}
        found = {k: bootstrap_interval(metric, y, p, **options) for k, p in predicted.items()}
        title = getattr(metric, "__name__", "score").replace("_", " ") if name is None else name
        return cls(found, name=title).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a dot and an interval for each model.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        self.order_ = sorted(self.intervals, key=lambda k: -self.intervals[k].value)
        self.ax_ = get_axes(ax, (6.8, 1.3 + 0.5 * len(self.order_)))
        self.figure_ = self.ax_.figure
        for row, model in enumerate(self.order_):
            found = self.intervals[model]
            singles = np.ravel(self.scores.get(model, []))
            self.ax_.plot(
                singles, np.full(len(singles), row), "o", color=MUTED_COLOR, ms=4, zorder=2
            )
            ends = {"color": palette_color(0), "lw": 3, "solid_capstyle": "butt", "zorder": 3}
            self.ax_.plot([found.low, found.high], [row, row], **ends)
            self.ax_.plot(
                found.value, row, "o", color=palette_color(0), ms=8, mec="white", zorder=4
            )
            text = {"ha": "center", "color": TEXT_COLOR, "fontsize": "small", "zorder": 1}
            paper = {"fc": "white", "ec": "none", "pad": 1}
            self.ax_.annotate(
                format_number(found.value), (found.value, row), (0, 8), textcoords="offset points",
                bbox=paper, **text,
            )  # fmt: skip
        best = self.intervals[self.order_[0]].value
        self.ax_.axvline(best, color=MUTED_COLOR, lw=1, ls="--", zorder=0)
        self.ax_.set_yticks(range(len(self.order_)), self.order_)
        self.ax_.set_ylim(len(self.order_) - 0.5, -0.6)
        level = next(iter(self.intervals.values())).level
        self.ax_.set_xlabel(f"{self.name}, {100 * level:g} % intervals")
        style_axes(self.ax_)
        self.ax_.grid(visible=False, axis="y")
        return self
