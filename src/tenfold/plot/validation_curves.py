"""Learning curves, validation curves and search results."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.model_selection.curves import ScoreCurve, learning_curve, validation_curve
from tenfold.model_selection.parameter_search import Search
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    palette_color,
    style_axes,
)

_LOG_SCALE_RATIO = 30.0  # largest over least value from which the axis is logarithmic


class ValidationCurveDisplay:
    """Training and held-out scores against the number of rows or a parameter.

    Parameters
    ----------
    curve : Curve
        Of `tenfold.learning_curve` or `tenfold.validation_curve`.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    lines_ : lines of the training and held-out means

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shown = ValidationCurveDisplay.of_setting(Ridge(), "alpha", [0.01, 0.1, 1.0], X, y)
    >>> shown.ax_.get_xlabel()
    'alpha'
    """

    def __init__(self, curve: ScoreCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the learning curve of a model.

        Parameters
        ----------
        model : estimator
            The model.
        X, y :
            Rows of any kind, and their target.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        **options
            As for `tenfold.learning_curve`.
        """
        return cls(learning_curve(model, X, y, **options)).plot(ax)

    @classmethod
    def of_setting(
        cls,
        model: Any,
        name: str,
        values: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the scores of a model against the values of one parameter.

        Parameters
        ----------
        model : estimator
            The model.
        name : str
            Its parameter.
        values : array
            Values to try.
        X, y :
            Rows of any kind, and their target.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        **options
            As for `tenfold.validation_curve`.
        """
        return cls(validation_curve(model, name, values, X, y, **options)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw means and standard errors over the parts.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        positions = _axis_positions(self.curve.values)
        pairs = (("training rows", self.curve.train), ("held-out rows", self.curve.test))
        self.lines_ = [
            _draw_band(self.ax_, positions, scores, name, palette_color(i))
            for i, (name, scores) in enumerate(pairs)
        ]
        _label_axis(self.ax_, self.curve.values, positions)
        self.ax_.set_xlabel(self.curve.what)
        self.ax_.set_ylabel(_format_metric_name(self.curve.score))
        self.ax_.legend(frameon=False)
        style_axes(self.ax_)
        if self.curve.what != "training rows":
            self._mark_best(positions)
        return self

    def _mark_best(self, at: np.ndarray) -> None:
        best = int(np.nanargmax(self.curve.test.mean(axis=1)))
        self.ax_.axvline(at[best], color=MUTED_COLOR, linestyle="--", zorder=0)
        self.ax_.annotate(
            f"best: {_format_value(self.curve.values[best])}",
            (at[best], 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            color=TEXT_COLOR,
        )


class SearchDisplay:
    """Held-out scores of every candidate of a search, best first, with the selected one marked.

    Parameters
    ----------
    search : fitted Search
        The search.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import tenfold
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = tenfold.search(tenfold.Ridge(), {"alpha": [0.01, 0.1, 1.0]}, X, y)
    >>> len(SearchDisplay.from_estimator(found).ax_.get_yticks())
    3
    """

    def __init__(self, search: Search) -> None:
        self.search = search

    @classmethod
    def from_estimator(cls, search: Search, *, most: int = 20, ax: Any = None) -> Self:
        """Draw the candidates of a search.

        Parameters
        ----------
        search : fitted Search
            The search.
        most : int
            How many of the best to show.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        return cls(search).plot(ax, most=most)

    def plot(self, ax: Any = None, *, most: int = 20) -> Self:
        """Draw mean scores with standard errors.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        most : int
            How many of the best to show.
        """
        results, n_folds = self.search.cv_results_, self.search.n_splits_
        name = next(key.removeprefix("mean_test_") for key in results if "mean_test_" in key)
        mean, deviation = results[f"mean_test_{name}"], results[f"std_test_{name}"]
        order = np.argsort(-mean, kind="stable")[:most]
        self.ax_ = get_axes(ax, (6.4, 1.2 + 0.28 * len(order)))
        self.figure_ = self.ax_.figure
        error = deviation / np.sqrt(max(n_folds - 1, 1))  # of the mean; std has 1 / parts
        for place, i in enumerate(order):
            selected = i == self.search.best_index_
            color = palette_color(1) if selected else palette_color(0)
            self.ax_.errorbar(mean[i], place, xerr=error[i], fmt="o", color=color, capsize=3)
        self.ax_.set_yticks(
            range(len(order)), [_format_params(results["params"][i]) for i in order]
        )
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(
            f"{_format_metric_name(name)}, mean of {n_folds} parts ± standard error"
        )
        style_axes(self.ax_)
        return self


def _draw_band(ax: Any, x: np.ndarray, scores: np.ndarray, name: str, color: str) -> Any:
    mean = scores.mean(axis=1)
    error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]) if scores.shape[1] > 1 else 0
    ax.fill_between(x, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
    return ax.plot(x, mean, "o-", color=color, label=name, markersize=4)[0]


def _axis_positions(values: np.ndarray) -> np.ndarray:
    """Positions of values on the axis: numbers as they are, categories by index."""
    numbers = values.dtype.kind in "fiu"
    return values.astype(float) if numbers else np.arange(len(values), dtype=float)


def _label_axis(ax: Any, values: np.ndarray, positions: np.ndarray) -> None:
    if values.dtype.kind not in "fiu":
        ax.set_xticks(positions, [_format_value(v) for v in values])
    elif positions.min() > 0 and positions.max() / positions.min() > _LOG_SCALE_RATIO:
        ax.set_xscale("log")


def _format_metric_name(name: str) -> str:
    """A metric's name in words: "neg_log_loss" is minus the log loss."""
    words = {"r2": "R²", "score": "score"}
    plain = name.removeprefix("neg_").replace("_", " ")
    return words.get(name, plain if plain == name.replace("_", " ") else f"minus {plain}")


def _format_value(value: Any) -> str:
    counted = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return format_number(float(value)) if counted else str(value)


def _format_params(params: dict[str, Any]) -> str:
    return ", ".join(f"{key.rpartition('__')[2]} = {_format_value(v)}" for key, v in params.items())
