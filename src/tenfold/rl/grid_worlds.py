"""Worlds as Markov decision processes: grids, the 3 x 3 table, mazes, the cliff, a corridor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.ndimage import label

from tenfold.rl._arguments import check_count
from tenfold.rl._transitions import from_lists
from tenfold.rl.mdp import MDP

ACTIONS = ("up", "right", "down", "left")
_MOVES = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])


class GridWorld(MDP):
    r"""A process whose states are the free cells of a grid.

    An action moves one cell up, right, down or left. With probability `slip` it goes to one of the
    sides instead, half each; a move against a wall or the border stays in the cell.

    Parameters
    ----------
    rows : list of str
        The grid: "#" wall, "." free, "S" start, "G" goal (the process ends there), other
        characters free cells with a reward of their own.
    rewards : dict
        Reward on arrival at cells with a character, such as ``{"G": 1.0}``.
    cost : float
        Of every action.
    slip : float
        Probability of going to a side.
    ending : str
        Characters of cells in which the process ends.
    returning : str
        Characters of cells that send back to the start.

    Attributes
    ----------
    shape : (height, width)
    cells : (n_states, 2) array
        Row and column of each state; `states` holds them as pairs.
    rows : list of str

    See Also
    --------
    grid_world, maze, cliff

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import GridWorld
    >>> world = GridWorld(["S.G"], {"G": 1.0}, cost=0.1)
    >>> plan = ValueIteration(discount=1.0).fit(world)
    >>> plan.values_.round(4).tolist(), [world.actions[a] for a in plan.policy_[:2]]
    ([0.8, 0.9, 0.0], ['right', 'right'])
    """

    def __init__(
        self,
        rows: Sequence[str],
        rewards: Mapping[str, float],
        *,
        cost: float = 0.0,
        slip: float = 0.0,
        ending: str = "G",
        returning: str = "",
    ) -> None:
        is_list = isinstance(rows, Sequence) and all(isinstance(row, str) for row in rows)
        if isinstance(rows, str) or not is_list or len({len(row) for row in rows}) != 1:
            raise ValueError(f"rows={rows!r}: expected a list of texts of the same length")
        grid = np.array([list(row) for row in rows])
        if not 0 <= slip <= 1:
            raise ValueError(f"slip={slip}: expected a probability")
        self.rows, self.shape = list(rows), grid.shape
        self.cells = np.argwhere(grid != "#")
        kind = grid[tuple(self.cells.T)]
        start = np.flatnonzero(kind == "S")
        number = np.full(grid.shape, -1)
        number[tuple(self.cells.T)] = np.arange(len(self.cells))
        after = _targets(self.cells, number)
        arrival = np.array([rewards.get(character, 0.0) for character in kind])
        table = _slipping_transitions(after, arrival - cost, slip)
        if returning:
            if len(start) != 1:
                raise ValueError("returning: the grid needs one start, 'S'")
            back = np.isin(kind, list(returning))
            table = table._replace(
                next_state=np.where(back[table.next_state], start[0], table.next_state).astype(
                    np.int32
                )
            )
        states = [tuple(cell) for cell in self.cells.tolist()]
        self._name(len(states), len(ACTIONS), states, list(ACTIONS))
        probabilities = None if not len(start) else (kind == "S") / len(start)
        self._finish(table, np.isin(kind, list(ending)), probabilities)

    def to_grid(self, values: Any, empty: float = np.nan) -> np.ndarray:
        """Values of the states on the grid, `empty` for walls.

        Parameters
        ----------
        values : array of shape (n_states,)
        empty : float
        """
        values = np.asarray(values)
        grid = np.full(self.shape, empty, dtype=np.result_type(values, float))
        grid[tuple(self.cells.T)] = values
        return grid

    def show_policy(self, policy: Any) -> str:
        """The policy as arrows.

        Parameters
        ----------
        policy : array of shape (n_states,)

        Examples
        --------
        >>> from tenfold.rl import GridWorld
        >>> print(GridWorld(["S.G"], {"G": 1.0}).show_policy([1, 1, 0]))
        →→G
        """
        grid = np.array([list(row) for row in self.rows])
        arrows = np.array(list("↑→↓←"))[np.asarray(policy)]
        kept = self.terminal
        grid[tuple(self.cells[~kept].T)] = arrows[~kept]
        return "\n".join("".join(row) for row in grid)


def _targets(cells: np.ndarray, number: np.ndarray) -> np.ndarray:
    """(n_states, 4) state that each direction leads to; the same one against a wall."""
    after = np.empty((len(cells), len(ACTIONS)), np.int64)
    limits = np.array(number.shape)
    for a, move in enumerate(_MOVES):
        to = cells + move
        inside = ((to >= 0) & (to < limits)).all(axis=1)
        reached = number[tuple(np.where(inside[:, None], to, cells).T)]
        after[:, a] = np.where(reached < 0, np.arange(len(cells)), reached)
    return after


def _slipping_transitions(after: np.ndarray, reward: np.ndarray, slip: float) -> Any:
    """Transitions in which an action goes its way, or to one of its sides."""
    n = len(after)
    ways = [(0, 1.0 - slip), (-1, slip / 2), (1, slip / 2)] if slip else [(0, 1.0)]
    rows = np.arange(4 * n)
    to = [after[:, (np.arange(4) + turn) % 4].ravel() for turn, _ in ways]
    next_state = np.stack(to, axis=1).ravel()
    return from_lists(
        np.repeat(rows, len(ways)),
        next_state,
        np.tile([p for _, p in ways], 4 * n),
        reward[next_state],
        np.zeros(4 * n * len(ways), bool),
        4 * n,
    )


def grid_world(cost: float = 0.01, slip: float = 0.0) -> GridWorld:
    """The table of 3 x 3 cells: +1 in the upper right corner, -1 below it, the center forbidden.

    The robot starts in the lower right corner, and the process ends at +1. With a small cost of
    actions it is best to go all the way round, with a large one to go straight through -1; without
    slip and discount the way changes at a cost of 0.25.

    Parameters
    ----------
    cost : float
        Of every action.
    slip : float
        Probability of going to a side, half to each.

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import grid_world
    >>> for cost in (0.01, 10):
    ...     world = grid_world(cost)
    ...     plan = ValueIteration(discount=1.0).fit(world)
    ...     print(world.show_policy(plan.policy_), plan.values_[world.start > 0].round(4))
    →→G
    ↑#↑
    ↑←← [0.94]
    →→G
    ↑#↑
    ↑→↑ [-20.]
    """
    return GridWorld(["..G", ".#x", "..S"], {"G": 1.0, "x": -1.0}, cost=cost, slip=slip)


def maze(
    height: int = 8,
    width: int = 8,
    *,
    walls: float = 0.25,
    slip: float = 0.0,
    goal: float = 100.0,
    cost: float = 1.0,
    random_state: int = 0,
) -> GridWorld:
    """A random maze whose goal can be reached from the start: +100 there, 1 for every move.

    Parameters
    ----------
    height, width : int
    walls : float
        Share of walls.
    slip : float
        Probability of going to a side.
    goal, cost : float
        Reward of the goal, cost of a move.
    random_state : int

    Examples
    --------
    The best way is the shortest one:

    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import maze
    >>> world = maze(5, 5, walls=0.0)
    >>> float(ValueIteration(discount=1.0).fit(world).values_[0])
    92.0
    """
    check_count(height, "height")
    check_count(width, "width")
    if height * width < 2:
        raise ValueError(f"a maze of {height} x {width} cells: at least two are needed")
    rng = np.random.default_rng(random_state)
    for _ in range(1000):
        free = rng.random((height, width)) >= walls
        free[0, 0] = free[-1, -1] = True
        parts: Any = label(free)[0]  # pyright: ignore[reportIndexIssue]
        if parts[0, 0] == parts[-1, -1]:
            grid = np.where(parts == parts[0, 0], ".", "#")
            grid[0, 0], grid[-1, -1] = "S", "G"
            rows = ["".join(row) for row in grid]
            return GridWorld(rows, {"G": goal}, cost=cost, slip=slip)
    raise ValueError(f"walls={walls}: no maze with a way to the goal was found; take fewer walls")


def cliff(height: int = 4, width: int = 12) -> GridWorld:
    """The cliff: the shortest way to the goal runs along an edge; a fall costs 100 and starts anew.

    On the way, every step costs 1. With random steps in between, the best way keeps away from the
    edge, and SARSA, which learns about the policy that it follows, finds that way.

    Parameters
    ----------
    height, width : int

    References
    ----------
    R. S. Sutton and A. G. Barto (2018), "Reinforcement Learning", example 6.6.

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import cliff
    >>> world = cliff()
    >>> float(ValueIteration(discount=1.0).fit(world).values_[world.start > 0][0])
    -13.0
    """
    check_count(height, "height", 1)
    check_count(width, "width", 2)
    rows = ["." * width] * (height - 1) + ["S" + "C" * (width - 2) + "G"]
    return GridWorld(rows, {"C": -99.0}, cost=1.0, returning="C")


def delayed_reward(length: int = 5, now: float = 1.0, later: float = 10.0) -> MDP:
    """A corridor with a small reward at once, and a large one at its end.

    In every cell one can "take" `now` and end, or "wait" and go on for nothing; waiting in the last
    cell pays `later`. Who ranks actions by their immediate reward takes at once.

    Parameters
    ----------
    length : int
        Cells.
    now, later : float
        Rewards.

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import delayed_reward
    >>> [int(ValueIteration(g).fit(delayed_reward()).policy_[0]) for g in (0.5, 0.9)]
    [0, 1]
    """
    check_count(length, "length", 1)
    cells, P = np.arange(length), np.zeros((length + 1, 2, length + 1))
    R = np.zeros((length + 1, 2))
    P[cells, 0, length] = P[cells, 1, cells + 1] = 1.0
    R[cells, 0], R[length - 1, 1] = now, later
    names = [*range(length), "end"]
    return MDP(P, R, terminal=["end"], states=names, actions=["take", "wait"], start=0)
