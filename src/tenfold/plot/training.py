"""How training went: the objective of each round, and scores of rows learned and held out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import FAINT, INK, axes, clean, colour, legend_beside, number


class HistoryDisplay:
    """The objective of an iterative model, round by round.

    Parameters
    ----------
    objective : (rounds,) array
        What was made small.
    converged : bool, optional
        Whether the model stopped by itself; written on the picture.
    name : str
        What the model is called.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
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
            Where to draw.

        Returns
        -------
        HistoryDisplay

        Examples
        --------
        >>> from tenfold import LogisticRegression, datasets
        >>> from tenfold.plot.training import HistoryDisplay
        >>> model = LogisticRegression().fit(*datasets.load_iris(return_X_y=True))
        >>> HistoryDisplay.from_estimator(model).ax_.get_xlabel()
        'round'
        """
        check_is_fitted(model)
        history = getattr(model, "history_", {})
        if "objective" not in history:
            raise TypeError(f"{type(model).__name__} has no history_ of an objective to draw")
        name = type(model).__name__ if name is None else name
        converged = getattr(model, "converged_", None)
        return cls(history["objective"], converged=converged, name=name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the objective of each round.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        fresh = ax is None
        self.ax_ = axes(ax, (6.4, 4.0))
        self.figure_ = self.ax_.figure
        before = len(self.ax_.get_legend_handles_labels()[0])  # models drawn here already
        rounds = np.arange(1, len(self.objective) + 1)
        look = {"color": colour(before), "lw": 2, "label": self._label()}
        if len(rounds) <= 40:
            look |= {"marker": "o", "ms": 3.5}
        self.line_ = self.ax_.plot(rounds, self.objective, **look)[0]
        if fresh:
            self.ax_.set(xlabel="round", ylabel="objective")
            clean(self.ax_)
            self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(frameon=False)
        return self

    def _label(self) -> str:
        return self.name + (" (not converged)" if self.converged is False else "")


class EarlyStoppingDisplay:
    """Scores of rows learned and of rows held out, round by round, with the round that was kept.

    Parameters
    ----------
    train, held_out : (rounds,) arrays
        Scores, greater is better.
    best_round : int
        The round that was kept, from 1.
    name : str
        What the score is.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    """

    def __init__(self, train: Any, held_out: Any, best_round: int, *, name: str = "score") -> None:
        self.train, self.held_out = np.asarray(train), np.asarray(held_out)
        self.best_round, self.name = best_round, name

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw the rounds of a fitted `EarlyStopping`.

        Parameters
        ----------
        model : fitted EarlyStopping
            What to draw.
        name : str, optional
            What the score is; by default the name given as `scoring`.
        ax : Axes, optional
            Where to draw.

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
        """Draw both curves and mark the best round.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        self.ax_ = axes(ax, (7.2, 4.2))
        self.figure_ = self.ax_.figure
        rounds = np.arange(1, len(self.train) + 1)
        self.ax_.plot(rounds, self.train, color=colour(0), lw=2, label="rows learned")
        self.ax_.plot(rounds, self.held_out, color=colour(1), lw=2, label="rows held out")
        best = self.held_out[self.best_round - 1]
        self.ax_.axvline(self.best_round, color=FAINT, lw=1, zorder=0)
        kept = f"kept: round {self.best_round}\n{number(best)}"
        self.ax_.plot(self.best_round, best, "o", color=INK, ms=7, zorder=4, label=kept)
        self.ax_.set(xlabel="round", ylabel=self.name)
        clean(self.ax_)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        legend_beside(self.ax_)
        return self
