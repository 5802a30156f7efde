"""Tables over discrete variables: products, sums, maxima."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Factor(NamedTuple):
    """A table with an axis for each of its variables.

    Attributes
    ----------
    variables : names, in the order of the axes
    table : array
    states : names of the states of each variable, if they have names

    Examples
    --------
    >>> a = Factor(("x",), np.array([0.2, 0.8]))
    >>> b = Factor(("x", "y"), np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> a.multiply(b).sum_out(["x"]).table.round(2).tolist()
    [0.18, 0.82]
    """

    variables: tuple[str, ...]
    table: np.ndarray
    states: tuple[tuple[Any, ...], ...] | None = None

    def multiply(self, other: Factor) -> Factor:
        """The product; variables of both tables share an axis."""
        variables = self.variables + tuple(v for v in other.variables if v not in self.variables)
        return Factor(variables, self.expand(variables) * other.expand(variables))

    def divide(self, other: Factor) -> Factor:
        """The quotient by a table of some of the variables; 0 / 0 is 0."""
        below = np.broadcast_to(other.expand(self.variables), self.table.shape)
        return Factor(
            self.variables,
            np.divide(self.table, below, out=np.zeros_like(self.table), where=below != 0),
        )

    def expand(self, variables: tuple[str, ...]) -> np.ndarray:
        """The table with axes in the order of more variables, of length one where it has none."""
        order = [self.variables.index(v) for v in variables if v in self.variables]
        shape = [
            self.table.shape[self.variables.index(v)] if v in self.variables else 1
            for v in variables
        ]
        return self.table.transpose(order).reshape(shape)

    def sum_out(self, variables: Iterable[str]) -> Factor:
        """The sum over the states of some variables."""
        return self._reduce(np.sum, variables)

    def max_out(self, variables: Iterable[str]) -> Factor:
        """The maximum over the states of some variables."""
        return self._reduce(np.max, variables)

    def _reduce(self, function: Any, variables: Iterable[str]) -> Factor:
        gone = set(variables)
        axes = tuple(axis for axis, v in enumerate(self.variables) if v in gone)
        kept = tuple(v for v in self.variables if v not in gone)
        return Factor(kept, np.asarray(function(self.table, axis=axes)))

    def select(self, evidence: Mapping[str, int]) -> Factor:
        """The table with some variables fixed at numbered states."""
        index = tuple(evidence.get(v, slice(None)) for v in self.variables)
        kept = tuple(v for v in self.variables if v not in evidence)
        return Factor(kept, self.table[index])

    def reorder(self, variables: Iterable[str]) -> Factor:
        """The same table with its axes in another order."""
        variables = tuple(variables)
        return Factor(variables, self.expand(variables))

    def normalize(self) -> Factor:
        """The table divided by its sum."""
        total = self.table.sum()
        if not total > 0:
            raise ValueError("the evidence has probability zero: no distribution is left")
        return self._replace(table=self.table / total)

    def to_dict(self) -> dict[Any, float]:
        """Probability of each state, or of each combination of states."""
        names = self.states or tuple(tuple(range(n)) for n in self.table.shape)
        found = {}
        for index in np.ndindex(*self.table.shape):
            key = tuple(names[axis][state] for axis, state in enumerate(index))
            found[key[0] if len(key) == 1 else key] = float(self.table[index])
        return found


def multiply_all(factors: Iterable[Factor]) -> Factor:
    """The product of some tables."""
    product = Factor((), np.ones(()))
    for factor in factors:
        product = product.multiply(factor)
    return product
