"""Pulls of products and of linear algebra."""

# ruff: noqa: ARG001, ARG005 - a pull is given all there is, and few need all

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.maths.differentiate.pointwise import summed_to
from tenfold.maths.differentiate.shaping import only, spread
from tenfold.maths.differentiate.traced import COMPOSED, PULLS, NoRuleError, Pull, primitive


def turned(x: Any) -> Any:
    """Each matrix transposed."""
    return np.swapaxes(x, -1, -2)


@primitive(
    lambda g, y, a, b: summed_to(g @ turned(b), np.shape(a)),
    lambda g, y, a, b: summed_to(turned(a) @ g, np.shape(b)),
)
def product(a: Any, b: Any) -> Any:
    """Product of matrices, or of stacks of them."""
    return np.matmul(a, b)


def matmul(a: Any, b: Any) -> Any:
    """`np.matmul`: vectors become matrices of one row or column, and are taken out again."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        raise ValueError("@ needs arrays of at least one dimension: multiply numbers with *")
    left = a[None, :] if np.ndim(a) == 1 else a
    right = b[:, None] if np.ndim(b) == 1 else b
    result = product(left, right)
    result = result[..., 0] if np.ndim(b) == 1 else result
    return np.squeeze(result, -1 if np.ndim(b) == 1 else -2) if np.ndim(a) == 1 else result


def dot(a: Any, b: Any) -> Any:
    """`np.dot` of numbers, vectors and matrices."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise NoRuleError("np.dot of more than two dimensions: use @ or np.einsum")
    return matmul(a, b)


def einsum_pull(i: int) -> Pull:
    """Pull of an operand of `np.einsum`; the subscripts are argument 0."""

    def pull(g: Any, y: Any, subscripts: str, *operands: Any) -> Any:
        inputs, result = _subscripts(subscripts)
        mine, others = inputs[i - 1], [*inputs[: i - 1], *inputs[i:]]
        rest = [*operands[: i - 1], *operands[i:]]
        there = [letter for letter in mine if any(letter in each for each in [result, *others])]
        slope = np.einsum(f"{','.join([result, *others])}->{''.join(there)}", g, *rest)
        alone = tuple(at for at, letter in enumerate(mine) if letter not in there)
        return np.broadcast_to(np.expand_dims(slope, alone), np.shape(operands[i - 1]))

    return pull


def _subscripts(text: str) -> tuple[list[str], str]:
    inputs, arrow, result = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if not arrow or "." in text or any(len(set(part)) < len(part) for part in parts):
        raise NoRuleError(
            f"np.einsum({text!r}): give the result after '->', without '...' and without a letter "
            "twice in one operand"
        )
    return parts, result


def of_solve(i: int) -> Pull:
    """Pull of the solution of A x = b, by A and by b."""

    def pull(g: Any, x: Any, A: Any, b: Any) -> Any:
        back = np.linalg.solve(turned(A), g)
        if i == 1:
            return summed_to(back, np.shape(b))
        column, row = (back[:, None], x[None, :]) if np.ndim(b) == 1 else (back, turned(x))
        return summed_to(-(column @ row), np.shape(A))

    return pull


def of_cholesky(g: Any, L: Any, A: Any) -> Any:
    """Pull of the Cholesky factor, symmetric as the matrix is."""
    inner = np.tril(turned(L) @ g)
    inner = inner - 0.5 * inner * np.eye(np.shape(L)[-1])
    half = np.linalg.solve(turned(L), turned(np.linalg.solve(turned(L), turned(inner))))
    return 0.5 * (half + turned(half))


@primitive(lambda g, y, A: g[..., None, None] * turned(np.linalg.inv(A)))
def log_abs_det(A: Any) -> Any:
    """Log of the size of the determinant."""
    return np.linalg.slogdet(A)[1]


@primitive(lambda g, y, x, axis=None: spread(g / np.where(np.greater(y, 0), y, 1.0), x, axis) * x)
def length(x: Any, axis: Any = None) -> Any:
    """Euclidean length; its slope at zero is taken as zero."""
    return np.sqrt(np.sum(x * x, axis=axis))


def norm(x: Any, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A002
    """`np.linalg.norm` of vectors, and the Frobenius norm."""
    vectors = axis is not None or np.ndim(x) == 1
    if ord in ("fro", None) or (ord == 2 and vectors):
        result = length(x, axis=axis)
    elif vectors and ord in (1, np.inf):
        result = (np.sum if ord == 1 else np.max)(np.abs(x), axis=axis)
    else:
        raise NoRuleError(f"np.linalg.norm with ord={ord} of a matrix has no derivative here")
    if not keepdims:
        return result
    return np.expand_dims(result, tuple(range(np.ndim(x))) if axis is None else axis)


def by_inverse(g: Any, y: Any, A: Any) -> Any:
    """Pull of the inverse."""
    return -turned(y) @ g @ turned(y)


def by_determinant(g: Any, y: Any, A: Any) -> Any:
    """Pull of the determinant."""
    return (g * y)[..., None, None] * turned(np.linalg.inv(A))


PULLS.update(
    {
        np.einsum: einsum_pull,
        np.linalg.solve: of_solve,
        np.linalg.inv: only(by_inverse),
        np.linalg.det: only(by_determinant),
        np.linalg.cholesky: only(of_cholesky),
    }
)
COMPOSED.update(
    {
        np.matmul: matmul,
        np.dot: dot,
        np.vdot: lambda a, b: dot(np.ravel(a), np.ravel(b)),
        np.inner: lambda a, b: dot(a, np.transpose(b)),
        np.outer: lambda a, b: np.ravel(a)[:, None] * np.ravel(b)[None, :],
        np.linalg.norm: norm,
        np.linalg.slogdet: lambda A: (np.sign(np.linalg.det(A)), log_abs_det(A)),
    }
)
