"""Meta-learning: initial parameters from which a few steps suffice for a new task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.engine.hooks import report_objective


def reptile(
    model: Any,
    draw_task: Callable[[np.random.Generator], tuple[Any, Any]],
    *,
    n_tasks: int = 500,
    n_epochs: int = 5,
    step: float = 0.5,
    random_state: int = 0,
) -> Any:
    r"""Initial parameters for tasks like those drawn, by Reptile.

    For each task the network learns `n_epochs` epochs from the current initial parameters
    :math:`\theta` and ends at :math:`\theta'`; then
    :math:`\theta \leftarrow \theta + \varepsilon_t (\theta' - \theta)` with :math:`\varepsilon_t`
    falling from `step` to 0.

    Parameters
    ----------
    model : MLPRegressor or MLPClassifier
        The network, not fitted; plain gradient steps (`solver="sgd", momentum=0`) suit best.
    draw_task : callable
        Function of a random generator that returns rows and targets of a task.
    n_tasks : int
        Number of tasks.
    n_epochs : int
        Epochs on each.
    step : float
        First :math:`\varepsilon`, between 0 and 1.
    random_state : int
        Seed of the tasks.

    Returns
    -------
    the network with the initial parameters found; `partial_fit` goes on from them

    References
    ----------
    Nichol, A., Achiam, J. and Schulman, J. (2018). On first-order meta-learning algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> from tenfold.teaching import reptile
    >>> def line(rng):
    ...     X = rng.uniform(-1, 1, (10, 1))
    ...     return X, 3 + rng.normal() * X[:, 0]
    >>> settings = dict(solver="sgd", momentum=0.0, learning_rate_init=0.1, random_state=0)
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), **settings)
    >>> start = reptile(model, line, n_tasks=100)
    >>> bool(abs(start.predict([[0.0]])[0] - 3) < 0.5)
    True
    """
    if not 0 < step <= 1:
        raise ValueError(f"step={step} must be in (0, 1]")
    rng = np.random.default_rng(random_state)
    learner: Any = clone(model)
    X, y = draw_task(rng)
    learner.partial_fit(X, y)  # makes the parameters
    for number in range(n_tasks):
        start = [array.copy() for array in (*learner.coefs_, *learner.intercepts_)]
        X, y = draw_task(rng)
        for _ in range(n_epochs):
            learner.partial_fit(X, y)
        report_objective(float(learner.loss_))
        rate = step * (1 - number / n_tasks)
        moved = zip(start, (*learner.coefs_, *learner.intercepts_), strict=True)
        arrays = [a + rate * (b - a) for a, b in moved]
        learner.coefs_, learner.intercepts_ = arrays[: len(start) // 2], arrays[len(start) // 2 :]
    return learner
