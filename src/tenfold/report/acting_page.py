"""The report of an agent as one self-contained page: returns, policy, and a film of an episode."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.report.figures import Figure, thin_indices
from tenfold.report.films import draw_film
from tenfold.report.format import format_count, format_duration, format_value
from tenfold.report.pages import Section, read_asset, render_page, write_page
from tenfold.report.policy_pictures import draw_policy
from tenfold.report.summary import Fact
from tenfold.report.svg import Chart, pad_limits
from tenfold.rl.episodes import Evaluation, Move

_SMOOTHED_PARTS = 40  # parts of the training whose means are drawn
_SHOWN_POINTS = 400
_FEW_STEPS = 30  # of a planner, which are drawn as points too


class TrainedAgent(NamedTuple):
    """An agent after training, and how it did.

    Attributes
    ----------
    world_name, agent_name : str
    world : MDP or environment
    agent : a fitted agent of `tenfold.rl`
    evaluation : Evaluation
        Returns of test episodes.
    moves : list of Move
        One episode, for the film.
    seconds : float
        Of training.
    is_complete : bool
        Whether the training came to its end.
    """

    world_name: str
    agent_name: str
    world: Any
    agent: Any
    evaluation: Evaluation
    moves: list[Move]
    seconds: float = 0.0
    is_complete: bool = True

    def describe_return(self) -> str:
        """The mean return with its interval, in words."""
        found = self.evaluation
        low, high = found.interval.low, found.interval.high
        return (
            f"mean return {found.mean:.4g} (95 % interval {low:.4g} to {high:.4g}) in "
            f"{len(found.returns):,} test episodes"
        )

    def metrics(self) -> dict[str, Any]:
        """World, agent, settings and returns, for a JSON document."""
        found, parameters = self.evaluation, self.agent.get_params(deep=False)
        return {
            "world": self.world_name,
            "agent": self.agent_name,
            "settings": {name: _as_plain(value) for name, value in parameters.items()},
            "episodes": int(getattr(self.agent, "n_episodes_", 0)),
            "complete": self.is_complete,
            "mean_return": found.mean,
            "interval": [float(found.interval.low), float(found.interval.high)],
            "test_episodes": len(found.returns),
            "mean_length": float(found.lengths.mean()),
        }


def write_acting(trained: TrainedAgent, path: str | os.PathLike[str]) -> Path:
    """Write the report of an agent; the file is replaced only when the new one is complete.

    Parameters
    ----------
    trained : TrainedAgent
    path : path
        Of the page, such as ``report.html``.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    render_acting : The page as a string.
    """
    return write_page(path, render_acting(trained))


def render_acting(trained: TrainedAgent) -> str:
    """The report of an agent as HTML: returns, policy, film, settings.

    Parameters
    ----------
    trained : TrainedAgent

    Returns
    -------
    str
        One page without references to other files.

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.report import TrainedAgent, render_acting
    >>> from tenfold.rl import MDPWorld, grid_world
    >>> from tenfold.rl.episodes import play
    >>> world = grid_world()
    >>> plan = ValueIteration().fit(world)
    >>> moves = list(play(plan, MDPWorld(world), 0, 100))
    >>> found = plan.evaluate(world, episodes=2)
    >>> page = render_acting(TrainedAgent("grid", "value-iteration", world, plan, found, moves))
    >>> "<svg" in page, "https:" in page
    (True, False)
    """
    film = draw_film(trained.world, trained.moves)
    seen = [move.observation for move in trained.moves] + [trained.moves[-1].after]
    is_learner = hasattr(trained.agent, "n_episodes_")
    sections = [
        Section("training", "Training" if is_learner else "Planning", "training"),
        Section("policy", "Policy", "policy"),
        Section("film", "Film", "film"),
        Section("settings", "Settings", "agent_settings"),
    ]
    return render_page(
        "acting.html.j2",
        trained.world_name,
        sections,
        trained=trained,
        facts=_key_facts(trained),
        curve=_draw_training(trained),
        policy=draw_policy(trained.agent, trained.world, seen),
        film=film,
        film_data=_as_json(film.captions),
        film_script=Markup(read_asset("film.js")),  # noqa: S704 - our own file
        settings={name: str(value) for name, value in trained.metrics()["settings"].items()},
    )


def _key_facts(trained: TrainedAgent) -> list[Fact]:
    found = trained.evaluation
    learner, tested = trained.agent, f"{len(found.returns):,} test episodes"
    interval = f"95 % interval {found.interval.low:.4g} to {found.interval.high:.4g}"
    facts = [
        Fact("Mean return", f"{found.mean:.4g}", interval),
        Fact("Mean length", f"{found.lengths.mean():.4g} steps", tested),
    ]
    if hasattr(learner, "n_episodes_"):
        detail = "of training" if trained.is_complete else "of training, interrupted"
        facts.append(Fact("Episodes", format_count(learner.n_episodes_), detail))
    elif hasattr(learner, "n_iter_"):
        facts.append(Fact("Iterations", format_count(learner.n_iter_), "of the plan"))
    return [*facts, Fact("Time", format_duration(trained.seconds), trained.agent_name)]


def _draw_training(trained: TrainedAgent) -> Figure:
    """Returns over episodes for a learner; how a planner came to its plan, sweep by sweep."""
    history = getattr(trained.agent, "history_", {})
    if "return" in history:
        return _draw_returns(np.asarray(history["return"]), int(trained.agent.n_episodes_))
    if "changed" in history:
        return _draw_improvements(np.asarray(history["changed"]))
    return _draw_residuals(np.asarray(history.get("residual", np.zeros(0)), dtype=np.float64))


def _draw_improvements(changed: np.ndarray) -> Figure:
    """In how many states each round of policy iteration has changed the action."""
    rounds = np.arange(1, len(changed) + 1)
    chart = Chart((0.0, len(changed) + 0.5), (0.0, 1.05 * max(int(changed.max()), 1)))
    chart.axes("policy", "states", ticks=(min(len(changed), 5), 5))
    _draw_steps(chart, rounds, changed)
    label = "In how many states each policy that was evaluated had a better action."
    return Figure("Improvements", label, [chart.render(label)])


def _draw_residuals(residual: np.ndarray) -> Figure:
    """The largest change of each sweep, which tells how far the values are from the solution."""
    seen = residual > 0
    heights = np.log10(residual[seen])
    chart = Chart((0.0, max(len(residual), 1) + 0.5), pad_limits(heights))
    chart.axes("sweep", "log10 of the change")
    _draw_steps(chart, np.arange(1, len(residual) + 1)[seen], heights)
    label = "Largest change of a value in each sweep over all actions."
    if not seen.all():
        label += " Sweeps that change nothing are not drawn."
    return Figure("Residual", label, [chart.render(label)])


def _draw_steps(chart: Chart, at: np.ndarray, heights: np.ndarray) -> None:
    """A line over the steps of a planner, with a point for each if they are few."""
    shown = thin_indices(len(at), _SHOWN_POINTS)
    chart.line(at[shown], heights[shown], "main")
    if len(at) <= _FEW_STEPS:
        chart.points(at, heights, "main")


def _draw_returns(returns: np.ndarray, episodes: int) -> Figure:
    """Returns of episodes, or of batches of them, and the means of parts of the training."""
    at = np.linspace(episodes / max(len(returns), 1), episodes, len(returns))
    parts = np.array_split(np.arange(len(returns)), min(_SMOOTHED_PARTS, len(returns)))
    means = np.array([returns[part].mean() for part in parts])
    centers = np.array([at[part].mean() for part in parts])
    shown = thin_indices(len(returns), _SHOWN_POINTS)
    # a few very bad episodes at the start must not flatten all that follows
    low, high = np.quantile(returns, [0.02, 1.0])
    limits = pad_limits([min(low, means[len(means) // 4 :].min()), high])
    inside = shown[returns[shown] >= limits[0]]
    chart = Chart((0.0, float(episodes)), limits).axes("episode", "return")
    chart.points(at[inside], returns[inside], "grey")
    drawn = np.where(means >= limits[0], means, np.nan)
    chart.line(centers, drawn, "main")
    what = "returns" if len(returns) == episodes else "mean returns of batches"
    caption = f"Points: {what} while training; line: means of {len(parts)} parts of it."
    return Figure("Reward curve", caption, [chart.render("Returns over the episodes of training.")])


def _as_plain(value: Any) -> Any:
    """A setting as JSON can hold it."""
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else format_value(value) if np.isscalar(value) else str(value)


def _as_json(texts: list[str]) -> Markup:
    """Texts for the script; "<" is written so that no text can end the script."""
    return Markup(json.dumps(texts).replace("<", "\\u003c"))  # noqa: S704 - escaped
