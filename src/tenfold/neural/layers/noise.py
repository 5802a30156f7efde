"""Layers that draw random numbers in training: noise on values, and samples of a Gaussian."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.row_random import normals, uniforms
from tenfold.neural.layers.base import PassContext, Shape, shape_error

NOISE_KINDS = ("gaussian", "masking", "salt_and_pepper")


class Noise(NamedTuple):
    """Disturb values at random in training; the identity in prediction.

    The draws depend on the seed of the step and on the row of the batch, not on threads.

    Parameters
    ----------
    kind : {"gaussian", "masking", "salt_and_pepper"}
        Add normal numbers; set a share of the values to zero; or set a share of them to 0 or 1 with
        equal probability.
    level : float
        Standard deviation of the normal numbers, or share of the values.

    See Also
    --------
    Dropout : masking that scales up the values that are left.

    References
    ----------
    P. Vincent, H. Larochelle, Y. Bengio, P.-A. Manzagol (2008), "Extracting and composing robust
    features with denoising autoencoders".

    Examples
    --------
    >>> import numpy as np
    >>> y, _ = Noise("masking", 0.5).forward([], np.ones((1, 1000)), PassContext(training=True))
    >>> sorted(set(y.ravel().tolist()))
    [0.0, 1.0]
    """

    kind: str = "gaussian"
    level: float = 0.1

    def output_shape(self, shape: Shape) -> Shape:
        if self.kind not in NOISE_KINDS:
            raise ValueError(f"there is no noise {self.kind!r}: take one of {NOISE_KINDS}")
        most = np.inf if self.kind == "gaussian" else 1.0
        if not 0 <= self.level <= most:
            raise ValueError(
                f"Noise({self.kind!r}, {self.level}): the level must be in [0, {most}]"
            )
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        if not context.training or self.level == 0:
            return x, None
        draw = normals if self.kind == "gaussian" else uniforms
        numbers = draw(context.seed, context.first_row, len(x), prod(x.shape[1:])).reshape(x.shape)
        if self.kind == "gaussian":
            return x + (self.level * numbers).astype(x.dtype), None
        kept = numbers >= self.level
        if self.kind == "masking":
            return x * kept, kept
        return np.where(kept, x, (numbers < self.level / 2).astype(x.dtype)), kept

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return gradient if cache is None else np.multiply(gradient, cache, out=gradient), []


class GaussianSample(NamedTuple):
    r"""A sample :math:`\mu + e^{s / 2} \epsilon` in training, the mean in prediction.

    The input holds all means :math:`\mu` first, then all log-variances s; gradients pass through
    both (the reparameterization of the variational autoencoder).

    References
    ----------
    D. P. Kingma, M. Welling (2014), "Auto-encoding variational Bayes".

    Examples
    --------
    >>> import numpy as np
    >>> GaussianSample().forward([], np.array([[1.0, 2.0, 0.0, 0.0]]), PassContext())[0]
    array([[1., 2.]])
    """

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 1 or shape[0] % 2:
            raise shape_error(self, shape, "(2 k,)")
        return (shape[0] // 2,)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        mean, log_variance = np.split(x, 2, axis=1)
        if not context.training:
            return np.ascontiguousarray(mean), None
        draws = normals(context.seed, context.first_row, *mean.shape).astype(x.dtype)
        deviation = np.exp(log_variance / 2) * draws
        return mean + deviation, deviation

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        if cache is None:
            return np.hstack([gradient, np.zeros_like(gradient)]), []
        return np.hstack([gradient, gradient * cache / 2]), []
