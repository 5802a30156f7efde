"""Attention: each step of a sequence takes a weighted mean of the values of other steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers._attention_numba import attention_softmax, attention_softmax_backward
from tenfold.neural.layers.base import PassContext, Shape, shape_error

_ALL_EXIST = np.zeros((0, 0), bool)


class AttentionCache(NamedTuple):
    """What the backward pass of `attend` needs."""

    q: np.ndarray  # (n, h, t, d)
    k: np.ndarray  # (n, h, s, d)
    v: np.ndarray  # (n, h, s, d)
    weights: np.ndarray  # (n, h, t, s)
    causal: bool


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    causal: bool = False,
    exists: np.ndarray | None = None,
) -> tuple[np.ndarray, AttentionCache]:
    r"""Scaled dot-product attention, :math:`\mathrm{softmax}(q k^\top / \sqrt d)\, v`.

    Parameters
    ----------
    q, k, v : (n, heads, steps, d) arrays
        Queries; keys and values, which may have other steps than the queries.
    causal : bool
        Whether the last query sees all keys, the one before all but the last, and so on.
    exists : (n, steps) bool array, optional
        Which keys there are.

    Returns
    -------
    out : (n, steps, heads * d) array
    cache : for `attend_backward`; its `weights` (n, heads, queries, keys) sum to one over keys

    Examples
    --------
    >>> import numpy as np
    >>> q, k = np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 2, 2))
    >>> attend(q, k, np.array([[[[1.0, 0.0], [3.0, 0.0]]]]))[0].tolist()  # the plain mean
    [[[2.0, 0.0]]]
    """
    n, h, t, d = q.shape
    s, dtype = k.shape[2], q.dtype
    weights = np.matmul(q, k.swapaxes(2, 3), out=empty((n, h, t, s), dtype))
    mask = _ALL_EXIST if exists is None else exists
    attention_softmax(weights, mask, dtype.type(d**-0.5), causal, s - t)
    out = empty((n, t, h, d), dtype)
    np.matmul(weights, v, out=out.swapaxes(1, 2))
    return out.reshape(n, t, h * d), AttentionCache(q, k, v, weights, causal)


def attend_backward(
    cache: AttentionCache, gradient: np.ndarray, out: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Gradients in queries, keys and values, into the arrays `out` of the same shapes."""
    q, k, v, weights, causal = cache
    n, h, t, d = q.shape
    s, dtype = k.shape[2], q.dtype
    gradient = gradient.reshape(n, t, h, d).swapaxes(1, 2)
    np.matmul(weights.swapaxes(2, 3), gradient, out=out[2])
    of_scores = np.matmul(gradient, v.swapaxes(2, 3), out=empty((n, h, t, s), dtype))
    attention_softmax_backward(weights, of_scores, dtype.type(d**-0.5), causal, s - t)
    np.matmul(of_scores, k, out=out[0])
    np.matmul(of_scores.swapaxes(2, 3), q, out=out[1])


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """(n, t, p) as (n, heads, t, p / heads), a view."""
    n, t, p = x.shape
    return x.reshape(n, t, heads, p // heads).swapaxes(1, 2)


class MultiHeadAttention(NamedTuple):
    r"""Self-attention with several heads.

    Each head has queries, keys and values of its own, linear functions of x of width d = p / heads,
    and gives :math:`\mathrm{softmax}(q k^\top / \sqrt d)\, v`; a linear layer combines the heads.
    Parameters are the weights (p, 3 p) and biases (3 p,) of queries, keys and values side by side,
    and those of the output, (p, p) and (p,): the transposes of PyTorch's `MultiheadAttention`.

    Parameters
    ----------
    heads : int
        Number of heads; it must divide the width of the input.
    causal : bool
        Whether a step sees itself and earlier ones only.

    See Also
    --------
    TransformerBlock, PositionalEmbedding

    References
    ----------
    A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, L. Kaiser, I. Polosukhin
    (2017), "Attention is all you need".

    Examples
    --------
    >>> import numpy as np
    >>> layer = MultiHeadAttention(2)
    >>> [p.shape for p in layer.init_params((5, 4), np.random.default_rng(0), np.float32)]
    [(4, 12), (12,), (4, 4), (4,)]
    """

    heads: int = 1
    causal: bool = True

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, numbers)")
        if self.heads < 1 or shape[1] % self.heads:
            raise ValueError(
                f"MultiHeadAttention({self.heads}): the width {shape[1]} of the layer before must "
                "be a multiple of the number of heads"
            )
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        p = self.output_shape(shape)[1]
        of_heads = [initialize_weights("glorot_uniform", None, (p, p), rng, dtype) for _ in "qkv"]
        out = initialize_weights("glorot_uniform", None, (p, p), rng, dtype)
        return [np.hstack(of_heads), np.zeros(3 * p, dtype), out, np.zeros(p, dtype)]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        W, b, out_weights, out_bias = params
        n, t, p = x.shape
        flat = x.reshape(-1, p)
        qkv = np.matmul(flat, W, out=empty((n * t, 3 * p), x.dtype))
        qkv += b
        q, k, v = (
            split_heads(part.reshape(n, t, p), self.heads)
            for part in (qkv[:, :p], qkv[:, p : 2 * p], qkv[:, 2 * p :])
        )
        if context.states is not None:
            k, v = _continue(context, k, v)
        mixed, cache = attend(q, k, v, causal=self.causal, exists=context.mask)
        out = np.matmul(mixed.reshape(-1, p), out_weights, out=empty((n * t, p), x.dtype))
        out += out_bias
        return out.reshape(x.shape), (x, mixed, cache)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        W, _, out_weights, _ = params
        x, mixed, attended = cache
        n, t, p = x.shape
        if attended.k.shape[2] != t:
            raise ValueError("attention to the steps of an earlier pass has no backward pass")
        gradient = gradient.reshape(-1, p)
        d_out = [mixed.reshape(-1, p).T @ gradient, gradient.sum(axis=0)]
        of_mixed = np.matmul(gradient, out_weights.T, out=empty((n * t, p), x.dtype))
        d_qkv = empty((n * t, 3 * p), x.dtype)
        parts: Any = tuple(
            split_heads(d_qkv.reshape(n, t, 3 * p)[:, :, a * p : (a + 1) * p], self.heads)
            for a in range(3)
        )
        attend_backward(attended, of_mixed.reshape(n, t, p), parts)
        gradients = [x.reshape(-1, p).T @ d_qkv, d_qkv.sum(axis=0), *d_out]
        if not need_input:
            return None, gradients
        dx = np.matmul(d_qkv, W.T, out=empty((n * t, p), x.dtype))
        return dx.reshape(x.shape), gradients


def _continue(context: PassContext, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values of earlier passes, then those of this one; noted for the next."""
    states: Any = context.states
    before = states.start()
    if before is not None:
        k, v = (np.concatenate(pair, axis=2) for pair in zip(before, (k, v), strict=True))
    states.leave((k, v))
    return k, v
