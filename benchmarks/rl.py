"""Planning against QuantEcon and mdptoolbox, deep Q-learning against torch, tables against Python.

Plans are compared with QuantEcon's modified policy iteration, its fastest method in mazes with
closed pockets, and with plain value iterations. REINFORCE with a baseline is held against a limit
until the pole stands in training, and against PPO of Stable-Baselines3 with the settings of its zoo
until 20 episodes without exploration have a mean of 475.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS
from benchmarks.report import Row, Table, tell, timed
from benchmarks.report import figure as number
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Acting"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "error", "peer's"]
QUANTECON, TOOLBOX, TORCH, PYTHON = "QuantEcon", "mdptoolbox", "torch", "Python loop"
BASELINES = "Stable-Baselines3"
PACKAGES = {QUANTECON: "quantecon", TOOLBOX: "mdptoolbox", TORCH: "torch", PYTHON: "numpy"}
PACKAGES |= {BASELINES: "stable_baselines3"}
ROUNDS, TOL, DISCOUNT = 3, 1e-6, 0.99
SOLVED, LIMIT, SEEDS = 475.0, 5.0, 5  # mean return of CartPole, seconds, runs of REINFORCE
REINFORCE = "reinforce-cart-pole"
POLES = {"cart-pole-gymnasium": 3.0, "cart-pole-compiled": 10.0}  # ratios asked for
POLE_SEEDS = 10
LARGE = 1000  # sides of mazes that are solved once, without a run before it
LONG = ("plain-1000000",)


class ActingCase(NamedTuple):
    """What is measured, with what size, and the ratio that is asked for."""

    kind: str
    size: int
    peer: str
    target: float


CASES = {
    "plan-2500": ActingCase("plan", 50, QUANTECON, 4.0),
    "plan-10000": ActingCase("plan", 100, QUANTECON, 4.0),
    "plan-1000000": ActingCase("plan", 1000, QUANTECON, 4.0),
    "plain-2500": ActingCase("plain", 50, QUANTECON, 40.0),
    "plain-10000": ActingCase("plain", 100, QUANTECON, 40.0),
    "plain-1000000": ActingCase("plain", 1000, QUANTECON, 40.0),
    "toolbox-2500": ActingCase("toolbox", 50, TOOLBOX, 40.0),
    "dqn-64-64": ActingCase("dqn", 64, TORCH, 8.0),
    "dqn-256-256": ActingCase("dqn", 256, TORCH, 2.5),
    "table-steps": ActingCase("table", 8, PYTHON, 100.0),
}


def names() -> list[str]:
    return [*CASES, REINFORCE, *POLES]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in contest(name, quick=quick)]
    notes = [
        f"{library} is not installed"
        for library, package in PACKAGES.items()
        if util.find_spec(package) is None
    ]
    notes.append("plan: the peer's modified policy iteration; plain, toolbox: its value iteration")
    notes.append(
        "QuantEcon's sweeps are compiled too: 1374 where ours take 11 (2,500 cells) or 13 (10,000)"
    )
    notes.append("plain-10000: half of our time are blocks, parts, order and the certified end")
    notes.append(
        "errors against values to 1e-10; mdptoolbox without its set-up, which takes longer"
    )
    notes.append(f"{REINFORCE}: until three batches of 32 episodes have a mean of {SOLVED:g}")
    return Table(TITLE, HEADER, rows, notes)


def contest(name: str, *, quick: bool) -> list[Row]:
    """Ours and the peer in turns on one case."""
    if name == REINFORCE:
        return reinforce(quick=quick)
    if name in POLES:
        return poles(name, quick=quick)
    case = CASES[name]
    if util.find_spec(PACKAGES[case.peer]) is None or (quick and case.size >= LARGE):
        return []
    tell(name)
    makers: dict[str, Callable[[int], Any]] = {
        "plan": plans,
        "plain": partial(plans, method="vi"),
        "toolbox": toolbox_plans,
        "dqn": steps,
        "table": tables,
    }
    first, first_of_peer, _ = makers[case.kind](case.size if case.size < LARGE else 50)
    with undisturbed():  # compiles
        first()
        first_of_peer()
    ours, theirs, errors = makers[case.kind](case.size)
    calls = {OURS: lambda _: [seconds(ours)], case.peer: lambda _: [seconds(theirs)]}
    times = interleaved(calls, 1 if quick or case.size >= LARGE else ROUNDS)
    ratio = times[case.peer].median / times[OURS].median
    cells = [name, timed(times[OURS]), case.peer, timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", *(number(error, 2) for error in errors())]
    return [Row(cells, "met" if ratio >= case.target else "missed")]


def slippery_maze(side: int) -> Any:
    """A grid with 15 % walls and slips, in which every step costs a little.

    Cells without a way to the goal stay: their values fall to the cost of walking for ever, and
    plain sweeps approach that by the discount alone.
    """
    from tenfold.rl.grid_worlds import GridWorld

    free = np.random.default_rng(0).random((side, side)) >= 0.15
    grid = np.where(free, ".", "#")
    grid[0, 0], grid[-1, -1] = "S", "G"
    return GridWorld(["".join(row) for row in grid], {"G": 1.0}, cost=0.01, slip=0.2)


def absorbing_matrix(world: Any) -> Any:
    """Moves of all pairs but those of the goal, which is one more state, as a sparse matrix."""
    from scipy import sparse

    n, k, p = world.n_states, world.n_actions, world.planning
    Q = sparse.csr_matrix((p.probability, p.next_state, p.indptr), shape=(n * k, n))
    ending = 1 - np.asarray(Q.sum(axis=1)).ravel()
    return sparse.hstack([Q, sparse.csr_matrix(ending[:, None])], "csr")


def plan_errors(world: Any, found: dict[str, np.ndarray], peer: str) -> list[float]:
    """Largest errors of our values and of the peer's."""
    from tenfold import ValueIteration

    best = ValueIteration(DISCOUNT, tol=1e-10).fit(world).values_
    return [float(np.abs(found[name] - best).max()) for name in (OURS, peer)]


def plans(
    side: int, method: str = "mpi"
) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], list[float]]]:
    """Value iteration from the process to certified values, and a method of QuantEcon."""
    from quantecon.markov import DiscreteDP
    from scipy import sparse

    from tenfold import ValueIteration

    world = slippery_maze(side)
    n, k = world.n_states, world.n_actions
    stay = sparse.csr_matrix(([1.0], ([0], [n])), shape=(1, n + 1))
    Q = sparse.vstack([absorbing_matrix(world), stay], "csr")
    R = np.append(world.planning.rewards.ravel(), 0.0)
    pairs = np.append(np.repeat(np.arange(n), k), n), np.append(np.tile(np.arange(k), n), 0)
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        found[OURS] = ValueIteration(DISCOUNT, tol=TOL).fit(world).values_

    def theirs() -> None:
        process = DiscreteDP(R, Q, DISCOUNT, *pairs)
        solved = process.solve(method=method, epsilon=2 * TOL, max_iter=10**6)
        found[QUANTECON] = solved.v[:n]

    return ours, theirs, lambda: plan_errors(world, found, QUANTECON)


def toolbox_plans(
    side: int,
) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], list[float]]]:
    """Value iteration to certified values, and that of mdptoolbox."""
    from mdptoolbox.mdp import ValueIteration as ToolboxIteration
    from scipy import sparse

    from tenfold import ValueIteration

    world = slippery_maze(side)
    n, k = world.n_states, world.n_actions
    stay = sparse.csr_matrix((np.ones(k), (range(k), [n] * k)), shape=(k, n + 1))
    Q: Any = sparse.vstack([absorbing_matrix(world), stay], "csr")
    R = np.vstack([world.planning.rewards, np.zeros(k)])
    peer = ToolboxIteration([Q[a::k] for a in range(k)], R, DISCOUNT, epsilon=2 * TOL)
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        found[OURS] = ValueIteration(DISCOUNT, tol=TOL).fit(world).values_

    def theirs() -> None:
        peer.V, peer.iter = np.zeros(n + 1), 0  # anew; a run ends with a tuple
        peer.run()
        found[TOOLBOX] = np.array(peer.V)[:n]

    return ours, theirs, lambda: plan_errors(world, found, TOOLBOX)


def reinforce(*, quick: bool) -> list[Row]:
    """Seconds until REINFORCE with a value network as baseline keeps the pole up."""
    from tenfold import PolicyGradient
    from tenfold.rl.control_worlds import CartPole

    tell(REINFORCE)

    def learn(seed: int) -> None:
        agent, last = PolicyGradient(random_state=seed), 0.0
        while last < SOLVED and getattr(agent, "n_episodes_", 0) < 6400:
            agent.partial_fit(CartPole(), agent.batch_episodes)
            returns = agent.history_["return"]
            last = float(returns[-3:].mean()) if len(returns) >= 3 else 0.0

    with undisturbed():
        learn(SEEDS)
    seeds = iter(range(SEEDS))
    times = interleaved(
        {OURS: lambda _: [seconds(partial(learn, next(seeds)))]}, 1 if quick else SEEDS
    )
    took = times[OURS]
    cells = [REINFORCE, timed(took), "limit", f"{LIMIT:g}", f"{LIMIT / took.median:.2f}x", "1x"]
    return [Row([*cells, "", ""], "met" if took.median <= LIMIT else "missed")]


def poles(name: str, *, quick: bool) -> list[Row]:
    """Seconds until the pole stands, ours and those of PPO, one pair for each seed."""
    if util.find_spec(PACKAGES[BASELINES]) is None:
        return []
    tell(name)
    ours, theirs = iter(range(POLE_SEEDS)), iter(range(POLE_SEEDS))
    compiled = name == "cart-pole-compiled"
    balance_pole(0, compiled=compiled)
    calls: dict[str, Callable[[int], list[float]]] = {
        OURS: lambda _: [seconds(partial(balance_pole, next(ours), compiled=compiled))],
        BASELINES: lambda _: [ppo_seconds(next(theirs))],
    }
    times = interleaved(calls, 1 if quick else POLE_SEEDS)
    ratio, target = times[BASELINES].median / times[OURS].median, POLES[name]
    cells = [name, timed(times[OURS]), BASELINES, timed(times[BASELINES]), f"{ratio:.2f}x"]
    return [Row([*cells, f"{target:g}x", "", ""], "met" if ratio >= target else "missed")]


def balance_pole(seed: int, *, compiled: bool) -> None:
    """Learn in batches of episodes until the pole stands in 20 episodes of a test."""
    import gymnasium

    from tenfold import PolicyGradient
    from tenfold.rl.control_worlds import CartPole

    world = CartPole() if compiled else gymnasium.make("CartPole-v1")
    agent, mean = PolicyGradient(random_state=seed), 0.0
    while mean < SOLVED and getattr(agent, "n_episodes_", 0) < 6400:
        agent.partial_fit(world, agent.batch_episodes)
        if agent.history_["return"][-1] > 350:
            mean = agent.evaluate(world, episodes=20).mean


@cache
def ppo_seconds(seed: int) -> float:
    """Seconds of the peer, which both cases are compared with."""
    return seconds(partial(balance_by_ppo, seed))


def balance_by_ppo(seed: int) -> None:
    """The same with PPO and the settings of its zoo, tested every 5,000 moves."""
    import gymnasium
    from stable_baselines3 import PPO
    from stable_baselines3.common import callbacks
    from stable_baselines3.common.env_util import make_vec_env

    stop = callbacks.StopTrainingOnRewardThreshold(SOLVED)
    test = callbacks.EvalCallback(
        gymnasium.make("CartPole-v1"),
        callback_on_new_best=stop,
        n_eval_episodes=20,
        eval_freq=625,  # of each of the eight worlds
        verbose=0,
    )
    settings = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8}
    PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", 8, seed=seed),
        learning_rate=lambda rest: 1e-3 * rest,
        clip_range=lambda rest: 0.2 * rest,
        ent_coef=0.0,
        seed=seed,
        device="cpu",
        **settings,
    ).learn(100_000, callback=test)


def steps(width: int) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], list[float]]]:
    """A hundred gradient steps of double deep Q-learning on batches of 64 moves."""
    import torch

    from tenfold import DeepQ
    from tenfold.neural.layers.dense import Dense
    from tenfold.rl._deep_q_run import DeepRun
    from tenfold.rl.control_worlds import CartPole

    layers = (Dense(width, "relu"), Dense(width, "relu"))
    agent = DeepQ(layers=layers, warmup=10**6, n_episodes=60, gradient_steps=100, random_state=0)
    learner = DeepRun(agent.fit(CartPole()), CartPole())
    seen, action, reward, after, ended = (
        torch.as_tensor(np.ascontiguousarray(part)) for part in agent.replay_
    )

    def network() -> Any:
        hidden = torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
        return torch.nn.Sequential(*hidden, torch.nn.ReLU(), torch.nn.Linear(width, 2))

    online, target = network(), network()
    optimizer = torch.optim.Adam(online.parameters(), 1e-3)

    def theirs() -> None:
        for step in range(100):
            rows = torch.as_tensor(np.random.default_rng(step).integers(0, agent.n_steps_, 64))
            with torch.no_grad():
                best = online(after[rows]).argmax(1, keepdim=True)
                ahead = target(after[rows]).gather(1, best)[:, 0]
                y = reward[rows] + 0.99 * ahead * ~ended[rows]
            q = online(seen[rows]).gather(1, action[rows, None])[:, 0]
            loss = torch.nn.functional.smooth_l1_loss(q, y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(online.parameters(), 10)
            optimizer.step()

    def ours() -> None:
        learner.train(0, learner.steps, 100)

    return ours, theirs, lambda: [0.0, 0.0]


def tables(side: int) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], list[float]]]:
    """Q-learning in a maze: a hundred times as many episodes as the loop in Python."""
    from tenfold import QLearning
    from tenfold.rl.environment import MDPWorld
    from tenfold.rl.grid_worlds import maze

    world = maze(side, side, slip=0.1)
    env = MDPWorld(world, 200)

    def loop(episodes: int = 10) -> None:
        rng, Q = np.random.default_rng(0), np.zeros((world.n_states, 4))
        for episode in range(episodes):
            s, done = env.reset(seed=episode)[0], False
            while not done:
                a = rng.integers(4) if rng.random() < 0.1 else int(Q[s].argmax())
                t, r, terminated, truncated, _ = env.step(a)
                Q[s, a] += 0.1 * (r + 0.99 * (0 if terminated else Q[t].max()) - Q[s, a])
                s, done = t, terminated or truncated

    learner = QLearning(n_episodes=1000, max_steps=200, learning_rate=0.1, random_state=0)
    return partial(learner.fit, world), lambda: [loop() for _ in range(100)], lambda: [0.0, 0.0]
