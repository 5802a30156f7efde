"""Rows drawn from a Bayesian network."""

from __future__ import annotations

import numpy as np

from tenfold.graphical.directed_graph import DirectedGraph

_MAX_ROUNDS = 1000  # of rejection: fewer than one row in a thousand agrees with the evidence
_BURN_IN = 200

Tables = dict[str, np.ndarray]
Columns = dict[str, np.ndarray]


def _draw_states(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities."""
    cumulated = np.cumsum(probabilities, axis=1)
    draws = rng.random(len(probabilities)) * cumulated[:, -1]
    return (cumulated <= draws[:, None]).sum(axis=1)


def _conditional(graph: DirectedGraph, tables: Tables, name: str, rows: Columns) -> np.ndarray:
    """Probabilities of the states of a variable in each row, given its parents."""
    index = tuple(rows[parent] for parent in graph.parents[name])
    length = len(next(iter(rows.values()))) if rows else 1
    table = tables[name]
    return table[index] if index else np.broadcast_to(table, (length, len(table)))


def draw_ancestral(
    graph: DirectedGraph, tables: Tables, n: int, rng: np.random.Generator
) -> Columns:
    """Parents before children."""
    rows: Columns = {}
    for name in graph.nodes:
        index = tuple(rows[parent] for parent in graph.parents[name])
        table = tables[name]
        rows[name] = _draw_states(
            table[index] if index else np.broadcast_to(table, (n, len(table))), rng
        )
    return rows


def draw_rejection(
    graph: DirectedGraph, tables: Tables, n: int, hard: dict[str, int], rng: np.random.Generator
) -> Columns:
    """Ancestral draws that agree with the evidence."""
    kept: list[Columns] = []
    found = 0
    for _ in range(_MAX_ROUNDS):
        rows = draw_ancestral(graph, tables, max(n, 1000), rng)
        agrees = np.all(
            [rows[v] == s for v, s in hard.items()] or [np.ones(max(n, 1000), bool)], axis=0
        )
        kept.append({v: column[agrees] for v, column in rows.items()})
        found += int(agrees.sum())
        if found >= n:
            return {v: np.concatenate([part[v] for part in kept])[:n] for v in graph.nodes}
    raise ValueError(
        f"only {found} of {_MAX_ROUNDS * max(n, 1000)} draws agree with the evidence: use "
        "method='gibbs', or `estimate`"
    )


def weigh_likelihood(
    graph: DirectedGraph, tables: Tables, n: int, hard: dict[str, int], rng: np.random.Generator
) -> tuple[Columns, np.ndarray]:
    """Draws with the evidence fixed, and the probability of the evidence in each as a weight."""
    rows: Columns = {}
    weight = np.ones(n)
    for name in graph.nodes:
        index = tuple(rows[parent] for parent in graph.parents[name])
        table = tables[name]
        probabilities = table[index] if index else np.broadcast_to(table, (n, len(table)))
        if name in hard:
            rows[name] = np.full(n, hard[name])
            weight = weight * probabilities[:, hard[name]]
        else:
            rows[name] = _draw_states(probabilities, rng)
    return rows, weight


def draw_gibbs(
    graph: DirectedGraph, tables: Tables, n: int, hard: dict[str, int], rng: np.random.Generator
) -> Columns:
    """One chain for each row: each variable anew given its Markov blanket, many times."""
    rows, weight = weigh_likelihood(graph, tables, n, hard, rng)
    if not (weight > 0).any():
        raise ValueError("the chains cannot start: no draw agrees with the evidence")
    start = rng.choice(n, n, p=weight / weight.sum())
    rows = {v: column[start] for v, column in rows.items()}
    children = graph.children
    for _ in range(_BURN_IN):
        for name in graph.nodes:
            if name in hard:
                continue
            p = np.array(_conditional(graph, tables, name, rows))
            for child in children[name]:
                p = p * _child_likelihood(graph, tables, name, child, rows)
            rows[name] = _draw_states(p, rng)
    return rows


def _child_likelihood(
    graph: DirectedGraph, tables: Tables, name: str, child: str, rows: Columns
) -> np.ndarray:
    """Probability of the child's state for each state of the variable, (n, states)."""
    size = tables[name].shape[-1]
    columns = []
    for state in range(size):
        index = tuple(
            np.full(len(rows[child]), state) if v == name else rows[v]
            for v in (*graph.parents[child], child)
        )
        columns.append(tables[child][index])
    return np.column_stack(columns)
