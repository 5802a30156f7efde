r"""Laplace's approximation of a dense network: curvature at the mode, and the variance it leaves.

The curvature of the negative log-likelihood is the generalized Gauss-Newton matrix

.. math:: H = \sum_n w_n J_n' \Lambda_n J_n

with the Jacobian J of the outputs and the curvature Lambda of the loss in the outputs. The weights
of one layer have :math:`J = a' \otimes G`, of the inputs a of the layer (with a 1 for the bias) and
the derivatives G of the outputs in its units. Three structures:

- "full": H itself;
- "kron": a block for each layer, :math:`\frac1N \sum_n w_n a a' \otimes \sum_n w_n G' \Lambda G`,
  which is exact where G and Lambda are the same for all rows: one layer, squared error;
- "diag": the diagonal of H.

The prior adds :math:`\alpha I`. With the eigenvectors of both factors of a block this is exact:
its eigenvalues are :math:`\lambda_i \mu_j / N + \alpha`.

References
----------
J. Martens, R. Grosse (2015), "Optimizing neural networks with Kronecker-factored approximate
curvature".
H. Ritter, A. Botev, D. Barber (2018), "A scalable Laplace approximation for neural networks".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.neural._dense_jacobian import assemble_jacobians, layer_sensitivities
from tenfold.neural._minibatch import split_batch
from tenfold.neural._thresholds import INFERENCE_BATCH_ROWS, MAX_FULL_CURVATURE

STRUCTURES = ("full", "kron", "diag")
Layers = list[tuple[np.ndarray, np.ndarray]]


class CurvatureSums(NamedTuple):
    """Sums that make the curvature, the negative log-likelihood, and the weight of the rows.

    `blocks` is the whole matrix, or a pair of factors for each layer, or its diagonal (p + 1, q).
    """

    blocks: Any
    value: float
    n: float


class PosteriorCovariance(NamedTuple):
    """Covariance of the parameters, and the eigenvalues of the curvature without the prior.

    `covariance` is a (P, P) matrix, or for each layer (inputs, outputs, variances): eigenvectors of
    both factors (None for a diagonal), and the variance (p + 1, q) along each pair of them.
    """

    covariance: Any
    eigenvalues: np.ndarray


def choose_structure(structure: str, n_params: int) -> str:
    """The structure that "auto" stands for, after a look at the memory that it needs."""
    if structure == "auto":
        structure = "full" if n_params <= MAX_FULL_CURVATURE else "kron"
    if structure == "full":
        what = f"the covariance of {n_params:,} parameters"
        check_memory(24.0 * n_params**2, what, "take hessian_structure='kron'")
    return structure


def curvature_sums(
    chunk: Chunk, theta: np.ndarray, widths: tuple, activation: str, likelihood: Any, structure: str
) -> CurvatureSums:
    """Sums over the rows of a chunk, a few at a time."""
    add = {"full": _full_block, "kron": _kronecker_blocks, "diag": _diagonal_blocks}[structure]
    w, X = chunk.weights().astype(np.float64), np.asarray(chunk.X, np.float64)
    value, total = 0.0, []
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, layers = layer_sensitivities(theta, X[a:b], widths, activation)
        losses, _, root = likelihood.terms(f, chunk.y[a:b])
        value += float(losses @ w[a:b])
        root_of_weights = np.sqrt(w[a:b])
        weighted = root * root_of_weights[:, None, None]  # root' root is the curvature in f
        blocks = add([(x, weighted @ G) for x, G in layers], root_of_weights)
        total = [old + new for old, new in zip(total, blocks, strict=True)] if total else blocks
    return CurvatureSums(total, value, float(w.sum()))


def _full_block(layers: Layers, _root_of_weights: np.ndarray) -> list[np.ndarray]:
    J = assemble_jacobians(layers)
    flat = J.reshape(-1, J.shape[2])
    return [flat.T @ flat]


def _kronecker_blocks(layers: Layers, root_of_weights: np.ndarray) -> list[np.ndarray]:
    """Both factors of each layer, one after the other."""
    blocks = []
    for x, G in layers:
        x, flat = x * root_of_weights[:, None], G.reshape(-1, G.shape[2])
        blocks += [x.T @ x, flat.T @ flat]
    return blocks


def _diagonal_blocks(layers: Layers, _root_of_weights: np.ndarray) -> list[np.ndarray]:
    return [np.square(x).T @ np.square(G).sum(axis=1) for x, G in layers]


def invert_curvature(sums: CurvatureSums, alpha: float, structure: str) -> PosteriorCovariance:
    """The inverse of curvature and prior precision together."""
    if structure == "full":
        H = sums.blocks[0]
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        values = np.maximum(values, 0)
        return PosteriorCovariance((vectors / (values + alpha)) @ vectors.T, values)
    layers, every = [], []
    if structure == "diag":
        for block in sums.blocks:
            layers.append((None, None, 1 / (block + alpha)))
            every.append(block.ravel())
        return PosteriorCovariance(layers, np.concatenate(every))
    for A, S in zip(sums.blocks[::2], sums.blocks[1::2], strict=True):
        (a, inputs), (s, outputs) = np.linalg.eigh(A), np.linalg.eigh(S)
        values = np.outer(np.maximum(a, 0), np.maximum(s, 0)) / sums.n
        layers.append((inputs, outputs, 1 / (values + alpha)))
        every.append(values.ravel())
    return PosteriorCovariance(layers, np.concatenate(every))


def _output_variances(layers: Layers, covariance: Any) -> np.ndarray:
    """Variances (n, k) of the linearized outputs."""
    if isinstance(covariance, np.ndarray):
        J = assemble_jacobians(layers)
        return np.einsum("nkp,nkp->nk", J @ covariance, J)
    total = np.zeros(layers[-1][1].shape[:2])
    for (x, G), (inputs, outputs, variances) in zip(layers, covariance, strict=True):
        if inputs is not None:
            x, G = x @ inputs, G @ outputs
        total += np.einsum("nq,nkq->nk", np.square(x) @ variances, np.square(G))
    return total


def linearize_outputs(
    chunk: Chunk, theta: np.ndarray, covariance: Any, widths: tuple, activation: str
) -> np.ndarray:
    """Outputs of the network linearized at the mode, and their variances, side by side."""
    X, parts = np.asarray(chunk.X, np.float64), []
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, layers = layer_sensitivities(theta, X[a:b], widths, activation)
        variances = np.maximum(_output_variances(layers, covariance), 0)
        parts.append(np.hstack([f, variances]))
    return np.concatenate(parts).astype(chunk.X.dtype)
