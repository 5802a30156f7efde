r"""Matern processes in one dimension as linear state-space models, composed chunk by chunk.

A chunk is an *element*: given the state s at its first row, the state at its last row is
:math:`\mathcal N(A s + b, C)` after its observations, whose log-likelihood is
:math:`l + \eta^T s - \tfrac12 s^T J s`. Elements of neighboring chunks compose associatively
(Särkkä and García-Fernández 2021): with the transition (F, Q) between them absorbed into the first
and :math:`M = (I + C_1 J_2)^{-1}`,

.. math:: A = A_2 M A_1, \quad b = A_2 M (b_1 + C_1 \eta_2) + b_2, \quad
          C = A_2 M C_1 A_2^T + C_2, \\
          \eta = A_1^T M^T (\eta_2 - J_2 b_1) + \eta_1, \quad J = A_1^T M^T J_2 A_1 + J_1.

So the evidence is a fold that keeps the order of the rows.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.gaussian_process._state_space_numba import filter_rows, known_to_compiler
from tenfold.kernel._gradient_tiles import translate_kernel
from tenfold.kernel.base import ConstantKernel, Product, Sum, WhiteKernel
from tenfold.kernel.stationary import Matern

_ORDERS = {0.5: 1, 1.5: 2, 2.5: 3}
# coefficients of exp(-x), x exp(-x) and x^2 exp(-x) in the transition of a term, by its order
_TRANSITIONS: dict[int, Any] = {
    1: [[[1]], [[0]], [[0]]],
    2: [[[1, 0], [0, 1]], [[1, 1], [-1, -1]], [[0, 0], [0, 0]]],
    3: [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1, 1, 0], [0, 1, 1], [-1, -3, -2]],
        [[0.5, 1, 0.5], [-0.5, -1, -0.5], [0.5, 1, 0.5]],
    ],
}
_STATIONARY: dict[int, Any] = {
    1: [[1]],
    2: [[1, 0], [0, 1]],
    3: [[1, 0, -1 / 3], [0, 1 / 3, 0], [-1 / 3, 0, 1]],
}
_STEP = 1e-30  # imaginary part of a parameter: derivatives by it are exact


class MaternTerms(NamedTuple):
    """Independent Matern processes that add up, and the variance of the noise."""

    orders: np.ndarray  # (k,) dimensions of the states: 1, 2, 3 for nu 1/2, 3/2, 5/2
    rates: np.ndarray  # (k,) sqrt(2 nu) / length scale
    variances: np.ndarray  # (k,)
    noise: np.ndarray  # (1,)

    def model(self) -> StateSpace:
        """The matrices of the state space."""
        orders = self.orders.tolist()
        term = np.repeat(np.arange(len(orders)), orders)
        coef, P0 = np.zeros((3, len(term), len(term))), np.zeros((len(term), len(term)))
        P0 = P0.astype(self.noise.dtype)
        heads = np.cumsum(self.orders) - self.orders
        for order, at, variance in zip(orders, heads, self.variances, strict=True):
            block = slice(at, at + order)
            coef[:, block, block] = _TRANSITIONS[order]
            P0[block, block] = variance * np.array(_STATIONARY[order])
        return StateSpace(heads, term, coef, self.rates, P0, self.noise)


class StateSpace(NamedTuple):
    """The state space of some terms; see `_state_space_numba`."""

    heads: np.ndarray  # (k,) places of the processes themselves in the state
    term: np.ndarray  # (d,) number of the term of each coordinate
    coef: np.ndarray  # (3, d, d) coefficients of transitions
    rates: np.ndarray  # (k,)
    P0: np.ndarray  # (d, d) stationary covariance
    noise: np.ndarray  # (1,)

    def transitions(self, dt: np.ndarray) -> np.ndarray:
        """F over each of several times."""
        x = (np.asarray(dt)[:, None] * self.rates[self.term])[:, :, None]
        return np.exp(-x) * (self.coef[0] + x * (self.coef[1] + x * self.coef[2]))


def read_terms(kernel: Any, theta: np.ndarray, alpha: float) -> MaternTerms:
    """The terms of a kernel at theta, which may be complex; `alpha` is added to the noise."""
    values = list(theta)
    terms: list[tuple[int, Any, Any]] = []
    noise = [alpha + 0.0 * (theta[0] if len(theta) else 0.0)]
    _read(translate_kernel(kernel), 1.0, values, terms, noise)
    orders, rates, variances = zip(*terms, strict=True) if terms else ((), (), ())
    if not terms:
        raise ValueError(f"{kernel} has no Matern term: give one, such as Matern(nu=1.5)")
    dtype = np.asarray(theta).dtype if len(theta) else np.float64
    return MaternTerms(
        np.array(orders, np.int64),
        np.array(rates, dtype),
        np.array(variances, dtype),
        np.array([sum(noise)], dtype),
    )


def _read(kernel: Any, scale: Any, values: list, terms: list, noise: list) -> None:
    """Terms of a sum of products of constants, Matern kernels and noise, in the order of theta."""

    def take(name: str, fixed: Any) -> Any:
        free = any(h.name == name and not h.fixed for h in kernel.hyperparameters)
        return np.exp(values.pop(0)) if free else fixed

    if isinstance(kernel, Sum):
        _read(kernel.k1, scale, values, terms, noise)
        _read(kernel.k2, scale, values, terms, noise)
    elif isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        factor = _constant(kernel.k1, values)
        _read(kernel.k2, scale * factor, values, terms, noise)
    elif isinstance(kernel, Product) and isinstance(kernel.k2, ConstantKernel):
        count = kernel.k1.n_dims
        inner, values[:] = values[:count], values[count:]
        factor = _constant(kernel.k2, values)
        _read(kernel.k1, scale * factor, inner, terms, noise)
    elif isinstance(kernel, WhiteKernel):
        noise.append(scale * take("noise_level", kernel.noise_level))
    elif isinstance(kernel, Matern) and kernel.nu in _ORDERS and np.size(kernel.length_scale) == 1:
        length = take("length_scale", float(np.squeeze(kernel.length_scale)))
        terms.append((_ORDERS[kernel.nu], sqrt(2.0 * kernel.nu) / length, scale))
    else:
        raise ValueError(
            f"{kernel} has no state space here: give sums of ConstantKernel * Matern with nu 0.5, "
            "1.5 or 2.5 and one length scale, and WhiteKernel"
        )


def _constant(kernel: ConstantKernel, values: list) -> Any:
    return np.exp(values.pop(0)) if kernel.n_dims else kernel.constant_value


class TimeElement(NamedTuple):
    """The element of a range of rows, at one or several values of the parameters."""

    first: int  # number of the first row
    times: np.ndarray  # (2,) of the first and the last row
    unsorted: float  # least number of a row that is earlier than the row before it, or infinity
    packed: np.ndarray  # (points, 3 d^2 + 2 d + 1)
    terms: tuple[MaternTerms, ...]  # one for each point

    def merge(self, other: TimeElement) -> TimeElement:
        """The element of both ranges; `other` follows."""
        dt = other.times[0] - self.times[1]
        broken = float(other.first) if dt < 0 else np.inf
        unsorted = min(self.unsorted, other.unsorted, broken)
        packed = np.zeros_like(self.packed)
        if unsorted == np.inf:
            points = zip(self.packed, other.packed, self.terms, strict=True)
            packed = np.array([_compose(a, b, terms, dt) for a, b, terms in points])
        times = np.array([self.times[0], other.times[1]])
        return TimeElement(self.first, times, unsorted, packed, self.terms)


def time_element(chunk: Chunk, terms: tuple[MaternTerms, ...], offset: float, scale: float) -> Any:
    """The element of a chunk; targets are taken as (y - offset) / scale."""
    t = np.ascontiguousarray(chunk.X[:, 0], np.float64)
    y = (np.asarray(chunk.y, np.float64) - offset) / scale
    w = chunk.weights().astype(np.float64)
    falls = np.flatnonzero(np.diff(t) < 0)
    unsorted = float(chunk.first + falls[0] + 1) if len(falls) else np.inf
    d = int(terms[0].orders.sum())
    packed = np.zeros((len(terms), 3 * d * d + 2 * d + 1), terms[0].noise.dtype)
    if unsorted == np.inf and len(t):
        for each, out in zip(terms, packed, strict=True):
            out[:] = _filter(t, y, w, each, chunk.first == 0)
    return TimeElement(chunk.first, t[[0, -1]], unsorted, packed, terms)


def _filter(
    t: np.ndarray, y: np.ndarray, w: np.ndarray, terms: MaternTerms, from_prior: bool
) -> np.ndarray:
    """The packed element of some rows: A, b, C, eta, J and a log-likelihood."""
    d, dtype = int(terms.orders.sum()), terms.noise.dtype
    matrices, vectors = np.zeros((6, d, d), dtype), np.zeros((5, d), dtype)
    states = np.zeros((0, d + 1, d), dtype)
    filter_rows(t, y, w, *_for_compiler(terms.model()), from_prior, matrices, vectors, states)
    A, C, J = (matrix.ravel() for matrix in matrices[:3])
    return np.concatenate([A, vectors[0], C, vectors[1], J, vectors[2, :1]])


def filter_states(t: np.ndarray, y: np.ndarray, w: np.ndarray, terms: MaternTerms) -> np.ndarray:
    """Mean and covariance of the state at each row given the rows up to it, (n, 1 + d, d)."""
    d = int(terms.orders.sum())
    states = np.empty((len(t), 1 + d, d))
    model = _for_compiler(terms.model())
    filter_rows(t, y, w, *model, True, np.zeros((6, d, d)), np.zeros((5, d)), states)
    return states


def _for_compiler(model: StateSpace) -> StateSpace:
    """The same with sizes that compiled code knows."""
    return model._replace(heads=known_to_compiler(model.heads), term=known_to_compiler(model.term))


def process_moments(
    q: np.ndarray, t: np.ndarray, before: np.ndarray, after: np.ndarray, terms: MaternTerms
) -> np.ndarray:
    """Mean and variance of the process at times q, given all rows, (n, 2).

    `before` has the states given the rows up to each, `after` those of reversed time, given the
    rows from each on. Both sides and the prior, which both contain, combine by precisions.
    """
    model = terms.model()
    k = np.searchsorted(t, q, side="right")
    m1, P1 = _side(model, before, k - 1, q - t[np.maximum(k - 1, 0)])
    m2, P2 = _side(model, after, np.where(k < len(t), k, -1), t[np.minimum(k, len(t) - 1)] - q)
    signs = np.concatenate([[(-1.0) ** i for i in range(order)] for order in terms.orders])
    m2, P2 = m2 * signs, P2 * np.outer(signs, signs)  # odd derivatives change their signs
    # (P1^-1 + P2^-1 - P0^-1)^-1 = P1 (P1 + P2 - P2 P0^-1 P1)^-1 P2
    share = P2 @ np.linalg.inv(model.P0)
    gap = (m2 - m1)[:, :, None] + share @ m1[:, :, None]
    inner = P1 + P2 - share @ P1
    solved = np.linalg.solve(inner, np.concatenate([P2, gap], axis=2))
    P = P1 @ solved[:, :, :-1]
    mean = m1 + (P1 @ solved[:, :, -1:])[:, :, 0]
    heads = model.heads
    variance = P[:, heads][:, :, heads].sum(axis=(1, 2))
    return np.column_stack([mean[:, heads].sum(axis=1), variance])


def _side(
    model: StateSpace, states: np.ndarray, place: np.ndarray, dt: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States a time dt after those at some places; the prior where the place is -1."""
    F = model.transitions(np.maximum(dt, 0.0))
    known = place >= 0
    chosen = states[np.maximum(place, 0)]
    m = np.where(known[:, None], (F @ chosen[:, 0, :, None])[:, :, 0], 0.0)
    P = model.P0 + F @ (chosen[:, 1:] - model.P0) @ np.swapaxes(F, 1, 2)
    return m, np.where(known[:, None, None], P, model.P0)


def _unpack(packed: np.ndarray, d: int) -> list[np.ndarray]:
    n = d * d
    cuts = [n, n + d, 2 * n + d, 2 * n + 2 * d, 3 * n + 2 * d]
    A, b, C, eta, J, value = np.split(packed, cuts)
    return [A.reshape(d, d), b, C.reshape(d, d), eta, J.reshape(d, d), value]


def _compose(first: np.ndarray, second: np.ndarray, terms: MaternTerms, dt: float) -> np.ndarray:
    d = int(terms.orders.sum())
    A1, b1, C1, eta1, J1, l1 = _unpack(first, d)
    A2, b2, C2, eta2, J2, l2 = _unpack(second, d)
    model = terms.model()
    F, P0 = model.transitions(np.array([dt]))[0], model.P0
    A1, b1, C1 = F @ A1, F @ b1, P0 + F @ (C1 - P0) @ F.T
    inner = np.eye(d) + C1 @ J2
    M = np.linalg.inv(inner)
    gap = eta2 - J2 @ b1
    value = l1 + l2 + eta2 @ b1 - 0.5 * (b1 @ J2 @ b1) + 0.5 * (gap @ M @ C1 @ gap)
    value = value - 0.5 * np.log(np.linalg.det(inner))
    MC = M @ C1
    C = A2 @ (0.5 * (MC + MC.T)) @ A2.T + C2
    back = A1.T @ M.T
    J = back @ J2 @ A1 + J1
    parts = A2 @ M @ A1, A2 @ (M @ (b1 + C1 @ eta2)) + b2, C, back @ gap + eta1, 0.5 * (J + J.T)
    return np.concatenate([*(part.ravel() for part in parts), value])


def complex_steps(kernel: Any, theta: np.ndarray, alpha: float) -> tuple[MaternTerms, ...]:
    """The terms at theta moved by an imaginary step along each coordinate."""
    steps = theta + 1j * _STEP * np.eye(len(theta))
    return tuple(read_terms(kernel, step, alpha) for step in steps)


def read_gradient(element: TimeElement) -> tuple[float, np.ndarray]:
    """Evidence and gradient of an element at complex steps."""
    values = element.packed[:, -1]
    return float(np.real(values[0])), np.imag(values) / _STEP
