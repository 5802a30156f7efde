"""Markov decision processes from Gymnasium's dictionaries, tables of moves, and functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.rl._transitions import Transitions, from_lists
from tenfold.rl.moves import as_booleans, as_numbers, column_codes, open_moves

_TABLE_SUFFIXES = {".arrow", ".csv", ".feather", ".gz", ".jsonl", ".parquet", ".tsv", ".xlsx"}


def make_gymnasium(name: str, settings: Mapping[str, Any] | None = None) -> Any:
    """An environment of Gymnasium by its name."""
    if Path(name).is_file() or Path(name).suffix in _TABLE_SUFFIXES:
        raise ValueError(
            f"{name} is a file, no environment: QLearning and tenfold.rl.TransitionModel learn "
            "from moves of a table, MDP.from_table reads a table of probabilities"
        )
    try:
        gymnasium = import_module("gymnasium")
    except ImportError as problem:
        raise ImportError(
            f"{name!r} is an environment of Gymnasium, which is not installed: "
            "pip install 'tenfold[rl]'"
        ) from problem
    try:
        return gymnasium.make(name, **(settings or {}))
    except gymnasium.error.UnregisteredEnv as problem:
        raise ValueError(
            f"{name!r} is no file, and no environment of Gymnasium: {problem}"
        ) from None


def read_gymnasium(
    env: Any, settings: Mapping[str, Any]
) -> tuple[Transitions, list, list, Any, Any]:
    """Transitions, states, actions, no terminal states, and the start of an environment."""
    if isinstance(env, str):
        env = make_gymnasium(env, settings)
    inner = getattr(env, "unwrapped", env)
    dynamics = env if isinstance(env, Mapping) else getattr(inner, "P", None)
    if dynamics is None and not hasattr(inner, "step"):
        raise TypeError(
            f"a {type(env).__name__} is no process: give MDP(transitions, rewards), an environment "
            "with transition probabilities P[s][a], or its name"
        )
    if dynamics is None:
        raise ValueError(
            f"{type(inner).__name__} has no attribute P with its transition probabilities: learn "
            "from it with QLearning, or estimate them with tenfold.rl.TransitionModel"
        )
    states, actions = sorted(dynamics), sorted({a for s in dynamics for a in dynamics[s]})
    number = {s: i for i, s in enumerate(states)}
    rows, after, probability, reward, ends = [], [], [], [], []
    for s in states:
        for j, a in enumerate(actions):
            for move in dynamics[s].get(a, ()):
                if len(move) != 4:
                    raise ValueError(
                        f"state {s!r}, action {a!r} has the move {move!r}: expected (probability, "
                        "next state, reward, terminated)"
                    )
                p, t, r, end = move
                if t not in number:
                    raise ValueError(f"state {s!r}, action {a!r} leads to {t!r}, which has no row")
                rows.append(number[s] * len(actions) + j)
                after.append(number[t])
                probability.append(p)
                reward.append(r)
                ends.append(end)
    table = from_lists(rows, after, probability, reward, ends, len(states) * len(actions))
    start = getattr(inner, "initial_state_distrib", None)
    return table, states, actions, None, None if start is None else np.asarray(start, float)


def read_table(
    table: Any, columns: tuple[str, ...], terminal: Any, start: Any
) -> tuple[Transitions, list, list, Any, Any]:
    """Transitions, states, actions, terminal states and start; a row for each possible move.

    States that have no moves of their own, and are reached by moves that terminate, are terminal.
    """
    state, action, next_state, probability, reward, terminated = columns
    cells = open_moves(table, [state, action, next_state, probability, reward], [terminated])
    (s, t), states = column_codes([cells[state], cells[next_state]])
    (a,), actions = column_codes([cells[action]])
    ends = np.zeros(len(s), bool)
    if terminated in cells:
        ends = as_booleans(cells[terminated], terminated)
    p, r = (as_numbers(cells[name], name) for name in (probability, reward))
    made = from_lists(s * len(actions) + a, t, p, r, ends, len(states) * len(actions))
    if terminal is None:
        terminal = np.zeros(len(states), bool)
        terminal[np.setdiff1d(t[ends], np.concatenate([s, t[~ends]]))] = True
    return made, states, actions, terminal, start


class FunctionReader:
    """Enumerates the states that functions lead to."""

    def __init__(
        self,
        transition: Callable[[Any, Any], Any],
        actions: Any,
        reward: Callable[[Any, Any, Any], float] | None,
        terminal: Callable[[Any], bool] | None,
        max_states: int,
    ) -> None:
        self.transition, self.reward, self.terminal = transition, reward, terminal
        self.actions: Any = actions if callable(actions) else list(actions)
        self.max_states = max_states

    def explore(
        self, start: Hashable | None, states: Sequence[Hashable] | None
    ) -> tuple[Transitions, list, list, np.ndarray, Any]:
        """Transitions, states, actions, terminal states and the start."""
        if start is None and not states:
            raise ValueError("give `start`, from which states are found, or all `states`")
        found = list(states) if states else [start]
        number = {name: i for i, name in enumerate(found)}
        moves: list[tuple[int, Any, int, float, float]] = []
        terminal, at = [], 0
        while at < len(found):
            s = found[at]
            terminal.append(self.terminal is not None and bool(self.terminal(s)))
            if not terminal[-1]:
                self._expand(at, s, found, number, moves, frozen=bool(states))
            at += 1
        is_given = not callable(self.actions)
        actions = list(self.actions if is_given else _in_order({move[1]: 0 for move in moves}))
        code = {name: j for j, name in enumerate(actions)}
        rows = [i * len(actions) + code[a] for i, a, *_ in moves]
        after, p, r = ([move[part] for move in moves] for part in (2, 3, 4))
        table = from_lists(rows, after, p, r, [False] * len(rows), len(found) * len(actions))
        return table, found, actions, np.array(terminal), start

    def _expand(
        self, i: int, s: Any, found: list, number: dict, moves: list, *, frozen: bool
    ) -> None:
        """Add the transitions of a state, and the states that they lead to."""
        actions: Any = self.actions(s) if callable(self.actions) else self.actions
        for a in actions:
            after = self.transition(s, a)
            if after is None or not isinstance(after, Hashable | Mapping):
                raise ValueError(
                    f"state {s!r}, action {a!r}: the function gives {after!r}, which is no state "
                    "and no dict from next states to probabilities"
                )
            for t, p in (after if isinstance(after, Mapping) else {after: 1.0}).items():
                if t not in number:
                    if frozen:
                        raise ValueError(f"state {s!r}, action {a!r} leads to {t!r}: no state")
                    if len(found) >= self.max_states:
                        raise ValueError(
                            f"more than max_states={self.max_states:,} states can be reached; the "
                            f"last is {t!r}. Raise max_states, or name terminal states"
                        )
                    number[t] = len(found)
                    found.append(t)
                r = 0.0 if self.reward is None else float(self.reward(s, a, t))
                moves.append((i, a, number[t], float(p), r))


def _in_order(actions: dict[Any, int]) -> list:
    """Sorted where possible, as they were met otherwise."""
    try:
        return sorted(actions)
    except TypeError:
        return list(actions)
