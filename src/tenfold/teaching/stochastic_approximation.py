"""The Robbins-Monro conditions of a learning-rate schedule, and the noise of mini-batch gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.schedules import Schedule, Tail, known_tail
from tenfold.optim.stochastic import ChunkLoss

_OCTAVES = range(30, 90)  # the sum over t from 2^k to 2^(k+1), for these k
_POINTS_PER_OCTAVE = 64  # of an octave at which a rate is asked
_POWER_RESOLUTION = 0.004  # powers that differ by less cannot be told apart


class RobbinsMonro(NamedTuple):
    """What is known about the two sums of a rate.

    Attributes
    ----------
    holds : whether all three conditions hold
    vanishes : whether rate(t) -> 0
    sum_diverges : whether sum rate(t) = inf
    squares_converge : whether sum rate(t)^2 < inf
    tail : power and logs of t^-power (log t)^logs
    exact : True if the family of the rate was known, False if its tail was fitted to numbers
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
    """Say whether a rate meets the conditions under which stochastic descent converges.

    Families of `tenfold.optim.schedules` are judged exactly by their tail, t^-power (log t)^logs. Of
    any other callable the sums over 60 octaves of t are estimated, and the tail is fitted to them;
    powers closer to 1/2 or 1 than 0.004 count as these.

    Parameters
    ----------
    rate : callable
        Gives the rate of step t, for t up to 2^90 (a float).

    Returns
    -------
    RobbinsMonro

    Notes
    -----
    The rate gamma log(t) / sqrt(t), for which [001, 3.2] claims the conditions, does not meet
    them: the sum of its squares is that of log(t)^2 / t, which diverges.

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
    far = sum_diverges(tail)
    quiet = not sum_diverges(Tail(2 * tail.power, 2 * tail.logs))
    vanishes = tail.power > 0 or tail.logs < 0
    evidence = _format_evidence(tail, far, quiet, exact=known is not None)
    return RobbinsMonro(
        vanishes and far and quiet, vanishes, far, quiet, tail, known is not None, evidence
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
    spread = (
        np.arange(_POINTS_PER_OCTAVE) * 0.6180339887498949
    ) % 1  # no period of a rate can hide in it
    rates = [float(rate(float(np.floor(2.0**octave * (1 + u))))) for u in spread]
    if not (np.isfinite(rates).all() and min(rates) >= 0):
        raise ValueError(
            f"a rate must be a finite number >= 0; between t = 2^{octave} and 2^{octave + 1} "
            f"it is {min(rates, key=lambda r: (np.isfinite(r), r))}"
        )
    return float(np.mean(rates))


def _format_evidence(tail: Tail, far: bool, quiet: bool, *, exact: bool) -> str:
    ends = {True: "diverges", False: "converges"}
    power = "faster than any power of t" if np.isinf(tail.power) else f"like t^{-tail.power:g}"
    logs = f" (log t)^{tail.logs:g}" if tail.logs else ""
    judged = "" if exact else " (fitted to numbers)"
    return f"goes {power}{logs}{judged}: the sum {ends[far]}, the sum of squares {ends[not quiet]}"


class GradientNoise(NamedTuple):
    """Mean slope of all rows, and the covariance of the slope of one (weights are not used)."""

    slope: np.ndarray
    covariance: np.ndarray
    n: int

    def of_batch(self, size: int) -> np.ndarray:
        """Covariance of the mean slope of `size` rows drawn without replacement."""
        return self.covariance / size * (self.n - size) / max(self.n - 1, 1)


class GradientSums(NamedTuple):
    """Sums over rows of slopes and of their products."""

    first: np.ndarray
    second: np.ndarray


def gradient_noise(leaf: ChunkLoss, theta: np.ndarray, rows: Rows) -> GradientNoise:
    """Measure the noise of stochastic slopes at a point, exactly, in one pass.

    Parameters
    ----------
    leaf : callable
        `leaf(chunk, theta)` returns (loss, slope); it is called for every row by itself.
    theta : array
        Where.
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
    >>> noise.slope.tolist(), noise.of_batch(1).tolist(), noise.of_batch(2).tolist()
    ([-2.0], [[1.0]], [[0.0]])
    """
    total = rows.total(_gradient_sums, leaf, theta)
    slope = total.first / rows.n_rows
    spread = total.second / rows.n_rows - np.outer(slope, slope)
    return GradientNoise(slope, spread, rows.n_rows)


def _gradient_sums(chunk: Chunk, leaf: ChunkLoss, theta: np.ndarray) -> GradientSums:
    G = np.array(
        [leaf(_single_row(chunk, i), theta)[1] for i in range(chunk.rows)], dtype=np.float64
    )
    return GradientSums(G.sum(axis=0), G.T @ G)


def _single_row(chunk: Chunk, i: int) -> Chunk:
    X, y, w = (None if part is None else part[i : i + 1] for part in chunk[:3])
    return Chunk(X, y, w)
