"""A model of tables: columns are checked and encoded, predictions come with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tenfold.automl.schema import conform_cells, encode_cells, missing_columns, to_records
from tenfold.automl.target import iterate_chunks
from tenfold.automl.task_scores import CLUSTERS, REGRESSION, predict_outputs
from tenfold.io.columnar import TableError

_N_QUANTILES = 1001  # stored quantiles of absolute errors


def error_quantiles(errors: np.ndarray) -> np.ndarray:
    """Ascending quantiles of absolute errors."""
    return np.quantile(np.abs(errors), np.linspace(0, 1, _N_QUANTILES))


def conformal_half_width(quantiles: np.ndarray, n: int, level: float) -> float:
    """Half width of a prediction interval of coverage `level` (split conformal prediction).

    Of n + 1 exchangeable errors the new one is as likely as any other to be among the largest.

    Parameters
    ----------
    quantiles : (n_quantiles,) array
        Result of `error_quantiles`.
    n : int
        Number of errors.
    level : float
        Coverage.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer (2005), "Algorithmic learning in a random world".
    J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman (2018), "Distribution-free
    predictive inference for regression".

    Examples
    --------
    >>> conformal_half_width(error_quantiles(np.arange(1.0, 100.0)), 99, 0.9)
    90.09...
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} must be between 0 and 1, such as 0.9")
    share = min(ceil((n + 1) * level) / n, 1.0)
    return float(np.interp(share, np.linspace(0, 1, len(quantiles)), quantiles))


def add_predictions(
    columns: dict[str, list[Any]],
    predicted: np.ndarray,
    probabilities: dict[Any, np.ndarray],
    intervals: np.ndarray | None,
) -> dict[str, list[Any]]:
    """Copied columns, followed by predictions under unused names.

    Examples
    --------
    >>> add_predictions({"prediction": ["old"]}, np.array([1]), {"a": np.array([0.5])}, None)
    {'prediction': ['old'], 'prediction (model)': [1], 'probability of a': [0.5]}
    """
    columns[_unused_name("prediction", columns)] = predicted.tolist()
    for label, values in probabilities.items():
        columns[_unused_name(f"probability of {label}", columns)] = values.tolist()
    if intervals is not None:
        columns |= {"low": intervals[:, 0].tolist(), "high": intervals[:, 1].tolist()}
    return columns


def _unused_name(name: str, taken: dict[str, Any]) -> str:
    """A name that no column has."""
    return name if name not in taken else _unused_name(f"{name} (model)", taken)


class TableModel(BaseEstimator):
    """A fitted model of tables, the result of `tenfold.learn`.

    A table is a file (CSV, Parquet, Arrow, JSON lines, Excel), a DataFrame, a dict of columns or a
    list of dicts. Columns are matched by name; others are ignored; missing cells and unknown
    categories are allowed. Created by `tenfold.learn`, or read by `tenfold.load`.

    Attributes
    ----------
    task_ : "regression", "two-class", "multi-class" or "clusters"
    target_ : name of the column that is predicted, or None
    classes_ : labels in their own type, or None
    columns_ : dict, name -> `ExpectedColumn`: type, kind and examples of each input column
    styles_ : dict, name -> number format of columns whose numbers were not plain
    encoder_ : the fitted `TableEncoder`
    model_ : the fitted model of encoded rows; a pipeline if it has derived features
    scale_ : standardization of the target of a regression
    interval_ : (n_quantiles,) quantiles of absolute out-of-fold errors in the scale of the model;
        None but for regression
    residuals_ : number of these errors
    scores_ : scores of cross-validation and of the test
    title_, created_, versions_ : name of the model, time, versions of the libraries

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> table = {"size": np.arange(80) / 2, "colour": ["red", "blue"] * 40}
    >>> table["price"] = 3 * table["size"] + np.array([0.0, 10.0] * 40)
    >>> model = tenfold.learn(table, "price", models=["ridge"]).model
    >>> model.predict({"size": [10.0, 20.0], "colour": ["blue", "red"]}).round().tolist()
    [40.0, 60.0]
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Learned attributes, for type checkers."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if "title_" not in vars(self):
            return super().__repr__(N_CHAR_MAX)
        of = self.task_ if self.target_ is None else f"{self.target_!r} ({self.task_})"
        return f"<TableModel: {self.title_} of {of}, from {len(self.columns_)} columns>"

    @property
    def styles(self) -> dict[str, str]:
        """Number formats of columns whose numbers were not plain."""
        return vars(self).get("styles_", {})

    def predict(self, table: Any) -> np.ndarray:
        """Label, value or cluster of each row.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.

        Returns
        -------
        (n_rows,) array
        """
        parts = [self._to_labels(outputs) for outputs in self._predict_parts(table)]
        return np.concatenate(parts) if parts else np.empty(0)

    def predict_proba(self, table: Any) -> np.ndarray:
        """Probability of each class for each row, in the order of `classes_`.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.

        Returns
        -------
        (n_rows, n_classes) array
        """
        self._require_classes()
        parts = list(self._predict_parts(table))
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def predict_interval(self, table: Any, level: float = 0.9) -> np.ndarray:
        """Prediction interval of each row, from errors on held-out rows.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.
        level : float
            Coverage of the intervals.

        Returns
        -------
        (n_rows, 2) array
            Lower and upper bound. All intervals have the same width in the scale of the model
            (split conformal prediction, with the residuals of cross-validation).
        """
        half = self._half_width(level)
        parts = [self._intervals(outputs, half) for outputs in self._predict_parts(table)]
        return np.concatenate(parts) if parts else np.empty((0, 2))

    def predict_chunks(
        self,
        table: Any,
        *,
        probabilities: bool = False,
        level: float | None = None,
        keep: list[str] | None = None,
    ) -> Iterator[dict[str, list[Any]]]:
        """Predictions of a table of any size, chunk by chunk.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.
        probabilities : bool
            Whether to add a probability column for each class.
        level : float, optional
            Coverage of prediction intervals of a regression.
        keep : list of str, optional
            Columns of the table to copy.

        Yields
        ------
        dict
            Columns by name: copied columns, "prediction", "probability of ..." and "low", "high".
        """
        if probabilities:
            self._require_classes()
        half = None if level is None else self._half_width(level)
        records = self._open(table)
        for name in keep or []:
            records.assert_column(name)
        for cells, outputs in self._predict_records(records):
            by_class = dict(zip(self.classes_, outputs.T, strict=True)) if probabilities else {}
            intervals = None if half is None else self._intervals(outputs, half)
            copied = cells.select(keep or []).to_columns()
            yield add_predictions(copied, self._to_labels(outputs), by_class, intervals)

    def check_columns(self, table: Any) -> list[str]:
        """Error messages about the columns of a table; an empty list if there are none.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows; all of them are read.
        """
        records = to_records(table, self.styles)
        problems = missing_columns(self.columns_, records.names)
        if problems:
            return problems
        try:
            for chunk in iterate_chunks(records):
                self._conform(chunk, records)
        except TableError as error:
            return [str(error)]
        return []

    def describe(self) -> dict[str, Any]:
        """Description of the model and its input columns, in types that JSON has."""
        from tenfold.automl.result import model_to_dict

        return model_to_dict(self)

    def encode(self, cells: Any) -> Any:
        """Encoded rows, an array or CSR matrix.

        Parameters
        ----------
        cells : ColumnBatch
            Some rows.
        """
        return encode_cells(self.encoder_, cells.select(self.columns_))

    def predict_cells(self, cells: Any) -> np.ndarray:
        """Values, probabilities (n_rows, n_classes), or cluster indices, of rows in memory.

        Parameters
        ----------
        cells : ColumnBatch
            Some rows, with columns of the types in `columns_`.
        """
        return self.predict_encoded(self.encode(cells))

    def predict_encoded(self, X: Any) -> np.ndarray:
        """Values, probabilities (n_rows, n_classes), or cluster indices, of encoded rows.

        Parameters
        ----------
        X : (n_rows, n_columns) array or CSR matrix
            Result of `encode`.
        """
        if self.task_ == CLUSTERS:
            return np.asarray(self.model_.predict(X))
        outputs = predict_outputs(self.model_, X, self.classes_ and len(self.classes_))
        return outputs if self.scale_ is None else self.scale_.backward(outputs)

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    def _check_learned(self) -> None:
        """Raise an error if a loaded model lacks something that it needs."""
        needed = ("task_", "target_", "classes_", "columns_", "encoder_", "scale_", "scores_")
        needed += ("interval_", "residuals_", "title_", "created_", "versions_")
        missing = [name for name in needed if not hasattr(self, name)]
        if hasattr(self, "model_") and missing:
            raise ValueError(f"it lacks {', '.join(missing)}")

    def _open(self, table: Any) -> Any:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                "this TableModel is not fitted: tenfold.learn returns a fitted one"
            )
        records = to_records(table, self.styles)
        problems = missing_columns(self.columns_, records.names)
        if problems:
            raise TableError(f"{records.shown}: {'; '.join(problems)}")
        return records

    def _predict_records(self, records: Any) -> Iterator[tuple[Any, np.ndarray]]:
        for chunk in iterate_chunks(records):
            yield chunk.X, self.predict_cells(self._conform(chunk, records))

    def _conform(self, chunk: Any, records: Any) -> Any:
        return conform_cells(chunk.X, self.columns_, records, chunk.first, self.styles)

    def _predict_parts(self, table: Any) -> Iterator[np.ndarray]:
        return (outputs for _, outputs in self._predict_records(self._open(table)))

    def _to_labels(self, outputs: np.ndarray) -> np.ndarray:
        if self.classes_ is None:
            return outputs
        return np.array(self.classes_)[outputs.argmax(axis=1)]

    def _intervals(self, outputs: np.ndarray, half: float) -> np.ndarray:
        center = self.scale_.forward(outputs)
        return np.column_stack([self.scale_.backward(center + d) for d in (-half, half)])

    def _half_width(self, level: float) -> float:
        if self.task_ != REGRESSION:
            raise ValueError(f"intervals are for regression; this model is for {self.task_}")
        return conformal_half_width(self.interval_, self.residuals_, level)

    def _require_classes(self) -> None:
        if self.classes_ is None:
            raise ValueError(f"probabilities are for classes; this model is for {self.task_}")
