"""What planners share: the fit, the policy and its certified bounds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenfold.rl import _planning_numba as compiled
from tenfold.rl._end_components import proper_policy
from tenfold.rl.base import Agent, state_numbers
from tenfold.rl.mdp import MDP
from tenfold.rl.policies import TIE_TOLERANCE


class ValueBounds(NamedTuple):
    """Certified bounds.

    Attributes
    ----------
    lower, upper : (n_states,) arrays
        Between which the optimal values lie, and above `lower` those of the policy.
    policy_loss : float
        By how much the policy may fall short of the best one, at most, in any state.
    """

    lower: np.ndarray
    upper: np.ndarray
    policy_loss: float


class Planner(Agent):
    """A policy computed from a known process: what the planners of endless processes share."""

    _learned_shapes = {"q_": "n m", "values_": "n", "policy_": "n"}

    def fit(self, mdp: MDP, y: Any = None) -> Self:
        """Find the best policy.

        Parameters
        ----------
        mdp : MDP
            Or what `MDP.from_gymnasium` takes.
        y : ignored
        """
        del y
        mdp = as_mdp(mdp)
        latest: dict[str, np.ndarray] = {}
        with self._work_context():
            try:
                learned = self._plan(mdp, latest)
            except KeyboardInterrupt:  # what is found so far stays, with its bounds
                if "values" in latest:
                    self._set_learned(finish_plan(mdp, latest["values"], self.discount))
                    self.converged_ = False
                raise
        self._set_learned(learned)
        self.states_, self.actions_ = mdp.state_names.copy(), mdp.action_names.copy()
        if not learned["converged_"]:
            warnings.warn(self._convergence_message(), ConvergenceWarning, stacklevel=2)
        return self

    def _convergence_message(self) -> str:
        """What to do about a plan that is not as exact as was asked for."""
        if self.n_iter_ < self.max_iter:
            stand = f"got no further after {self.n_iter_} iterations, where values round: loosen"
        else:
            stand = f"did not converge in max_iter={self.max_iter} iterations: raise it, or loosen"
        return f"{type(self).__name__} {stand} tol; `bounds_` says what is certain"

    def _set_learned(self, learned: dict[str, Any]) -> None:
        for name, value in learned.items():
            setattr(self, name, value)

    def _plan(self, mdp: MDP, latest: dict[str, np.ndarray]) -> dict[str, Any]:
        """What is learned; the latest values of the states go into `latest["values"]`."""
        raise NotImplementedError(f"{type(self).__name__} has to define _plan(mdp, latest)")

    def predict(self, observations: Any) -> np.ndarray:
        """The action for each state.

        Parameters
        ----------
        observations : list of state numbers
        """
        check_is_fitted(self)
        return self.policy_[state_numbers(observations, len(self.policy_))]


def lower_bound(mdp: MDP, discount: float) -> float:
    """A value below all optimal ones, from which sweeps only rise; zero without discount."""
    if discount == 1:
        return 0.0
    return min(compiled.least_best_reward(mdp.planning.rewards), 0.0) / (1 - discount)


def finish_plan(mdp: MDP, values: np.ndarray, discount: float) -> dict[str, Any]:
    """Values after one more sweep, action values, policy, ties and bounds.

    Without discount the policy comes to an end, if it is worth something: going round in circles at
    no cost ties with what pays later.
    """
    p = mdp.planning
    q, V, size = compiled.look_ahead(
        p.indptr, p.next_state, p.probability, p.rewards, values, float(discount)
    )
    best, policy, behind = compiled.choose_best(q, V, TIE_TOLERANCE * max(1.0, size))
    if discount == 1:
        policy = proper_policy(mdp, V, best)
    bounds = None
    if discount < 1:
        step = V - values
        reach = discount / (1 - discount)
        low, high = reach * min(float(step.min()), 0.0), reach * max(float(step.max()), 0.0)
        low -= behind / (1 - discount)  # the policy may fall behind by that much in every step
        bounds = ValueBounds(V + low, V + high, high - low)
    return {
        "values_": V,
        "q_": q,
        "policy_": policy,
        "optimal_actions_": best,
        "bounds_": bounds,
    }


def residual_history(residuals: list[float], seconds: list[float]) -> dict[str, np.ndarray]:
    """Residuals of the rounds, each one's ratio to the one before, and times."""
    r = np.array(residuals)
    ratio = np.full(len(r), np.nan)
    np.divide(r[1:], r[:-1], out=ratio[1:], where=r[:-1] > 0)
    return {"residual": r, "contraction": ratio, "seconds": np.array(seconds)}


def as_mdp(mdp: Any) -> MDP:
    """The process itself, or that of an environment of Gymnasium."""
    if isinstance(mdp, MDP):
        return mdp
    own = getattr(mdp, "mdp", None)
    return own if isinstance(own, MDP) else MDP.from_gymnasium(mdp)
