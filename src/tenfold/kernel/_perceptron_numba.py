"""One block of rows of the kernel perceptron, row by row in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def perceptron_block(KS, KB, y, w, far, near, counts, late, step, budget):
    """Visit the rows of a block; the number of mistakes, and how many rows were forgotten.

    Parameters
    ----------
    KS, KB : kernel values of the block's rows with other rows of the fit, and with each other
    y, w : signs and weights of the block's rows
    far, near : coefficients of the other rows and of the block's own, changed in place
    counts, late : mistakes of the block's rows, and the sum of their coefficients times the number
        of the step of each change: what an average needs
    step : number of steps before this block
    budget : most rows with a coefficient, or 0 for any number
    """
    mistakes = 0
    active = np.count_nonzero(far) + np.count_nonzero(near)
    for i in range(len(y)):
        if w[i] == 0:
            continue
        score = 0.0
        for j in range(len(far)):
            score += KS[i, j] * far[j]
        for j in range(len(near)):
            score += KB[i, j] * near[j]
        if y[i] * score > 0:
            continue
        mistakes += 1
        active += near[i] == 0
        near[i] += w[i] * y[i]
        counts[i] += 1
        late[i] += w[i] * y[i] * (step + i)
        if 0 < budget < active:
            _forget_smallest(far, near, i)
            active -= 1
    return mistakes


@njit(cache=True, nogil=True)
def _forget_smallest(far, near, newest):
    """Set the smallest coefficient but that of the newest row to zero; the first one on a tie."""
    least, where = np.inf, -1
    for j in range(len(far)):
        if far[j] != 0 and abs(far[j]) < least:
            least, where = abs(far[j]), j
    for j in range(len(near)):
        if near[j] != 0 and j != newest and abs(near[j]) < least:
            least, where = abs(near[j]), len(far) + j
    if where >= len(far):
        near[where - len(far)] = 0.0
    elif where >= 0:
        far[where] = 0.0
