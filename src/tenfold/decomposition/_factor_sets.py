"""The sets in which codes and atoms may lie, and the best codes and atoms within them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.decomposition._row_solvers_numba import descend_rows
from tenfold.decomposition._sparse_codes_numba import orthogonal_matching_pursuit
from tenfold.math.linalg import solve_psd

CODE_SETS = ("free", "nonnegative", "simplex", "ball", "box", "one_hot", "k_sparse")
DICTIONARY_SETS = (
    "free",
    "nonnegative",
    "simplex",
    "ball",
    "nonnegative_ball",
    "box",
    "orthonormal",
)
_MAX_SWEEPS, _SWEEP_TOL = 1000, 1e-11
_MAX_GRADIENT_STEPS, _STEP_TOL = 300, 1e-9
_MAX_ATOM_SWEEPS = 50


class CodeSet(NamedTuple):
    """Where codes lie, their penalties, and how many inner steps find them (0: until the end)."""

    kind: Any
    l1: float = 0.0
    l2: float = 0.0
    inner_iter: int = 0
    n_nonzero: int = 1

    @property
    def needs_start(self) -> bool:
        """Whether codes depend on those of the last pass: steps of projected gradients."""
        if self.kind in ("one_hot", "k_sparse"):
            return False  # these are found anew, without steps
        projected = callable(self.kind) or self.kind in ("simplex", "ball", "box")
        return projected or bool(self.inner_iter)


def project_rows(V: np.ndarray, kind: Any) -> np.ndarray:
    """The nearest point of the set for each row.

    Examples
    --------
    >>> import numpy as np
    >>> project_rows(np.array([[0.9, 0.5, -1.0]]), "simplex").round(12).tolist()
    [[0.7, 0.3, 0.0]]
    """
    if callable(kind):
        return np.array([kind(row) for row in V]).reshape(V.shape)
    return _PROJECTIONS[kind](V)


def _project_simplex(V: np.ndarray) -> np.ndarray:
    descending = -np.sort(-V, axis=1)
    counts = np.arange(1, V.shape[1] + 1)
    thresholds = (np.cumsum(descending, axis=1) - 1.0) / counts
    last = (descending > thresholds).sum(axis=1) - 1
    return np.maximum(V - thresholds[np.arange(len(V)), last][:, None], 0.0)


def _project_ball(V: np.ndarray) -> np.ndarray:
    return V / np.maximum(np.linalg.norm(V, axis=1), 1.0)[:, None]


_PROJECTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "free": lambda V: V,
    "nonnegative": lambda V: np.maximum(V, 0.0),
    "simplex": _project_simplex,
    "ball": _project_ball,
    "nonnegative_ball": lambda V: _project_ball(np.maximum(V, 0.0)),
    "box": lambda V: np.clip(V, 0.0, 1.0),
}


def find_codes(C: np.ndarray, G: np.ndarray, codes: CodeSet, Z: np.ndarray | None) -> np.ndarray:
    """Codes in a set, for rows with the products C with atoms whose products are G."""
    kind = codes.kind
    if kind == "one_hot":
        best = (C - 0.5 * G.diagonal()).argmax(axis=1)
        return np.eye(len(G))[best]
    if kind == "k_sparse":
        Z = np.zeros(C.shape)
        orthogonal_matching_pursuit(C, G, codes.n_nonzero, Z)
        return Z
    Z = project_rows(np.zeros(C.shape), kind) if Z is None else Z.copy()
    if codes.inner_iter or codes.needs_start:
        return _gradient_codes(C, G, codes, Z)
    if kind == "free" and codes.l1 == 0:
        return solve_psd(G + codes.l2 * np.eye(len(G)), C.T).T
    tol = _SWEEP_TOL * float(np.abs(C).max(initial=0.0))
    positive = kind == "nonnegative"
    descend_rows(Z, C, G, codes.l1, codes.l2, positive, _MAX_SWEEPS, 0.0, tol)
    return Z


def _gradient_codes(C: np.ndarray, G: np.ndarray, codes: CodeSet, Z: np.ndarray) -> np.ndarray:
    """Steps of projected gradient descent, of length 1 / (largest curvature)."""
    curvature = float(np.linalg.eigvalsh(G)[-1]) + codes.l2
    if curvature <= 0:
        return Z
    active = np.arange(len(Z))
    for _ in range(codes.inner_iter or _MAX_GRADIENT_STEPS):
        old = Z[active]
        moved = old + (C[active] - old @ G - codes.l2 * old) / curvature
        if codes.l1:
            moved = np.sign(moved) * np.maximum(np.abs(moved) - codes.l1 / curvature, 0.0)
        new = project_rows(moved, codes.kind)
        Z[active] = new
        active = active[np.abs(new - old).max(axis=1) > _STEP_TOL * np.abs(new).max(axis=1)]
        if not len(active):
            break
    return Z


class AtomSet(NamedTuple):
    """Where atoms lie, their penalties, and how many sweeps over them (0: until the end)."""

    kind: Any
    l1: float = 0.0
    l2: float = 0.0
    inner_iter: int = 0

    def penalty(self, D: np.ndarray) -> float:
        """Value of the penalties."""
        return self.l1 * float(np.abs(D).sum()) + 0.5 * self.l2 * float((D * D).sum())


def find_atoms(D: np.ndarray, gram: np.ndarray, cross: np.ndarray, atoms: AtomSet) -> np.ndarray:
    """The best atoms of a set for codes with Z'Z = gram and Z'X = cross: all, or each in turn."""
    if atoms.kind == "orthonormal":
        U, _, Vt = np.linalg.svd(cross, full_matrices=False)
        return U @ Vt
    if atoms.kind == "free" and atoms.l1 == 0 and not atoms.inner_iter:
        return solve_psd(gram + atoms.l2 * np.eye(len(gram)), cross)
    D = D.copy()
    for _ in range(atoms.inner_iter or _MAX_ATOM_SWEEPS):
        largest = 0.0
        for k in range(len(D)):
            curvature = gram[k, k] + atoms.l2
            if curvature <= 0:
                continue
            best = (cross[k] - gram[k] @ D + gram[k, k] * D[k]) / curvature
            if atoms.l1:
                best = np.sign(best) * np.maximum(np.abs(best) - atoms.l1 / curvature, 0.0)
            best = project_rows(best[None], atoms.kind)[0]
            largest = max(largest, float(np.abs(best - D[k]).max()))
            D[k] = best
        if largest <= _STEP_TOL * float(np.abs(D).max(initial=0.0)):
            break
    return D
