"""Joint probabilities of several finite variables: marginals, conditionals, independence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tenfold.distributions.finite import PROBABILITY_SUM_TOLERANCE, FiniteDistribution


class JointTable:
    r"""Joint probabilities with a named axis for each variable.

    .. math:: p(x) = \sum_y p(x, y), \qquad p(x \mid y) = \frac{p(x, y)}{p(y)}, \qquad
              p(y \mid x) = \frac{p(x \mid y)\, p(y)}{p(x)}

    Parameters
    ----------
    p : array
        Probabilities, an axis for each variable.
    axes : dict
        Name and values of each variable, in the order of the axes.

    Examples
    --------
    A test for a rare disease is right in 95 % of all cases. It is positive:

    >>> test = JointTable.from_conditional(
    ...     FiniteDistribution(["ill", "well"], [0.05, 0.95]),
    ...     [[0.95, 0.05], [0.05, 0.95]],
    ...     ("patient", "result"),
    ...     ["positive", "negative"],
    ... )
    >>> test.given(result="positive").distribution("patient")
    FiniteDistribution('ill': 0.5, 'well': 0.5)
    >>> test.independent("patient", "result")
    False
    """

    def __init__(self, p: Any, axes: Mapping[str, Sequence[Any]]) -> None:
        self.p = np.asarray(p, np.float64)
        self.axes = {name: list(values) for name, values in axes.items()}
        shape = tuple(map(len, self.axes.values()))
        if self.p.shape != shape:
            raise ValueError(f"the table has the shape {self.p.shape}, its axes are {shape}")
        if not (self.p >= 0).all() or abs(self.p.sum() - 1) > PROBABILITY_SUM_TOLERANCE:
            raise ValueError("probabilities must not be negative and must sum to 1")

    @classmethod
    def from_conditional(
        cls, first: FiniteDistribution, given: Any, names: tuple[str, str], values: Sequence[Any]
    ) -> JointTable:
        """The table of p(x) p(y | x); row i of `given` has the probabilities of y if x is i."""
        p = first.p[:, None] * np.asarray(given, np.float64)
        return cls(p, {names[0]: first.outcomes, names[1]: values})

    @classmethod
    def from_rows(cls, columns: Mapping[str, Sequence[Any]], w: Any = None) -> JointTable:
        """The shares of each combination of values in data, a sequence of values for each name.

        Examples
        --------
        >>> JointTable.from_rows({"x": [0, 0, 1, 1], "y": [0, 1, 1, 1]}).p.tolist()
        [[0.25, 0.25], [0.0, 0.5]]
        """
        encoded = {n: np.unique(np.asarray(v), return_inverse=True) for n, v in columns.items()}
        indices = tuple(inverse for _, inverse in encoded.values())
        p = np.zeros([len(values) for values, _ in encoded.values()])
        np.add.at(p, indices, 1.0 if w is None else np.asarray(w, np.float64))
        return cls(p / p.sum(), {name: values.tolist() for name, (values, _) in encoded.items()})

    def _place(self, *names: str) -> list[int]:
        order = list(self.axes)
        if unknown := set(names) - set(order):
            raise ValueError(f"no axis is called {sorted(unknown)}; there are {order}")
        return [order.index(name) for name in names]

    def marginal(self, *names: str) -> JointTable:
        """The table of some of the variables, in this order."""
        keep = self._place(*names)
        rest = tuple(i for i in range(self.p.ndim) if i not in keep)
        p = np.transpose(self.p.sum(axis=rest), np.argsort(np.argsort(keep)))
        return JointTable(p, {name: self.axes[name] for name in names})

    def given(self, **values: Any) -> JointTable:
        """The conditional table of the other variables, given values of these."""
        p = self._slice(values)
        if not p.sum() > 0:
            raise ValueError(f"{values} has probability zero: nothing can be conditioned on it")
        rest = {name: v for name, v in self.axes.items() if name not in values}
        return JointTable(p / p.sum(), rest)

    def probability(self, **values: Any) -> float:
        """Probability that these variables have the given values."""
        return float(self._slice(values).sum())

    def _slice(self, values: Mapping[str, Any]) -> np.ndarray:
        self._place(*values)
        where = [
            self.axes[name].index(values[name]) if name in values else slice(None)
            for name in self.axes
        ]
        return self.p[tuple(where)]

    def conditional(self, *names: str) -> np.ndarray:
        """Probabilities of the other variables given those of `names`, axes in the old order.

        They sum to 1 for each combination of `names` that is possible, and are 0 for others.
        """
        rest = tuple(i for i in range(self.p.ndim) if i not in self._place(*names))
        total = self.p.sum(axis=rest, keepdims=True)
        return np.divide(self.p, total, out=np.zeros_like(self.p), where=total > 0)

    def distribution(self, name: str) -> FiniteDistribution:
        """Probabilities of one variable."""
        return FiniteDistribution(self.axes[name], self.marginal(name).p)

    def expectation(self, f: Callable[..., Any], *names: str) -> float:
        """Mean of f of the named variables, given as arrays that broadcast."""
        table = self.marginal(*names)
        grid = np.meshgrid(*table.axes.values(), indexing="ij", sparse=True)
        return float((table.p * f(*grid)).sum())

    def dependence(self, x: str, y: str, given: Sequence[str] = ()) -> float:
        """The largest difference of p(x, y, z) and p(x | z) p(y | z) p(z)."""
        table = self.marginal(x, y, *given)
        p = table.p
        total = p.sum(axis=(0, 1), keepdims=True)
        sides = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
        product = np.divide(sides, total, out=np.zeros_like(sides), where=total > 0)
        return float(np.abs(p - product).max())

    def independent(self, x: str, y: str, given: Sequence[str] = (), *, tol: float = 1e-10) -> bool:
        """Whether two variables are independent, or are so given the values of others.

        Examples
        --------
        Two tosses of an unknown coin are dependent, but independent given the coin:

        >>> p = np.stack([0.5 * np.outer(q, q) for q in ([0.9, 0.1], [0.2, 0.8])])
        >>> table = JointTable(p, {"coin": [0, 1], "first": [0, 1], "second": [0, 1]})
        >>> table.independent("first", "second"), table.independent("first", "second", ["coin"])
        (False, True)
        """
        return self.dependence(x, y, given) <= tol
