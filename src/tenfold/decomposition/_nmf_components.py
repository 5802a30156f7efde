"""The components' half of an iteration of non-negative factorization, from the sums of a pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.decomposition._divergences import TINY, exponent_of, scale_factor
from tenfold.decomposition._hoyer import project_sparse
from tenfold.decomposition._nmf_steps import CodeStep, FactorSums
from tenfold.decomposition._row_solvers_numba import (
    descend_own_rows,
    descend_rows,
    solve_nonnegative_rows,
)


class Penalties(NamedTuple):
    """L1 and squared L2 penalties on the codes W and on the components H."""

    l1_codes: float
    l2_codes: float
    l1_components: float
    l2_components: float

    def of(self, s: FactorSums, Ht: np.ndarray) -> float:
        """Their value."""
        of_codes = self.l1_codes * float(s.usage.sum()) + 0.5 * self.l2_codes * s.squares
        return of_codes + self.of_components(Ht)

    def of_components(self, Ht: np.ndarray) -> float:
        """The value of those on H."""
        return self.l1_components * float(Ht.sum()) + 0.5 * self.l2_components * float(
            (Ht * Ht).sum()
        )


def update_components(
    Ht: np.ndarray, s: FactorSums, step: CodeStep, penalties: Penalties, sparseness: float
) -> tuple[np.ndarray, float]:
    """The next components, (p, k), and the violation before."""
    Ht = Ht.copy()
    l1, l2 = penalties.l1_components, penalties.l2_components
    if step.beta != 2 or (step.solver == "mu" and step.masked):
        down = s.gram + l1 + l2 * Ht
        dead = TINY if step.beta <= 1 else 0.0
        return scale_factor(Ht, s.cross, down, exponent_of(step.beta), dead), 0.0
    if step.masked:
        limits = step.max_steps, step.ratio, 0.0
        return Ht, descend_own_rows(Ht, s.cross, s.gram, l1, l2, *limits)
    if sparseness:
        return _sparse_components(Ht, s, l1, l2, sparseness), 0.0
    if step.solver == "cd":
        limits = step.max_steps, step.ratio, 0.0
        violation, _ = descend_rows(Ht, s.cross, s.gram, l1, l2, True, *limits)
        return Ht, violation
    if step.solver == "anls":
        solve_nonnegative_rows(Ht, s.cross, s.gram, l1, l2)
        return Ht, 0.0
    if step.solver == "pg":
        curvature = float(np.linalg.eigvalsh(s.gram)[-1]) + l2
        for _ in range(step.max_steps if curvature > 0 else 0):
            downhill = s.cross - Ht @ s.gram - l1 - l2 * Ht
            Ht = np.maximum(Ht + downhill / curvature, 0.0)
        return Ht, 0.0
    return scale_factor(Ht, s.cross, Ht @ s.gram + l1 + l2 * Ht, 1.0), 0.0


def _sparse_components(
    Ht: np.ndarray, s: FactorSums, l1: float, l2: float, sparseness: float
) -> np.ndarray:
    """Each component in turn: the best one, given the others, of at least a sparseness."""
    for t in range(Ht.shape[1]):
        curvature = s.gram[t, t] + l2
        if curvature <= 0:
            continue
        others = Ht @ s.gram[t] - Ht[:, t] * s.gram[t, t]
        best = (s.cross[:, t] - others - l1) / curvature
        Ht[:, t] = project_sparse(best[None], sparseness)[0]
    return Ht


def quadratic_cost(s: FactorSums, Ht: np.ndarray, squares: float, masked: bool) -> float:
    """Half the squared error of components with the codes of a pass, from its sums."""
    if not masked:
        fitted = float((s.gram * (Ht.T @ Ht)).sum())
        return 0.5 * (squares - 2 * float((s.cross * Ht).sum()) + fitted)
    a, b = np.triu_indices(Ht.shape[1])
    products = Ht[:, a] * Ht[:, b] * np.where(a == b, 1.0, 2.0)
    return s.cost - float((s.cross * Ht).sum()) + 0.5 * float((s.gram * products).sum())
