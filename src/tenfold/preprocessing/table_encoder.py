"""TableEncoder: a table of mixed columns as a matrix of numbers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.io.columnar import ColumnBatch, DateColumn, NumericColumn, TableError, TextColumn
from tenfold.io.table import EncodedSource, TableSource, is_external_table
from tenfold.io.table_opener import open_table
from tenfold.preprocessing._column_encoders import (
    CategoryEncoder,
    ColumnEncoder,
    DateEncoder,
    EncoderOptions,
    HashEncoder,
    NumberEncoder,
    TextEncoder,
    check_finite,
    count_document_frequencies,
    infinity_error,
    make_column_encoder,
    no_entries,
)
from tenfold.preprocessing.column_kinds import kinds_from_profile, reading_overrides, validate_kinds
from tenfold.preprocessing.column_profile import profile_table, to_numbers, to_words


def _open_table(encoder: Any, X: Any, *, reset: bool) -> TableSource:
    """Open X as a table; `reset` stores the names of its columns."""
    if not _is_table(X):
        return _from_array(encoder, X, reset=reset)
    records = open_table(X)
    if reset:
        encoder.n_features_in_ = records.n_features
        encoder.feature_names_in_ = np.array(records.names, dtype=object)
    return records


def _is_table(X: Any) -> bool:
    """Whether the columns of X have names; a sparse matrix may be a dict, and has none."""
    if is_external_table(X) or (isinstance(X, list) and len(X) > 0 and isinstance(X[0], dict)):
        return True
    has_names = isinstance(X, dict) or hasattr(X, "columns") or hasattr(X, "column_names")
    structured = getattr(getattr(X, "dtype", None), "names", None) is not None
    return (has_names or structured) and not hasattr(X, "tocsr")


def _from_array(encoder: Any, X: Any, *, reset: bool) -> TableSource:
    checked = validate_data(
        encoder, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_features=1
    )
    array = np.asarray(checked)
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        return open_table(array)
    return open_table({str(name): array[:, j] for j, name in enumerate(names)})


def _describe_columns(kinds: dict[str, Any], encoders: list[Any]) -> str:
    """One line for each column."""
    by_name = {encoder.name: encoder for encoder in encoders}
    width = max((len(name) for name in kinds), default=0)
    lines = [
        f"{n:<{width}}  {k.kind:<10}  {_describe_column(k, by_name.get(n))}"
        for n, k in kinds.items()
    ]
    return "\n".join(lines)


def _describe_column(kind: Any, encoder: Any) -> str:
    if encoder is None:
        return f"left out: {kind.why}"
    missing = f"; {kind.missing:,} missing" if kind.missing else ""
    return _describe_encoder(encoder) + missing


def _describe_encoder(encoder: Any) -> str:
    if isinstance(encoder, NumberEncoder):
        return "a number" + (", and whether it is missing" if encoder.flag_missing else "")
    if isinstance(encoder, CategoryEncoder):
        pooled = ", rare ones pooled" if encoder.other else ""
        return f"an indicator for each of {len(encoder.levels)} levels{pooled}"
    if isinstance(encoder, HashEncoder):
        return f"too many levels: hashed into {encoder.buckets} buckets"
    if isinstance(encoder, TextEncoder):
        return f"{len(encoder.words):,} words, weighted by tf-idf"
    assert isinstance(encoder, DateEncoder)  # noqa: S101 - there is no other
    return "days, year, season, weekday" + (", time of day" if encoder.has_times else "")


class CellEncoding:
    """Encode batches of columns: `encoding(cells, first)` is an array, or a CSR array.

    Parameters
    ----------
    encoders : encoders of the columns
    dtype, sparse : of the result
    where : describes the location of a row, for error messages
    """

    def __init__(
        self,
        encoders: list[ColumnEncoder],
        dtype: np.dtype,
        sparse: bool,
        where: Callable[[int], str],
    ) -> None:
        self.encoders, self.dtype, self.sparse = encoders, dtype, sparse
        self.where = where
        self.offsets = np.cumsum([0, *(len(encoder.names) for encoder in encoders)]).tolist()

    def __call__(self, cells: ColumnBatch, first: int) -> Any:
        columns = [self._column(encoder, cells, first) for encoder in self.encoders]
        return self._csr(columns, len(cells)) if self.sparse else self._dense(columns, len(cells))

    def _dense(self, columns: list[Any], rows: int) -> np.ndarray:
        out = np.zeros((rows, self.offsets[-1]), self.dtype)
        for encoder, column, first in zip(self.encoders, columns, self.offsets, strict=False):
            for j, vector in enumerate(encoder.dense_columns(column)):
                out[:, first + j] = vector
            row, column_index, value = encoder.sparse_entries(column)
            out[row, column_index + first] = value
        return out

    def _csr(self, columns: list[Any], rows: int) -> Any:
        from scipy.sparse import csr_array

        all_rows = np.arange(rows)
        entries = [no_entries()]
        for encoder, column, first in zip(self.encoders, columns, self.offsets, strict=False):
            for j, vector in enumerate(encoder.dense_columns(column)):
                entries.append((all_rows, np.full(rows, first + j), vector))
            row, column_index, value = encoder.sparse_entries(column)
            entries.append((row, column_index + first, value))
        row, column_index, value = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        matrix = csr_array(
            (value.astype(self.dtype), (row, column_index)), shape=(rows, self.offsets[-1])
        )
        matrix.eliminate_zeros()
        return matrix

    def assert_columns(self, records: Any) -> None:
        """Raise an error if a column is missing."""
        for encoder in self.encoders:
            if encoder.name not in records.types:
                raise TableError(
                    f"{records.shown} has no column {encoder.name!r}, which was present "
                    f"when the encoder was fitted. {records.suggest_column(encoder.name)}"
                )

    def _column(self, encoder: ColumnEncoder, cells: ColumnBatch, first: int) -> Any:
        """Convert a column to the input type of its encoder."""
        column, kind = cells[encoder.name], cells.types[encoder.name]
        if encoder.input_type == "text":
            return to_words(column, kind)
        if encoder.input_type == "number":
            column = (
                column
                if isinstance(column, NumericColumn)
                else self._as_numbers(encoder, column, first)
            )
            self._assert_finite(encoder, column, first)
            return column
        return column if isinstance(column, DateColumn) else self._as_dates(encoder, column, first)

    def _as_numbers(self, encoder: Any, column: Any, first: int) -> NumericColumn:
        if encoder.lenient:
            return to_numbers(column)
        return NumericColumn(self._parse_values(encoder, column, first, float, np.nan))

    def _as_dates(self, encoder: ColumnEncoder, column: Any, first: int) -> DateColumn:
        if isinstance(column, NumericColumn) and np.isnan(column.values).all():
            return DateColumn(np.full(len(column), "NaT", "datetime64[us]"))
        dates = self._parse_values(
            encoder, to_words(column, "number"), first, _parse_date, np.datetime64("NaT", "us")
        )
        return DateColumn(dates.astype("datetime64[us]"))

    def _parse_values(
        self, encoder: ColumnEncoder, column: Any, first: int, parse: Any, missing_value: Any
    ) -> np.ndarray:
        """Parse each distinct text; an invalid one raises an error that locates it."""
        words: TextColumn = to_words(column, "date")
        values = []
        for code, word in enumerate(words.values):
            try:
                values.append(parse(word))
            except ValueError:
                row = np.flatnonzero(words.codes == code)
                if len(row):
                    raise self._type_error(encoder, first + int(row[0]), word) from None
                values.append(missing_value)
        return np.array([*values, missing_value])[words.codes]

    def _type_error(self, encoder: ColumnEncoder, row: int, word: str) -> TableError:
        return TableError(
            f"{self.where(row)}, column {encoder.name!r}: {word!r} is not a {encoder.input_type}, "
            f"but the column held {encoder.input_type}s when the encoder was fitted. Correct the "
            "value, or leave it empty."
        )

    def _assert_finite(self, encoder: ColumnEncoder, column: NumericColumn, first: int) -> None:
        infinite = np.isinf(column.values)
        if infinite.any():
            raise infinity_error(self.where(first + int(np.argmax(infinite))), encoder.name)


def _parse_date(word: str) -> np.datetime64:
    return np.datetime64(word, "us")


_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""A table of numbers, categories, text and dates as a matrix of numbers.

    Kinds and encoders of the columns are learned in one pass over the rows (two if there are
    columns of text), from a DataFrame, a CSV file, or a folder of Parquet files larger than memory.

    - A number is standardized, :math:`(x - \bar x) / s`; a missing value becomes the mean, and an
      indicator column marks it.
    - A category is one-hot encoded. Rare and unseen levels share the indicator "other"; missing is
      a level. If the frequent levels cover less than half of the rows, all levels are hashed into
      buckets (feature hashing).
    - Text becomes the words of highest document frequency, weighted by
      :math:`\log \frac{1 + n}{1 + n_j} + 1` (tf-idf), each row scaled to unit length.
    - A date becomes days, year, sine and cosine of its season, weekday, and, if there are times,
      sine and cosine of the time of day.
    - Identifiers and constants are dropped.

    Parameters
    ----------
    kinds : dict, name -> kind, optional
        Kinds of some columns: "number" (text counts as missing), "category", "text", "date", or
        "identifier" (dropped). The others are inferred from their values.
    max_categories : int
        Maximum number of indicators of a category, including "other", excluding missing.
    min_count : int
        Levels with fewer rows than this are rare.
    hash_columns : int
        Number of hash buckets of a category with many levels.
    max_words : int
        Maximum number of words of a text column.
    standardize : bool
        Whether numbers and days are scaled to mean zero and standard deviation one.
    flag_missing : bool
        Whether an indicator column marks missing values, if there are any.
    drop_first : bool
        Whether the first level of a category has no indicator.
    sparse : bool or "auto"
        Whether the result is a CSR array; "auto": if it is wide and mostly zero.
    dtype : type
        Of the numbers, float32 or float64.

    Attributes
    ----------
    kinds_ : dict, name -> ColumnKind, of all columns
    parts_ : list of the encoders of all columns that are used
    origin_ : (n_features_out,) the input column of each encoded column
    types_ : dict, name -> type of each column
    sparse_ : whether the result is sparse
    n_features_in_, feature_names_in_ : number and names of the input columns

    See Also
    --------
    IndicatorFeatures, WordCounts, TfIdf

    Examples
    --------
    >>> import tenfold
    >>> table = {"size": [1.0, 3.0, None], "color": ["red", "blue", "red"]}
    >>> encoder = tenfold.TableEncoder(min_count=1).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'color=blue', 'color=red']
    >>> encoder.transform({"size": [5.0], "color": ["green"]}).tolist()
    [[3.0, 0.0, 0.0, 0.0]]
    """

    _parameter_constraints: dict[str, Any] = {
        "kinds": [dict, None],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "min_count": _AT_LEAST_ONE,
        "hash_columns": _AT_LEAST_ONE,
        "max_words": _AT_LEAST_ONE,
        "standardize": ["boolean"],
        "flag_missing": ["boolean"],
        "drop_first": ["boolean"],
        "sparse": ["boolean", StrOptions({"auto"})],
        "dtype": "no_validation",
    }

    def __init__(
        self,
        kinds: dict[str, Any] | None = None,
        *,
        max_categories: int = 30,
        min_count: int = 3,
        hash_columns: int = 256,
        max_words: int = 2000,
        standardize: bool = True,
        flag_missing: bool = True,
        drop_first: bool = False,
        sparse: Any = "auto",
        dtype: Any = np.float32,
    ) -> None:
        self.kinds = kinds
        self.max_categories = max_categories
        self.min_count = min_count
        self.hash_columns = hash_columns
        self.max_words = max_words
        self.standardize = standardize
        self.flag_missing = flag_missing
        self.drop_first = drop_first
        self.sparse = sparse
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the kinds of the columns and learn their encoders.

        Parameters
        ----------
        X : DataFrame, array, dict of columns, path or open table
            The table.
        y : array or str, optional
            Name of the target column of X, which is left out; an array is ignored.
        """
        self._validate_params()
        records = _open_table(self, X, reset=True)
        target = y if isinstance(y, str) else records.target
        if target is not None:
            records.assert_column(target)
            records = records.select([name for name in records.names if name != target])
        requested = validate_kinds(self.kinds or {}, records)
        overrides = reading_overrides(requested, records)
        profiles = profile_table(records, overrides)
        self.kinds_ = kinds_from_profile(profiles, records, requested, None)
        check_finite(records, profiles, self.kinds_)
        texts = [name for name, kind in self.kinds_.items() if kind.kind == "text"]
        frequencies = count_document_frequencies(records, texts)
        options = EncoderOptions(*(getattr(self, name) for name in EncoderOptions._fields))
        encoders = (
            make_column_encoder(
                n, k.kind, profiles.columns[n], options, frequencies.get(n), lenient=n in overrides
            )
            for n, k in self.kinds_.items()
        )
        self.parts_ = [encoder for encoder in encoders if encoder is not None]
        self.types_ = dict(records.types)
        widths = [len(encoder.names) for encoder in self.parts_]
        self.origin_ = np.repeat(np.array([p.name for p in self.parts_], object), widths)
        self.sparse_ = self._is_sparse()
        return self

    def transform(self, X: Any) -> Any:
        """Encode the rows.

        Parameters
        ----------
        X : DataFrame, array, dict of columns, path or open table
            The table. Columns are found by name; others are ignored.

        Returns
        -------
        Array or CSR array; for a path or an open table `Rows`, which are encoded as they are read
        and have the target of the table.
        """
        check_is_fitted(self)
        if is_external_table(X):
            return self.rows(X)
        records = _open_table(self, X, reset=False)
        encoded = self._encoded_source(records, None)
        if self.sparse_:
            from scipy.sparse import csr_array, vstack

            encoders = [chunk.X for run in encoded.runs() for chunk in encoded.chunks(run)]
            empty = csr_array((0, len(self.origin_)), dtype=encoded.dtype)
            return vstack(encoders, format="csr") if encoders else empty
        return Rows(encoded).each(_chunk_matrix)

    def rows(self, X: Any, target: str | None = None, classes: Any = None) -> Rows:
        """Rows for any model, encoded as they are read: the table may be larger than memory.

        Parameters
        ----------
        X : DataFrame, path or open table
            The table.
        target : str, optional
            The column that becomes y; by default the target of the table, if it has one.
        classes : array, optional
            Sorted labels; models then get indices into this list.
        """
        check_is_fitted(self)
        records = open_table(X)
        return Rows(self._encoded_source(records, target or records.target), classes=classes)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the encoded columns, such as "town=Bonn".

        Parameters
        ----------
        input_features : None
            Not used; the names are those of the fit.
        """
        check_is_fitted(self)
        return np.array([name for encoder in self.parts_ for name in encoder.names], dtype=object)

    def summary(self) -> str:
        """Describe the encoding of each column, one line each."""
        check_is_fitted(self)
        return _describe_columns(self.kinds_, self.parts_)

    def _encoded_source(self, records: Any, target: str | None) -> EncodedSource:
        encoding = CellEncoding(self.parts_, np.dtype(self.dtype), self.sparse_, records.where)
        encoding.assert_columns(records)
        if target is not None:
            records.assert_column(target)
        names = self.get_feature_names_out().tolist()
        return EncodedSource(
            records, encoding, names, dtype=self.dtype, sparse=self.sparse_, target=target
        )

    def _is_sparse(self) -> bool:
        if self.sparse != "auto":
            return bool(self.sparse)
        width = len(self.origin_)
        n_dense = sum(
            len(p.names) if p.input_type != "text" else min(len(p.names), 20) for p in self.parts_
        )
        return width >= 200 and n_dense < 0.2 * width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _chunk_matrix(chunk: Any) -> np.ndarray:
    return chunk.X
