"""The Kalman filter of sums of Matern processes, compiled.

Over a time dt the state of a term moves by exp(-x) (c0 + c1 x + c2 x^2) with x = rate * dt and
constant matrices c: its coordinates are the process and its derivatives in units of the rate. All
functions are analytic in their parameters and transpose without conjugation, so that complex
parameters with a tiny imaginary part give exact derivatives.

Loops are written out: for matrices of a few rows they are faster than BLAS, and compile sooner.
They run over the entries of `term` and `heads`. Where these are tuples the compiler knows how many
there are and unrolls the loops, which then take a quarter of the time (`known_to_compiler`).

Benchmark case: `gp-1d` (benchmarks/gaussian_process.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_UNROLLED = 4  # most numbers that the compiler is told: each count is compiled once more
OPTIONS: Any = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
INNER: Any = OPTIONS | {"no_cpython_wrapper": True}  # called by compiled code only


def known_to_compiler(numbers: np.ndarray) -> Any:
    """A few numbers as a tuple, whose length is a part of its type; more of them as they are."""
    return tuple(numbers.tolist()) if len(numbers) <= _UNROLLED else numbers


@njit(**INNER)
def _set_transition(F, dt, term, coef, rates):
    """The transition over a time dt, block diagonal by terms."""
    for i in range(len(term)):
        x = rates[term[i]] * dt
        decay = np.exp(-x)
        for j in range(len(term)):
            F[i, j] = decay * (coef[0, i, j] + x * (coef[1, i, j] + x * coef[2, i, j]))


@njit(**INNER)
def _propagate(F, P0, m, P, work, term):
    """One transition later: mean F m, covariance P0 + F (P - P0) F'."""
    d = len(term)
    for i in range(d):
        s = F[i, 0] * m[0]
        for k in range(1, d):
            s += F[i, k] * m[k]
        work[1, i, 0] = s
        for j in range(d):
            s = F[i, 0] * (P[0, j] - P0[0, j])
            for k in range(1, d):
                s += F[i, k] * (P[k, j] - P0[k, j])
            work[0, i, j] = s
    for i in range(d):
        m[i] = work[1, i, 0]
        for j in range(i + 1):
            s = P0[i, j]
            for k in range(d):
                s += work[0, i, k] * F[j, k]
            P[i, j] = P[j, i] = s


@njit(**INNER)
def _propagate_start(F, A, work, term):
    """The sensitivity to the start one transition later, F A."""
    d = len(term)
    for j in range(A.shape[1]):
        for i in range(d):
            s = F[i, 0] * A[0, j]
            for k in range(1, d):
                s += F[i, k] * A[k, j]
            work[1, i, 0] = s
        for i in range(d):
            A[i, j] = work[1, i, 0]


@njit(**INNER)
def _read_gain(m, P, heads, gain, term):
    """Covariances of the state with the process into `gain`; the process' mean and variance."""
    mean, variance = m[0] * 0.0, m[0] * 0.0
    for i in range(len(term)):
        s = m[0] * 0.0
        for a in heads:
            s += P[i, a]
        gain[i] = s
    for a in heads:
        mean += m[a]
        variance += gain[a]
    return mean, variance


@njit(**INNER)
def _condition(m, P, gain, residual, variance, term):
    """Condition mean and covariance of the state on a residual."""
    for i in range(len(term)):
        share = gain[i] / variance
        m[i] += share * residual
        for j in range(len(term)):
            P[i, j] -= share * gain[j]


@njit(**INNER)
def _note_start(A, eta, J, heads, gain, residual, variance, h):
    """Note what a residual says about the state at the start."""
    for j in range(len(h)):
        s = h[j] * 0.0
        for a in heads:
            s += A[a, j]
        h[j] = s
    for i in range(len(h)):
        share = h[i] / variance
        eta[i] += share * residual
        for j in range(len(h)):
            J[i, j] += share * h[j]
            A[j, i] -= gain[j] * share


@njit(**INNER)
def _copy(source, target):
    """Copy a matrix: an assignment of arrays compiles the text of an error as well."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit(**INNER)
def _write_state(mean, covariance, target):
    """Mean and covariance below each other."""
    for i in range(len(mean)):
        target[0, i] = mean[i]
    _copy(covariance, target[1:])


@njit(**INNER)
def _size(A):
    """The sum of absolute values."""
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += abs(A[i, j])
    return total


@njit(**OPTIONS)
def filter_rows(t, y, w, heads, term, coef, rates, P0, noise, from_prior, matrices, vectors, out):
    """Filter rows from a state that is given, or has the stationary prior.

    What the filter finds is linear in the state s before the first row: its end has mean b + A s
    and covariance C, and the log-likelihood is l + eta.s - s.J.s / 2. `matrices` are A, C, J and
    work space, `vectors` b, eta, l and work space, all zeros; `out`, if it has as many rows as
    t, gets mean and covariance of the state at each row.
    """
    A, C, J, F, work = matrices[0], matrices[1], matrices[2], matrices[3], matrices[4:]
    b, eta, gain, h = vectors[0], vectors[1], vectors[3], vectors[4]
    d = 0 if from_prior else len(b)
    if from_prior:
        _copy(P0, C)
    for i in range(d):
        A[i, i] = 1.0
    value, before = 0.0 * noise[0], -1.0
    for row in range(len(t)):
        dt = t[row] - t[row - 1] if row else 0.0
        if dt > 0.0:
            if dt != before:
                _set_transition(F, dt, term, coef, rates)
                before = dt
            _propagate(F, P0, b, C, work, term)
            _propagate_start(F, A[:, :d], work, term)
        if w[row] > 0.0:
            mean, variance = _read_gain(b, C, heads, gain, term)
            residual, variance = y[row] - mean, variance + noise[0] / w[row]
            value -= 0.5 * (np.log(2.0 * np.pi * variance) + residual * residual / variance)
            if w[row] != 1.0:  # a row that stands for several observations
                value -= 0.5 * (w[row] - 1.0) * np.log(2.0 * np.pi * noise[0])
                value -= 0.5 * np.log(w[row])
            _note_start(A[:, :d], eta, J, heads, gain, residual, variance, h[:d])
            _condition(b, C, gain, residual, variance, term)
            if d and row % 64 == 0 and _size(A) < 1e-150:
                d = 0  # the start is forgotten
                A[:] = 0.0
        if row < len(out):
            _write_state(b, C, out[row])
    vectors[2, 0] = value
