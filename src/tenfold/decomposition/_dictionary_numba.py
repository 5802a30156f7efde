"""Compiled block coordinate descent over the atoms of a dictionary."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_atoms(D, gram, cross, unused, positive, max_sweeps, tol):  # noqa: C901
    """Make each atom in turn the best of length at most 1, in place, until none moves by `tol`."""
    k, p = D.shape
    step = np.empty(p)
    for _ in range(max_sweeps):
        largest = 0.0
        for a in range(k):
            if unused[a]:
                continue
            for j in range(p):
                step[j] = cross[a, j]
            for b in range(k):
                share = gram[a, b]
                if share != 0.0:
                    for j in range(p):
                        step[j] -= share * D[b, j]
            square = 0.0
            for j in range(p):
                step[j] = D[a, j] + step[j] / gram[a, a]
                if positive and step[j] < 0.0:
                    step[j] = 0.0
                square += step[j] * step[j]
            scale = 1.0 / max(np.sqrt(square), 1.0)
            for j in range(p):
                entry = step[j] * scale
                largest = max(largest, abs(entry - D[a, j]))
                D[a, j] = entry
        if largest <= tol:
            break
