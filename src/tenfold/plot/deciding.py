"""Decision regions of a classifier of two columns."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import INK, axes, clean, colour, legend_beside, marker

WEAKEST, STRONGEST = 0.06, 0.45  # how much colour a region has, by the confidence in it
FLAT = 0.22  # the same for a model that knows no confidence


class Grid(NamedTuple):
    """Points of a rectangle, and the vectors that span them."""

    x: np.ndarray
    y: np.ndarray

    @classmethod
    def around(cls, X: np.ndarray, resolution: int) -> Grid:
        """A grid over the rows, and a little more on each side."""
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


class BoundaryDisplay:
    """Decision regions, ready to draw; make it with `from_estimator`.

    Parameters
    ----------
    grid : Grid
        Where the model was asked.
    regions : (rows, columns) int array
        Number of the class of each point.
    scores : (rows, columns, k) array or None
        Scores of the classes; boundaries are where the two largest are equal.
    confidence : (rows, columns) array or None
        0 where all classes are equally probable, 1 where one is certain.
    margin : (rows, columns) array or None
        Score of two classes; drawn are -1 and +1.
    classes : list
        Labels.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    surface_, boundaries_, margins_ : the image and the lines, None if there are none
    """

    def __init__(
        self, grid: Grid, regions: np.ndarray, *, scores: Any = None, confidence: Any = None,
        margin: Any = None, classes: Any = ()
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
        """Ask a classifier on a grid around the rows, and draw.

        Parameters
        ----------
        model : fitted classifier of two columns
            With probabilities, colour shows confidence.
        X : (n, 2) array or table
            Rows to draw, and to lay the grid around.
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
            Where to draw.

        Returns
        -------
        BoundaryDisplay
        """
        check_is_fitted(model)
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"a picture has two columns, but X has shape {points.shape}")
        if not hasattr(model, "classes_"):
            raise TypeError(f"{type(model).__name__} is no classifier: it has no classes_")
        shown = cls._asked(model, Grid.around(points, resolution), margins).plot(ax=ax)
        names = names or list(getattr(X, "columns", [])) or ["$x_1$", "$x_2$"]
        shown.ax_.set(xlabel=names[0], ylabel=names[1])
        if y is not None:
            draw_classes(shown.ax_, points, np.asarray(y), model.classes_)
        draw_supports(shown.ax_, model, points)
        if shown.margins_ is not None:
            shown.ax_.plot([], [], "--", color=INK, lw=1.2, label="score ±1")
        if shown.ax_.get_legend_handles_labels()[0]:
            legend_beside(shown.ax_)
        return shown

    @classmethod
    def _asked(cls, model: Any, grid: Grid, margins: bool | None) -> Self:
        knows_p = hasattr(model, "predict_proba")
        k = len(model.classes_)
        scores = grid.of(model.predict_proba) if knows_p else None
        sure = None if scores is None else (scores.max(axis=-1) - 1 / k) / (1 - 1 / k)
        margin = None
        if hasattr(model, "decision_function"):
            decided = grid.of(model.decision_function)
            two = decided.ndim == 2
            scores = np.stack([-decided, decided], axis=-1) if two else decided
            margin = decided if two and (not knows_p if margins is None else margins) else None
        regions = np.searchsorted(model.classes_, grid.of(model.predict))
        if scores is None or scores.shape[-1] != k:
            scores = np.eye(k)[regions]
        classes = model.classes_
        return cls(grid, regions, scores=scores, confidence=sure, margin=margin, classes=classes)

    def plot(self, ax: Any = None) -> Self:
        """Draw regions, boundaries and margins.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        self.ax_ = axes(ax, (6.6, 4.8))
        self.figure_ = self.ax_.figure
        self.surface_ = self.ax_.imshow(
            tinted(self.regions, self.confidence),
            extent=self.grid.extent, origin="lower", aspect="auto", interpolation="bilinear",
            zorder=0,
        )  # fmt: skip
        self.boundaries_ = [] if self.scores is None else self._lines(self.scores)
        self.margins_ = None
        if self.margin is not None:
            look = {"colors": INK, "linewidths": 1.2, "linestyles": "--"}
            self.margins_ = self.ax_.contour(*self.grid, self.margin, levels=[-1, 1], **look)
        clean(self.ax_, grid=False)
        return self

    def _lines(self, scores: np.ndarray) -> list[Any]:
        """Lines on which a class is just as good as the best of the others."""
        k = scores.shape[-1]
        others = [np.delete(scores, c, axis=-1).max(axis=-1) for c in range(k)]
        look = {"levels": [0.0], "colors": INK, "linewidths": 1.8}
        gaps = [scores[..., c] - others[c] for c in (range(k) if k > 2 else [1])]
        gaps = [gap for gap in gaps if gap.min() < 0 < gap.max()]
        return [self.ax_.contour(*self.grid, gap, **look) for gap in gaps]


def draw_classes(ax: Any, X: np.ndarray, y: np.ndarray, classes: Any, size: float = 34) -> None:
    """Rows as points, in the colour and shape of their class."""
    for c, label in enumerate(classes):
        look = {"color": colour(c), "marker": marker(c), "edgecolor": "white", "linewidth": 0.7}
        ax.scatter(*X[y == label].T, s=size, label=str(label), zorder=3, **look)


def draw_supports(ax: Any, model: Any, X: np.ndarray) -> None:
    """Rings around the support vectors, if the model has some."""
    found = getattr(model, "support_vectors_", None)
    if found is None and getattr(model, "support_", None) is not None:
        found = X[np.asarray(model.support_)]
    if found is not None and np.ndim(found) == 2:
        look = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.3, "s": 110}
        ax.scatter(*np.asarray(found).T, label="support vectors", zorder=4, **look)


def tinted(regions: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
    """Colours of regions on white, stronger where the model is surer, (rows, columns, 3)."""
    from matplotlib.colors import to_rgb

    hues = np.array([to_rgb(colour(c)) for c in range(int(regions.max()) + 1)])[regions]
    share = FLAT if confidence is None else WEAKEST + (STRONGEST - WEAKEST) * confidence[..., None]
    return 1 - share * (1 - hues)


def boundary(model: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw the decision regions of a classifier of two columns.

    Regions are coloured by class, more strongly where the model is surer; the boundary is a line.
    For a model of two classes without probabilities, such as a support vector machine, dashed lines
    show where the score is -1 and +1, and rings the support vectors. [000, 1.3; 002, 2.1; 004, 5]

    Parameters
    ----------
    model : fitted classifier of two columns
        Of tenfold or scikit-learn.
    X : (n, 2) array or table
        Rows to draw.
    y : (n,) array, optional
        Their labels.
    ax : Axes, optional
        Where to draw.
    **options
        As `BoundaryDisplay.from_estimator` takes them: margins, resolution, names.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LogisticRegression, plot
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 2.0], [4.0, 2.0]]), [0, 0, 1, 1]
    >>> plot.boundary(LogisticRegression().fit(X, y), X, y).get_xlabel()
    '$x_1$'
    """
    return BoundaryDisplay.from_estimator(model, X, y, ax=ax, **options).ax_
