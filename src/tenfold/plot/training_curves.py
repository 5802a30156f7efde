"""Training curves: objective, early stopping, learning rates, gradient norms, loss surface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    legend_outside,
    palette_color,
    style_axes,
)


class HistoryDisplay:
    """The objective of an iterative model per iteration.

    Parameters
    ----------
    objective : array of shape (n_iter,)
        The minimized objective.
    converged : bool, optional
        Whether the model converged; shown in the legend.
    name : str
        What the model is called.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    line_ : the line
    """

    def __init__(
        self, objective: Any, *, converged: bool | None = None, name: str = "objective"
    ) -> None:
        self.objective = np.asarray(objective, float)
        self.converged, self.name = converged, name

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw the `history_` of a fitted model; several models can share the axes.

        Parameters
        ----------
        model : fitted model
            Any that has a `history_`.
        name : str, optional
            What to call it; its class by default.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        HistoryDisplay

        Examples
        --------
        >>> from tenfold import LogisticRegression, datasets
        >>> from tenfold.plot.training_curves import HistoryDisplay
        >>> model = LogisticRegression().fit(*datasets.load_iris(return_X_y=True))
        >>> HistoryDisplay.from_estimator(model).ax_.get_xlabel()
        'iteration'
        """
        check_is_fitted(model)
        history = getattr(model, "history_", {})
        if "objective" not in history:
            raise TypeError(f"{type(model).__name__} has no history_ of an objective to draw")
        name = type(model).__name__ if name is None else name
        converged = getattr(model, "converged_", None)
        return cls(history["objective"], converged=converged, name=name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the objective of each iteration.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        fresh = ax is None
        self.ax_ = get_axes(ax, (6.4, 4.0))
        self.figure_ = self.ax_.figure
        before = len(self.ax_.get_legend_handles_labels()[0])  # models already drawn
        rounds = np.arange(1, len(self.objective) + 1)
        style = {"color": palette_color(before), "lw": 2, "label": self._label()}
        if len(rounds) <= 40:
            style |= {"marker": "o", "ms": 3.5}
        self.line_ = self.ax_.plot(rounds, self.objective, **style)[0]
        if fresh:
            self.ax_.set(xlabel="iteration", ylabel="objective")
            style_axes(self.ax_)
            self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(frameon=False)
        return self

    def _label(self) -> str:
        return self.name + (" (not converged)" if self.converged is False else "")


class EarlyStoppingDisplay:
    """Training and validation scores per iteration, with the selected iteration.

    Parameters
    ----------
    train, held_out : arrays of shape (n_iter,)
        Scores, greater is better.
    best_round : int
        The selected iteration, from 1.
    name : str
        What the score is.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    """

    def __init__(self, train: Any, held_out: Any, best_round: int, *, name: str = "score") -> None:
        self.train, self.held_out = np.asarray(train), np.asarray(held_out)
        self.best_round, self.name = best_round, name

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw the scores of a fitted `EarlyStopping`.

        Parameters
        ----------
        model : fitted EarlyStopping
            What to draw.
        name : str, optional
            What the score is; by default the name given as `scoring`.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        EarlyStoppingDisplay
        """
        check_is_fitted(model)
        scoring = model.scoring if isinstance(model.scoring, str) else "score"
        name = scoring.replace("_", " ") if name is None else name
        curves = (model.history_["train"], model.history_["validation"])
        return cls(*curves, model.best_round_, name=name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw both curves and mark the best iteration.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        self.ax_ = get_axes(ax, (7.2, 4.2))
        self.figure_ = self.ax_.figure
        rounds = np.arange(1, len(self.train) + 1)
        self.ax_.plot(rounds, self.train, color=palette_color(0), lw=2, label="training rows")
        self.ax_.plot(rounds, self.held_out, color=palette_color(1), lw=2, label="held-out rows")
        best = self.held_out[self.best_round - 1]
        self.ax_.axvline(self.best_round, color=MUTED_COLOR, lw=1, zorder=0)
        kept = f"selected: iteration {self.best_round}\n{format_number(best)}"
        self.ax_.plot(self.best_round, best, "o", color=TEXT_COLOR, ms=7, zorder=4, label=kept)
        self.ax_.set(xlabel="iteration", ylabel=self.name)
        style_axes(self.ax_)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        legend_outside(self.ax_)
        return self


def learning_rate_search(found: Any, *, ax: Any = None) -> Any:
    """The loss against an increasing learning rate, with the recommended rate marked.

    Parameters
    ----------
    found : RateSearch
        What `tenfold.neural.find_learning_rate` has found.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = get_axes(ax)
    ax.plot(found.rates, found.losses, color=palette_color(0), lw=2)
    ax.set_xscale("log")
    ax.axvline(found.best, color=palette_color(1), lw=1.2, ls="--")
    at = np.interp(np.log(found.best), np.log(found.rates), found.losses)
    text = {"xytext": (6, 6), "textcoords": "offset points", "color": palette_color(1)}
    ax.annotate(f"take {format_number(found.best, '.2g')}", (found.best, at), **text)
    style_axes(ax)
    ax.set(xlabel="learning rate", ylabel="loss before the step")
    return ax


def layer_gradients(reports: Any, *, ax: Any = None) -> Any:
    """The norm of the gradient in the output of each layer, from the first to the last.

    Parameters
    ----------
    reports : GradientReport or dict of them
        Result of `tenfold.neural.gradient_report`, by name.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = get_axes(ax)
    several = isinstance(reports, dict)
    for i, (name, report) in enumerate((reports if several else {"": reports}).items()):
        norms = [layer.gradient for layer in report.layers]
        style = {"color": palette_color(i), "marker": "o", "ms": 4, "lw": 1.8}
        ax.plot(range(1, len(norms) + 1), norms, label=name or None, **style)
    ax.set_yscale("log")
    style_axes(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="layer", ylabel="gradient norm per row")
    if several:
        legend_outside(ax)
    return ax


def loss_surface(found: Any, *, ax: Any = None) -> Any:
    """The loss on a plane through the parameters, centered at the network.

    Parameters
    ----------
    found : Surface
        What `tenfold.teaching.loss_surface` has measured.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = get_axes(ax, (5.4, 4.4))
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import NullLocator

    low, high = found.loss.min(), found.loss.max()
    logs = 0 < low < high
    steps = np.geomspace(low, high, 16) if logs else 16
    style = {"cmap": "viridis_r", "norm": LogNorm(low, high) if logs else None}
    filled = ax.contourf(found.b, found.a, np.clip(found.loss, low, high), steps, **style)
    ax.contour(found.b, found.a, found.loss, steps, colors="white", linewidths=0.4)
    ax.plot(0, 0, "o", color=TEXT_COLOR, ms=6, mec="white")
    bar = ax.figure.colorbar(filled, ax=ax, label="mean loss")
    ticks = [low, np.sqrt(low * high), high] if logs else [low, high]
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.set_ticks(ticks, labels=[format_number(tick, ".2g") for tick in ticks])
    style_axes(ax, grid=False)
    ax.locator_params(nbins=5)
    ax.set(xlabel="along the second direction", ylabel="along the first direction")
    return ax
