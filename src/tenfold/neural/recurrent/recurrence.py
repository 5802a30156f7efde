"""What layers with a state share: the walk along a sequence, and back-propagation through time.

The same weights serve at every step, so their slopes are sums over the steps [003, lecture 10].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.initial import weights
from tenfold.neural.layer import Shape, Way, misfit
from tenfold.neural.recurrent.cells import GRU, TANH
from tenfold.neural.recurrent.walks import along, back_along
from tenfold.neural.scratch import empty

Flag = bool | None
Cell = tuple[Flag, Flag, Flag, Flag]  # one of those of `cells`


class Walk(NamedTuple):
    """What the way back needs of the way along: all arrays are time-major."""

    x: np.ndarray  # (t, n, p)
    gates: np.ndarray  # (t, n, g u)
    states: np.ndarray  # (t + 1, n, u)
    memory: np.ndarray  # (t + 1, n, u), or no width
    there: np.ndarray  # (t, n), or empty


class Recurrent:
    """What layers with a state share; they differ in the cell.

    Parameters are the weights of the input (p, g u) and of the old state (u, g u), and the offset
    (g u,), for g gates side by side. Weights begin as in Keras: Glorot for the input, orthogonal
    for the state, offsets zero.
    """

    __slots__ = ()
    units: int
    all_states: bool
    truncate: int | None
    cell: Cell = TANH
    gates: tuple[float, ...] = (1.0,)  # 1 for a tanh, 1/2 for a sigmoid
    keeps = False  # whether the cell keeps more than its state

    def kind(self) -> Cell:
        """Which cell."""
        return self.cell

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise misfit(self, shape, "(steps, numbers)")  # pyright: ignore[reportArgumentType]
        self.kind()  # is there such a cell?
        if self.truncate is not None and self.truncate < 1:
            raise ValueError(f"truncate={self.truncate}: give a number of steps, at least 1")
        return (shape[0], self.units) if self.all_states else (self.units,)

    def mask(self, way: Way) -> np.ndarray | None:
        """The last state is no sequence any more."""
        return way.mask if self.all_states else None

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        u, g = self.units, self.gates
        W = [weights("glorot_uniform", None, (shape[-1], u), rng, dtype) for _ in g]
        U = [weights("orthogonal", None, (u, u), rng, dtype) for _ in g]
        return [np.hstack(W), np.hstack(U), self.offset(dtype)]

    def offset(self, dtype: Any) -> np.ndarray:
        """Offset to start from."""
        return np.zeros(len(self.gates) * self.units, dtype)

    def scale(self, dtype: Any) -> np.ndarray:
        """What kind of gate each number goes into."""
        return np.repeat(np.array(self.gates, dtype), self.units)

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Walk]:
        W, U, b = params
        n, t, _ = x.shape
        x = time_major(x, W.dtype)
        there = np.zeros((0, 0), bool) if way.mask is None else np.ascontiguousarray(way.mask.T)
        states = begun((t + 1, n, self.units), W.dtype)
        memory = begun((t + 1, n, self.units if self.keeps else 0), W.dtype)
        gates, back = empty((t, n, W.shape[1]), W.dtype), np.zeros((n, W.shape[1]), W.dtype)
        np.matmul(flat(x), W, out=flat(gates))
        scale = self.scale(W.dtype)
        along(*self.kind(), gates, back, aligned(U), b, scale, there, states, memory)
        walk = Walk(x, gates, states, memory, there)
        return self.shown(walk), walk

    def shown(self, walk: Walk) -> np.ndarray:
        """The last state, or all of them: zero at steps that are not there."""
        if not self.all_states:
            return walk.states[-1].copy()
        states = np.ascontiguousarray(walk.states[1:].swapaxes(0, 1))
        return states * walk.there.T[:, :, None] if len(walk.there) else states

    def backward(
        self, params: list, kept: Walk, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """As of every layer, but `kept` serves once: the gates are overwritten."""
        W, U, _ = params
        x, gates, states, memory, there = kept
        slopes = states[:0]
        last = np.zeros_like(states[0])
        if self.all_states:
            slopes = time_major(slope, W.dtype)
            slopes = slopes * there[:, :, None] if len(there) else slopes
        else:
            last += slope
        side = empty(gates.shape, gates.dtype) if self.cell == GRU else gates
        flows, through, down = self.flows(kept), np.empty_like(last), np.zeros_like(memory[0])
        how = side, aligned(U.T), there, flows, slopes, last, through, states, memory, down
        back_along(*self.kind(), gates, *how)
        into, returned = flat(gates), flat(side)  # slopes of what the input and the old state say
        offset = into.sum(axis=0)
        if self.cell == GRU:  # it adds one offset to what comes back from the old state
            offset = np.append(offset, returned[:, 2 * self.units :].sum(axis=0))
        own = [flat(x).T @ into, flat(states[: len(x)]).T @ returned, offset]
        if not need_input:
            return None, own
        return np.matmul(into, W.T).reshape(x.shape).swapaxes(0, 1), own

    def flows(self, walk: Walk) -> np.ndarray:
        """Where slopes flow from a step to the one before: every `truncate` steps they do not."""
        if self.truncate is None:
            return walk.there[:0]
        there = walk.there if len(walk.there) else np.ones(walk.x.shape[:2], bool)
        left = there[::-1].cumsum(axis=0)[::-1]  # steps from here to the end of each sequence
        return ~there | (left % self.truncate != 0)


def flat(x: np.ndarray) -> np.ndarray:
    """All steps of all rows below each other."""
    return x.reshape(-1, x.shape[2])


def time_major(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Steps before rows."""
    turned = empty((x.shape[1], x.shape[0], *x.shape[2:]), dtype)
    turned[:] = x.swapaxes(0, 1)
    return turned


def begun(shape: Shape, dtype: Any) -> np.ndarray:
    """An array over the steps, of which the first is zero; a walk sets the others."""
    array = empty(shape, dtype)
    array[0] = 0
    return array


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 64 bytes: products with it take half the time."""
    room = np.empty(array.size + 64 // array.itemsize, array.dtype)
    start = -room.ctypes.data % 64 // array.itemsize
    copy = room[start : start + array.size].reshape(array.shape)
    copy[:] = array
    return copy
