"""Worlds and agents that `tenfold act` knows by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

WORLDS = ("grid", "maze", "cliff", "delayed-reward", "cart-pole", "mountain-car", "text-game")
PLANNERS = {"value-iteration": "ValueIteration", "policy-iteration": "PolicyIteration"}
TABLES = {"q-learning": "QLearning", "sarsa": "SARSA"}
NETWORKS = {"linear-q": "LinearQ", "deep-q": "DeepQ", "policy-gradient": "PolicyGradient"}
AGENTS = PLANNERS | TABLES | NETWORKS
_TEXT_DISCOUNT = 0.5  # the text game is short, and long detours should not pay
_DISCOUNT = 0.99
_TABLE_RATE = 0.1  # rates that decay are slow where rewards are far, as on the cliff
_TEXT_RATE = 0.05  # of linear Q-learning on words: several of them change at once


def make_world(name: str, agent: str) -> Any:
    """The world of a name, with what this agent can see of it.

    Examples
    --------
    >>> make_world("grid", "q-learning").shape
    (3, 3)
    """
    from tenfold.rl.control_worlds import CartPole, MountainCar
    from tenfold.rl.grid_worlds import cliff, delayed_reward, grid_world, maze
    from tenfold.rl.text_game import TextGame

    if name == "text-game":
        game = TextGame("number" if agent in TABLES else "text")
        return game.to_mdp() if agent in PLANNERS else game
    makers: dict[str, Callable[[], Any]] = {
        "grid": lambda: grid_world(slip=0.2),
        "maze": maze,
        "cliff": cliff,
        "delayed-reward": delayed_reward,
        "cart-pole": CartPole,
        "mountain-car": MountainCar,
    }
    return makers[name]() if name in makers else _make_gymnasium_world(name)


def _make_gymnasium_world(name: str) -> Any:
    known = f"there are {', '.join(WORLDS)}, and names of Gymnasium's environments"
    close = get_close_matches(name.lower(), WORLDS, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    if find_spec("gymnasium") is None:
        raise ValueError(
            f"no world {name!r}{hint}: {known}, which need `pip install 'tenfold[rl]'`"
        )
    from tenfold.rl.environment import as_environment

    try:
        return as_environment(name)
    except Exception as error:
        raise ValueError(f"no world {name!r}{hint}: {known} ({error})") from error


def make_agent(name: str, world: Any, world_name: str, settings: dict[str, Any]) -> Any:
    """An agent with settings: discount, seed, and n_episodes of a learner; None is its default."""
    import tenfold

    if name not in AGENTS:
        close = get_close_matches(name.lower(), AGENTS, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"no agent {name!r}{hint}: there are {', '.join(AGENTS)}")
    options = {key: value for key, value in settings.items() if value is not None}
    options.setdefault("discount", _TEXT_DISCOUNT if world_name == "text-game" else _DISCOUNT)
    if name in PLANNERS:
        del options["random_state"]
        if "n_episodes" in options:
            raise ValueError(f"{name} plans without episodes: leave --episodes out")
        if name == "value-iteration":
            options["order"] = "given"  # its sweeps are those of textbooks, and the report's
    elif name in TABLES:
        options["learning_rate"] = _TABLE_RATE
    elif hasattr(world, "texts"):
        options["features"] = tenfold.WordCounts("presence")
        if name == "linear-q":
            options["learning_rate"] = _TEXT_RATE
    return getattr(tenfold, AGENTS[name])(**options)


def _has_vectors(world: Any) -> bool:
    """Whether observations are numbers of states, arrays of numbers, or texts."""
    space = world.observation_space
    has_size = getattr(space, "n", None) is not None or bool(getattr(space, "shape", None))
    return has_size or hasattr(world, "texts")


def check_pair(name: str, world: Any, world_name: str) -> None:
    """Raise an error that names other agents if this one cannot act in the world."""
    from tenfold.rl.environment import discrete_sizes
    from tenfold.rl.mdp import MDP

    has_numbers = isinstance(world, MDP) or bool(discrete_sizes(world.observation_space))
    if name in TABLES and not has_numbers:
        raise ValueError(
            f"{name} keeps a table of states, and {world_name} has none that can be counted: "
            f"choose --agent {', '.join(NETWORKS)}"
        )
    if name in NETWORKS and not isinstance(world, MDP) and not _has_vectors(world):
        others = f": choose --agent {', '.join(TABLES)}" if has_numbers else ""
        raise ValueError(
            f"{name} takes observations as one array, and those of {world_name} are "
            f"{world.observation_space}{others}"
        )
    inner = getattr(world, "unwrapped", world)
    if name in PLANNERS and not (isinstance(world, MDP) or hasattr(inner, "P")):
        others = NETWORKS if not has_numbers else TABLES | NETWORKS
        raise ValueError(
            f"{name} needs the probabilities of moves, which {world_name} does not give: choose "
            f"--agent {', '.join(others)}"
        )
    real_actions = not isinstance(world, MDP) and not hasattr(world.action_space, "n")
    if real_actions and name != "policy-gradient":
        raise ValueError(
            f"the actions of {world_name} are real numbers, among which {name} cannot choose: "
            "choose --agent policy-gradient"
        )
