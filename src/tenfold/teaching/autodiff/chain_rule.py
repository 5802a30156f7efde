"""The total derivative, split into the direct effect and the effect through each variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.teaching.autodiff.reverse_mode import ReverseTrace, grad


class TotalDerivative(NamedTuple):
    """What a small change of t does to Q: directly, through each variable, and in total."""

    total: Any
    direct: Any
    through: dict[str, Any]


def total_derivative(
    Q: Callable[..., Any], variables: dict[str, Callable[[Any], Any]], t: Any
) -> TotalDerivative:
    r"""The total derivative of Q by t, split into its channels.

    .. math::

        \frac{dQ}{dt} = \frac{\partial Q}{\partial t}
        + \sum_v \frac{\partial Q}{\partial v} \frac{dv}{dt}

    The first part is the direct effect of t, the others are indirect, one through each variable.
    [003, unit 0]

    Parameters
    ----------
    Q : callable
        `Q(t, **variables)` gives one number; the variables are given by name.
    variables : dict
        Of each variable the function of t that gives it, a number or an array.
    t : number or array
        Where.

    Returns
    -------
    Channels
        The parts have the shape of t.

    Examples
    --------
    What is produced from capital K and labour L, both of which grow, while technology improves:

    >>> found = total_derivative(
    ...     lambda t, K, L: (1 + t) * K * L, {"K": lambda t: 2 + t, "L": lambda t: 3 * t}, 1.0
    ... )
    >>> float(found.direct), {name: float(part) for name, part in found.through.items()}
    (9.0, {'K': 6.0, 'L': 18.0})
    >>> float(found.total)
    33.0
    """
    names = list(variables)
    walks = [ReverseTrace(variables[name], (t,), 0, {}) for name in names]
    values = [walk.value for walk in walks]

    def by_position(t: Any, *values: Any) -> Any:
        return Q(t, **dict(zip(names, values, strict=True)))

    direct, *slopes = grad(by_position, tuple(range(len(names) + 1)))(t, *values)
    through = {
        name: walk.back(slope)[0] for name, walk, slope in zip(names, walks, slopes, strict=True)
    }
    return TotalDerivative(np.sum([direct, *through.values()], axis=0), direct, through)
