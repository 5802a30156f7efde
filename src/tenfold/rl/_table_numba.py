"""Compiled table learning: choice of actions, temporal-difference updates, whole episodes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold.rl._random_numba import draw_index, episode_seed, uniform
from tenfold.rl.exploration import BOLTZMANN, EPSILON_GREEDY

Q_LEARNING, SARSA, EXPECTED_SARSA = range(3)
AGENT_STREAM = 0x5EED  # tells the draws of an agent from those of its world


@njit(cache=True, nogil=True)
def action_probabilities(values, counts, how, level, out):
    """Probabilities of the actions of one state; -inf marks actions that do not exist."""
    best, ties, there = -np.inf, 0, 0
    for a in range(len(values)):
        there += values[a] > -np.inf
        if values[a] > best:
            best, ties = values[a], 1
        elif values[a] == best and best > -np.inf:
            ties += 1
    if how == EPSILON_GREEDY:
        for a in range(len(values)):
            share = level / there if values[a] > -np.inf else 0.0
            out[a] = share + ((1.0 - level) / ties if values[a] == best else 0.0)
    elif how == BOLTZMANN:
        for a in range(len(values)):
            out[a] = math.exp((values[a] - best) / level)
    else:
        _confidence_choice(values, counts, level, out)


@njit(cache=True, nogil=True)
def _confidence_choice(values, counts, scale, out):
    """All weight on the largest upper confidence bound; on untried actions first."""
    total = 0
    for a in range(len(values)):
        total += counts[a]
    best = -np.inf
    for a in range(len(values)):
        bound = -np.inf
        if values[a] > -np.inf:
            bound = np.inf
            if counts[a] > 0:
                bound = values[a] + scale * math.sqrt(math.log(total) / counts[a])
        if bound > best:
            best = bound
            out[:a] = 0.0
        out[a] = 1.0 if bound == best and bound > -np.inf else 0.0


@njit(cache=True, nogil=True)
def choose_action(tables, s, how, level, u):
    """Draw an action; probabilities are left in the last of the tables' work space."""
    q, visits, values, chances = tables
    for a in range(len(values)):
        values[a] = q[0, s, a] if len(q) == 1 else 0.5 * (q[0, s, a] + q[1, s, a])
    action_probabilities(values, visits[s], how, level, chances)
    return draw_index(chances, u)


@njit(cache=True, nogil=True)
def next_value(tables, s, a, rule, part):
    """What the state after a move is worth: by the best, the taken or the expected action."""
    q, _, values, chances = tables
    other = len(q) - 1 - part
    if rule == SARSA:
        return q[other, s, a]
    if rule == Q_LEARNING:
        best = 0
        for b in range(1, q.shape[2]):
            if q[part, s, b] > q[part, s, best]:
                best = b
        return q[other, s, best]
    total, weight = 0.0, 0.0
    for b in range(len(values)):
        weight += chances[b]
        if chances[b] > 0.0:
            total += chances[b] * q[other, s, b]
    return total / weight


@njit(cache=True, nogil=True)
def begin_episode(memory):
    """Forget moves and traces of the episode before."""
    _, _, traces, active, sizes = memory
    for i in range(sizes[2]):
        traces[active[i, 0], active[i, 1]] = 0.0
    sizes[:] = 0


@njit(cache=True, nogil=True)
def learn_move(tables, memory, move, after, settings, rates, part):
    """Learn from the move (s, a, r) to the state and action `after`; `ends` says how it went on.

    ends: 0 goes on, 1 terminated (worth nothing from there), 2 truncated (worth what it is worth).
    """
    s, a, reward, ends = move
    rule, discount, steps, decay, _ = settings
    recent, rewards, _, _, sizes = memory
    worth = 0.0
    if ends != 1:
        worth = next_value(tables, after[0], after[1], rule, part)
    if decay >= 0.0:
        _learn_traces(tables, memory, move, worth, settings, rates, part)
        return
    recent[sizes[0] % steps, 0], recent[sizes[0] % steps, 1] = s, a
    rewards[sizes[0] % steps] = reward
    sizes[0] += 1
    while sizes[0] - sizes[1] >= steps or (ends > 0 and sizes[1] < sizes[0]):
        target = worth
        for i in range(sizes[0] - 1, sizes[1] - 1, -1):
            target = rewards[i % steps] + discount * target
        first = sizes[1] % steps
        update_pair(tables, recent[first, 0], recent[first, 1], target, rates, part)
        sizes[1] += 1


@njit(cache=True, nogil=True)
def update_pair(tables, s, a, target, rates, part):
    """Q += rate(visits) (target - Q)."""
    q, visits = tables[0], tables[1]
    visits[s, a] += 1
    q[part, s, a] += rates[visits[s, a]] * (target - q[part, s, a])


@njit(cache=True, nogil=True)
def _learn_traces(tables, memory, move, worth, settings, rates, part):
    """All pairs of the episode share in the error, those of long ago less."""
    q, visits = tables[0], tables[1]
    s, a, reward, _ = move
    _, discount, _, decay, greedy = settings
    _, _, traces, active, sizes = memory
    visits[s, a] += 1
    error = rates[visits[s, a]] * (reward + discount * worth - q[part, s, a])
    if traces[s, a] == 0.0:
        active[sizes[2], 0], active[sizes[2], 1] = s, a
        sizes[2] += 1
    traces[s, a] += 1.0
    for i in range(sizes[2]):
        t, b = active[i, 0], active[i, 1]
        q[part, t, b] += error * traces[t, b]
        # Watkins: after an exploring action the greedy policy's returns have ended
        traces[t, b] *= discount * decay * greedy
    kept = 0
    for i in range(sizes[2]):
        if traces[active[i, 0], active[i, 1]] > 1e-12:
            active[kept, 0], active[kept, 1] = active[i, 0], active[i, 1]
            kept += 1
        else:
            traces[active[i, 0], active[i, 1]] = 0.0
    sizes[2] = kept


@njit(cache=True, nogil=True)
def is_greedy(tables, s, a):
    """1.0 if the action is one of the best, otherwise 0.0."""
    q = tables[0]
    best = -np.inf
    for b in range(q.shape[2]):
        value = q[0, s, b] if len(q) == 1 else 0.5 * (q[0, s, b] + q[1, s, b])
        best = max(best, value)
    own = q[0, s, a] if len(q) == 1 else 0.5 * (q[0, s, a] + q[1, s, a])
    return 1.0 if own == best else 0.0


@njit(cache=True, nogil=True)
def sample_move(world, pair, u):
    """A transition of a pair of state and action, drawn by a number in [0, 1)."""
    indptr, probability = world[0], world[2]
    left = u
    last = indptr[pair]
    for e in range(indptr[pair], indptr[pair + 1]):
        if probability[e] > 0.0:
            left -= probability[e]
            last = e
            if left < 0.0:
                break
    return last


@njit(cache=True, nogil=True)
def run_episodes(world, tables, memory, episodes, settings, rates, results):
    """Episodes of table learning on a process.

    Parameters
    ----------
    world : indptr, next_state, probability, reward, ends, start, most steps of an episode
    tables : q (1 or 2, n_states, n_actions), visits, and work space for a state's actions
    memory : latest moves, their rewards, traces, pairs with traces, and how many there are
    episodes : seed, number of the first, how actions are chosen, its level in each episode
    settings : rule, discount, steps, decay of traces (below 0: none), 1.0
    rates : learning rate of each visit
    results : return and length of each episode
    """
    _, next_state, _, reward, ends, start, most = world
    seed, first, how, levels = episodes
    rule, discount, steps, decay, _ = settings
    k = tables[0].shape[2]
    for e in range(len(levels)):
        own = episode_seed(seed, first + e)
        luck = episode_seed(own, AGENT_STREAM)
        begin_episode(memory)
        s = draw_index(start, uniform(own, 0))
        a = choose_action(tables, s, how, levels[e], uniform(luck, 0))
        total, t = 0.0, 0
        while True:
            move = sample_move(world, s * k + a, uniform(own, t + 1))
            t += 1
            after, gain = next_state[move], reward[move]
            total += gain
            state = 1 if ends[move] else (2 if t >= most else 0)
            b = choose_action(tables, after, how, levels[e], uniform(luck, 2 * t))
            part = 0
            if len(tables[0]) == 2 and uniform(luck, 2 * t + 1) < 0.5:
                part = 1
            greedy = is_greedy(tables, after, b) if rule == Q_LEARNING and decay >= 0.0 else 1.0
            settings = (rule, discount, steps, decay, greedy)
            learn_move(tables, memory, (s, a, gain, state), (after, b), settings, rates, part)
            s, a = after, b
            if state > 0:
                break
        results[e, 0], results[e, 1] = total, t


@njit(cache=True, nogil=True)
def replay_moves(tables, moves, settings, rates, seed):
    """Learn from logged moves, one after the other."""
    rule, discount = settings[0], settings[1]
    states, actions, rewards, after, follow, ends = moves
    for i in range(len(states)):
        part = 1 if len(tables[0]) == 2 and uniform(seed, i) < 0.5 else 0
        worth = 0.0
        if not ends[i]:
            worth = next_value(tables, after[i], follow[i], rule, part)
        target = rewards[i] + discount * worth
        update_pair(tables, states[i], actions[i], target, rates, part)


@njit(cache=True, nogil=True)
def linear_value(theta, features, i, a, is_joint):
    """Q of observation i and action a."""
    row, part = (0, a) if is_joint else (a, 0)
    total = 0.0
    for j in range(theta.shape[1]):
        total += theta[row, j] * features[i, part, j]
    return total


@njit(cache=True, nogil=True)
def replay_linear_moves(theta, features, moves, rates, discount, n_actions):
    """Q-learning with linear values from logged moves, one after the other.

    Parameters
    ----------
    theta : (n_actions, n_features) array; (1, n_features) for features of both
    features : (n_observations, 1, n_features) array; (n_observations, n_actions, n_features)
    moves : observations, actions, rewards, next observations, whether they ended
    rates : learning rate of each move

    Returns
    -------
    float
        Mean absolute error of the targets.
    """
    seen, actions, rewards, after, ends = moves
    is_joint, errors = len(theta) < n_actions, 0.0
    for i in range(len(seen)):
        worth = 0.0
        if not ends[i]:
            worth = linear_value(theta, features, after[i], 0, is_joint)
            for b in range(1, n_actions):
                worth = max(worth, linear_value(theta, features, after[i], b, is_joint))
        a = actions[i]
        error = rewards[i] + discount * worth - linear_value(theta, features, seen[i], a, is_joint)
        row, part = (0, a) if is_joint else (a, 0)
        for j in range(theta.shape[1]):
            theta[row, j] += rates[i] * error * features[seen[i], part, j]
        errors += abs(error)
    return errors / len(seen)
