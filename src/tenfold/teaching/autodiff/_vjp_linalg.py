"""Vector-Jacobian products of matrix products, solves, factorizations, norms and eigenvalues."""

# ruff: noqa: ARG001, ARG005 - all VJPs have the same signature

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.teaching.autodiff._vjp_elementwise import unbroadcast
from tenfold.teaching.autodiff._vjp_shape import expand_reduced, first_argument_vjp
from tenfold.teaching.autodiff.tracer import (
    COMPOSITE_RULES,
    VJP,
    VJP_RULES,
    NoRuleError,
    primal,
    primitive,
)


def _transpose_matrices(x: Any) -> Any:
    """Each matrix transposed."""
    return np.swapaxes(x, -1, -2)


@primitive(
    lambda g, y, a, b: unbroadcast(g @ _transpose_matrices(b), np.shape(a)),
    lambda g, y, a, b: unbroadcast(_transpose_matrices(a) @ g, np.shape(b)),
)
def _batched_matmul(a: Any, b: Any) -> Any:
    """Product of matrices, or of stacks of them."""
    return np.matmul(a, b)


def _matmul(a: Any, b: Any) -> Any:
    """`np.matmul`: vectors become matrices of one row or column, and are taken out again."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        raise ValueError("@ needs arrays of at least one dimension: multiply numbers with *")
    left = a[None, :] if np.ndim(a) == 1 else a
    right = b[:, None] if np.ndim(b) == 1 else b
    result = _batched_matmul(left, right)
    result = result[..., 0] if np.ndim(b) == 1 else result
    return np.squeeze(result, -1 if np.ndim(b) == 1 else -2) if np.ndim(a) == 1 else result


def _dot(a: Any, b: Any) -> Any:
    """`np.dot` of numbers, vectors and matrices."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise NoRuleError("np.dot of more than two dimensions: use @ or np.einsum")
    return _matmul(a, b)


def _vjp_einsum(i: int) -> VJP:
    """VJP of an operand of `np.einsum`; the subscripts are argument 0."""

    def vjp(g: Any, y: Any, subscripts: str, *operands: Any) -> Any:
        inputs, result = _parse_subscripts(subscripts)
        operand, others = inputs[i - 1], [*inputs[: i - 1], *inputs[i:]]
        other_operands = [*operands[: i - 1], *operands[i:]]
        shared = [letter for letter in operand if any(letter in s for s in [result, *others])]
        gradient = np.einsum(
            f"{','.join([result, *others])}->{''.join(shared)}", g, *other_operands
        )
        alone = tuple(at for at, letter in enumerate(operand) if letter not in shared)
        return np.broadcast_to(np.expand_dims(gradient, alone), np.shape(operands[i - 1]))

    return vjp


def _parse_subscripts(text: str) -> tuple[list[str], str]:
    inputs, arrow, result = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if not arrow or "." in text or any(len(set(part)) < len(part) for part in parts):
        raise NoRuleError(
            f"np.einsum({text!r}): give the result after '->', without '...' and without a letter "
            "twice in one operand"
        )
    return parts, result


def _vjp_solve(i: int) -> VJP:
    """VJP of the solution of A x = b, by A and by b."""

    def vjp(g: Any, x: Any, A: Any, b: Any) -> Any:
        back = np.linalg.solve(_transpose_matrices(A), g)
        if i == 1:
            return unbroadcast(back, np.shape(b))
        column, row = (
            (back[:, None], x[None, :]) if np.ndim(b) == 1 else (back, _transpose_matrices(x))
        )
        return unbroadcast(-(column @ row), np.shape(A))

    return vjp


def _vjp_cholesky(g: Any, L: Any, A: Any) -> Any:
    """VJP of the Cholesky factor, symmetric as the matrix is."""
    inner = np.tril(_transpose_matrices(L) @ g)
    inner = inner - 0.5 * inner * np.eye(np.shape(L)[-1])
    half = np.linalg.solve(
        _transpose_matrices(L),
        _transpose_matrices(np.linalg.solve(_transpose_matrices(L), _transpose_matrices(inner))),
    )
    return 0.5 * (half + _transpose_matrices(half))


@primitive(lambda g, y, A: g[..., None, None] * _transpose_matrices(np.linalg.inv(A)))
def _log_abs_det(A: Any) -> Any:
    """Log of the size of the determinant."""
    return np.linalg.slogdet(A)[1]


@primitive(
    lambda g, y, x, axis=None: expand_reduced(g / np.where(np.greater(y, 0), y, 1.0), x, axis) * x
)
def _euclidean_norm(x: Any, axis: Any = None) -> Any:
    """Euclidean norm; its gradient at zero is zero."""
    return np.sqrt(np.sum(x * x, axis=axis))


def _norm(x: Any, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A002
    """`np.linalg.norm` of vectors, and the Frobenius norm."""
    vectors = axis is not None or np.ndim(x) == 1
    if ord in ("fro", None) or (ord == 2 and vectors):
        result = _euclidean_norm(x, axis=axis)
    elif vectors and ord in (1, np.inf):
        result = (np.sum if ord == 1 else np.max)(np.abs(x), axis=axis)
    else:
        raise NoRuleError(f"np.linalg.norm with ord={ord} of a matrix has no derivative here")
    if not keepdims:
        return result
    return np.expand_dims(result, tuple(range(np.ndim(x))) if axis is None else axis)


def _vjp_inverse(g: Any, y: Any, A: Any) -> Any:
    """VJP of the inverse."""
    return -_transpose_matrices(y) @ g @ _transpose_matrices(y)


def _vjp_determinant(g: Any, y: Any, A: Any) -> Any:
    """VJP of the determinant."""
    return (g * y)[..., None, None] * _transpose_matrices(np.linalg.inv(A))


VJP_RULES.update(
    {
        np.einsum: _vjp_einsum,
        np.linalg.solve: _vjp_solve,
        np.linalg.inv: first_argument_vjp(_vjp_inverse),
        np.linalg.det: first_argument_vjp(_vjp_determinant),
        np.linalg.cholesky: first_argument_vjp(_vjp_cholesky),
    }
)
COMPOSITE_RULES.update(
    {
        np.matmul: _matmul,
        np.dot: _dot,
        np.vdot: lambda a, b: _dot(np.ravel(a), np.ravel(b)),
        np.inner: lambda a, b: _dot(a, np.transpose(b)),
        np.outer: lambda a, b: np.ravel(a)[:, None] * np.ravel(b)[None, :],
        np.linalg.norm: _norm,
        np.linalg.slogdet: lambda A: (np.sign(np.linalg.det(A)), _log_abs_det(A)),
    }
)


def _vjp_eigenvalues(g: Any, values: Any, A: Any) -> Any:
    """VJP of the eigenvalues: the sum of g_i v_i v_i'."""
    V = _eigenvectors(A)
    return (V * g[..., None, :]) @ _transpose_matrices(V)


def _vjp_eigenvectors(g: Any, V: Any, A: Any) -> Any:
    """VJP of the eigenvectors; eigenvalues that are equal have none of their own."""
    values, size = _eigenvalues(A), np.shape(V)[-1]
    gaps = values[..., None, :] - values[..., :, None]
    if np.any((np.abs(gaps) < 1e-12 * np.max(np.abs(values))) & ~np.eye(size, dtype=bool)):
        raise ValueError("eigenvectors of equal eigenvalues are not differentiable")
    inner = (_transpose_matrices(V) @ g) * (1 - np.eye(size)) / (gaps + np.eye(size))
    result = V @ inner @ _transpose_matrices(V)
    return 0.5 * (result + _transpose_matrices(result))


@primitive(_vjp_eigenvalues)
def _eigenvalues(A: Any) -> Any:
    """Eigenvalues of symmetric matrices, ascending."""
    return np.linalg.eigh(A)[0]


@primitive(_vjp_eigenvectors)
def _eigenvectors(A: Any) -> Any:
    """Eigenvectors of symmetric matrices, one a column."""
    return np.linalg.eigh(A)[1]


COMPOSITE_RULES.update(
    {
        np.linalg.eigvalsh: _eigenvalues,
        np.linalg.eigh: lambda A: (_eigenvalues(A), _eigenvectors(A)),
    }
)


def _singular_values(A: Any) -> Any:
    """Singular values, descending; their squares are the eigenvalues of the smaller Gram matrix."""
    rows, columns = np.shape(A)[-2:]
    B = _transpose_matrices(A) if rows < columns else A
    return np.sqrt(np.flip(_eigenvalues(_transpose_matrices(B) @ B), axis=-1))


def _svd(A: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """`np.linalg.svd`, of different singular values that are not zero."""
    if not compute_uv:
        return _singular_values(A)
    if full_matrices and np.shape(A)[-2] != np.shape(A)[-1]:
        raise NoRuleError("only np.linalg.svd(A, full_matrices=False) has a derivative here")
    known = np.linalg.svd(primal(A), full_matrices=False)
    s = _singular_values(A)
    if np.shape(A)[-2] < np.shape(A)[-1]:
        U = _oriented_eigenvectors(A @ _transpose_matrices(A), known[0])
        return U, s, _transpose_matrices(_transpose_matrices(A) @ U / s[..., None, :])
    V = _oriented_eigenvectors(_transpose_matrices(A) @ A, _transpose_matrices(known[2]))
    return (A @ V) / s[..., None, :], s, _transpose_matrices(V)


def _oriented_eigenvectors(A: Any, like: np.ndarray) -> Any:
    """Eigenvectors by descending eigenvalue, with the signs of these."""
    V = np.flip(_eigenvectors(A), axis=-1)
    return V * np.sign(np.sum(primal(V) * like, axis=-2, keepdims=True))


COMPOSITE_RULES[np.linalg.svd] = _svd
COMPOSITE_RULES[np.linalg.svdvals] = _singular_values
