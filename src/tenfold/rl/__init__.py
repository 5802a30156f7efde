"""Acting: planning in Markov decision processes, learning from rewards, imitation.

Names are lazy: each model imports what it needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "_lanes": ("discounted_returns",),
    "averages": ("exponential_average", "model_based_mean", "model_free_mean"),
    "bandits": ("Arms", "Bandit"),
    "comparison": ("AgentComparison", "compare"),
    "control_worlds": ("CartPole", "MountainCar", "PointMass"),
    "counts": ("MoveCounts", "TransitionModel", "sample_moves"),
    "deep_q": ("DeepQ",),
    "environment": ("BoxSpace", "DiscreteSpace", "MDPWorld", "TextSpace", "to_gymnasium"),
    "episodes": ("Evaluation", "Move"),
    "exploration": ("Boltzmann", "EpsilonGreedy", "UpperConfidence"),
    "finite_horizon": ("FiniteHorizon",),
    "grid_worlds": ("GridWorld", "cliff", "delayed_reward", "grid_world", "maze"),
    "imitation": ("BehavioralCloning", "DAgger", "demonstrate"),
    "linear_q": ("LinearQ",),
    "mdp": ("MDP",),
    "planner": ("ValueBounds",),
    "policies": ("evaluate_policy", "greedy_policy", "optimal_actions"),
    "policy_gradient": ("PolicyGradient",),
    "policy_iteration": ("PolicyIteration",),
    "temporal_difference": ("QLearning", "SARSA", "td_update"),
    "text_game": ("TextGame",),
    "value_iteration": ("ValueIteration", "value_iteration_steps"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
