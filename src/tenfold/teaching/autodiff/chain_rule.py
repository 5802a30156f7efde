"""The total derivative, split into the direct effect and the effect through each variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.teaching.autodiff.reverse_mode import ReverseTrace, grad


class TotalDerivative(NamedTuple):
    """The total derivative of Q: the partial derivative in t, and a term for each variable."""

    total: Any
    direct: Any
    through: dict[str, Any]


def total_derivative(
    Q: Callable[..., Any], variables: dict[str, Callable[[Any], Any]], t: Any
) -> TotalDerivative:
    r"""The total derivative of Q with respect to t, term by term.

    .. math::

        \frac{dQ}{dt} = \frac{\partial Q}{\partial t}
        + \sum_v \frac{\partial Q}{\partial v} \frac{dv}{dt}

    The first term is the direct effect of t, the others are indirect, one through each variable.

    Parameters
    ----------
    Q : callable
        `Q(t, **variables)` returns one number; the variables are keyword arguments.
    variables : dict
        Each variable as a function of t, a number or an array.
    t : number or array
        Where.

    Returns
    -------
    Channels
        The terms have the shape of t.

    Examples
    --------
    Output from capital K and labor L, both of which grow, while technology improves:

    >>> terms = total_derivative(
    ...     lambda t, K, L: (1 + t) * K * L, {"K": lambda t: 2 + t, "L": lambda t: 3 * t}, 1.0
    ... )
    >>> float(terms.direct), {name: float(part) for name, part in terms.through.items()}
    (9.0, {'K': 6.0, 'L': 18.0})
    >>> float(terms.total)
    33.0
    """
    names = list(variables)
    traces = [ReverseTrace(variables[name], (t,), 0, {}) for name in names]
    values = [trace.value for trace in traces]

    def by_position(t: Any, *values: Any) -> Any:
        return Q(t, **dict(zip(names, values, strict=True)))

    direct, *gradients = grad(by_position, tuple(range(len(names) + 1)))(t, *values)
    through = {
        name: trace.vjp(gradient)[0]
        for name, trace, gradient in zip(names, traces, gradients, strict=True)
    }
    return TotalDerivative(np.sum([direct, *through.values()], axis=0), direct, through)
