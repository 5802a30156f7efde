"""Whether a rate meets the conditions of Robbins and Monro.

    rate(t) -> 0,    sum_t rate(t) = inf,    sum_t rate(t)^2 < inf        [001, 3.2; 003, 4.5]

Enough to get anywhere, and quiet enough in the end for the noise to average out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.solve.rates import Rate, Tail, tail_of

OCTAVES = range(30, 90)  # the sum over t from 2^k to 2^(k+1), for these k
POINTS = 64  # of an octave at which a rate is asked
FLAT = 0.004  # powers that differ by less cannot be told apart


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


def robbins_monro(rate: Rate) -> RobbinsMonro:
    """Say whether a rate meets the conditions under which stochastic descent converges.

    Families of `tenfold.solve.rates` are judged exactly by their tail, t^-power (log t)^logs. Of
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
    >>> from tenfold.solve.rates import LogOverRoot, Power
    >>> robbins_monro(Power()).holds, robbins_monro(Power(delta=0.5)).holds
    (True, False)
    >>> print(robbins_monro(LogOverRoot()).evidence)
    goes like t^-0.5 (log t)^1: the sum diverges, the sum of squares diverges
    >>> robbins_monro(lambda t: 3 / (7 + t) ** 0.75).holds
    True
    """
    known = tail_of(rate)
    tail = _fitted(rate) if known is None else known
    far = sum_diverges(tail)
    quiet = not sum_diverges(Tail(2 * tail.power, 2 * tail.logs))
    vanishes = tail.power > 0 or tail.logs < 0
    evidence = _words(tail, far, quiet, exact=known is not None)
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


def _fitted(rate: Rate) -> Tail:
    """The tail that fits the mean rate of each octave, t from 2^k to 2^(k+1)."""
    means = np.array([_mean(rate, k) for k in OCTAVES])
    if not means[-1] > 0:  # decays so fast that a float cannot hold it
        return Tail(np.inf)
    means, octaves = means[means > 0], np.array(OCTAVES)[means > 0] + 0.5
    design = np.column_stack([np.ones(len(octaves)), -octaves, np.log2(octaves)])
    _, power, logs = np.linalg.lstsq(design, np.log2(means), rcond=None)[0]
    near = round(2 * power) / 2  # at 0, 1/2 and 1 the logarithm decides
    if abs(power - near) > FLAT:
        return Tail(round(float(power), 3), 0.0)
    level = np.log2(means) + near * octaves
    logs = np.linalg.lstsq(design[:, [0, 2]], level, rcond=None)[0][1]
    return Tail(near, round(float(logs), 1) + 0.0)


def _mean(rate: Rate, octave: int) -> float:
    spread = (np.arange(POINTS) * 0.6180339887498949) % 1  # no period of a rate can hide in it
    rates = [float(rate(float(np.floor(2.0**octave * (1 + u))))) for u in spread]
    if not (np.isfinite(rates).all() and min(rates) >= 0):
        raise ValueError(
            f"a rate must be a finite number >= 0; between t = 2^{octave} and 2^{octave + 1} "
            f"it is {min(rates, key=lambda r: (np.isfinite(r), r))}"
        )
    return float(np.mean(rates))


def _words(tail: Tail, far: bool, quiet: bool, *, exact: bool) -> str:
    ends = {True: "diverges", False: "converges"}
    power = "faster than any power of t" if np.isinf(tail.power) else f"like t^{-tail.power:g}"
    logs = f" (log t)^{tail.logs:g}" if tail.logs else ""
    judged = "" if exact else " (fitted to numbers)"
    return f"goes {power}{logs}{judged}: the sum {ends[far]}, the sum of squares {ends[not quiet]}"
