"""Pictures of policies: arrows and values on a grid, a map of actions, a table of states."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.report.figures import Figure, thin_indices
from tenfold.report.films import action_name, add_cells, grid_chart, observation_name
from tenfold.report.format import format_rounded
from tenfold.report.svg import Chart, pad_limits
from tenfold.rl.control_worlds import CartPole, MountainCar
from tenfold.rl.grid_worlds import GridWorld
from tenfold.rl.mdp import MDP

_ARROW = "M0 7V-7M-4.5 -2.5L0 -7L4.5 -2.5"
_VALUE_SIDE = 34  # pixels of a cell that has room for its value
_SHOWN_STATES = 40
_MAP_SIZE = (64, 48)  # points across and up
_COLORS = 8  # classes c0 to c7 of the style sheet
_AXES = {
    CartPole: (2, 3, "angle of the pole", "angular velocity"),
    MountainCar: (0, 1, "position", "velocity"),
}


class StateRow(NamedTuple):
    """A state, the action that is chosen in it, and the state's value as text."""

    state: str
    action: str
    value: str


class PolicyPicture(NamedTuple):
    """A policy: a figure or rows of a table, and a sentence."""

    summary: str
    figure: Figure | None = None
    rows: list[StateRow] = []


def draw_policy(agent: Any, world: Any, seen: list[Any]) -> PolicyPicture:
    """The policy of an agent; `seen` are observations of an episode, which give a map its range."""
    if isinstance(world, GridWorld):
        return _draw_grid_policy(agent, world)
    if isinstance(world, MDP) or hasattr(world.observation_space, "n") or hasattr(world, "texts"):
        return _list_policy(agent, world)
    if hasattr(agent, "observation_sizes_"):
        return _list_table(agent, world)
    is_map = np.ndim(seen[0]) == 1 and len(seen[0]) > 1 and hasattr(world.action_space, "n")
    if is_map:
        return _draw_map(agent, world, np.array(seen, dtype=np.float64))
    return PolicyPicture("The policy of this world has no picture: the film shows what it does.")


def state_values(agent: Any, observations: list[Any]) -> np.ndarray | None:
    """Values of states, all of a table or those of some observations; None if there are none."""
    if hasattr(agent, "values_"):
        return np.asarray(agent.values_)
    if hasattr(agent, "action_values"):
        return agent.action_values(observations).max(axis=1)
    return None


def _draw_grid_policy(agent: Any, world: GridWorld) -> PolicyPicture:
    states = list(range(world.n_states))
    best = getattr(agent, "optimal_actions_", None)
    if best is None:
        best = np.eye(world.n_actions, dtype=bool)[np.asarray(agent.predict(states), dtype=int)]
    values = state_values(agent, states)
    chart = _draw_arrows(world, best, values)
    caption = "" if values is None else "Numbers and shades: values of the cells. "
    caption += "S: start, G: goal."
    if best.sum(axis=1)[~world.terminal].max() > 1:
        caption += " Several arrows in a cell are equally good."
    summary = "An arrow shows where the agent goes from a cell."
    return PolicyPicture(summary, Figure("Policy", caption, [chart]))


def _draw_arrows(world: GridWorld, best: np.ndarray, values: np.ndarray | None) -> Markup:
    chart, side = grid_chart(world)
    add_cells(chart, world)
    free = ~world.terminal
    known = np.zeros(0) if values is None else values[free]
    low, spread = (known.min(), np.ptp(known) or 1.0) if len(known) else (0.0, 1.0)
    for state in np.flatnonzero(free):
        r, c = world.cells[state]
        x, y = float(chart.x(c + 0.5)), float(chart.y(r + 0.5))
        names = " or ".join(str(world.actions[a]) for a in np.flatnonzero(best[state]))
        text = "" if values is None else format_rounded(float(values[state]))
        if values is not None:
            shade = f"{0.08 + 0.5 * (values[state] - low) / spread:.2f}"
            place = {"x": x - side / 2, "y": y - side / 2, "width": side, "height": side}
            tip = f"{names}; value {text}"
            chart.add("rect", **place, class_="bar main", fill_opacity=shade, data_tip=tip)
        has_value = bool(text) and side >= _VALUE_SIDE
        lift = 0.1 * side if has_value else 0.0
        size = f"scale({min(side / 36, 1.8):.3f})"
        for action in np.flatnonzero(best[state]):
            turn = f"translate({x:.1f} {y - lift:.1f}) rotate({90 * action}) {size}"
            chart.add("path", d=_ARROW, class_="arrow", transform=turn)
        if has_value:
            font = f"{min(0.22 * side, 15):.1f}px"
            chart.text(x, y + 0.42 * side, text, class_="mid worth", font_size=font)
    return chart.render("Policy as arrows, with the values of the cells.", "policy")


def _list_policy(agent: Any, world: Any) -> PolicyPicture:
    if isinstance(world, MDP):
        states: list[Any] = np.flatnonzero(~world.terminal).tolist()
    elif (texts := getattr(world, "texts", None)) and not hasattr(world.observation_space, "n"):
        states = list(texts)
    else:
        states = list(range(int(world.observation_space.n)))
    shown = [states[i] for i in thin_indices(len(states), _SHOWN_STATES)]
    actions, values = agent.predict(shown), state_values(agent, shown)
    if values is not None and hasattr(agent, "values_"):
        values = values[np.asarray(shown, dtype=int)]
    rows = []
    for number, (state, action) in enumerate(zip(shown, actions, strict=True)):
        worth = "" if values is None else format_rounded(float(values[number]))
        name = observation_name(world, state)
        rows.append(StateRow(name, action_name(world, action), worth))
    some = "" if len(shown) == len(states) else f" {len(shown)} of {len(states):,} states."
    return PolicyPicture(f"What the agent does in each state.{some}", rows=rows)


def _list_table(agent: Any, world: Any) -> PolicyPicture:
    """Actions of a table whose states are tuples of numbers."""
    numbers = np.array(thin_indices(len(agent.values_), _SHOWN_STATES))
    states = np.stack(np.unravel_index(numbers, agent.observation_sizes_), axis=1).tolist()
    actions = [action_name(world, action) for action in agent.predict(states)]
    worth = [format_rounded(float(value)) for value in agent.values_[numbers]]
    names = [observation_name(world, state) for state in states]
    rows = [StateRow(*row) for row in zip(names, actions, worth, strict=True)]
    summary = f"What the agent does in {len(rows)} of {len(agent.values_):,} states."
    return PolicyPicture(summary, rows=rows)


def _draw_map(agent: Any, world: Any, seen: np.ndarray) -> PolicyPicture:
    """Chosen actions over two numbers of the observation, the others at their mean."""
    i, j, x_name, y_name = _AXES.get(type(world), (0, 1, "first number", "second number"))
    limits = [pad_limits(seen[:, k], 0.15) for k in (i, j)]
    chart = Chart(limits[0], limits[1], margins=(26, 12, 40, 52))
    xs, ys = (np.linspace(*limit, n + 1) for limit, n in zip(limits, _MAP_SIZE, strict=True))
    points = np.tile(seen.mean(axis=0), (_MAP_SIZE[0] * _MAP_SIZE[1], 1))
    across, up = np.meshgrid((xs[1:] + xs[:-1]) / 2, (ys[1:] + ys[:-1]) / 2)
    points[:, i], points[:, j] = across.ravel(), up.ravel()
    actions = np.asarray(agent.predict(list(points))).reshape(_MAP_SIZE[::-1])
    for row, line in enumerate(actions):
        start = 0
        for action, run in groupby(line):
            end = start + len(list(run))
            color = f"bar pale c{int(action) % _COLORS}"
            chart.rectangle((xs[start], xs[end]), (ys[row], ys[row + 1]), color)
            start = end
    chart.line(seen[:, i], seen[:, j], "thin grey")
    chart.axes(x_name, y_name)
    used = [int(action) for action in np.unique(actions)]
    legend = [(f"c{action % _COLORS}", action_name(world, action)) for action in used]
    caption = "Colors: the chosen action; other numbers at their mean. Line: the film's episode."
    label = f"Map of the chosen actions over {x_name} and {y_name}."
    figure = Figure("Policy", caption, [chart.render(label)], legend)
    return PolicyPicture("Which action is chosen where.", figure)
