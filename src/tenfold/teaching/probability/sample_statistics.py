r"""Mean, variance, covariance and correlation of data, with 1/n.

.. math:: S_{jk} = \frac1n \sum_i (x_{ij} - \bar x_j)(x_{ik} - \bar x_k), \qquad
          S = \frac1n \sum_i (x_i - \bar x)(x_i - \bar x)^\top
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.base import as_weights
from tenfold.distributions.normal import Gaussian
from tenfold.stats.moments import Moments


class SampleStatistics(NamedTuple):
    """Mean, variances and correlations of data.

    Attributes
    ----------
    mean : (n_columns,)
    variance : (n_columns,) of each column
    covariance : (n_columns, n_columns)
    correlation : (n_columns, n_columns); NaN for constant columns
    total : mean squared distance of the rows from the mean, the sum of the variances
    """

    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray
    correlation: np.ndarray
    total: float


def sample_moments(X: Any, w: Any = None) -> Moments:
    """Weight, mean and scatter of rows; moments of parts `merge` to those of the whole.

    Examples
    --------
    >>> a, b = sample_moments([[1.0], [2.0]]), sample_moments([[6.0]])
    >>> summarize_moments(a.merge(b)).variance.round(4).tolist()
    [4.6667]
    """
    moments = Gaussian().statistic(X, w)
    if not isinstance(moments, Moments) or not moments.n > 0:
        raise ValueError("there are no rows of positive weight")
    return moments


def summarize_moments(moments: Moments) -> SampleStatistics:
    """Mean, variance, covariance and correlation from the moments of rows.

    Examples
    --------
    >>> s = summarize_moments(sample_moments([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]]))
    >>> s.mean.tolist(), s.covariance.round(4).tolist(), s.correlation[0, 1].round(4)
    ([3.0, 4.0], [[2.6667, 4.0], [4.0, 8.0]], np.float64(0.866))
    """
    C = moments.scatter / moments.n
    v = C.diagonal()
    root = np.sqrt(np.multiply.outer(v, v))
    correlation = np.divide(C, root, out=np.full_like(C, np.nan), where=root > 0)
    return SampleStatistics(moments.mean, v.copy(), C, np.clip(correlation, -1, 1), float(v.sum()))


def sample_covariance(x: Any, y: Any, w: Any = None) -> float:
    """Covariance of two columns, one entry of the matrix; the variance if they are the same.

    Examples
    --------
    >>> sample_covariance([1, 3, 5], [2, 2, 8])
    4.0
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    p = as_weights(x, w)
    p = p / p.sum()
    return float(p @ ((x - p @ x) * (y - p @ y)))
