"""Exact inference with linear-Gaussian nodes: one Gaussian for each state of the discrete nodes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from tenfold.graphical.directed_graph import DirectedGraph

_MAX_CONFIGURATIONS = 2**16


class LinearGaussian(NamedTuple):
    """The distribution of a number given its parents, for each state of its discrete parents.

    Attributes
    ----------
    intercept : array with an axis for each discrete parent
    coef : the same with one more axis, for the parents that are numbers
    variance : as the intercept
    """

    intercept: np.ndarray
    coef: np.ndarray
    variance: np.ndarray


class GaussianAnswer(NamedTuple):
    """The distribution of some numbers: a mixture of Gaussians, one if nothing discrete is unknown.

    Attributes
    ----------
    variables : names, in the order of the means
    mean, covariance : of the whole distribution
    weights, means, covariances : of the components
    """

    variables: tuple[str, ...]
    mean: np.ndarray
    covariance: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


class GaussianComponents(NamedTuple):
    """The joint distribution: for each combination of discrete states, a Gaussian of all numbers.

    Attributes
    ----------
    discrete : names of the discrete variables
    numbers : names of the others
    states : (k, discrete) numbers of the states of each combination
    log_prior : (k,) log-probability of each combination
    means, covariances : (k, numbers), (k, numbers, numbers)
    """

    discrete: list[str]
    numbers: list[str]
    states: np.ndarray
    log_prior: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


def expand_components(
    graph: DirectedGraph,
    sizes: dict[str, int],
    tables: Mapping[str, np.ndarray],
    gaussians: Mapping[str, LinearGaussian],
) -> GaussianComponents:
    """All combinations of discrete states with their Gaussians; too many are refused."""
    discrete = [v for v in graph.nodes if v in tables]
    numbers = [v for v in graph.nodes if v not in tables]
    count = float(np.prod([float(sizes[v]) for v in discrete]))
    if count > _MAX_CONFIGURATIONS:
        widest = sorted(discrete, key=lambda v: -sizes[v])[:6]
        raise MemoryError(
            f"the {len(discrete)} discrete variables ({', '.join(widest)}, ...) have {count:.3g} "
            f"combinations of states, each with a Gaussian of {len(numbers)} numbers "
            f"({count * 8 * len(numbers) ** 2:.3g} bytes); at most {_MAX_CONFIGURATIONS} are "
            "enumerated: draw samples, or ask with fewer discrete variables"
        )
    states = np.array(list(product(*(range(sizes[v]) for v in discrete))), np.int64)
    states = states.reshape(max(int(count), 1), len(discrete))
    log_prior = np.zeros(len(states))
    place = {v: at for at, v in enumerate(discrete)}
    for v in discrete:
        index = tuple(states[:, place[u]] for u in (*graph.parents[v], v))
        with np.errstate(divide="ignore"):
            log_prior += np.log(tables[v][index])
    means, covariances = _join_gaussians(graph, gaussians, numbers, states, place)
    return GaussianComponents(discrete, numbers, states, log_prior, means, covariances)


def _join_gaussians(
    graph: DirectedGraph,
    gaussians: Mapping[str, LinearGaussian],
    numbers: list[str],
    states: np.ndarray,
    place: dict[str, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all numbers, from parents to children."""
    k, d = len(states), len(numbers)
    means, covariances = np.zeros((k, d)), np.zeros((k, d, d))
    column = {v: at for at, v in enumerate(numbers)}
    for at, v in enumerate(numbers):
        node = gaussians[v]
        index = tuple(states[:, place[u]] for u in graph.parents[v] if u in place)
        above = [column[u] for u in graph.parents[v] if u in column]
        w = np.broadcast_to(node.coef[index], (k, len(above)))
        means[:, at] = node.intercept[index] + (w * means[:, above]).sum(axis=1)
        shared = np.einsum("ka,kab->kb", w, covariances[:, above, :at])
        covariances[:, at, :at] = shared
        covariances[:, :at, at] = shared
        spread = np.einsum("kb,kb->k", w, shared[:, above]) if above else 0.0
        covariances[:, at, at] = node.variance[index] + spread
    return means, covariances


def weigh_components(
    joint: GaussianComponents, codes: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Log of the joint density of each component and what each row knows, (n, k).

    Parameters
    ----------
    joint : GaussianComponents
    codes : (n, discrete) numbers of states, negative where they are unknown
    values : (n, numbers), NaN where they are unknown
    """
    n = len(values)
    scores = np.tile(joint.log_prior, (n, 1))
    for at in range(len(joint.discrete)):
        known = codes[:, at] >= 0
        differs = codes[known, at][:, None] != joint.states[:, at]
        scores[known] = np.where(differs, -np.inf, scores[known])
    for seen, rows in _patterns(values):
        if not seen.any():
            continue
        block = values[np.ix_(rows, np.flatnonzero(seen))]
        for c in range(len(joint.states)):
            mean, root = _known_part(joint, c, seen)
            z = np.linalg.solve(root, (block - mean).T)
            log_det = 2 * np.log(np.diag(root)).sum()
            density = -0.5 * ((z**2).sum(axis=0) + log_det + len(mean) * np.log(2 * np.pi))
            scores[rows, c] += density
    return scores


def _known_part(
    joint: GaussianComponents, c: int, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and Cholesky factor of the covariance of what is known."""
    covariance = joint.covariances[c][np.ix_(seen, seen)]
    try:
        return joint.means[c][seen], np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        names = [v for v, there in zip(joint.numbers, seen, strict=True) if there]
        raise ValueError(
            f"{', '.join(names[:6])} determine each other (their covariance is singular), so their "
            "values have no density: leave one of them out of the evidence"
        ) from None


def _patterns(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which columns are known together, and the rows of each pattern."""
    seen = ~np.isnan(values)
    kinds, inverse = np.unique(seen, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    return [(kind, np.flatnonzero(inverse == at)) for at, kind in enumerate(kinds)]


def condition_component(
    joint: GaussianComponents, c: int, seen: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, unknown) and covariance of what is unknown, given rows of what is known."""
    hidden = ~seen
    mean, covariance = joint.means[c], joint.covariances[c]
    if not seen.any():
        return np.tile(mean[hidden], (len(block), 1)), covariance[np.ix_(hidden, hidden)]
    _, root = _known_part(joint, c, seen)
    across = covariance[np.ix_(seen, hidden)]
    half = np.linalg.solve(root, across)
    z = np.linalg.solve(root, (block - mean[seen]).T)
    return mean[hidden] + z.T @ half, covariance[np.ix_(hidden, hidden)] - half.T @ half


def answer_numbers(
    joint: GaussianComponents, targets: tuple[str, ...], codes: np.ndarray, values: np.ndarray
) -> GaussianAnswer:
    """The distribution of some numbers given one row of what is known."""
    scores = weigh_components(joint, codes, values)[0]
    weights = normalize_scores(scores[None])[0]
    kept = np.flatnonzero(weights > 0)
    seen = ~np.isnan(values[0])
    free = [v for v, there in zip(joint.numbers, seen, strict=True) if not there]
    at = [free.index(v) for v in targets]
    parts = [condition_component(joint, c, seen, values[:, seen]) for c in kept.tolist()]
    means = np.array([mean[0, at] for mean, _ in parts])
    covariances = np.array([covariance[np.ix_(at, at)] for _, covariance in parts])
    share = weights[kept]
    mean = share @ means
    centered = means - mean
    whole = np.einsum("k,kab->ab", share, covariances) + (centered * share[:, None]).T @ centered
    return GaussianAnswer(targets, mean, whole, share, means, covariances)


def normalize_scores(scores: np.ndarray) -> np.ndarray:
    """Probabilities of the components of each row; an impossible row is an error."""
    total = np.asarray(logsumexp(scores, axis=1, keepdims=True))
    if not np.isfinite(total).all():
        row = int(np.argmax(~np.isfinite(total[:, 0])))
        raise ValueError(f"row {row}: what is known has probability zero")
    return np.exp(scores - total)


def expect_numbers(
    joint: GaussianComponents, weights: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Rows with unknown numbers replaced by their expectations, given weights of components."""
    filled: Any = values.copy()
    for seen, rows in _patterns(values):
        if seen.all():
            continue
        block = values[np.ix_(rows, np.flatnonzero(seen))]
        total = np.zeros((len(rows), int((~seen).sum())))
        for c in range(len(joint.states)):
            means, _ = condition_component(joint, c, seen, block)
            total += weights[rows, c][:, None] * means
        filled[np.ix_(rows, np.flatnonzero(~seen))] = total
    return filled
