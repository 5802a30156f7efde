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

_N_QUANTILES = 1001  # that are kept


def error_quantiles(errors: np.ndarray) -> np.ndarray:
    """Ascending quantiles of absolute errors, few enough to be saved."""
    return np.quantile(np.abs(errors), np.linspace(0, 1, _N_QUANTILES))


def conformal_half_width(known: np.ndarray, n: int, level: float) -> float:
    """Half the width of an interval that contains a share of `level` of new values.

    Split conformal prediction: of n + 1 exchangeable errors the new one is as likely as any other
    to be among the largest.

    Parameters
    ----------
    known : (m,) array
        What `error_quantiles` gave.
    n : int
        Number of errors it was made of.
    level : float
        Share of values that lie within.

    Examples
    --------
    >>> conformal_half_width(error_quantiles(np.arange(1.0, 100.0)), 99, 0.9)
    90.09...
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie between 0 and 1, such as 0.9")
    share = min(ceil((n + 1) * level) / n, 1.0)
    return float(np.interp(share, np.linspace(0, 1, len(known)), known))


def add_predictions(
    columns: dict[str, list[Any]],
    predicted: np.ndarray,
    shares: dict[Any, np.ndarray],
    ends: np.ndarray | None,
) -> dict[str, list[Any]]:
    """Columns that were kept, and behind them what was predicted, under names that are free.

    Examples
    --------
    >>> add_predictions({"prediction": ["old"]}, np.array([1]), {"a": np.array([0.5])}, None)
    {'prediction': ['old'], 'prediction (model)': [1], 'probability of a': [0.5]}
    """
    columns[_unused_name("prediction", columns)] = predicted.tolist()
    for label, share in shares.items():
        columns[_unused_name(f"probability of {label}", columns)] = share.tolist()
    if ends is not None:
        columns |= {"low": ends[:, 0].tolist(), "high": ends[:, 1].tolist()}
    return columns


def _unused_name(name: str, taken: dict[str, Any]) -> str:
    """A name that no kept column has."""
    return name if name not in taken else _unused_name(f"{name} (model)", taken)


class TableModel(BaseEstimator):
    """What `tenfold.learn` gives: a model that takes tables as they are.

    A table is a file (CSV, Parquet, Arrow, JSON lines, Excel), a DataFrame, a dict of columns or a
    list of dicts. Columns are found by their names; others are ignored; missing cells and words
    that were never seen are allowed. Made by `tenfold.learn`, or read by `tenfold.load`.

    Attributes
    ----------
    task_ : "regression", "two-class", "multi-class" or "clusters"
    target_ : name of the column that is predicted, or None
    classes_ : labels in their own type, or None
    columns_ : dict, name -> `Expected`: type, kind and examples of each column it needs
    styles_ : dict, name -> how its numbers were written, if those of some column were not plain
    encoder_ : the fitted `TableEncoder`
    model_ : the fitted model, of encoded rows; a pipeline if it makes features
    scale_ : of a regression, how the model sees the target
    interval_ : (m,) ascending quantiles of the absolute errors on rows that were held out, in the
        scale of the model; None but for regression
    residuals_ : number of errors that `interval_` was made of
    scores_ : what cross-validation and the sealed test said
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
            """Learned attributes, which no type checker sees."""

    @property
    def styles(self) -> dict[str, str]:
        """How numbers were written, if those of some column were not plain."""
        return vars(self).get("styles_", {})

    def predict(self, table: Any) -> np.ndarray:
        """Label, value or group of each row.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.

        Returns
        -------
        (n,) array
        """
        parts = [self._predicted(said) for said in self._said(table)]
        return np.concatenate(parts) if parts else np.empty(0)

    def predict_proba(self, table: Any) -> np.ndarray:
        """Probability of each class for each row, in the order of `classes_`.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.

        Returns
        -------
        (n, k) array
        """
        self._require_classes()
        parts = list(self._said(table))
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def predict_interval(self, table: Any, level: float = 0.9) -> np.ndarray:
        """Interval of the value of each row, from errors on rows that were held out.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.
        level : float
            Share of rows whose value lies in their interval.

        Returns
        -------
        (n, 2) array
            Low and high end. The interval is as wide for every row, in the scale of the model
            (split conformal prediction, with the residuals of cross-validation).
        """
        half = self._half_width(level)
        parts = [self._around(said, half) for said in self._said(table)]
        return np.concatenate(parts) if parts else np.empty((0, 2))

    def predict_chunks(
        self,
        table: Any,
        *,
        probabilities: bool = False,
        level: float | None = None,
        keep: list[str] | None = None,
    ) -> Iterator[dict[str, list[Any]]]:
        """Predictions of a table of any size, some rows at a time.

        Parameters
        ----------
        table : path, DataFrame, dict of columns, list of dicts, or records
            The rows.
        probabilities : bool
            Whether there is a column for each class.
        level : float, optional
            Of an interval of the values of a regression.
        keep : list of str, optional
            Columns of the table that are copied.

        Yields
        ------
        dict
            Columns by name: those to keep, "prediction", "probability of ..." and "low", "high".
        """
        if probabilities:
            self._require_classes()
        half = None if level is None else self._half_width(level)
        records = self._opened(table)
        for name in keep or []:
            records.assert_column(name)
        for cells, said in self._walk(records):
            shares = dict(zip(self.classes_, said.T, strict=True)) if probabilities else {}
            ends = None if half is None else self._around(said, half)
            kept = cells.select(keep or []).to_columns()
            yield add_predictions(kept, self._predicted(said), shares, ends)

    def check_columns(self, table: Any) -> list[str]:
        """What is wrong with the columns of a table, in words; an empty list if nothing is.

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
                self._conformed(chunk, records)
        except TableError as problem:
            return [str(problem)]
        return []

    def describe(self) -> dict[str, Any]:
        """What the model is and what it needs, in types that JSON has."""
        from tenfold.automl.result import model_to_dict

        return model_to_dict(self)

    def encode(self, cells: Any) -> Any:
        """Rows of the columns in `columns_` as the model sees them, an array or CSR matrix.

        Parameters
        ----------
        cells : Cells
            Some rows.
        """
        return encode_cells(self.encoder_, cells.select(self.columns_))

    def predict_cells(self, cells: Any) -> np.ndarray:
        """Values, probabilities (n, k), or numbers of groups, of rows in memory.

        Parameters
        ----------
        cells : Cells
            Some rows, with columns of the types in `columns_`.
        """
        return self.predict_encoded(self.encode(cells))

    def predict_encoded(self, X: Any) -> np.ndarray:
        """Values, probabilities (n, k), or numbers of groups, of encoded rows.

        Parameters
        ----------
        X : (n, p) array or CSR matrix
            What `encode` gives.
        """
        if self.task_ == CLUSTERS:
            return np.asarray(self.model_.predict(X))
        said = predict_outputs(self.model_, X, self.classes_ and len(self.classes_))
        return said if self.scale_ is None else self.scale_.backward(said)

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    def _opened(self, table: Any) -> Any:
        if not hasattr(self, "model_"):
            raise NotFittedError("this TableModel is empty: tenfold.learn makes one of a table")
        records = to_records(table, self.styles)
        problems = missing_columns(self.columns_, records.names)
        if problems:
            raise TableError(f"{records.shown}: {'; '.join(problems)}")
        return records

    def _walk(self, records: Any) -> Iterator[tuple[Any, np.ndarray]]:
        for chunk in iterate_chunks(records):
            yield chunk.X, self.predict_cells(self._conformed(chunk, records))

    def _conformed(self, chunk: Any, records: Any) -> Any:
        return conform_cells(chunk.X, self.columns_, records, chunk.first, self.styles)

    def _said(self, table: Any) -> Iterator[np.ndarray]:
        return (said for _, said in self._walk(self._opened(table)))

    def _predicted(self, said: np.ndarray) -> np.ndarray:
        if self.classes_ is None:
            return said
        return np.array(self.classes_)[said.argmax(axis=1)]

    def _around(self, said: np.ndarray, half: float) -> np.ndarray:
        middle = self.scale_.forward(said)
        return np.column_stack([self.scale_.backward(middle + side) for side in (-half, half)])

    def _half_width(self, level: float) -> float:
        if self.task_ != REGRESSION:
            raise ValueError(f"intervals are for regression; this model does {self.task_}")
        return conformal_half_width(self.interval_, self.residuals_, level)

    def _require_classes(self) -> None:
        if self.classes_ is None:
            raise ValueError(f"probabilities are for classes; this model does {self.task_}")
