"""Decision regions of classifiers of two features; ambiguous regions of OvR and OvO."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.utils.validation import check_is_fitted

from tenfold.inspection.multiclass_ambiguity import count_claims, count_votes
from tenfold.linear.logistic import LogisticRegression
from tenfold.plot.style import (
    TEXT_COLOR,
    get_axes,
    get_panels,
    legend_outside,
    palette_color,
    palette_marker,
    style_axes,
)

_MIN_TINT, _MAX_TINT = 0.06, 0.45  # strength of color at confidence 0 and 1
_UNIFORM_TINT = 0.22  # the same for a model that knows no confidence


class EvaluationGrid(NamedTuple):
    """A rectangular grid, given by its coordinates along both axes."""

    x: np.ndarray
    y: np.ndarray

    @classmethod
    def around(cls, X: np.ndarray, resolution: int) -> EvaluationGrid:
        """A grid over the range of the rows, with a margin."""
        low, high = X.min(axis=0), X.max(axis=0)
        more = 0.12 * np.where(high > low, high - low, 1.0)
        return cls(*np.linspace(low - more, high + more, resolution).T)

    def of(self, f: Any) -> np.ndarray:
        """Values of a function of rows on the grid, (rows, columns, ...)."""
        points = np.stack(np.meshgrid(self.x, self.y), axis=-1).reshape(-1, 2)
        values = np.asarray(f(points))
        return values.reshape(len(self.y), len(self.x), *values.shape[1:])

    @property
    def extent(self) -> tuple[float, float, float, float]:
        return (*self.x[[0, -1]], *self.y[[0, -1]])


class DecisionBoundaryDisplay:
    """Decision regions, ready to draw; make it with `from_estimator`.

    Parameters
    ----------
    grid : Grid
        Points at which the model is evaluated.
    regions : (rows, columns) int array
        Class index of each point.
    scores : (rows, columns, k) array or None
        Scores of the classes; boundaries are where the two largest are equal.
    confidence : (rows, columns) array or None
        0 where all classes are equally likely, 1 where one is certain.
    margin : (rows, columns) array or None
        Score of two classes; its contours at -1 and +1 are drawn.
    classes : list
        Labels.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of the plot
    surface_, boundaries_, margins_ : the image and the lines, None if there are none
    """

    def __init__(
        self, grid: EvaluationGrid, regions: np.ndarray, *, scores: Any = None,
        confidence: Any = None, margin: Any = None, classes: Any = ()
    ) -> None:  # fmt: skip
        self.grid, self.regions, self.scores = grid, regions, scores
        self.confidence, self.margin, self.classes = confidence, margin, list(classes)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        margins: bool | None = None,
        resolution: int = 300,
        names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Evaluate a classifier on a grid around the rows, and draw.

        Parameters
        ----------
        model : fitted classifier of two columns
            With probabilities, color shows confidence.
        X : (n, 2) array or table
            Rows to draw; they determine the grid.
        y : (n,) array, optional
            Their labels.
        margins : bool, optional
            Whether to draw where the score of two classes is -1 and +1; by default for models
            without probabilities.
        resolution : int
            Points of the grid along each column.
        names : pair of str, optional
            Names of the columns.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        BoundaryDisplay
        """
        check_is_fitted(model)
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"the plot needs two columns, but X has shape {points.shape}")
        if not hasattr(model, "classes_"):
            raise TypeError(f"{type(model).__name__} is not a classifier: it has no classes_")
        display = cls._evaluate(model, EvaluationGrid.around(points, resolution), margins).plot(
            ax=ax
        )
        names = names or list(getattr(X, "columns", [])) or ["$x_1$", "$x_2$"]
        display.ax_.set(xlabel=names[0], ylabel=names[1])
        if y is not None:
            _draw_classes(display.ax_, points, np.asarray(y), model.classes_)
        _draw_support_vectors(display.ax_, model, points)
        if display.margins_ is not None:
            display.ax_.plot([], [], "--", color=TEXT_COLOR, lw=1.2, label="score ±1")
        if display.ax_.get_legend_handles_labels()[0]:
            legend_outside(display.ax_)
        return display

    @classmethod
    def _evaluate(cls, model: Any, grid: EvaluationGrid, margins: bool | None) -> Self:
        has_probabilities = hasattr(model, "predict_proba")
        k = len(model.classes_)
        scores = grid.of(model.predict_proba) if has_probabilities else None
        confidence = None if scores is None else (scores.max(axis=-1) - 1 / k) / (1 - 1 / k)
        margin = None
        if hasattr(model, "decision_function"):
            decision = grid.of(model.decision_function)
            binary = decision.ndim == 2
            scores = np.stack([-decision, decision], axis=-1) if binary else decision
            margin = (
                decision
                if binary and (not has_probabilities if margins is None else margins)
                else None
            )
        regions = np.searchsorted(model.classes_, grid.of(model.predict))
        if scores is None or scores.shape[-1] != k:
            scores = np.eye(k)[regions]
        classes = model.classes_
        return cls(
            grid, regions, scores=scores, confidence=confidence, margin=margin, classes=classes
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw regions, boundaries and margins.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        self.ax_ = get_axes(ax, (6.6, 4.8))
        self.figure_ = self.ax_.figure
        self.surface_ = self.ax_.imshow(
            _tint_regions(self.regions, self.confidence),
            extent=self.grid.extent, origin="lower", aspect="auto", interpolation="bilinear",
            zorder=0,
        )  # fmt: skip
        self.boundaries_ = [] if self.scores is None else self._lines(self.scores)
        self.margins_ = None
        if self.margin is not None:
            style = {"colors": TEXT_COLOR, "linewidths": 1.2, "linestyles": "--"}
            self.margins_ = self.ax_.contour(*self.grid, self.margin, levels=[-1, 1], **style)
        style_axes(self.ax_, grid=False)
        return self

    def _lines(self, scores: np.ndarray) -> list[Any]:
        """Contours where a class has the same score as the best of the others."""
        k = scores.shape[-1]
        others = [np.delete(scores, c, axis=-1).max(axis=-1) for c in range(k)]
        style = {"levels": [0.0], "colors": TEXT_COLOR, "linewidths": 1.8}
        gaps = [scores[..., c] - others[c] for c in (range(k) if k > 2 else [1])]
        gaps = [gap for gap in gaps if gap.min() < 0 < gap.max()]
        return [self.ax_.contour(*self.grid, gap, **style) for gap in gaps]


def _draw_classes(ax: Any, X: np.ndarray, y: np.ndarray, classes: Any, size: float = 34) -> None:
    """Rows as points, with the color and marker of their class."""
    for c, label in enumerate(classes):
        style = {
            "color": palette_color(c),
            "marker": palette_marker(c),
            "edgecolor": "white",
            "linewidth": 0.7,
        }
        ax.scatter(*X[y == label].T, s=size, label=str(label), zorder=3, **style)


def _draw_support_vectors(ax: Any, model: Any, X: np.ndarray) -> None:
    """Circles around the support vectors, if the model has them."""
    support_vectors = getattr(model, "support_vectors_", None)
    if support_vectors is None and getattr(model, "support_", None) is not None:
        support_vectors = X[np.asarray(model.support_)]
    if support_vectors is not None and np.ndim(support_vectors) == 2:
        style = {"facecolor": "none", "edgecolor": TEXT_COLOR, "linewidth": 1.3, "s": 110}
        ax.scatter(*np.asarray(support_vectors).T, label="support vectors", zorder=4, **style)


def _tint_regions(regions: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
    """RGB colors of regions, stronger with confidence, (n_rows, n_columns, 3)."""
    from matplotlib.colors import to_rgb

    hues = np.array([to_rgb(palette_color(c)) for c in range(int(regions.max()) + 1)])[regions]
    share = (
        _UNIFORM_TINT
        if confidence is None
        else _MIN_TINT + (_MAX_TINT - _MIN_TINT) * confidence[..., None]
    )
    return 1 - share * (1 - hues)


def decision_boundary(model: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw the decision regions of a classifier of two columns.

    Regions are colored by class, more strongly with higher confidence; the boundary is a line.
    For a model of two classes without probabilities, such as a support vector machine, dashed lines
    show where the score is -1 and +1, and circles the support vectors.

    Parameters
    ----------
    model : fitted classifier of two columns
        Of tenfold or scikit-learn.
    X : (n, 2) array or table
        Rows to draw.
    y : (n,) array, optional
        Their labels.
    ax : Axes, optional
        Axes to draw into; a new figure by default.
    **options
        As `DecisionBoundaryDisplay.from_estimator` takes them: margins, resolution, names.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LogisticRegression, plot
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 2.0], [4.0, 2.0]]), [0, 0, 1, 1]
    >>> plot.decision_boundary(LogisticRegression().fit(X, y), X, y).get_xlabel()
    '$x_1$'
    """
    return DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, **options).ax_


_TITLES = {
    "one-vs-rest": "one against the rest",
    "one-vs-one": "one against one",
    "argmax": "the largest score",
}
UNCLAIMED, CONTESTED = -1, -2  # instead of the number of a class
_AMBIGUOUS_STYLES = {
    UNCLAIMED: ("nobody claims", "#FFFFFF", "..."),
    CONTESTED: ("several claim", "#DCDCDC", "////"),
}
_HATCH_COLOR = "#8A8A8A"


def ambiguous_regions(
    X: Any, y: Any, model: Any = None, *, kinds: Any = tuple(_TITLES), resolution: int = 300,
    ax: Any = None
) -> np.ndarray:  # fmt: skip
    """Map where binary classifiers leave three or more classes undecided.

    One-vs-rest is ambiguous where no class or several classes are predicted, one-vs-one where the
    votes tie. The largest of the one-vs-rest scores (argmax) always decides.

    Parameters
    ----------
    X : (n, 2) array
        Rows.
    y : (n,) array
        Labels of at least three classes.
    model : classifier, optional
        Binary classifier; by default `LogisticRegression`.
    kinds : list of {"one-vs-rest", "one-vs-one", "argmax"}
        A panel each.
    resolution : int
        Points along each axis.
    ax : array of Axes, optional
        Axes to draw into, one for each kind.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import plot
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [5.0, 0.0], [2.0, 3.0], [3.0, 4.0]])
    >>> row = plot.ambiguous_regions(X, [0, 0, 1, 1, 2, 2], resolution=50)
    >>> [axis.get_title() for axis in row]
    ['one against the rest', 'one against one', 'the largest score']
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if len(np.unique(y)) < 3:
        raise ValueError("two classes are never ambiguous: this needs three or more")
    part = LogisticRegression() if model is None else model
    grid = EvaluationGrid.around(X, resolution)
    row = get_panels(ax, 1, len(kinds), 3.6, sharey=True)[0]
    for axis, kind in zip(row, kinds, strict=True):
        fitted = (OneVsOneClassifier if kind == "one-vs-one" else OneVsRestClassifier)(clone(part))
        fitted.fit(X, y)
        regions = grid.of(lambda Z, m=fitted, k=kind: decide_regions(m, Z, k))
        _draw_regions(axis, grid, regions)
        _draw_binary_boundaries(axis, grid, fitted, ":" if kind == "argmax" else "-")
        _draw_classes(axis, X, y, fitted.classes_, 26)
        axis.set(title=_TITLES[kind], xlabel="$x_1$")
        style_axes(axis, grid=False)
    row[0].set_ylabel("$x_2$", rotation=0, labelpad=10)
    _draw_shared_legend(row)
    return row


def decide_regions(model: Any, Z: np.ndarray, kind: str) -> np.ndarray:
    """Number of the class of each row; NOBODY or SEVERAL where that is disputed."""
    if kind == "one-vs-one":
        counted = count_votes(model, Z)
        most = counted == counted.max(axis=1, keepdims=True)
        return np.where(most.sum(axis=1) == 1, counted.argmax(axis=1), CONTESTED)
    best = np.column_stack([signed_score(part, Z) for part in model.estimators_]).argmax(axis=1)
    if kind == "argmax":
        return best
    number = count_claims(model, Z)
    return np.where(number == 1, best, np.where(number == 0, UNCLAIMED, CONTESTED))


def signed_score(model: Any, Z: np.ndarray) -> np.ndarray:
    """A score whose sign is the prediction of a binary classifier."""
    if hasattr(model, "decision_function"):
        return np.ravel(model.decision_function(Z))
    return model.predict_proba(Z)[:, 1] - 0.5


def _draw_regions(ax: Any, grid: EvaluationGrid, regions: np.ndarray) -> None:
    """Regions in the colors of their classes, hatched where they are ambiguous."""
    picture = _tint_regions(np.maximum(regions, 0), None)
    ax.imshow(picture, extent=grid.extent, origin="lower", aspect="auto", zorder=0)
    for code, (name, face, hatch) in _AMBIGUOUS_STYLES.items():
        if (regions == code).any():
            inside = np.where(regions == code, 1.0, 0.0)
            area = ax.contourf(
                *grid, inside, levels=[0.5, 1.5], colors=[face], hatches=[hatch], zorder=1
            )
            area.set_edgecolor(_HATCH_COLOR)  # of the hatching
            area.set_linewidth(0)
            area.set_gid(name)


def _draw_binary_boundaries(ax: Any, grid: EvaluationGrid, model: Any, linestyle: str) -> None:
    """The boundary of each binary classifier."""
    for part in model.estimators_:
        line = grid.of(lambda Z, part=part: signed_score(part, Z))
        style = {"colors": TEXT_COLOR, "linewidths": 1, "linestyles": linestyle, "zorder": 2}
        ax.contour(*grid, line, levels=[0.0], **style)


def _draw_shared_legend(row: np.ndarray) -> None:
    """One legend below all panels: the classes and the hatchings."""
    from matplotlib.patches import Patch

    handles, labels = row[0].get_legend_handles_labels()
    for name, face, hatch in _AMBIGUOUS_STYLES.values():
        handles.append(Patch(facecolor=face, hatch=hatch, edgecolor=_HATCH_COLOR))
        labels.append(name)
    row[0].figure.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False)
