"""Layers of autoencoders from a few numbers: dense, deep, tied, convolutional; or as given."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from tenfold.neural.cnn import image_shape
from tenfold.neural.layers.activations import Activation
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.conv import Conv2d
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.noise import GaussianSample, Noise
from tenfold.neural.layers.pooling import MaxPool
from tenfold.neural.layers.reshape import Flatten, Reshape
from tenfold.neural.layers.upsample import Upsample
from tenfold.neural.network import Network, layer_shapes


class AutoencoderLayers(NamedTuple):
    """Layers that encode and layers that decode."""

    encoder: list[Layer]
    decoder: list[Layer]


def build_layers(model: Any, row_shape: Shape) -> AutoencoderLayers:
    """The layers that the parameters of an autoencoder ask for."""
    before, after = _input_layers(model), _output_layers(row_shape)
    if model.encoder is not None or model.decoder is not None:
        if model.encoder is None or model.decoder is None:
            raise ValueError("give the layers of both, encoder and decoder, or of neither")
        encoder, decoder = list(model.encoder), _sized_decoder(model.decoder, row_shape)
    elif len(model.filters):
        encoder, decoder = _image_layers(model, row_shape)
    else:
        encoder, decoder = _dense_layers(model, row_shape)
    return AutoencoderLayers([*before, *encoder], [*decoder, *after])


def _sized_decoder(layers: Any, row_shape: Shape) -> list[Layer]:
    """Layers of a decoder, whose last one gets the units of a row if it is a `Dense()`."""
    *before, last = list(layers) or [None]
    if isinstance(last, Dense) and last.units is None:
        last = last._replace(units=row_shape[-1])
    return [*before, last] if last is not None else []


def _input_layers(model: Any) -> list[Layer]:
    return [] if model.noise is None else [Noise(model.noise, model.noise_level)]


def _output_layers(row_shape: Shape) -> list[Layer]:
    """Reconstructions have the shape of rows."""
    return [] if len(row_shape) == 1 else [Reshape(row_shape)]


def _dense_layers(model: Any, row_shape: Shape) -> tuple[list[Layer], list[Layer]]:
    flat: list[Layer] = [Flatten()] if len(row_shape) > 1 else []
    sizes = [int(n) for n in model.hidden_layer_sizes]
    hidden = [Dense(n, model.activation) for n in sizes]
    back = [Dense(n, model.activation) for n in reversed(sizes)]
    encoder, first = _code_layers(model)
    return [*flat, *hidden, *encoder], [*first, *back, Dense(prod(row_shape))]


def _code_layers(model: Any) -> tuple[list[Layer], list[Layer]]:
    """The last layers of the encoder, and what stands before the decoder."""
    if model._is_variational:  # noqa: SLF001 - a trait of the family
        return [Dense(2 * model.n_components)], [GaussianSample()]
    if not model.code_noise:
        return [Dense(model.n_components, model.code_activation)], []
    noise = Noise("gaussian", model.code_noise)
    activation = [] if model.code_activation is None else [Activation(model.code_activation)]
    return [Dense(model.n_components), noise, *activation], []


def _image_layers(model: Any, row_shape: Shape) -> tuple[list[Layer], list[Layer]]:
    """Convolutions with pooling, and convolutions after upsampling in the reverse order."""
    shape = image_shape(row_shape, model.image_shape)
    encoder: list[Layer] = [] if tuple(shape) == tuple(row_shape) else [Reshape(shape)]
    sizes, channels = [], shape[2]
    for filters in model.filters:
        conv = Conv2d(int(filters), model.kernel, model.activation, padding="same")
        sizes.append(shape)
        encoder.append(conv)
        shape = conv.output_shape(shape)
        if min(shape[:2]) > 1:
            encoder.append(MaxPool(2))
            shape = encoder[-1].output_shape(shape)
    decoder: list[Layer] = [Dense(prod(shape), model.activation), Reshape(shape)]
    for position, (height, width, depth) in reversed(list(enumerate(sizes))):
        if (height, width) != tuple(layer_shapes(decoder[1:], (prod(shape),))[-1][:2]):
            decoder.append(Upsample((height, width)))
        filters, activation = (depth, model.activation) if position else (channels, None)
        decoder.append(Conv2d(filters, model.kernel, activation, padding="same"))
    flat: list[Layer] = [] if tuple(row_shape) == tuple(sizes[0]) else [Flatten()]
    dense, dense_decoder = _dense_layers(model, (prod(shape),))
    return [*encoder, Flatten(), *dense], [*dense_decoder[:-1], *decoder, *flat]


def tied_positions(network: Network, encoder_layers: int) -> tuple[tuple[int, int], ...]:
    """Positions of the weights of dense layers of the encoder and of their mirror images."""
    positions, at = [], 0
    for layer, size in zip(network.layers, network.sizes, strict=True):
        positions.append(at)
        if size and not isinstance(layer, Dense):
            raise ValueError(f"tied weights are for dense layers, not for {type(layer).__name__}")
        at += size
    dense = [n for n, size in enumerate(network.sizes) if size]
    first = [n for n in dense if n < encoder_layers]
    last = [n for n in dense if n >= encoder_layers]
    if len(first) != len(last):
        raise ValueError(
            f"tied weights need as many dense layers in the decoder as in the encoder: there are "
            f"{len(last)} and {len(first)}"
        )
    return tuple((positions[i], positions[j]) for i, j in zip(first, reversed(last), strict=True))
