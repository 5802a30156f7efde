"""Pictures of acting: values and policies on a grid, returns over episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, get_axes, palette_color, style_axes

_ARROWS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left on axes that point down


def grid_policy(
    world: Any,
    policy: Any = None,
    *,
    values: Any = None,
    decimals: int = 2,
    ax: Any = None,
) -> Any:
    """Values of the cells of a grid as colors and numbers, the policy as arrows.

    Parameters
    ----------
    world : GridWorld
    policy : agent, (n_states,) array of actions, or (n_states, 4) truth values, optional
        An agent brings its values along; truth values show ties as several arrows.
    values : array of shape (n_states,), optional
    decimals : int
        Digits of the numbers.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.plot import grid_policy
    >>> from tenfold.rl import grid_world
    >>> world = grid_world()
    >>> ax = grid_policy(world, ValueIteration(0.9).fit(world))
    >>> len(ax.texts), ax.texts[0].get_text()
    (15, '0.88')
    """
    if hasattr(policy, "policy_"):
        values = policy.values_ if values is None else values
        policy = policy.policy_
    ax = get_axes(ax, (0.9 * world.shape[1] + 1, 0.9 * world.shape[0] + 0.6))
    numbers = np.zeros(world.n_states) if values is None else np.asarray(values)
    ax.imshow(world.to_grid(numbers), cmap="Blues", alpha=0.6)
    for (row, column), value, is_end in zip(world.cells, numbers, world.terminal, strict=True):
        if values is not None:
            label = "end" if is_end else f"{value:.{decimals}f}"
            ax.text(column, row + 0.33, label, ha="center", va="center", color=TEXT_COLOR, size=8)
    if policy is not None:
        _draw_arrows(ax, world, np.asarray(policy))
    walls = np.argwhere(np.isnan(world.to_grid(numbers)))
    ax.scatter(walls[:, 1], walls[:, 0], marker="s", color=MUTED_COLOR, s=300)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(MUTED_COLOR)
    return ax


def _draw_arrows(ax: Any, world: Any, policy: np.ndarray) -> None:
    """An arrow for each action that the policy takes."""
    taken = policy if policy.ndim == 2 else np.eye(4, dtype=bool)[policy]
    for s, (row, column) in enumerate(world.cells):
        for a in np.flatnonzero(taken[s] & ~world.terminal[s]):
            dx, dy = _ARROWS[a]
            ax.annotate(
                "",
                (column + 0.24 * dx, row - 0.1 + 0.24 * dy),
                (column - 0.16 * dx, row - 0.1 - 0.16 * dy),
                arrowprops={"arrowstyle": "-|>", "color": palette_color(1)},
            )


def learning_curves(result: Any, *, level: float = 0.95, ax: Any = None) -> Any:
    """Test returns over training episodes: means over runs, with bands of their intervals.

    Parameters
    ----------
    result : AgentComparison
        Of `tenfold.rl.compare`.
    level : float
        Confidence level of the bands.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import SARSA, QLearning
    >>> from tenfold.plot import learning_curves
    >>> from tenfold.rl import compare, grid_world
    >>> agents = {"Q": QLearning(0.9), "SARSA": SARSA(0.9)}
    >>> result = compare(agents, grid_world(), runs=2, epochs=3, test_episodes=1, max_steps=50)
    >>> [line.get_label() for line in learning_curves(result).get_lines()]
    ['Q', 'SARSA']
    """
    ax = get_axes(ax)
    for i, name in enumerate(result.returns):
        epochs = range(len(result.episodes))
        bands = [result.interval(name, epoch, level) for epoch in epochs]
        ax.plot(result.episodes, result.mean(name), color=palette_color(i), label=name)
        if len(result.returns[name]) > 1:
            low, high = [band.low for band in bands], [band.high for band in bands]
            ax.fill_between(result.episodes, low, high, color=palette_color(i), alpha=0.15)
    ax.set(xlabel="training episodes", ylabel="mean return of test episodes")
    ax.legend(frameon=False)
    style_axes(ax)
    return ax
