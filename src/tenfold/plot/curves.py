"""Losses against the margin, and the path of coefficients against the penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenfold.maths.losses import (
    Hinge,
    Logistic,
    Loss,
    PerceptronCriterion,
    Squared,
    SquaredHinge,
    ZeroOne,
)
from tenfold.plot.style import FAINT, INK, axes, clean, colour, legend_beside

STYLES = ("-", "--", "-", "-", ":", "-", "--")  # squared over squared hinge: both are seen
LABELLED = 7  # lines of a path that have a colour and a name


class _WholeSquare(Squared):
    """(1 - s)^2, which is what bounds the 0-1 loss; `Squared` has a factor of one half."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (z - y) ** 2


LOSSES: dict[str, Loss] = {
    "0-1": ZeroOne(),
    "perceptron": PerceptronCriterion(),
    "hinge": Hinge(),
    "log (nats)": Logistic(),
    "log (bits)": Logistic(base=2),
    "squared hinge": SquaredHinge(),
    "squared": _WholeSquare(),
}


def losses(
    losses: Mapping[str, Loss] | None = None,
    *,
    margins: tuple[float, float] = (-2.5, 3.0),
    top: float = 4.0,
    ax: Any = None,
) -> Any:
    """Losses of a classifier against the margin s = y f(x): right of zero is correct.

    The 0-1 loss counts errors. Hinge, squared hinge, squared and log loss in bits lie above it
    everywhere, so that making them small makes errors few; the perceptron's, and the log loss in
    nats, do not. The squared loss alone punishes what is too right. [000, 1.3; 002, 6.3; 004, 3.5]

    Parameters
    ----------
    losses : dict from names to losses, optional
        Of `tenfold.maths.losses`, for signs; by default the seven of the notes.
    margins : pair of float
        From where to where.
    top : float
        Largest loss shown.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> [line.get_label() for line in plot.losses().get_lines()][:3]
    ['0-1', 'perceptron', 'hinge']
    """
    ax = axes(ax, (7.2, 4.2))
    below, above = np.linspace(margins[0], 0, 400), np.linspace(0, margins[1], 400)
    above[0] = np.finfo(float).tiny  # a step is drawn upright, on both sides of zero
    s = np.concatenate([below, above])
    for i, (name, loss) in enumerate((LOSSES if losses is None else losses).items()):
        look = {"color": colour(i - 1), "lw": 2.0, "ls": STYLES[i % len(STYLES)]}
        if isinstance(loss, ZeroOne):
            look = {"color": INK, "lw": 3.0, "zorder": 3}
        ax.plot(s, loss.value(s, np.ones_like(s)), label=name, **look)
    ax.axvline(0, color=FAINT, lw=1, zorder=0)
    ax.set(xlim=margins, ylim=(-0.08, top), xlabel="margin  $s = y\\,f(x)$", ylabel="loss")
    ax.annotate("wrong", (0, top), (-6, -12), textcoords="offset points", ha="right", color=INK)
    ax.annotate("right", (0, top), (6, -12), textcoords="offset points", ha="left", color=INK)
    clean(ax)
    legend_beside(ax)
    return ax


def path(alphas: Any, coefs: Any, names: Any = None, *, ax: Any = None) -> Any:
    """Coefficients against the strength of the penalty: from strong, on the left, to weak.

    Parameters
    ----------
    alphas : (m,) array
        Strengths of the penalty, positive.
    coefs : (p, m) array
        Coefficients, as `lasso_path` returns them.
    names : list of str, optional
        Names of the columns; the largest are written beside their lines.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import plot
    >>> ax = plot.path([1.0, 0.1, 0.01], np.array([[0, 1, 2], [0, 0, -1]]), ["age", "income"])
    >>> [line.get_label() for line in ax.get_lines()[:2]]
    ['age', 'income']
    """
    alphas, coefs = np.asarray(alphas, float), np.atleast_2d(coefs)
    order = np.argsort(-alphas)
    alphas, coefs = alphas[order], coefs[:, order]
    names = [f"x{j}" for j in range(len(coefs))] if names is None else list(names)
    ranks = np.argsort(np.argsort(-np.abs(coefs).max(axis=1), kind="stable"))
    ax = axes(ax, (6.8, 4.4))
    for j, line in enumerate(coefs):
        strong = ranks[j] < LABELLED
        hue = colour(ranks[j]) if strong else FAINT
        ax.plot(alphas, line, color=hue, lw=2 if strong else 1, label=names[j], zorder=2 + strong)
    ax.axhline(0, color=INK, lw=0.8, zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(alphas.max(), alphas.min())
    ax.set(xlabel="penalty  $\\alpha$  (strong $\\rightarrow$ weak)", ylabel="coefficient")
    clean(ax)
    chosen = np.flatnonzero((ranks < LABELLED) & (coefs[:, -1] != 0))
    _name_ends(
        ax, coefs[chosen, -1], [names[j] for j in chosen], [colour(ranks[j]) for j in chosen]
    )
    return ax


def _name_ends(ax: Any, ends: np.ndarray, names: list[str], hues: list[str]) -> None:
    """Write names right of the lines' ends, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    places = spread((ends - low) / (high - low), 0.055)
    for place, name, hue in zip(places, names, hues, strict=True):
        ax.text(
            1.015, place, name, color=hue, va="center", transform=ax.transAxes, fontsize="medium"
        )


def spread(places: np.ndarray, least: float) -> np.ndarray:
    """Places, moved as little as need be so that neighbours are at least so far apart.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([0.5, 0.5, 0.9]), 0.1).round(3).tolist()
    [0.45, 0.55, 0.9]
    """
    order = np.argsort(places, kind="stable")
    groups = []  # [middle, number] of names that touch each other
    for place in places[order]:
        groups.append([place, 1])
        while len(groups) > 1 and _touch(groups[-2], groups[-1], least):
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    moved = np.concatenate([m + least * (np.arange(n) - (n - 1) / 2) for m, n in groups] or [[]])
    return moved[np.argsort(order)]


def _touch(below: list, above: list, least: float) -> bool:
    return above[0] - below[0] < least * (below[1] + above[1]) / 2
