"""Tables of a Bayesian network from rows with gaps and hidden variables, by EM."""

# ruff: noqa: SLF001 - this is a part of BayesianNetwork

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tenfold.engine.chunk import Chunk
from tenfold.graphical._junction_tree_numba import expected_counts
from tenfold.graphical._row_queries import CHUNK_ROWS, states_in_order
from tenfold.graphical._state_rows import StateRows
from tenfold.inference.em import expectation_maximization

Tables = dict[str, np.ndarray]


def learn_by_em(net: Any, coded: StateRows) -> None:
    r"""Set the tables of a network to a maximum of the likelihood of what is known.

    .. math:: N_{v}(x, \mathrm{pa}) \leftarrow \sum_i p(x, \mathrm{pa} \mid x_i^{\text{known}}),
              \qquad p(x \mid \mathrm{pa}) \propto N_v(x, \mathrm{pa}) + \alpha

    With pseudo-counts, the sum of the log-likelihood and of :math:`\alpha \log p` is what climbs.
    """
    counts = net._count(coded)
    total = _total_weight(coded)
    complete = all(np.isclose(table.sum(), total, rtol=1e-12) for table in counts.values())
    net._set_counts(counts)
    tree = net.junction_tree()
    places = np.array([coded.names.index(v) for v in tree.names])
    rows = coded.rows.with_chunk_rows(CHUNK_ROWS)

    def e_step(tables: Tables) -> tuple[Tables, float]:
        state = tuple(tree.arrays), tree.potentials(tables)
        cells, likelihood = rows.total(_expect_chunk, coded.names, coded.coder, places, *state)
        return tree.split_tables(cells, tables), float(likelihood) + _log_prior(net, tables)

    runs = 0

    def start(rng: np.random.Generator) -> Tables:
        nonlocal runs
        runs += 1
        return {v: _start_table(table, rng, first=runs == 1) for v, table in counts.items()}

    if complete:
        found = e_step(net.tables_)[1]
        learned = {"n_iter_": 1, "converged_": True, "history_": {"objective": np.array([-found])}}
        net.log_likelihood_ = found - _log_prior(net, net.tables_)
    else:
        seed = int(check_random_state(net.random_state).randint(2**31 - 1))
        result = expectation_maximization(
            e_step, net._tables_of, start, tol=net.tol, max_iter=net.max_iter,
            n_init=net.n_init, random_state=seed,
        )  # fmt: skip
        net.family_counts_, net.tables_ = result.expectations, result.parameters
        net.log_likelihood_ = result.log_likelihood - _log_prior(net, result.parameters)
        learned = result.report
    for name, value in learned.items():
        setattr(net, name, value)
    if not net.converged_:
        warnings.warn(
            f"{type(net).__name__}: EM did not converge in max_iter={net.max_iter} iterations; "
            "raise max_iter or loosen tol",
            ConvergenceWarning,
            stacklevel=3,
        )


def _total_weight(coded: StateRows) -> float:
    return float(coded.rows.total(_chunk_weight))


def _chunk_weight(chunk: Chunk) -> float:
    return chunk.weight


def _expect_chunk(
    chunk: Chunk, names: Any, coder: Any, places: np.ndarray, tree: Any, potentials: np.ndarray
) -> tuple[np.ndarray, float]:
    states = states_in_order(chunk, names, coder, places)
    return expected_counts(tree, potentials, states, chunk.weights().astype(np.float64))


def _log_prior(net: Any, tables: Tables) -> float:
    """Pseudo-counts times log-probabilities, which EM maximizes along with the likelihood."""
    total = 0.0
    for name, table in tables.items():
        added = np.broadcast_to(net._pseudo_counts(name, table.shape), table.shape)
        used = added > 0
        with np.errstate(divide="ignore"):
            total += float((added[used] * np.log(table[used])).sum())
    return total


def _start_table(counts: np.ndarray, rng: np.random.Generator, *, first: bool) -> np.ndarray:
    """Shares of the complete families where there are any, in the first start; else at random."""
    size = counts.shape[-1]
    if first and counts.any():
        filled = counts + 1.0
        return filled / filled.sum(axis=-1, keepdims=True)
    return rng.dirichlet(np.ones(size), counts.shape[:-1] or None)
