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
    """X as records; at the fit (`reset`) its columns are remembered."""
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
    named = isinstance(X, dict) or hasattr(X, "columns") or hasattr(X, "column_names")
    structured = getattr(getattr(X, "dtype", None), "names", None) is not None
    return (named or structured) and not hasattr(X, "tocsr")


def _from_array(encoder: Any, X: Any, *, reset: bool) -> TableSource:
    checked = validate_data(
        encoder, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_features=1
    )
    array = np.asarray(checked)
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        return open_table(array)
    return open_table({str(name): array[:, j] for j, name in enumerate(names)})


def _describe_columns(kinds: dict[str, Any], parts: list[Any]) -> str:
    """One line for each column."""
    by_name = {part.name: part for part in parts}
    width = max((len(name) for name in kinds), default=0)
    lines = [
        f"{n:<{width}}  {k.kind:<10}  {_describe_column(k, by_name.get(n))}"
        for n, k in kinds.items()
    ]
    return "\n".join(lines)


def _describe_column(kind: Any, part: Any) -> str:
    if part is None:
        return f"left out: {kind.why}"
    missing = f"; {kind.missing:,} missing" if kind.missing else ""
    return _describe_encoder(part) + missing


def _describe_encoder(part: Any) -> str:
    if isinstance(part, NumberEncoder):
        return "a number" + (", and whether it is missing" if part.flag else "")
    if isinstance(part, CategoryEncoder):
        pooled = ", rare ones pooled" if part.other else ""
        return f"an indicator for each of {len(part.levels)} levels{pooled}"
    if isinstance(part, HashEncoder):
        return f"too many levels: hashed into {part.buckets} buckets"
    if isinstance(part, TextEncoder):
        return f"{len(part.words):,} words, weighed by tf-idf"
    assert isinstance(part, DateEncoder)  # noqa: S101 - there is no other
    return "days, year, season, weekday" + (", time of day" if part.hours else "")


class CellEncoding:
    """Encode cells: `encoding(cells, first)` is an array, or a CSR array.

    Parameters
    ----------
    parts : what the encoder learned
    dtype, sparse : of the result
    where : the place of a row in words, for error messages
    """

    def __init__(
        self,
        parts: list[ColumnEncoder],
        dtype: np.dtype,
        sparse: bool,
        where: Callable[[int], str],
    ) -> None:
        self.parts, self.dtype, self.sparse = parts, dtype, sparse
        self.where = where
        self.firsts = np.cumsum([0, *(len(part.names) for part in parts)]).tolist()

    def __call__(self, cells: ColumnBatch, first: int) -> Any:
        columns = [self._column(part, cells, first) for part in self.parts]
        return self._csr(columns, len(cells)) if self.sparse else self._dense(columns, len(cells))

    def _dense(self, columns: list[Any], rows: int) -> np.ndarray:
        out = np.zeros((rows, self.firsts[-1]), self.dtype)
        for part, column, first in zip(self.parts, columns, self.firsts, strict=False):
            for j, vector in enumerate(part.vectors(column)):
                out[:, first + j] = vector
            at, place, value = part.marks(column)
            out[at, place + first] = value
        return out

    def _csr(self, columns: list[Any], rows: int) -> Any:
        from scipy.sparse import csr_array

        every = np.arange(rows)
        entries = [no_entries()]
        for part, column, first in zip(self.parts, columns, self.firsts, strict=False):
            for j, vector in enumerate(part.vectors(column)):
                entries.append((every, np.full(rows, first + j), vector))
            at, place, value = part.marks(column)
            entries.append((at, place + first, value))
        at, place, value = (np.concatenate(each) for each in zip(*entries, strict=True))
        made = csr_array((value.astype(self.dtype), (at, place)), shape=(rows, self.firsts[-1]))
        made.eliminate_zeros()
        return made

    def assert_columns(self, records: Any) -> None:
        """Raise an error about the first column that is not there."""
        for part in self.parts:
            if part.name not in records.types:
                raise TableError(
                    f"{records.shown} has no column {part.name!r}, which was there when the "
                    f"encoder was fitted. {records.near(part.name)}"
                )

    def _column(self, part: ColumnEncoder, cells: ColumnBatch, first: int) -> Any:
        """A column as its part takes it."""
        column, kind = cells[part.name], cells.types[part.name]
        if part.takes == "text":
            return to_words(column, kind)
        if part.takes == "number":
            column = (
                column
                if isinstance(column, NumericColumn)
                else self._as_numbers(part, column, first)
            )
            self._assert_finite(part, column, first)
            return column
        return column if isinstance(column, DateColumn) else self._as_dates(part, column, first)

    def _as_numbers(self, part: Any, column: Any, first: int) -> NumericColumn:
        if part.lenient:
            return to_numbers(column)
        return NumericColumn(self._parsed(part, column, first, float, np.nan))

    def _as_dates(self, part: ColumnEncoder, column: Any, first: int) -> DateColumn:
        if isinstance(column, NumericColumn) and np.isnan(column.values).all():
            return DateColumn(np.full(len(column), "NaT", "datetime64[us]"))
        made = self._parsed(
            part, to_words(column, "number"), first, _parse_date, np.datetime64("NaT", "us")
        )
        return DateColumn(made.astype("datetime64[us]"))

    def _parsed(
        self, part: ColumnEncoder, column: Any, first: int, parse: Any, gone: Any
    ) -> np.ndarray:
        """Texts as what was learned; one that is none is an error that names it."""
        words: TextColumn = to_words(column, "date")
        values = []
        for code, word in enumerate(words.values):
            try:
                values.append(parse(word))
            except ValueError:
                row = np.flatnonzero(words.codes == code)
                if len(row):
                    raise self._misfit(part, first + int(row[0]), word) from None
                values.append(gone)
        return np.array([*values, gone])[words.codes]

    def _misfit(self, part: ColumnEncoder, row: int, word: str) -> TableError:
        return TableError(
            f"{self.where(row)}, column {part.name!r}: {word!r} is no {part.takes}, but the column "
            f"held {part.takes}s when the encoder was fitted. Correct the value, or leave it empty."
        )

    def _assert_finite(self, part: ColumnEncoder, column: NumericColumn, first: int) -> None:
        bad = np.isinf(column.values)
        if bad.any():
            raise infinity_error(self.where(first + int(np.argmax(bad))), part.name)


def _parse_date(word: str) -> np.datetime64:
    return np.datetime64(word, "us")


_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""A table of numbers, categories, text and dates as a matrix of numbers.

    The kinds of the columns and all that is needed to encode them are learned in one pass over the
    rows (two if there are columns of text), in any place: a DataFrame, a CSV file, a folder of
    Parquet files larger than memory.

    - A number is standardised, :math:`(x - \bar x) / s`; a missing one becomes the mean, and a
      column of its own says so.
    - A category has an indicator for each level. Rare levels share the indicator "other", which
      unseen ones get too; missing is a level. If the frequent levels are not half of all rows, all
      levels are hashed into buckets.
    - Text becomes the words that the most rows have, weighed by
      :math:`\log \frac{1 + n}{1 + n_j} + 1` (tf-idf), each row of length one.
    - A date becomes days, year, sine and cosine of its season, weekday, and, if there are times,
      sine and cosine of the time of day.
    - Identifiers and constants are dropped.

    Parameters
    ----------
    kinds : dict, name -> kind, optional
        What some columns are: "number" (words in it count as missing), "category", "text", "date",
        or "identifier" (dropped). All others are judged by their values.
    max_categories : int
        Most indicators of a category, "other" included and missing not.
    min_count : int
        Levels of fewer rows than this are rare.
    hash_columns : int
        Buckets of a category with too many levels.
    max_words : int
        Most words of a column of text.
    standardise : bool
        Whether numbers and days have mean zero and deviation one.
    flag_missing : bool
        Whether a column says where a value was missing, if any was.
    drop_first : bool
        Whether the first level of a category goes without an indicator.
    sparse : bool or "auto"
        Whether the result is a CSR array; "auto": if it is wide and mostly zero.
    dtype : type
        Of the numbers, float32 or float64.

    Attributes
    ----------
    kinds_ : dict, name -> ColumnKind, of all columns that were seen
    parts_ : list, how each column that is used becomes numbers
    origin_ : (p,) the column that each encoded column comes from
    types_ : dict, name -> type of each column that was seen
    sparse_ : whether the result is sparse
    n_features_in_, feature_names_in_ : the columns that were seen

    Examples
    --------
    >>> import tenfold
    >>> table = {"size": [1.0, 3.0, None], "colour": ["red", "blue", "red"]}
    >>> encoder = tenfold.TableEncoder(min_count=1).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'colour=blue', 'colour=red']
    >>> encoder.transform({"size": [5.0], "colour": ["green"]}).tolist()
    [[3.0, 0.0, 0.0, 0.0]]
    """

    _parameter_constraints: dict[str, Any] = {
        "kinds": [dict, None],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "min_count": _AT_LEAST_ONE,
        "hash_columns": _AT_LEAST_ONE,
        "max_words": _AT_LEAST_ONE,
        "standardise": ["boolean"],
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
        standardise: bool = True,
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
        self.standardise = standardise
        self.flag_missing = flag_missing
        self.drop_first = drop_first
        self.sparse = sparse
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns are, and how to encode them.

        Parameters
        ----------
        X : DataFrame, array, dict of columns, path or Records
            The table.
        y : array or str, optional
            The name of the column of X that is the target, which is left out; values are not used.
        """
        self._validate_params()
        records = _open_table(self, X, reset=True)
        target = y if isinstance(y, str) else records.target
        if target is not None:
            records.assert_column(target)
            records = records.select([name for name in records.names if name != target])
        asked = validate_kinds(self.kinds or {}, records)
        taken = reading_overrides(asked, records)
        found = profile_table(records, taken)
        self.kinds_ = kinds_from_profile(found, records, asked, None)
        check_finite(records, found, self.kinds_)
        texts = [name for name, kind in self.kinds_.items() if kind.kind == "text"]
        tallies = count_document_frequencies(records, texts)
        wishes = EncoderOptions(*(getattr(self, name) for name in EncoderOptions._fields))
        made = (
            make_column_encoder(
                n, k.kind, found.columns[n], wishes, tallies.get(n), lenient=n in taken
            )
            for n, k in self.kinds_.items()
        )
        self.parts_ = [part for part in made if part is not None]
        self.types_ = dict(records.types)
        widths = [len(part.names) for part in self.parts_]
        self.origin_ = np.repeat(np.array([p.name for p in self.parts_], object), widths)
        self.sparse_ = self._is_sparse()
        return self

    def transform(self, X: Any) -> Any:
        """The rows as numbers.

        Parameters
        ----------
        X : DataFrame, array, dict of columns, path or Records
            The table. Its columns are found by their names; others are not looked at.

        Returns
        -------
        Array or CSR array; of a path or Records `Rows`, which are encoded when they are read and
        have the target of the records.
        """
        check_is_fitted(self)
        if is_external_table(X):
            return self.rows(X)
        records = _open_table(self, X, reset=False)
        encoded = self._encoded(records, None)
        if self.sparse_:
            from scipy.sparse import csr_array, vstack

            parts = [chunk.X for run in encoded.runs() for chunk in encoded.chunks(run)]
            empty = csr_array((0, len(self.origin_)), dtype=encoded.dtype)
            return vstack(parts, format="csr") if parts else empty
        return Rows(encoded).each(_chunk_matrix)

    def rows(self, X: Any, target: str | None = None, classes: Any = None) -> Rows:
        """Rows for any model, encoded when they are read; so the table may be of any size.

        Parameters
        ----------
        X : DataFrame, path or Records
            The table.
        target : str, optional
            The column that becomes y; by default that of the records, if they have one.
        classes : array, optional
            Sorted labels; leaves then see numbers into this list.
        """
        check_is_fitted(self)
        records = open_table(X)
        return Rows(self._encoded(records, target or records.target), classes=classes)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the encoded columns, such as "town=Bonn".

        Parameters
        ----------
        input_features : None
            Not used; the names are those of the fit.
        """
        check_is_fitted(self)
        return np.array([name for part in self.parts_ for name in part.names], dtype=object)

    def summary(self) -> str:
        """What is done with each column, in plain words."""
        check_is_fitted(self)
        return _describe_columns(self.kinds_, self.parts_)

    def _encoded(self, records: Any, target: str | None) -> EncodedSource:
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
        full = sum(
            len(p.names) if p.takes != "text" else min(len(p.names), 20) for p in self.parts_
        )
        return width >= 200 and full < 0.2 * width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _chunk_matrix(chunk: Any) -> np.ndarray:
    return chunk.X
