"""The objective of autoencoders: reconstruction of the input, and a penalty of the code.

    sum_i loss(decode(encode(x_i)), x_i) + penalty of the codes

The network is one list of layers; the first `encoder_layers` of them encode. The input without
noise is the target. Tied weights are kept equal by projecting the gradient onto the matrices with
W_decoder = W_encoder': both get the mean of the two gradients, so both take the same steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.neural._fused_conv_pool import fuse_conv_pool
from tenfold.neural._inference import iterate_batches
from tenfold.neural._training_config import BatchInput, make_dense_batch
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import Network, backward, forward

_MIN_SHARE = 1e-6  # of the mean activation of a unit, whose logarithm is taken


class L1CodePenalty(NamedTuple):
    """`weight` times the sum of the absolute values of the code."""

    weight: float

    def value_and_gradient(
        self, code: np.ndarray, w: np.ndarray | None
    ) -> tuple[float, np.ndarray]:
        sums = np.abs(code).sum(axis=1, dtype=np.float64)
        gradient = code.dtype.type(self.weight) * np.sign(code)
        if w is None:
            return self.weight * float(sums.sum()), gradient
        return self.weight * float(sums @ w), gradient * w[:, None].astype(code.dtype)


class KLCodePenalty(NamedTuple):
    """`weight` times KL(target || mean activation), summed over the units of the code.

    The mean is that of the rows of a part of the batch, and the penalty counts once for each row.
    """

    weight: float
    target: float

    def value_and_gradient(
        self, code: np.ndarray, w: np.ndarray | None
    ) -> tuple[float, np.ndarray]:
        w = np.ones(len(code)) if w is None else w.astype(np.float64)
        n, rho = w.sum(), self.target
        if n == 0:
            return 0.0, np.zeros_like(code)
        mean = np.clip((w @ code) / n, _MIN_SHARE, 1 - _MIN_SHARE)
        divergence = rho * np.log(rho / mean) + (1 - rho) * np.log((1 - rho) / (1 - mean))
        slope = self.weight * ((1 - rho) / (1 - mean) - rho / mean)
        return self.weight * float(n * divergence.sum()), np.outer(w, slope).astype(code.dtype)


class GaussianKL(NamedTuple):
    """`weight` times KL(N(m, e^s) || N(0, 1)), of codes that hold all m first, then all s."""

    weight: float

    def value_and_gradient(
        self, code: np.ndarray, w: np.ndarray | None
    ) -> tuple[float, np.ndarray]:
        mean, log_variance = np.split(code, 2, axis=1)
        variance, scale = np.exp(log_variance), code.dtype.type(self.weight)
        gradient = scale * np.hstack([mean, (variance - 1) / 2])
        losses = self.row_divergences(code).astype(np.float64)
        if w is None:
            return self.weight * float(losses.sum()), gradient
        return self.weight * float(losses @ w), gradient * w[:, None].astype(code.dtype)

    def row_divergences(self, code: np.ndarray) -> np.ndarray:
        """The divergence of each row, without the weight."""
        mean, log_variance = np.split(code, 2, axis=1)
        return (np.square(mean) + np.expm1(log_variance) - log_variance).sum(axis=1) / 2


class AutoencoderObjective(NamedTuple):
    """What an autoencoder minimizes; see `NetworkObjective`.

    Attributes
    ----------
    network, loss, make_batch : as of every network
    encoder_layers : number of layers that encode
    penalty : of the code, or None
    tied : pairs of positions of weights, of the encoder and of the decoder, that are transposes
    """

    network: Network
    loss: Any
    make_batch: BatchInput = make_dense_batch
    encoder_layers: int = 1
    penalty: Any = None
    tied: tuple[tuple[int, int], ...] = ()
    target_is_input = True

    @property
    def is_plain(self) -> bool:
        return self.penalty is None and not self.tied

    @property
    def encoder(self) -> Network:
        network, k = self.network, self.encoder_layers
        return Network(network.layers[:k], network.shape, network.sizes[:k])

    @property
    def decoder(self) -> Network:
        network, k = self.network, self.encoder_layers
        return Network(network.layers[k:], self.encoder.shapes[-1], network.sizes[k:])

    def split_params(self, params: list[np.ndarray]) -> tuple[list, list]:
        """Parameters of the encoder and of the decoder."""
        n = sum(self.network.sizes[: self.encoder_layers])
        return params[:n], params[n:]

    def loss_and_gradient(
        self,
        params: list[np.ndarray],
        x: np.ndarray,
        y: Any,
        w: np.ndarray | None,
        context: PassContext,
    ) -> tuple[float, list[np.ndarray]]:
        """The loss summed over rows, and its gradient in all parameters."""
        encoder, decoder, (own, others) = self.encoder, self.decoder, self.split_params(params)
        code, encoder_caches = forward(encoder, own, x, context)
        after = context._replace(seed=context.seed + self.encoder_layers)
        z, caches = forward(decoder, others, code, after)
        loss, gradient = self.loss.value_and_gradient(z, x, w)
        in_code: Any
        in_code, gradients_after = backward(decoder, others, caches, gradient, need_input=True)
        if self.penalty is not None:
            extra, slope = self.penalty.value_and_gradient(code.reshape(len(code), -1), w)
            loss, in_code = loss + extra, in_code + slope.reshape(code.shape)
        gradients = backward(encoder, own, encoder_caches, in_code)[1] + gradients_after
        for i, j in self.tied:
            mean = (gradients[i] + gradients[j].T) / gradients[i].dtype.type(2)
            gradients[i], gradients[j] = mean, np.ascontiguousarray(mean.T)
        return loss, gradients

    def fuse_layers(self) -> AutoencoderObjective:
        """The same objective, with layers fused for training."""
        encoder, decoder = fuse_conv_pool(self.encoder), fuse_conv_pool(self.decoder)
        sizes = encoder.sizes + decoder.sizes
        network = Network(encoder.layers + decoder.layers, encoder.shape, sizes)
        return self._replace(network=network, encoder_layers=len(encoder.layers))


def encode_rows(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    """Code of each row."""
    own, _ = objective.split_params(params)
    parts = [
        forward(objective.encoder, own, x, context)[0]
        for x, context in iterate_batches(chunk, objective, params)
    ]
    return np.concatenate([part.reshape(len(part), -1) for part in parts])


def decode_rows(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    """Reconstruction from each code."""
    _, others = objective.split_params(params)
    batches = iterate_batches(chunk, objective._replace(network=objective.decoder), others)
    parts = [forward(objective.decoder, others, x, context)[0] for x, context in batches]
    z = np.concatenate([part.reshape(len(part), -1) for part in parts])
    return objective.loss.inverse_link(z)


def reconstruct_rows(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    """Reconstruction of each row."""
    batches = iterate_batches(chunk, objective, params)
    parts = [forward(objective.network, params, x, context)[0] for x, context in batches]
    z = np.concatenate([part.reshape(len(part), -1) for part in parts])
    return objective.loss.inverse_link(z)


def reconstruction_losses(
    chunk: Chunk, objective: AutoencoderObjective, params: list[np.ndarray]
) -> np.ndarray:
    """Loss of each row, without penalties."""
    losses = []
    for x, context in iterate_batches(chunk, objective, params):
        z, _ = forward(objective.network, params, x, context)
        losses.append(objective.loss.row_losses(z, x))
    return np.concatenate(losses)
