"""Link functions and their derivatives, accurate at any size of the score.

Sigmoid, normal distribution function, softmax, their logarithms and inverses.

Every function keeps float32 and takes arrays of any shape; those of several scores work along the
last axis. `f_derivative` is the derivative of `f`; where it is another function of this module, the
docstring of `f` says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654
_MILLS_SERIES_BELOW = -30.0  # z + phi / Phi cancels below; a series in 1 / z^2 does not


def sigmoid(z: Any) -> np.ndarray:
    """The logistic function 1 / (1 + exp(-z)).

    Examples
    --------
    >>> sigmoid([-1000, 0, 2]).round(4).tolist()
    [0.0, 0.5, 0.8808]
    """
    return special.expit(as_float_array(z))


def sigmoid_derivative(z: Any) -> np.ndarray:
    """Derivative of the logistic function, s(z) s(-z).

    Examples
    --------
    >>> sigmoid_derivative([-1000, 0]).tolist()
    [0.0, 0.25]
    """
    z = as_float_array(z)
    return special.expit(z) * special.expit(-z)


def log_sigmoid(z: Any) -> np.ndarray:
    """Log of the logistic function; its derivative is `sigmoid(-z)`.

    Examples
    --------
    >>> log_sigmoid([-1000, 0]).round(4).tolist()
    [-1000.0, -0.6931]
    """
    return special.log_expit(as_float_array(z))


def logit(p: Any) -> np.ndarray:
    """Log-odds log p / (1 - p): the inverse of `sigmoid`.

    Examples
    --------
    >>> logit([0, 0.5, 1]).tolist()
    [-inf, 0.0, inf]
    """
    return special.logit(as_float_array(p))


def logit_derivative(p: Any) -> np.ndarray:
    """Derivative of the logit, 1 / (p (1 - p)).

    Examples
    --------
    >>> logit_derivative([0.5, 1]).tolist()
    [4.0, inf]
    """
    p = as_float_array(p)
    with np.errstate(divide="ignore"):
        return 1 / (p * (1 - p))


def normal_cdf(z: Any) -> np.ndarray:
    """Normal distribution function Phi(z), the inverse link of probit regression.

    Examples
    --------
    >>> normal_cdf([-1000, 0, 2]).round(4).tolist()
    [0.0, 0.5, 0.9772]
    """
    return special.ndtr(as_float_array(z))


def normal_pdf(z: Any) -> np.ndarray:
    """Normal density phi(z), the derivative of `normal_cdf`; its own derivative is -z phi(z).

    Examples
    --------
    >>> normal_pdf([-1000, 0]).round(4).tolist()
    [0.0, 0.3989]
    """
    z = as_float_array(z)
    with np.errstate(over="ignore"):
        return np.exp(-z * z / 2) * (_SQRT_2_OVER_PI / 2)


def log_normal_cdf(z: Any) -> np.ndarray:
    """Log of Phi(z); its derivative is `inverse_mills_ratio(z)`.

    Examples
    --------
    >>> log_normal_cdf([-1000, 0]).round(4).tolist()
    [-500007.8267, -0.6931]
    """
    return special.log_ndtr(as_float_array(z))


def inverse_mills_ratio(z: Any) -> np.ndarray:
    """The ratio phi(z) / Phi(z), also where both underflow: it tends to -z.

    Examples
    --------
    >>> inverse_mills_ratio([-1000, 0, 1000]).round(6).tolist()
    [1000.001, 0.797885, 0.0]
    """
    with np.errstate(divide="ignore"):
        return _SQRT_2_OVER_PI / special.erfcx(as_float_array(z) * -_SQRT_HALF)


def inverse_mills_ratio_derivative(z: Any) -> np.ndarray:
    """Derivative of phi / Phi: -r (z + r) with r the ratio; between -1 and 0.

    Examples
    --------
    >>> inverse_mills_ratio_derivative([-1000, 0, 1]).round(6).tolist()
    [-0.999999, -0.63662, -0.370314]
    """
    z = as_float_array(z)
    double = z.astype(np.float64)  # z + r loses digits long before the series is accurate
    above = np.maximum(double, _MILLS_SERIES_BELOW)
    r = inverse_mills_ratio(above)
    u = np.minimum(double, _MILLS_SERIES_BELOW) ** -2
    series = -(1 - u * (1 - u * (6 - u * (50 - u * (518 - u * 6354)))))
    exact = -r * (np.minimum(above, -_MILLS_SERIES_BELOW) + r)
    derivative = np.where(double < _MILLS_SERIES_BELOW, series, exact)
    return derivative.astype(z.dtype, copy=False)[()]


def normal_quantile(p: Any) -> np.ndarray:
    """The z with Phi(z) = p: the probit of p.

    Examples
    --------
    >>> normal_quantile([0, 0.5, 0.975]).round(4).tolist()
    [-inf, 0.0, 1.96]
    """
    return special.ndtri(as_float_array(p))


def normal_quantile_derivative(p: Any) -> np.ndarray:
    """Derivative of the normal quantile, 1 / phi(z).

    Examples
    --------
    >>> normal_quantile_derivative([0.5]).round(4).tolist()
    [2.5066]
    """
    with np.errstate(divide="ignore"):
        return 1 / normal_pdf(normal_quantile(p))


def log_sum_exp(scores: Any) -> np.ndarray:
    """The log of sum_k exp(z_k), (..., k) -> (...); its gradient is `softmax`.

    Examples
    --------
    >>> log_sum_exp([[1000, 1000]]).round(4).tolist()
    [1000.6931]
    """
    scores = as_float_array(scores)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(np.exp(scores - top).sum(axis=-1)) + top[..., 0]


def log_softmax(scores: Any, temperature: float = 1.0) -> np.ndarray:
    """Log-probabilities of scores, (..., k).

    Examples
    --------
    >>> log_softmax([[1000, 1000]]).round(4).tolist()
    [[-0.6931, -0.6931]]
    """
    shifted = _scale_by_temperature(scores, temperature)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def softmax(scores: Any, temperature: float = 1.0) -> np.ndarray:
    """Probabilities exp(z_k / T) / sum_j exp(z_j / T) of scores, (..., k).

    A high temperature T tends to the uniform distribution, a low one to the largest score.

    Examples
    --------
    >>> softmax([2, 1, -3]).round(2).tolist()
    [0.73, 0.27, 0.0]
    >>> softmax([1, 2, 3], temperature=10).round(4).tolist()
    [0.3006, 0.3322, 0.3672]
    """
    p = np.exp(_scale_by_temperature(scores, temperature))
    return p / p.sum(axis=-1, keepdims=True)


def softmax_jacobian(scores: Any, temperature: float = 1.0) -> np.ndarray:
    """Derivatives dp_i / dz_j = p_i ((i = j) - p_j) / T, (..., k) -> (..., k, k).

    Examples
    --------
    >>> softmax_jacobian([0, 0]).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    p = softmax(scores, temperature)
    identity = np.eye(p.shape[-1], dtype=p.dtype)
    return (
        p[..., :, None] * (identity - p[..., None, :]) / _positive_temperature(temperature, p.dtype)
    )


def _scale_by_temperature(scores: Any, temperature: float) -> np.ndarray:
    """Scores less the largest of their row, over the temperature."""
    shifted = _subtract_max(as_float_array(scores))
    if temperature == 1:
        return shifted
    with np.errstate(over="ignore"):
        return shifted / _positive_temperature(temperature, shifted.dtype)


def _positive_temperature(temperature: float, dtype: np.dtype) -> np.floating:
    """The temperature in the type of the scores, never 0."""
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    return max(dtype.type(temperature), np.finfo(dtype).tiny)


def _subtract_max(scores: np.ndarray) -> np.ndarray:
    """Scores less the largest of their row: zeros where all are -inf, or where they are +inf."""
    largest = scores.max(axis=-1, keepdims=True)
    infinite = np.isinf(largest)
    if not infinite.any():
        return scores - largest
    finite = np.where(infinite, 0, scores) - np.where(infinite, 0, largest)
    return np.where(np.isposinf(largest) & (scores < largest), -np.inf, finite)


def as_float_array(z: Any) -> np.ndarray:
    """An array of float32 or float64; whole numbers become float64."""
    if isinstance(z, np.ndarray) or not hasattr(type(z), "__array_function__"):  # not a tracer
        z = np.asarray(z)
    return z if z.dtype in (np.float32, np.float64) else z.astype(np.float64)
