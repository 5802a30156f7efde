"""Polynomial features: all monomials of the columns up to a degree, of dense and sparse rows."""

from __future__ import annotations

from itertools import chain, combinations, combinations_with_replacement
from math import comb
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions, check_feature_names_in
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows

_MAX_COLUMNS = int(np.iinfo(np.int64).max)


def monomial_count(
    p: int, degree: int, *, include_bias: bool = True, interaction_only: bool = False
) -> int:
    r"""Number of monomials of `p` variables up to a degree q.

    .. math:: \binom{p + q}{q} = O(p^q) \qquad \text{with the constant 1}

    These are the columns that `PolynomialFeatures` makes.

    Parameters
    ----------
    p : int
        Number of variables.
    degree : int
        Largest degree.
    include_bias : bool
        Whether the constant 1 counts.
    interaction_only : bool
        Whether only products of different variables count.

    Examples
    --------
    >>> monomial_count(4, 3), monomial_count(2, 2, include_bias=False)
    (35, 5)
    """
    if interaction_only:
        count = sum(comb(p, d) for d in range(degree + 1))
    else:
        count = comb(p + degree, degree)
    return count if include_bias else count - 1


class PolynomialFeatures(Transformer):
    r"""All monomials of the columns up to a degree.

    .. math:: \phi(x) = \Bigl(x_1^{a_1} \cdots x_p^{a_p}\Bigr)_{a_1 + \dots + a_p \le q}

    A linear model of these columns is a polynomial of the original ones. There are
    :math:`\binom{p + q}{q}` of them: see `monomial_count`. Parameters, attributes and the order of
    the columns are those of `sklearn.preprocessing.PolynomialFeatures`; files and clusters are read
    chunk by chunk, and sparse rows of any degree stay sparse, with work for nonzero entries only.

    Parameters
    ----------
    degree : int or (int, int)
        Largest degree, or least and largest; the constant is a matter of `include_bias` alone.
    interaction_only : bool
        Whether only products of different columns are made, no powers.
    include_bias : bool
        Whether the constant 1 is the first column.
    order : {"C", "F"}
        Memory layout of dense results.

    Attributes
    ----------
    powers_ : (n_output, n_features) exponent of each column in each monomial
    n_output_features_ : number of monomials

    See Also
    --------
    monomial_count : Number of monomials.
    FunctionFeatures, FourierFeatures, RadialFeatures

    Examples
    --------
    >>> from tenfold import PolynomialFeatures
    >>> basis = PolynomialFeatures(2)
    >>> basis.fit_transform([[2.0, 3.0]]).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    >>> basis.get_feature_names_out(["a", "b"]).tolist()
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    """

    _sparse_ok = True
    _parameter_constraints = {
        "degree": [Interval(Integral, 0, None, closed="left"), "array-like"],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
        "order": [StrOptions({"C", "F"})],
    }

    def __init__(
        self,
        degree: Any = 2,
        *,
        interaction_only: bool = False,
        include_bias: bool = True,
        order: str = "C",
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.order = order

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Count the columns, and read the rows once to reject missing values.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; present for pipelines.

        Returns
        -------
        self
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        lowest, highest = self._degrees()
        p = rows.n_features
        count = self._count(p, highest) - self._count(p, max(lowest, 1) - 1) + self.include_bias
        if count > _MAX_COLUMNS:
            raise ValueError(
                f"The output that would result from the current configuration would have {count} "
                "features which is too large to be indexed by int64: take a smaller degree, "
                "interaction_only=True, or fewer columns"
            )
        rows.total(_row_count)  # rows with missing values are refused here
        return {"n_output_features_": count}

    def _degrees(self) -> tuple[int, int]:
        """Least and largest degree."""
        given = self.degree
        lowest, highest = 0, given
        if not isinstance(given, Integral):
            pair = list(given)
            if len(pair) != 2:
                raise ValueError(
                    "degree must be a non-negative int or tuple (min_degree, max_degree), got "
                    f"{given}."
                )
            lowest, highest = pair
            whole = all(isinstance(d, Integral) for d in pair)
            if not whole or not 0 <= lowest <= highest:
                raise ValueError(
                    "degree=(min_degree, max_degree) must be non-negative integers that fulfil "
                    f"min_degree <= max_degree, got {given}."
                )
        if highest == 0 and not self.include_bias:
            zeros = "degree" if isinstance(given, Integral) else "both min_degree and max_degree"
            raise ValueError(
                f"Setting {zeros} to zero and include_bias to False would result in an empty "
                "output array: take a larger degree"
            )
        return int(lowest), int(highest)

    def _count(self, p: int, degree: int) -> int:
        """Monomials of degree 1 to `degree`."""
        return monomial_count(p, degree, include_bias=False, interaction_only=self.interaction_only)

    @property
    def powers_(self) -> np.ndarray:
        """Exponent of each column in each monomial, (n_output, n_features)."""
        check_is_fitted(self)
        lowest, highest = self._degrees()
        choose = combinations if self.interaction_only else combinations_with_replacement
        p = self.n_features_in_
        degrees = [0] if self.include_bias else []
        degrees += range(max(lowest, 1), highest + 1)
        chosen = chain.from_iterable(choose(range(p), d) for d in degrees)
        powers = [np.bincount(np.array(c, np.int64), minlength=p) for c in chosen]
        return np.array(powers, np.int64).reshape(-1, p)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the monomials: "1", "x0", "x0^2", "x0 x1".

        Parameters
        ----------
        input_features : list of str, optional
            Names of the original columns; by default those of the fit, or x0, x1, ...
        """
        check_is_fitted(self)
        names: Any = check_feature_names_in(self, input_features)
        monomials = [
            " ".join(f"{names[j]}^{a[j]}" if a[j] > 1 else names[j] for j in np.flatnonzero(a))
            for a in self.powers_
        ]
        return np.array([name or "1" for name in monomials], dtype=object)

    def transform(self, X: Any) -> Any:
        """The monomials of each row, (n_rows, n_output); of sparse rows a CSR array.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
            if not rows.sparse:
                self._check_output_memory(rows)
            made = rows.each(_expand_chunk, *self._layout(rows.n_features))
        if isinstance(made, np.ndarray):
            return np.asfortranarray(made) if self.order == "F" else made
        return made.tocsc() if getattr(X, "format", "csr") == "csc" else made

    def _check_output_memory(self, rows: Rows) -> None:
        size = float(rows.n_rows) * self.n_output_features_ * rows.dtype.itemsize
        check_memory(
            size,
            f"PolynomialFeatures of {rows.n_rows:,} rows with {self.n_output_features_:,} "
            "monomials each",
            "take a smaller degree, interaction_only=True or float32, or transform fewer rows at "
            "a time",
        )

    def _layout(self, p: int) -> tuple[np.ndarray, int, int, int]:
        """Where monomials stand (see `expand_dense`), `step`, the lowest degree, and the bias."""
        lowest, highest = self._degrees()
        step = int(self.interaction_only)
        size = 8.0 * (highest + 1) * (p + 2)
        check_memory(size, f"PolynomialFeatures of {p:,} columns", "take fewer columns")
        starts = np.zeros((highest + 1, p + 2), np.int64)
        if highest:
            starts[1] = np.minimum(np.arange(p + 2), p)
        for d in range(2, highest + 1):
            following = starts[d - 1, p] - starts[d - 1, step : p + step]
            starts[d, 1 : p + 1] = np.cumsum(following)
            starts[d, p + 1] = starts[d, p]
        return starts, step, max(lowest, 1), int(self.include_bias)


def _row_count(chunk: Chunk) -> int:
    return chunk.rows


def _expand_chunk(chunk: Chunk, starts: np.ndarray, step: int, lowest: int, bias: int) -> Any:
    """All monomials of the rows of a chunk."""
    X: Any = chunk.X
    p = X.shape[1]
    sizes = starts[:, p]  # monomials of each degree
    skip = int(sizes[1:lowest].sum())
    width = bias + int(sizes[1:].sum()) - skip
    if not isinstance(X, np.ndarray):
        return _expand_csr(X, starts, step, lowest, bias)
    from tenfold.preprocessing._monomials_numba import expand_dense

    out = np.empty((len(X), width), X.dtype)
    expand_dense(X, starts, step, skip, bias, out)
    return out


def _expand_csr(X: Any, starts: np.ndarray, step: int, lowest: int, bias: int) -> Any:
    """All monomials of the nonzero entries of sparse rows, as a CSR array."""
    from scipy.sparse import csr_array

    from tenfold.preprocessing._monomials_numba import expand_sparse

    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    degree, sizes = len(starts) - 1, starts[:, X.shape[1]]
    base = np.zeros(degree + 1, np.int64)
    base[lowest:] = bias + np.concatenate([[0], np.cumsum(sizes[lowest:])])[: degree + 1 - lowest]
    width = bias + int(sizes[lowest:].sum())
    entries = np.diff(X.indptr)
    kept, every = _entries_per_row(entries, degree, step, lowest)
    indptr = np.concatenate([[0], np.cumsum(bias + kept)])
    most = max(int(indptr[-1]), width)
    index = np.int32 if most <= np.iinfo(np.int32).max else np.int64
    data, indices = np.empty(indptr[-1], X.dtype), np.empty(indptr[-1], index)
    scratch = int(every.max(initial=0))
    out = (data, indices, indptr)
    expand_sparse(X.data, X.indices, X.indptr, starts, base, step, lowest, bias, scratch, out)
    return csr_array((data, indices, indptr.astype(index)), shape=(X.shape[0], width))


def _entries_per_row(
    entries: np.ndarray, degree: int, step: int, lowest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Monomials of so many nonzero entries: of the degrees that are written, and of all."""
    distinct, which = np.unique(entries, return_inverse=True)
    options: Any = {"include_bias": False, "interaction_only": bool(step)}
    every, below = (
        np.array([monomial_count(int(m), d, **options) for m in distinct], np.int64)[which]
        for d in (degree, min(lowest - 1, degree))
    )
    return every - below, every
