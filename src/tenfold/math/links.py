"""Link functions and their derivatives: sigmoid, normal distribution function, softmax; safe at any size of the score.

Every function keeps float32 and takes arrays of any shape; those of several scores work along the
last axis. Derivatives: `f_slope` is the slope of `f`; where it is another function of this page,
the docstring of `f` says so. [000, 1.2, 1.5; 001, 2.2, 2.5, 3.2; 002, 2.1, 2.3; 003, project 2]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654
_MILLS_SERIES_BELOW = -30.0  # below, z and phi / Phi cancel, and a series in 1 / z^2 has all digits


def sigmoid(z: Any) -> np.ndarray:
    """The logistic function 1 / (1 + exp(-z)).

    Examples
    --------
    >>> sigmoid([-1000, 0, 2]).round(4).tolist()
    [0.0, 0.5, 0.8808]
    """
    return special.expit(as_float_array(z))


def sigmoid_derivative(z: Any) -> np.ndarray:
    """Slope of the logistic function, s(z) s(-z).

    Examples
    --------
    >>> sigmoid_derivative([-1000, 0]).tolist()
    [0.0, 0.25]
    """
    z = as_float_array(z)
    return special.expit(z) * special.expit(-z)


def log_sigmoid(z: Any) -> np.ndarray:
    """Log of the logistic function; its slope is `sigmoid(-z)`, its curvature `-sigmoid_slope(z)`.

    Examples
    --------
    >>> log_sigmoid([-1000, 0]).round(4).tolist()
    [-1000.0, -0.6931]
    """
    return special.log_expit(as_float_array(z))


def logit(p: Any) -> np.ndarray:
    """Score of a probability, log p / (1 - p): the inverse of `sigmoid`.

    Examples
    --------
    >>> logit([0, 0.5, 1]).tolist()
    [-inf, 0.0, inf]
    """
    return special.logit(as_float_array(p))


def logit_derivative(p: Any) -> np.ndarray:
    """Slope of the logit, 1 / (p (1 - p)).

    Examples
    --------
    >>> logit_derivative([0.5, 1]).tolist()
    [4.0, inf]
    """
    p = as_float_array(p)
    with np.errstate(divide="ignore"):
        return 1 / (p * (1 - p))


def normal_cdf(z: Any) -> np.ndarray:
    """Normal distribution function Phi(z); some books give the name to `normal_quantile`.

    Examples
    --------
    >>> normal_cdf([-1000, 0, 2]).round(4).tolist()
    [0.0, 0.5, 0.9772]
    """
    return special.ndtr(as_float_array(z))


def normal_pdf(z: Any) -> np.ndarray:
    """Normal density phi(z); its own slope is -z phi(z).

    Examples
    --------
    >>> normal_pdf([-1000, 0]).round(4).tolist()
    [0.0, 0.3989]
    """
    z = as_float_array(z)
    with np.errstate(over="ignore"):
        return np.exp(-z * z / 2) * (_SQRT_2_OVER_PI / 2)


def log_normal_cdf(z: Any) -> np.ndarray:
    """Log of Phi(z); its slope is `inverse_mills_ratio(z)`, its curvature `inverse_mills_ratio_derivative(z)`.

    Examples
    --------
    >>> log_normal_cdf([-1000, 0]).round(4).tolist()
    [-500007.8267, -0.6931]
    """
    return special.log_ndtr(as_float_array(z))


def inverse_mills_ratio(z: Any) -> np.ndarray:
    """The ratio phi(z) / Phi(z), which nears -z far below zero, where both are 0 in the machine.

    Examples
    --------
    >>> inverse_mills_ratio([-1000, 0, 1000]).round(6).tolist()
    [1000.001, 0.797885, 0.0]
    """
    with np.errstate(divide="ignore"):
        return _SQRT_2_OVER_PI / special.erfcx(as_float_array(z) * -_SQRT_HALF)


def inverse_mills_ratio_derivative(z: Any) -> np.ndarray:
    """Slope of phi / Phi: -r (z + r) with r the ratio; always between -1 and 0.

    Examples
    --------
    >>> inverse_mills_ratio_derivative([-1000, 0, 1]).round(6).tolist()
    [-0.999999, -0.63662, -0.370314]
    """
    z = as_float_array(z)
    wide = z.astype(np.float64)  # z + r loses digits long before the series is good
    near = np.maximum(wide, _MILLS_SERIES_BELOW)
    r = inverse_mills_ratio(near)
    u = np.minimum(wide, _MILLS_SERIES_BELOW) ** -2
    series = -(1 - u * (1 - u * (6 - u * (50 - u * (518 - u * 6354)))))
    slope = np.where(
        wide < _MILLS_SERIES_BELOW, series, -r * (np.minimum(near, -_MILLS_SERIES_BELOW) + r)
    )
    return slope.astype(z.dtype, copy=False)[()]


def normal_quantile(p: Any) -> np.ndarray:
    """The z with Phi(z) = p.

    Examples
    --------
    >>> normal_quantile([0, 0.5, 0.975]).round(4).tolist()
    [-inf, 0.0, 1.96]
    """
    return special.ndtri(as_float_array(p))


def normal_quantile_derivative(p: Any) -> np.ndarray:
    """Slope of the inverse of Phi, 1 / phi(z).

    Examples
    --------
    >>> normal_quantile_derivative([0.5]).round(4).tolist()
    [2.5066]
    """
    with np.errstate(divide="ignore"):
        return 1 / normal_pdf(normal_quantile(p))


def log_sum_exp(scores: Any) -> np.ndarray:
    """The log of sum_k exp(z_k), (..., k) -> (...); its slope is `softmax`.

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

    A high temperature T makes all equal, a low one gives everything to the largest score.

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
    """Slopes dp_i / dz_j = p_i ((i = j) - p_j) / T of the softmax, (..., k) -> (..., k, k).

    Examples
    --------
    >>> softmax_jacobian([0, 0]).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    p = softmax(scores, temperature)
    same = np.eye(p.shape[-1], dtype=p.dtype)
    return p[..., :, None] * (same - p[..., None, :]) / _positive_temperature(temperature, p.dtype)


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
    """Scores less the largest of their row; where all are -inf, nothing is known: zeros."""
    top = scores.max(axis=-1, keepdims=True)
    lost = np.isneginf(top)
    if not lost.any():
        return scores - top
    return np.where(lost, 0, scores) - np.where(lost, 0, top)


def as_float_array(z: Any) -> np.ndarray:
    """An array of float32 or float64; whole numbers become float64."""
    z = np.asarray(z)
    return z if z.dtype in (np.float32, np.float64) else z.astype(np.float64)
