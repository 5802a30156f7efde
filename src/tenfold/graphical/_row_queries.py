"""Questions to a Bayesian network about every row of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.chunk import Chunk
from tenfold.graphical._junction_tree import JunctionTree
from tenfold.graphical._junction_tree_numba import (
    best_rows,
    marginal_rows,
    score_rows,
    target_rows,
)
from tenfold.graphical._network_queries import NetworkQueries, state_array
from tenfold.graphical._state_rows import StateRows, encode_chunk, open_states, work_context
from tenfold.io.opener import has_names, is_rows_like

CHUNK_ROWS = 1024  # a row is a pass over the junction tree


class RowQueries(NetworkQueries):
    """Likelihood, predictions and gaps of rows; rows of any pattern of gaps are equally fast."""

    def log_prob(self, X: Any) -> np.ndarray:
        """Log-probability of each row; missing values are summed out.

        Parameters
        ----------
        X : as for `fit`
            The rows; None or NaN is missing, and so is an absent column.
        """
        try:
            tree = self.junction_tree()
        except MemoryError:
            return self._each_wide(X, self.log_evidence)
        return self._each(X, _score_chunk, tree)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability of the rows.

        Parameters
        ----------
        X, y : as for `fit`
            The rows.
        """
        return float(self.log_prob(X).mean())

    def predict_proba(self, X: Any, variable: str | None = None) -> Any:
        """Distribution of a variable in each row, given what the row knows of the others.

        Parameters
        ----------
        X : as for `fit`
            The rows; a column of the variable itself is not looked at.
        variable : str, optional
            The variable; without it a dictionary of the distributions of all variables given all
            that each row knows.

        Returns
        -------
        (n, states of the variable) array, or a dict of them
        """
        check_is_fitted(self, "tables_")
        if variable is None:
            tree = self.junction_tree()
            found = self._each(X, _marginal_chunk, tree)
            _check_possible(found)
            parts = np.split(found, tree.arrays.state_start[1:-1], axis=1)
            return dict(zip(tree.names, parts, strict=True))
        try:
            tree = self.junction_tree((variable,))
        except MemoryError:
            return self._each_wide(X, lambda known: self.query(variable, known).table, variable)
        found = self._each(X, _target_chunk, tree, tree.names.index(variable), without=variable)
        _check_possible(found)
        return found

    def predict(self, X: Any, variable: str) -> np.ndarray:
        """The most probable state of a variable in each row, given the others.

        Parameters
        ----------
        X : as for `fit`
            The rows; a column of the variable itself is not looked at.
        variable : str
            The variable.
        """
        best = self.predict_proba(X, variable).argmax(axis=1)
        return state_array(self.states_[variable])[best]

    def impute(self, X: Any) -> dict[str, np.ndarray]:
        """Rows with missing values replaced by their most probable states together.

        Parameters
        ----------
        X : as for `fit`
            The rows.

        Returns
        -------
        dict, variable -> column of states
        """
        tree = self.junction_tree()
        found = self._each(X, _best_chunk, tree)
        if (found < 0).any():
            row = int(np.argmax((found < 0).any(axis=1)))
            raise ValueError(f"row {row}: what is known has probability zero")
        return {v: state_array(self.states_[v])[found[:, at]] for at, v in enumerate(tree.names)}

    def _open(self, X: Any, without: str | None = None) -> StateRows:
        """Rows of a table as numbers of the network's states, but for one variable."""
        names = self._order()
        if without is None:
            return open_states(X, names, states=self.states_, absent=True)
        others = [v for v in names if v != without]
        if isinstance(X, np.ndarray) and X.ndim == 2 and not X.dtype.names:
            if X.shape[1] == len(names):
                X = np.delete(X, names.index(without), axis=1)
            return open_states(X, others, states=self.states_, absent=True)
        if is_rows_like(X) and not has_names(X):
            return open_states(X, names, states=self.states_, absent=True)
        return open_states(X, others, states=self.states_, absent=True)

    def _each_wide(
        self, X: Any, answer: Callable[[dict[str, Any]], Any], without: str | None = None
    ) -> np.ndarray:
        """Answers row by row, where what a row knows makes a wide network narrow enough."""
        coded = self._open(X, without)
        names = [v for v in coded.names if v != without]
        answers: dict[tuple[int, ...], Any] = {}
        found = []
        places = [coded.names.index(v) for v in names]
        for row in coded.encode(coded.rows.gather())[places].T.tolist():
            if (key := tuple(row)) not in answers:
                known = {v: self.states_[v][s] for v, s in zip(names, row, strict=True) if s >= 0}
                answers[key] = answer(known)
            found.append(answers[key])
        return np.array(found)

    def _each(
        self,
        X: Any,
        f: Callable[..., np.ndarray],
        tree: JunctionTree,
        *state: Any,
        without: str | None = None,
    ) -> np.ndarray:
        with work_context(self):
            coded = self._open(X, without)
            rows = coded.rows.with_chunk_rows(CHUNK_ROWS)
            places = [coded.names.index(v) if v in coded.names else -1 for v in tree.names]
            potentials = tree.potentials(self.tables_)
            coder = coded.names, coded.coder, np.array(places)
            return rows.each(f, *coder, tuple(tree.arrays), potentials, *state)


def _check_possible(found: np.ndarray) -> None:
    impossible = np.isnan(found).any(axis=1)
    if impossible.any():
        raise ValueError(f"row {int(np.argmax(impossible))}: what is known has probability zero")


def states_in_order(
    chunk: Chunk, names: list[str], coder: tuple[np.ndarray, ...], places: np.ndarray
) -> np.ndarray:
    """Numbers of states, (variables, rows), in the order of a junction tree."""
    coded = encode_chunk(chunk, names, coder)
    found = np.full((len(places), coded.shape[1]), -1, np.int16)
    found[places >= 0] = coded[places[places >= 0]]
    return found


def _score_chunk(
    chunk: Chunk, names: Any, coder: Any, places: Any, tree: Any, potentials: np.ndarray
) -> np.ndarray:
    return score_rows(tree, potentials, states_in_order(chunk, names, coder, places))


def _target_chunk(
    chunk: Chunk, names: Any, coder: Any, places: Any, tree: Any, potentials: Any, target: int
) -> np.ndarray:
    hidden = places.copy()
    hidden[target] = -1
    states = states_in_order(chunk, names, coder, hidden)
    return target_rows(tree, potentials, states, target)


def _marginal_chunk(
    chunk: Chunk, names: Any, coder: Any, places: Any, tree: Any, potentials: np.ndarray
) -> np.ndarray:
    return marginal_rows(tree, potentials, states_in_order(chunk, names, coder, places))


def _best_chunk(
    chunk: Chunk, names: Any, coder: Any, places: Any, tree: Any, potentials: np.ndarray
) -> np.ndarray:
    filled, _ = best_rows(tree, potentials, states_in_order(chunk, names, coder, places))
    return np.ascontiguousarray(filled.T)
