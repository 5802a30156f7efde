"""A table of mixed columns as a matrix of numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.rows import Rows
from tenfold.rows.encoded import Encoded
from tenfold.rows.files.records import is_elsewhere, open_records
from tenfold.tables.encoding import Encoding
from tenfold.tables.kinds import checked_kinds, kinds_of, taken_as
from tenfold.tables.learning import Wishes, assert_finite, part_of, word_tallies
from tenfold.tables.opening import table_of
from tenfold.tables.profile import profile
from tenfold.tables.telling import told

AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]


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
        "min_count": AT_LEAST_ONE,
        "hash_columns": AT_LEAST_ONE,
        "max_words": AT_LEAST_ONE,
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
        records = table_of(self, X, reset=True)
        target = y if isinstance(y, str) else records.target
        if target is not None:
            records.assert_column(target)
            records = records.select([name for name in records.names if name != target])
        asked = checked_kinds(self.kinds or {}, records)
        taken = taken_as(asked, records)
        found = profile(records, taken)
        self.kinds_ = kinds_of(found, records, asked, None)
        assert_finite(records, found, self.kinds_)
        texts = [name for name, kind in self.kinds_.items() if kind.kind == "text"]
        tallies = word_tallies(records, texts)
        wishes = Wishes(*(getattr(self, name) for name in Wishes._fields))
        made = (
            part_of(n, k.kind, found.columns[n], wishes, tallies.get(n), lenient=n in taken)
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
        if is_elsewhere(X):
            return self.rows(X)
        records = table_of(self, X, reset=False)
        encoded = self._encoded(records, None)
        if self.sparse_:
            from scipy.sparse import csr_array, vstack

            parts = [chunk.X for run in encoded.runs() for chunk in encoded.chunks(run)]
            empty = csr_array((0, len(self.origin_)), dtype=encoded.dtype)
            return vstack(parts, format="csr") if parts else empty
        return Rows(encoded).each(_numbers)

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
        records = open_records(X)
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
        return told(self.kinds_, self.parts_)

    def _encoded(self, records: Any, target: str | None) -> Encoded:
        encoding = Encoding(self.parts_, np.dtype(self.dtype), self.sparse_, records.where)
        encoding.assert_columns(records)
        if target is not None:
            records.assert_column(target)
        names = self.get_feature_names_out().tolist()
        return Encoded(
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


def _numbers(chunk: Any) -> np.ndarray:
    return chunk.X
