"""The confusion matrix and the measures derived from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.math.labels import encode_labels
from tenfold.metrics.base import Metric, as_class_indices, as_weight_array, safe_divide
from tenfold.metrics.classification import LabelCounts, confusion_counts, matthews_correlation
from tenfold.metrics.contingency import MEASURE_LABELS, ContingencyTable

_PER_CLASS_COLUMNS = {
    "sensitivity": "recall",
    "specificity": "specificity",
    "ppv": "precision",
    "npv": "NPV",
    "f1": "F1",
    "mcc": "MCC",
}


class ConfusionMatrix:
    """Weight of the rows of each class (row) predicted to be of each class (column).

    Two of them add up to that of all rows. Perfect predictions give a diagonal matrix of the
    classes' counts. `of(label)` has every measure of one class against the rest: sensitivity,
    specificity, predictive values, likelihood ratios and more.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        Counts or weights.
    classes : array of shape (n_classes,), optional
        Labels; 0 .. k-1 by default.
    positive : label, optional
        The class that `of()` and tables mean; by default the second of two.

    Attributes
    ----------
    counts, classes, positive : as given

    Examples
    --------
    >>> matrix = ConfusionMatrix.from_predictions(["ill", "ill", "well"], ["ill", "well", "well"])
    >>> matrix.counts.tolist(), matrix.classes.tolist()
    ([[1.0, 1.0], [0.0, 1.0]], ['ill', 'well'])
    >>> matrix.of("ill").sensitivity, matrix.of("ill").ppv
    (0.5, 1.0)
    """

    def __init__(self, counts: Any, classes: Any = None, positive: Any = None) -> None:
        self.counts = np.asarray(counts, np.float64)
        k = len(self.counts)
        self.classes = np.arange(k) if classes is None else np.asarray(classes)
        if self.counts.shape != (k, k) or len(self.classes) != k:
            raise ValueError(
                f"counts have shape {self.counts.shape}, and there are {len(self.classes)} classes:"
                " a row and a column for each class are needed"
            )
        self.positive = self.classes[1] if positive is None and k == 2 else positive
        if self.positive is not None:
            encode_labels([self.positive], self.classes)  # raises if it is none of them

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, classes: Any = None, sample_weight: Any = None,
        positive: Any = None,
    ) -> ConfusionMatrix:  # fmt: skip
        """The confusion matrix of labels in memory.

        Parameters
        ----------
        y, predicted : arrays of shape (n_rows,)
            True and predicted labels.
        classes : array, optional
            All classes, in the order of rows and columns; by default all labels, sorted.
        sample_weight : (n,) array, optional
            Weights.
        positive : label, optional
            The class that `of()` means.

        Returns
        -------
        ConfusionMatrix
        """
        y, predicted = np.asarray(y), np.asarray(predicted)
        if y.shape != predicted.shape or y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}, predictions {predicted.shape}: one each")
        classes = np.union1d(y, predicted) if classes is None else np.asarray(classes)
        true, predicted_indices = (
            as_class_indices(encode_labels(labels, classes)) for labels in (y, predicted)
        )
        counts = confusion_counts(
            true, predicted_indices, as_weight_array(sample_weight), len(classes)
        )
        return cls(counts, classes, positive)

    def __add__(self, other: ConfusionMatrix) -> ConfusionMatrix:
        if not np.array_equal(self.classes, other.classes):
            raise ValueError(
                f"matrices of the classes {self.classes.tolist()} and {other.classes.tolist()} do "
                "not add up: use the same classes= for both"
            )
        return ConfusionMatrix(self.counts + other.counts, self.classes, self.positive)

    merge = __add__

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConfusionMatrix)
            and np.array_equal(self.classes, other.classes)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def of(self, label: Any = None) -> ContingencyTable:
        """Contingency table of one class against all others.

        Parameters
        ----------
        label : optional
            The positive class; by default the one chosen, or the second of two.

        Returns
        -------
        ContingencyTable
        """
        label = self.positive if label is None else label
        if label is None:
            raise ValueError(f"which of the classes {self.classes.tolist()} is positive? of(label)")
        [c] = encode_labels([label], self.classes)
        return self._outcomes(int(c))

    @property
    def each(self) -> ContingencyTable:
        """Contingency tables of every class against all others: arrays (n_classes,)."""
        tables = [self._outcomes(c) for c in range(len(self.classes))]
        return ContingencyTable(*(np.array(part) for part in zip(*tables, strict=True)))

    def _outcomes(self, c: int) -> ContingencyTable:
        """Sums of cells, not differences, so that zero stays exactly zero with weights."""
        others = np.delete(self.counts, c, axis=0)
        row, column = np.delete(self.counts[c], c), others[:, c]
        rest = np.delete(others, c, axis=1)
        parts = self.counts[c, c], column.sum(), row.sum(), rest.sum()
        return ContingencyTable(*(float(part) for part in parts))

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows on the diagonal."""
        return float(safe_divide(self.counts.trace(), self.total))

    @property
    def error(self) -> float:
        """Share of the rows off the diagonal: the mean 0-1 loss."""
        return float(safe_divide(self.total - self.counts.trace(), self.total))

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that occur."""
        occurring = self.counts.sum(axis=1) > 0
        return float(self.shares.diagonal()[occurring].mean()) if occurring.any() else np.nan

    @property
    def mcc(self) -> float:
        """Matthews correlation of all classes; NaN if true or predicted classes are constant."""
        correct, predicted, true = (
            self.counts.diagonal(),
            self.counts.sum(axis=0),
            self.counts.sum(axis=1),
        )
        return matthews_correlation(LabelCounts(correct, predicted, true))

    @property
    def shares(self) -> np.ndarray:
        """The matrix with rows that sum to 1; NaN for a class that does not occur."""
        return safe_divide(self.counts, self.counts.sum(axis=1, keepdims=True))

    def table(self) -> str:
        """Counts and measures as text: all measures of the positive class, else some per class."""
        names = [str(label) for label in self.classes]
        header = [["true \\ predicted", *names, "total"]]
        lines = [
            [name, *map(_format_cell, row), _format_cell(row.sum())]
            for name, row in zip(names, self.counts, strict=True)
        ]
        footer = [["total", *map(_format_cell, self.counts.sum(axis=0)), _format_cell(self.total)]]
        counts = _align_columns(header + lines + footer)
        if self.positive is None:
            return f"{counts}\n\n{_align_columns(self._per_class(names))}"
        outcomes = self.of()
        cells = ", ".join(
            f"{name.upper()} {_format_cell(value)}" for name, value in outcomes._asdict().items()
        )
        measures = [
            [text, _format_cell(getattr(outcomes, name))] for name, text in MEASURE_LABELS.items()
        ]
        return f"{counts}\n\npositive: {self.positive} ({cells})\n\n{_align_columns(measures)}"

    def _per_class(self, names: list[str]) -> list[list[str]]:
        columns = [getattr(self.each, name) for name in _PER_CLASS_COLUMNS]
        lines = [
            [name, *(_format_cell(column[c]) for column in columns)] for c, name in enumerate(names)
        ]
        overall = [["accuracy", _format_cell(self.accuracy)], ["MCC", _format_cell(self.mcc)]]
        return [["class", *_PER_CLASS_COLUMNS.values()], *lines, [""], *overall]

    __str__ = table

    def __repr__(self) -> str:
        return f"ConfusionMatrix({self.counts.tolist()}, classes={self.classes.tolist()})"


class ConfusionCounts(Metric):
    """Counts of a confusion matrix as the statistic of a metric whose value is the accuracy."""

    name = "confusion"
    wants = "labels"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> np.ndarray:
        return confusion_counts(
            as_class_indices(y), as_class_indices(predicted), as_weight_array(w), k
        )

    def value(self, statistic: np.ndarray) -> float:
        return float(safe_divide(statistic.trace(), statistic.sum()))


def _format_cell(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:.4g}"


def _align_columns(lines: list[list[str]]) -> str:
    """Columns of text: the first left-aligned, the others right-aligned."""
    widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(widths[i]) if i else cell.ljust(widths[0]) for i, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
