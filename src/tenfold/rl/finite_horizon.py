"""Planning for a given number of steps."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.rl._arguments import check_count
from tenfold.rl.base import Agent, state_numbers
from tenfold.rl.episodes import Evaluation
from tenfold.rl.mdp import MDP
from tenfold.rl.planner import as_mdp
from tenfold.rl.policies import greedy_policy


class FiniteHorizon(Agent):
    r"""The best actions for a given number of steps, which depend on the steps that are left.

    .. math:: V_0 = 0, \quad
        V_t(s) = \max_a R(s, a) + \gamma \sum_{s'} T(s, a, s') V_{t-1}(s')

    Parameters
    ----------
    horizon : int
        Number of steps.
    discount : float
        :math:`\gamma`; 1, the plain sum of rewards, by default.

    Attributes
    ----------
    values_ : (horizon + 1, n_states) array
        Row t for t steps left; row 0 is zero.
    q_ : (horizon + 1, n_states, n_actions) array
        Row 0 is zero.
    policy_ : (horizon + 1, n_states) array
        Row t for t steps left; row 0 is -1.

    See Also
    --------
    ValueIteration : Without an end, where one policy serves at all times.

    Examples
    --------
    With one step left it pays to take 0.1 at once; with two, to go where 1 is paid.

    >>> import numpy as np
    >>> from tenfold import MDP, FiniteHorizon
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> plan = FiniteHorizon(horizon=3).fit(MDP(go, [[0.1, 0], [1, 0.5]]))
    >>> plan.values_.tolist()
    [[0.0, 0.0], [0.1, 1.0], [1.0, 2.0], [2.0, 3.0]]
    >>> plan.policy_[1:].tolist()
    [[0, 0], [1, 0], [1, 0]]
    """

    _parameter_constraints = {
        "horizon": [Interval(Integral, 1, None, closed="left")],
        "discount": [Interval(Real, 0, 1, closed="both")],
    }

    _learned_shapes = {"q_": "t n m", "values_": "t n", "policy_": "t n"}

    def __init__(self, horizon: int, discount: float = 1.0) -> None:
        self.horizon, self.discount = horizon, discount

    def fit(self, mdp: MDP, y: Any = None) -> Self:
        """Find the best actions, from the last step to the first.

        Parameters
        ----------
        mdp : MDP
        y : ignored
        """
        del y
        mdp = as_mdp(mdp)
        with self._work_context():
            values = np.zeros((self.horizon + 1, mdp.n_states))
            q = np.zeros((self.horizon + 1, mdp.n_states, mdp.n_actions))
            policy = np.full((self.horizon + 1, mdp.n_states), -1)
            for t in range(1, self.horizon + 1):
                q[t] = mdp.action_values(values[t - 1], self.discount)
                values[t], policy[t] = q[t].max(axis=1), greedy_policy(q[t])
        self.values_, self.q_, self.policy_ = values, q, policy
        self.states_, self.actions_ = mdp.state_names.copy(), mdp.action_names.copy()
        return self

    def predict(self, observations: Any, steps_left: int | None = None) -> np.ndarray:
        """The action for each state.

        Parameters
        ----------
        observations : list of state numbers
        steps_left : int, optional
            From 1 to `horizon`, the default.
        """
        check_is_fitted(self)
        t = self.horizon if steps_left is None else check_count(steps_left, "steps_left", 1)
        if t > self.horizon:
            raise ValueError(f"steps_left={t}: expected a number from 1 to {self.horizon}")
        return self.policy_[t][state_numbers(observations, self.policy_.shape[1])]

    def evaluate(self, world: Any, episodes: int = 100, **settings: Any) -> Evaluation:
        """Mean return over episodes of `horizon` steps, with a confidence interval.

        Parameters
        ----------
        world : MDP, environment or name for `gymnasium.make`
        episodes : int
        **settings
            As in the other agents; `max_steps` is at most the horizon.
        """
        steps = min(settings.pop("max_steps", self.horizon), self.horizon)
        return super().evaluate(world, episodes, max_steps=steps, **settings)

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action for one state; the memory is the number of steps that are left after it."""
        del rng
        left = self.horizon if memory is None else max(memory, 1)
        return self.predict([observation], left)[0], left - 1
