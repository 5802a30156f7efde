"""The Robbins-Monro conditions of a learning-rate schedule, and mini-batch gradient noise.

A schedule meets the conditions if rate(t) -> 0, sum_t rate(t) = inf and sum_t rate(t)^2 < inf.

The covariance of the mean gradient of b rows, drawn without replacement from n, is
S / b (n - b) / (n - 1), where S is the covariance of the gradients of single rows. With a learning
rate eta the iterates keep a spread of order eta / b around a minimum, and sharp minima are left
sooner than flat ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.schedules import Schedule, Tail, known_tail
from tenfold.optim.stochastic import ChunkLoss

_OCTAVES = range(30, 90)  # k of the octaves 2^k <= t < 2^(k+1)
_POINTS_PER_OCTAVE = 64  # evaluations per octave
_POWER_RESOLUTION = 0.004  # smallest difference of powers that the fit resolves


class RobbinsMonro(NamedTuple):
    """Whether a schedule meets the Robbins-Monro conditions.

    Attributes
    ----------
    holds : whether all three conditions hold
    vanishes : whether rate(t) -> 0
    sum_diverges : whether sum rate(t) = inf
    squares_converge : whether sum rate(t)^2 < inf
    tail : power and logs of t^-power (log t)^logs
    exact : True if the tail of the schedule is known, False if it was fitted
    evidence : the reason in words
    """

    holds: bool
    vanishes: bool
    sum_diverges: bool
    squares_converge: bool
    tail: Tail
    exact: bool
    evidence: str


def robbins_monro(rate: Schedule) -> RobbinsMonro:
    """Test the Robbins-Monro conditions for the convergence of stochastic approximation.

    Schedules of `tenfold.optim.schedules` are decided exactly by their tail t^-power (log t)^logs.
    For any other callable the tail is fitted to its means over 60 octaves of t; powers closer to
    1/2 or 1 than 0.004 count as these.

    Parameters
    ----------
    rate : callable
        Maps the step t, a float up to 2^90, to the learning rate.

    Returns
    -------
    RobbinsMonro

    Notes
    -----
    The schedule gamma log(t) / sqrt(t) does not meet the conditions: the sum of its squares is that
    of log(t)^2 / t, which diverges.

    References
    ----------
    H. Robbins and S. Monro (1951), "A stochastic approximation method", Annals of Mathematical
    Statistics 22.

    Examples
    --------
    >>> from tenfold.optim.schedules import LogOverSqrt, PowerDecay
    >>> robbins_monro(PowerDecay()).holds, robbins_monro(PowerDecay(delta=0.5)).holds
    (True, False)
    >>> print(robbins_monro(LogOverSqrt()).evidence)
    goes like t^-0.5 (log t)^1: the sum diverges, the sum of squares diverges
    >>> robbins_monro(lambda t: 3 / (7 + t) ** 0.75).holds
    True
    """
    known = known_tail(rate)
    tail = _fit_tail(rate) if known is None else known
    diverges = sum_diverges(tail)
    squares_converge = not sum_diverges(Tail(2 * tail.power, 2 * tail.logs))
    vanishes = tail.power > 0 or tail.logs < 0
    evidence = _format_evidence(tail, diverges, squares_converge, exact=known is not None)
    return RobbinsMonro(
        vanishes and diverges and squares_converge,
        vanishes,
        diverges,
        squares_converge,
        tail,
        known is not None,
        evidence,
    )


def sum_diverges(tail: Tail) -> bool:
    """Whether sum t^-power (log t)^logs is infinite.

    Examples
    --------
    >>> sum_diverges(Tail(1.0)), sum_diverges(Tail(1.0, -2.0)), sum_diverges(Tail(1.1))
    (True, False, False)
    """
    return tail.power < 1 or (tail.power == 1 and tail.logs >= -1)


def _fit_tail(rate: Schedule) -> Tail:
    """The tail that fits the mean rate of each octave, t from 2^k to 2^(k+1)."""
    means = np.array([_mean_rate(rate, k) for k in _OCTAVES])
    if not means[-1] > 0:  # decays so fast that a float cannot hold it
        return Tail(np.inf)
    means, octaves = means[means > 0], np.array(_OCTAVES)[means > 0] + 0.5
    design = np.column_stack([np.ones(len(octaves)), -octaves, np.log2(octaves)])
    _, power, logs = np.linalg.lstsq(design, np.log2(means), rcond=None)[0]
    near = round(2 * power) / 2  # at 0, 1/2 and 1 the logarithm decides
    if abs(power - near) > _POWER_RESOLUTION:
        return Tail(round(float(power), 3), 0.0)
    level = np.log2(means) + near * octaves
    logs = np.linalg.lstsq(design[:, [0, 2]], level, rcond=None)[0][1]
    return Tail(near, round(float(logs), 1) + 0.0)


def _mean_rate(rate: Schedule, octave: int) -> float:
    offsets = (
        np.arange(_POINTS_PER_OCTAVE) * 0.6180339887498949
    ) % 1  # golden-ratio points: no period aliases
    rates = [float(rate(float(np.floor(2.0**octave * (1 + u))))) for u in offsets]
    if not (np.isfinite(rates).all() and min(rates) >= 0):
        raise ValueError(
            f"a rate must be a finite number >= 0; between t = 2^{octave} and 2^{octave + 1} "
            f"it is {min(rates, key=lambda r: (np.isfinite(r), r))}"
        )
    return float(np.mean(rates))


def _format_evidence(tail: Tail, diverges: bool, squares_converge: bool, *, exact: bool) -> str:
    words = {True: "diverges", False: "converges"}
    power = "faster than any power of t" if np.isinf(tail.power) else f"like t^{-tail.power:g}"
    logs = f" (log t)^{tail.logs:g}" if tail.logs else ""
    note = "" if exact else " (fitted to numbers)"
    total, squares = words[diverges], words[not squares_converge]
    return f"goes {power}{logs}{note}: the sum {total}, the sum of squares {squares}"


class GradientNoise(NamedTuple):
    """Mean gradient of all rows, and covariance of the gradient of one row (unweighted)."""

    gradient: np.ndarray
    covariance: np.ndarray
    n: int

    def of_batch(self, size: int) -> np.ndarray:
        """Covariance of the mean gradient of `size` rows drawn without replacement."""
        return self.covariance / size * (self.n - size) / max(self.n - 1, 1)


class GradientSums(NamedTuple):
    """Sums over rows of gradients and of their outer products."""

    first: np.ndarray
    second: np.ndarray


def gradient_noise(leaf: ChunkLoss, theta: np.ndarray, rows: Rows) -> GradientNoise:
    """Exact noise of stochastic gradients at a point, in one pass.

    Parameters
    ----------
    leaf : callable
        `leaf(chunk, theta)` returns (loss, gradient); it is called for each row.
    theta : array of shape (n_params,)
        The point.
    rows : Rows
        The data.

    Returns
    -------
    GradientNoise

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> def distance(chunk, theta):
    ...     return ((theta - chunk.X) ** 2).sum() / 2, (theta - chunk.X).sum(axis=0)
    >>> noise = gradient_noise(distance, np.zeros(1), tenfold.open(np.array([[1.0], [3.0]])))
    >>> noise.gradient.tolist(), noise.of_batch(1).tolist(), noise.of_batch(2).tolist()
    ([-2.0], [[1.0]], [[0.0]])
    """
    total = rows.total(_gradient_sums, leaf, theta)
    gradient = total.first / rows.n_rows
    covariance = total.second / rows.n_rows - np.outer(gradient, gradient)
    return GradientNoise(gradient, covariance, rows.n_rows)


def _gradient_sums(chunk: Chunk, leaf: ChunkLoss, theta: np.ndarray) -> GradientSums:
    G = np.array(
        [leaf(_single_row(chunk, i), theta)[1] for i in range(chunk.rows)], dtype=np.float64
    )
    return GradientSums(G.sum(axis=0), G.T @ G)


def _single_row(chunk: Chunk, i: int) -> Chunk:
    X, y, w = (None if part is None else part[i : i + 1] for part in chunk[:3])
    return Chunk(X, y, w)
