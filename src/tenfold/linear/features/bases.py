r"""Features made of features, in which a linear model is no longer linear in x.

A basis maps a row x to :math:`\phi(x)`; the score stays :math:`w \cdot \phi(x) + b`. Polynomials
are scikit-learn's `PolynomialFeatures`, which works with all models here; `monomial_count` says how
many columns it makes. Waves stand below, bumps in `radial`, the turn and fold that solves XOR in
`rotation`, functions of your own in `functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from tenfold.estimator import Transformer
from tenfold.rows import Chunk, Rows


def monomial_count(p: int, degree: int) -> int:
    r"""Number of monomials of `p` variables up to a degree q, the constant included.

    .. math:: \binom{p + q}{q} = O(p^q)

    These are the columns that scikit-learn's `PolynomialFeatures` makes. [002, 1.3 and 6.2; 003, 6]

    Parameters
    ----------
    p : int
        Number of variables.
    degree : int
        Largest degree.

    Examples
    --------
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> monomial_count(4, 3), PolynomialFeatures(3).fit([[0.0] * 4]).n_output_features_
    (35, 35)
    """
    return comb(p + degree, degree)


class Span(NamedTuple):
    """Smallest and largest value of each column; rows of weight zero do not count."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: Span) -> Span:
        return Span(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def column_span(chunk: Chunk) -> Span:
    """Smallest and largest value of each column of a chunk."""
    X = chunk.X if chunk.w is None else chunk.X[chunk.w > 0]
    return Span(X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf))


class Basis(Transformer):
    """What all bases share: fit looks at every row once, transform makes columns of columns.

    A basis says what it learns from the span of the columns (`_learned`), which leaf makes the new
    columns (`_maker`), and what they are called (`_made_names`).
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Look at the rows once: for what the basis needs to know, and for missing numbers.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.

        Returns
        -------
        self
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._learned(rows.total(column_span), rows, rng)

    def _learned(self, span: Span, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return {"span_": span}

    def _maker(self) -> tuple:
        """A leaf and its state that give the new columns."""
        raise NotImplementedError

    def _made_names(self, names: list[str]) -> list[str]:
        raise NotImplementedError

    def transform(self, X: Any) -> np.ndarray:
        """The features of each row: the original columns first if `keep_original`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, with_original if self.keep_original else alone, *self._maker())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the original columns; by default those of the fit, or x0, x1, ...
        """
        check_is_fitted(self)
        names: Any = _check_feature_names_in(self, input_features)
        names = list(names)
        made = self._made_names(names)
        return np.array(names + made if self.keep_original else made, dtype=object)


def alone(chunk: Chunk, make: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """The new columns, in the number type of the rows."""
    return make(chunk.X, *state).astype(chunk.X.dtype, copy=False)


def with_original(chunk: Chunk, make: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """The original columns, then the new ones."""
    return np.hstack([chunk.X, alone(chunk, make, *state)])


class FourierFeatures(Basis):
    r"""Sines and cosines of each column, up to an order m.

    .. math:: \sin\frac{2 \pi k x_j}{T_j}, \; \cos\frac{2 \pi k x_j}{T_j}, \qquad k = 1, \dots, m

    Parameters
    ----------
    order : int
        Highest multiple m of the ground frequency.
    period : float or (p,) array, optional
        Period T of the ground frequency, one for all columns or one each; by default the span of
        the column in the training rows (1 for a constant column).
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    period_ : (p,) periods
    span_ : smallest and largest value of each column

    Examples
    --------
    >>> from tenfold.linear.features.bases import FourierFeatures
    >>> basis = FourierFeatures(order=2, period=4.0, keep_original=False).fit([[0.0], [1.0]])
    >>> basis.transform([[1.0]]).round(9).tolist()
    [[1.0, 0.0, 0.0, -1.0]]
    >>> basis.get_feature_names_out().tolist()
    ['sin1(x0)', 'cos1(x0)', 'sin2(x0)', 'cos2(x0)']
    """

    _parameter_constraints = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "period": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "keep_original": ["boolean"],
    }

    def __init__(self, order: int = 3, *, period: Any = None, keep_original: bool = True) -> None:
        self.order = order
        self.period = period
        self.keep_original = keep_original

    def _learned(self, span: Span, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        width = span.high - span.low
        period = np.where(width > 0, width, 1.0) if self.period is None else self.period
        period = np.broadcast_to(np.asarray(period, np.float64), width.shape)
        if not (period > 0).all():
            raise ValueError(f"period={self.period} must be positive for every column")
        return {"period_": period.astype(rows.dtype), "span_": span}

    def _maker(self) -> tuple:
        return waves, self.period_, self.order

    def _made_names(self, names: list[str]) -> list[str]:
        orders = range(1, self.order + 1)
        return [f"{f}{k}({name})" for name in names for k in orders for f in ("sin", "cos")]


def waves(X: np.ndarray, period: np.ndarray, order: int) -> np.ndarray:
    """For each column and order a sine and a cosine, side by side."""
    angle = 2 * np.pi * (X / period)
    each = [f(k * angle) for k in range(1, order + 1) for f in (np.sin, np.cos)]  # of (n, p)
    return np.stack(each, axis=-1).reshape(len(X), -1)
