"""Rows drawn from a Bayesian network: ancestral, by rejection, weighted, by Gibbs sampling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.row_random import uniforms
from tenfold.graphical._network_draws_numba import draw_rows
from tenfold.graphical._state_rows import strides_of
from tenfold.graphical.directed_graph import DirectedGraph

_MAX_ROUNDS = 1000  # of rejection: fewer than one row in a thousand agrees with the evidence
_BLOCK = 2**16  # rows that are drawn at once

Tables = dict[str, np.ndarray]
Columns = dict[str, np.ndarray]


class Evidence(NamedTuple):
    """What is known: numbers of states, and likelihoods of the states of others."""

    hard: dict[str, int]
    soft: dict[str, np.ndarray]


def draw_ancestral(
    graph: DirectedGraph, tables: Tables, n: int, seed: int, first: int = 0
) -> Columns:
    """Parents before children; a row depends on the seed and its number alone."""
    nodes = graph.nodes
    number = {name: at for at, name in enumerate(nodes)}
    flat = [np.cumsum(tables[name], axis=-1).reshape(-1) for name in nodes]
    layout = (
        np.concatenate(flat),
        np.cumsum([0, *map(len, flat)]).astype(np.int64),
        np.array([tables[name].shape[-1] for name in nodes], np.int64),
        np.array([number[p] for name in nodes for p in graph.parents[name]], np.int64),
        np.cumsum([0, *(len(graph.parents[name]) for name in nodes)]).astype(np.int64),
        np.array([s for name in nodes for s in strides_of(tables[name].shape)[:-1]], np.int64),
    )
    parts = []
    for begin in range(0, n, _BLOCK):
        rows = min(_BLOCK, n - begin)
        parts.append(draw_rows(uniforms(seed, first + begin, rows, len(nodes)), *layout))
    states = np.concatenate(parts, axis=1) if parts else np.empty((len(nodes), 0), np.int16)
    return dict(zip(nodes, states, strict=True))


def draw_rejection(
    graph: DirectedGraph, tables: Tables, n: int, known: Evidence, seed: int
) -> Columns:
    """Ancestral draws that agree with the evidence; soft evidence keeps its share of them."""
    kept: list[Columns] = []
    n, block, found = int(n), max(int(n), 1000), 0
    rng = np.random.default_rng(seed)
    for turn in range(_MAX_ROUNDS):
        rows = draw_ancestral(graph, tables, block, seed, turn * block)
        agrees = np.ones(block, bool)
        for name, state in known.hard.items():
            agrees &= rows[name] == state
        for name, likelihood in known.soft.items():
            share = likelihood / max(likelihood.max(), np.finfo(float).tiny)
            agrees &= rng.random(block) < share[rows[name]]
        kept.append({v: column[agrees] for v, column in rows.items()})
        found += int(agrees.sum())
        if found >= n:
            return {v: np.concatenate([part[v] for part in kept])[:n] for v in graph.nodes}
    raise ValueError(
        f"only {found} of {_MAX_ROUNDS * block} draws agree with the evidence: use "
        "method='gibbs', or `estimate`"
    )


def draw_weighted(
    graph: DirectedGraph, tables: Tables, n: int, known: Evidence, rng: np.random.Generator
) -> tuple[Columns, np.ndarray]:
    """Draws with the evidence fixed, and the probability of the evidence in each as a weight."""
    rows: Columns = {}
    weight = np.ones(n)
    for name in graph.nodes:
        probabilities = _conditional(graph, tables, name, rows, n)
        if name in known.hard:
            rows[name] = np.full(n, known.hard[name], np.int16)
            weight = weight * probabilities[:, known.hard[name]]
        else:
            rows[name] = _draw_states(probabilities, rng)
            if name in known.soft:
                weight = weight * known.soft[name][rows[name]]
    return rows, weight


def draw_gibbs(
    graph: DirectedGraph,
    tables: Tables,
    n: int,
    known: Evidence,
    rng: np.random.Generator,
    burn_in: int,
) -> Columns:
    """One chain for each row: each variable anew given its Markov blanket, many times."""
    rows, weight = draw_weighted(graph, tables, n, known, rng)
    if not (weight > 0).any():
        raise ValueError(
            "the chains cannot start: no draw agrees with the evidence. Draw more rows, or use "
            "`query`"
        )
    start = rng.choice(n, n, p=weight / weight.sum())
    rows = {v: column[start] for v, column in rows.items()}
    children = graph.children
    for _ in range(burn_in):
        for name in graph.nodes:
            if name in known.hard:
                continue
            p = np.array(_conditional(graph, tables, name, rows, n))
            if name in known.soft:
                p *= known.soft[name]
            for child in children[name]:
                p *= _child_likelihood(graph, tables, name, child, rows)
            rows[name] = _draw_states(p, rng)
    return rows


def _draw_states(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities."""
    cumulated = np.cumsum(probabilities, axis=1)
    draws = rng.random(len(probabilities)) * cumulated[:, -1]
    return (cumulated <= draws[:, None]).sum(axis=1).astype(np.int16)


def _conditional(
    graph: DirectedGraph, tables: Tables, name: str, rows: Columns, n: int
) -> np.ndarray:
    """Probabilities of the states of a variable in each of n rows, given its parents."""
    index = tuple(rows[parent] for parent in graph.parents[name])
    table = tables[name]
    return table[index] if index else np.broadcast_to(table, (n, len(table)))


def _child_likelihood(
    graph: DirectedGraph, tables: Tables, name: str, child: str, rows: Columns
) -> np.ndarray:
    """Probability of the child's state for each state of the variable, (n, states)."""
    family = (*graph.parents[child], child)
    index = tuple(slice(None) if v == name else rows[v] for v in family)
    moved = np.moveaxis(tables[child], family.index(name), -1)
    others = tuple(part for part in index if not isinstance(part, slice))
    return moved[others]
