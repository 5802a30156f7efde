"""The network of an encoder-decoder: forward and backward pass of both parts.

encoder    memory m_1 ... m_s and a summary of a source
bridge     first state of the decoder, tanh(summary B + b)
decoder    states d_t of a recurrent layer that reads the target
attention  c_t = sum_j softmax_j(d_t Q m_j) m_j;   a_t = tanh([d_t, c_t] C + c)
scores     a_t O + o, or d_t O + o without attention
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._minibatch import BatchGradient
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.attention import attend, attend_backward
from tenfold.neural.layers.base import LayerStates, PassContext
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.layers.recurrent import Bidirectional, RecurrentLayer
from tenfold.neural.losses import CrossEntropy
from tenfold.neural.network import Network, backward, build_network, check_params, forward


class EncoderDecoderNetwork(NamedTuple):
    """Encoder, and decoder of `symbols` symbols; symbol number `symbols` begins a target.

    Attributes
    ----------
    encoder : network of sources
    cell : recurrent layer of the decoder
    symbols : number of target symbols
    embedding : width of the vectors of target symbols
    attention : whether the decoder attends to the memory
    """

    encoder: Network
    cell: Any
    symbols: int
    embedding: int
    attention: bool

    @property
    def trainable(self) -> list[bool]:
        """For each array whether gradients train it."""
        return [*self.encoder.trainable, *[True] * (11 if self.attention else 8)]

    @property
    def memory_width(self) -> int:
        """Numbers of a step of the memory, and of the summary."""
        return (self.encoder.shapes or [self.encoder.shape])[-1][-1]

    def split(self, params: list) -> tuple[list, list]:
        """Parameters of the encoder, and all others."""
        count = sum(self.encoder.sizes)
        return params[:count], params[count:]

    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the parameters after the encoder's."""
        m, u, k = self.memory_width, self.cell.units, self.symbols
        cell = self.cell.init_params((1, self.embedding), np.random.default_rng(0), np.float32)
        middle = [(u, m), (u + m, u), (u,)] if self.attention else []
        first = [(m, u), (u,), (k + 1, self.embedding), *(array.shape for array in cell)]
        return [*first, *middle, (u, k), (k,)]

    def check(self, params: list[np.ndarray]) -> None:
        """Raise an error if arrays do not have the shapes that the layers need."""
        of_encoder, rest = self.split(params)
        check_params(self.encoder, of_encoder)
        found = [array.shape for array in rest]
        if found != self.shapes():
            raise ValueError(f"params_ of the decoder have shapes {found}, not {self.shapes()}")


def build_encoder_decoder(
    layers: Any,
    shape: tuple[int, ...],
    cell: Any,
    symbols: int,
    embedding: int,
    rng: np.random.Generator,
    *,
    attention: bool,
) -> tuple[EncoderDecoderNetwork, list[np.ndarray]]:
    """A network for sources of a shape, and its parameters."""
    encoder, params = build_network(layers, shape, rng)
    network = EncoderDecoderNetwork(encoder, cell, symbols, embedding, attention)
    of_cell = cell.init_params((1, embedding), rng, np.float32)
    rest = [
        initialize_weights("glorot_uniform", None, of, rng, np.float32)
        if len(of) == 2
        else np.zeros(of, np.float32)
        for of in network.shapes()
    ]
    rest[2] = initialize_weights(1.0, None, (symbols + 1, embedding), rng, np.float32)
    rest[3 : 3 + len(of_cell)] = of_cell
    return network, [*params, *rest]


class Encoding(NamedTuple):
    """What a decoder knows of sources.

    Attributes
    ----------
    memory : (n, s, m) array
    exists : (n, s) bool, which steps of the memory there are, or None: all
    start : (n, u) first states of the decoder
    summary : (n, m) array
    caches, states : of the encoder, for the backward pass
    """

    memory: np.ndarray
    exists: np.ndarray | None
    start: np.ndarray
    summary: np.ndarray
    caches: list
    states: LayerStates


def encode(
    network: EncoderDecoderNetwork, params: list, x: np.ndarray, context: PassContext
) -> Encoding:
    """Encode sources; `context.mask` says which steps of padded ones exist."""
    of_encoder, rest = network.split(params)
    states = LayerStates()
    out, caches = forward(network.encoder, of_encoder, x, context._replace(states=states))
    memory = out.reshape(len(out), -1, out.shape[-1])
    last = _count_last_states(network)
    summary = (
        np.concatenate([state for state, _ in states.last[-last:]], axis=1)
        if last
        else memory.mean(axis=1)
    )
    exists = context.mask if last else None
    return Encoding(memory, exists, np.tanh(summary @ rest[0] + rest[1]), summary, caches, states)


def _count_last_states(network: EncoderDecoderNetwork) -> int:
    """How many last states make the summary: two of a bidirectional layer, 0 for a mean."""
    layer = network.encoder.layers[-1] if network.encoder.layers else None
    if isinstance(layer, Bidirectional):
        return 2
    return int(isinstance(layer, RecurrentLayer))


def choose_sources(encoding: Encoding, rows: Any) -> Encoding:
    """The encoding of some sources."""
    rows = np.atleast_1d(rows)
    exists = None if encoding.exists is None else encoding.exists[rows]
    return encoding._replace(
        memory=encoding.memory[rows], exists=exists, start=encoding.start[rows]
    )


def _encode_backward(
    network: EncoderDecoderNetwork,
    params: list,
    encoding: Encoding,
    of_memory: np.ndarray,
    of_start: np.ndarray,
) -> list[np.ndarray]:
    """Gradients in the parameters of the encoder and of the bridge."""
    of_encoder, rest = network.split(params)
    of_sums = of_start * (1 - encoding.start * encoding.start)
    of_summary = of_sums @ rest[0].T
    bridge = [encoding.summary.T @ of_sums, of_sums.sum(axis=0)]
    last, states = _count_last_states(network), encoding.states
    if last:
        first = len(states.last) - last
        for number, part in enumerate(np.split(of_summary, last, axis=1)):
            memory = np.zeros_like(states.last[first + number][1])
            states.last_gradients[first + number] = (part, memory)
    else:
        of_memory = of_memory + of_summary[:, None] / of_memory.shape[1]
    shape = (len(of_memory), *(network.encoder.shapes or [network.encoder.shape])[-1])
    if len(shape) == 3 and shape[1] != of_memory.shape[1]:
        shape = of_memory.shape  # sequences of any length
    gradients = backward(network.encoder, of_encoder, encoding.caches, of_memory.reshape(shape))[1]
    return [*gradients, *bridge]


def decode_step(
    network: EncoderDecoderNetwork,
    params: list,
    encoding: Encoding,
    state: tuple[np.ndarray, ...],
    symbols: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Scores (n, symbols) after one more symbol of each target, and the next state."""
    rest = network.split(params)[1]
    states = LayerStates([state])
    vectors = np.take(rest[2], symbols[:, None], axis=0)
    d, _ = network.cell.forward(rest[3:6], vectors, PassContext(states=states))
    if network.attention:
        d = _attend_to_memory(rest, d, encoding)[0]
    return d[:, 0] @ rest[-2] + rest[-1], states.last[0]


def _attend_to_memory(rest: list, d: np.ndarray, encoding: Encoding) -> tuple[np.ndarray, tuple]:
    """Outputs of the decoder after attention, and what the backward pass needs."""
    q, memory = (d @ rest[6])[:, None], encoding.memory[:, None]
    context, cache = attend(q, memory, memory, exists=encoding.exists)
    both = np.concatenate([d, context], axis=2)
    a = np.tanh(both @ rest[7] + rest[8])
    return a, (d, both, a, cache)


def _attention_backward(
    rest: list, cache: tuple, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Gradients in the states of the decoder, in the memory, and in the parameters."""
    d, both, a, attended = cache
    u = d.shape[2]
    of_sums = gradient * (1 - a * a)
    flat = of_sums.reshape(-1, of_sums.shape[2])
    of_both = of_sums @ rest[7].T
    of_q, of_k, of_v = (np.empty_like(part) for part in attended[:3])
    of_context = np.ascontiguousarray(of_both[:, :, u:])
    attend_backward(attended, of_context, (of_q, of_k, of_v))
    of_d = of_both[:, :, :u] + of_q[:, 0] @ rest[6].T
    of_query = d.reshape(-1, u).T @ of_q.reshape(-1, of_q.shape[3])
    own = [of_query, both.reshape(-1, both.shape[2]).T @ flat, flat.sum(axis=0)]
    return of_d, (of_k + of_v)[:, 0], own


def attention_of_targets(
    network: EncoderDecoderNetwork, params: list, encoding: Encoding, x: np.ndarray
) -> np.ndarray:
    """Weights (n, targets, sources) of the memory, for target symbols x read so far."""
    rest = network.split(params)[1]
    states = LayerStates([_first_state(network, encoding)])
    vectors = np.take(rest[2], x, axis=0)
    d, _ = network.cell.forward(rest[3:6], vectors, PassContext(states=states))
    return _attend_to_memory(rest, d, encoding)[1][3].weights[:, 0]


def _first_state(
    network: EncoderDecoderNetwork, encoding: Encoding
) -> tuple[np.ndarray, np.ndarray]:
    width = network.cell.units if network.cell.has_memory else 0
    return encoding.start, np.zeros((len(encoding.start), width), encoding.start.dtype)


def initial_decoder_state(
    network: EncoderDecoderNetwork, encoding: Encoding
) -> tuple[np.ndarray, ...]:
    """The state before the first symbol."""
    return _first_state(network, encoding)


def pair_gradient(
    network: EncoderDecoderNetwork,
    params: list,
    sources: np.ndarray,
    targets: np.ndarray,
    context: PassContext,
) -> BatchGradient:
    """Loss and gradient of pairs: targets (n, t) end with padding, numbers `symbols` and above."""
    rest = network.split(params)[1]
    encoding = encode(network, params, sources, context)
    begin = np.full((len(targets), 1), network.symbols)
    x = np.concatenate([begin, targets[:, :-1]], axis=1)
    x = np.minimum(x, network.symbols)
    table = Embedding(network.symbols + 1, network.embedding)
    vectors, table_cache = table.forward([rest[2]], x, context)
    states = LayerStates([_first_state(network, encoding)])
    d, cell_cache = network.cell.forward(rest[3:6], vectors, PassContext(True, states=states))
    a, cache = _attend_to_memory(rest, d, encoding) if network.attention else (d, ())
    flat = a.reshape(-1, a.shape[2])
    exists = targets.reshape(-1) < network.symbols
    y, w = np.where(exists, targets.reshape(-1), 0), exists.astype(a.dtype)
    loss, gradient = CrossEntropy().value_and_gradient(flat @ rest[-2] + rest[-1], y, w)
    last = [flat.T @ gradient, gradient.sum(axis=0)]
    down, of_memory, middle = (
        (gradient @ rest[-2].T).reshape(a.shape),
        np.zeros_like(encoding.memory),
        [],
    )
    if network.attention:
        down, of_memory, middle = _attention_backward(rest, cache, down)
    of_vectors, of_cell = network.cell.backward(rest[3:6], cell_cache, down)
    of_table = table.backward([rest[2]], table_cache, of_vectors, need_input=False)[1]
    first = _encode_backward(network, params, encoding, of_memory, states.gradients[0][0])
    arrays = [*first, *of_table, *of_cell, *middle, *last]
    return BatchGradient(float(loss), float(w.sum()), arrays)
