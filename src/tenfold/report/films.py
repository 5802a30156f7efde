"""Films of episodes: one drawing for each step, which a small script of the page shows in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.report.format import shorten
from tenfold.report.svg import Chart, element, format_coordinate
from tenfold.rl.control_worlds import CartPole, MountainCar
from tenfold.rl.episodes import Move
from tenfold.rl.grid_worlds import GridWorld
from tenfold.rl.mdp import MDP

_WIDTH = 360  # pixels of a drawing
_POLE_LENGTH = 1.0  # meters
_CONTROL_ACTIONS = {
    CartPole: ("push left", "push right"),
    MountainCar: ("push left", "coast", "push right"),
}


class Film(NamedTuple):
    """An episode as a drawing with one group of shapes for each step, and what is said of it."""

    chart: Markup
    captions: list[str]


def action_name(world: Any, action: Any) -> str:
    """The name of an action in a world.

    Examples
    --------
    >>> from tenfold.rl import grid_world
    >>> action_name(grid_world(), 1)
    'right'
    """
    names = getattr(world, "actions", None) if isinstance(world, MDP) else None
    names = names or getattr(world, "commands", None) or _CONTROL_ACTIONS.get(type(world))
    if names is not None:
        return str(names[int(action)])
    return f"action {np.round(action, 3)}"


def observation_name(world: Any, observation: Any) -> str:
    """What is seen, in a few words: a text, the name of a state, or numbers."""
    if isinstance(observation, str):
        return observation
    if isinstance(world, MDP):
        return f"state {world.states[int(observation)]}"
    if texts := getattr(world, "texts", None):
        return str(texts[int(observation)])
    numbers = np.asarray(observation, dtype=np.float64).reshape(-1)
    if numbers.size == 1 and hasattr(world.observation_space, "n"):
        return f"state {int(numbers[0])}"
    return shorten(", ".join(f"{number:.3g}" for number in numbers), 120)


def draw_film(world: Any, moves: Sequence[Move]) -> Film:
    """The film of an episode."""
    seen = [move.observation for move in moves] + [moves[-1].after]
    chart, draw = _set_scene(world)
    for number, observation in enumerate(seen):
        shown = " shown" if number == 0 else ""
        chart.add("g", *draw(observation), class_=f"frame{shown}")
    label = f"Film of an episode of {len(moves)} steps."
    return Film(chart.render(label, "film"), _write_captions(world, moves))


def _write_captions(world: Any, moves: Sequence[Move]) -> list[str]:
    total, captions = 0.0, []
    for number, move in enumerate(moves, 1):
        total += move.reward
        name = action_name(world, move.action)
        captions.append(f"Step {number}: {name}, reward {move.reward:.4g}, so far {total:.4g}")
    last = moves[-1]
    end = "The end" if last.terminated else "Cut" if last.truncated else "The film stops"
    return [*captions, f"{end} after {len(moves)} steps, return {total:.4g}"]


def _set_scene(world: Any) -> tuple[Chart, Callable[[Any], list[Markup]]]:
    """The background, and what draws the shapes of an observation."""
    if isinstance(world, GridWorld):
        return _set_grid(world)
    if isinstance(world, CartPole):
        return _set_cart()
    if isinstance(world, MountainCar):
        return _set_valley()
    chart = Chart((0, 1), (0, 1), size=(_WIDTH, 110), margins=(0, 0, 0, 0))
    return chart, lambda observation: _write_text(observation_name(world, observation))


def grid_chart(world: GridWorld) -> tuple[Chart, float]:
    """A chart of the cells of a grid, row 0 on top, and the width of a cell in pixels."""
    height, width = world.shape
    side = _WIDTH / width
    size = (_WIDTH, max(round(side * height), 1))
    return Chart((0, width), (height, 0), size=size, margins=(0, 0, 0, 0)), side


def add_cells(chart: Chart, world: GridWorld) -> None:
    """Outlines of the cells, walls filled, and the letters of special ones."""
    for r, row in enumerate(world.rows):
        for c, kind in enumerate(row):
            chart.rectangle((c, c + 1), (r, r + 1), "wall" if kind == "#" else "cell")
            if kind not in "#.":
                chart.text(float(chart.x(c)) + 4, float(chart.y(r)) + 13, kind, class_="tick")


def _set_grid(world: GridWorld) -> tuple[Chart, Callable[[Any], list[Markup]]]:
    chart, side = grid_chart(world)
    add_cells(chart, world)

    def draw(state: Any) -> list[Markup]:
        r, c = world.cells[int(state)]
        return [_circle(float(chart.x(c + 0.5)), float(chart.y(r + 0.5)), 0.3 * side)]

    return chart, draw


def _circle(x: float, y: float, radius: float) -> Markup:
    place = {"cx": format_coordinate(x), "cy": format_coordinate(y)}
    return element("circle", **place, r=format_coordinate(radius), class_="c1")


def _set_cart() -> tuple[Chart, Callable[[Any], list[Markup]]]:
    chart = Chart((-2.7, 2.7), (-0.35, 1.3), size=(_WIDTH, 110), margins=(0, 0, 0, 0))
    chart.add("line", x1=0, x2=_WIDTH, y1=chart.y(0), y2=chart.y(0), class_="axis")
    for limit in (-2.4, 2.4):
        chart.vertical_line(limit, "grid")

    def draw(state: Any) -> list[Markup]:
        x, angle = float(state[0]), float(state[2])
        foot = chart.x(x), chart.y(0.1)
        tip = chart.x(x + _POLE_LENGTH * np.sin(angle)), chart.y(0.1 + np.cos(angle))
        d = "M{} {}L{} {}".format(*map(format_coordinate, (*foot, *tip)))
        cart = {
            "x": format_coordinate(foot[0] - 20),
            "y": format_coordinate(foot[1] - 7),
        }
        body = element("rect", **cart, width="40", height="15", rx="3", class_="bar main")
        return [body, element("path", d=d, class_="line pole c1")]

    return chart, draw


def _set_valley() -> tuple[Chart, Callable[[Any], list[Markup]]]:
    chart = Chart((-1.2, 0.6), (0, 1.15), size=(_WIDTH, 170), margins=(0, 4, 4, 4))

    def height(x: Any) -> Any:
        return 0.45 * np.sin(3 * x) + 0.55  # the valley of the world

    xs = np.linspace(-1.2, 0.6, 90)
    chart.line(xs, height(xs), "grey")
    chart.marker(0.5, float(height(0.5)), "good", "goal", 5)

    def draw(state: Any) -> list[Markup]:
        x = float(state[0])
        return [_circle(float(chart.x(x)), float(chart.y(height(x))) - 6, 6)]

    return chart, draw


def _write_text(text: str) -> list[Markup]:
    lines = wrap(text, 48)[:5]
    return [
        element("text", line, x="8", y=str(26 + 19 * number), class_="speech")
        for number, line in enumerate(lines)
    ]
