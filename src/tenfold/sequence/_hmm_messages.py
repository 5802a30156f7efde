"""Messages of hidden Markov models in logarithms, as textbooks write them.

Fits and predictions use the scaled messages of `_hmm_numba`; these are for reading and checking.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.math.links import log_sum_exp


def log_forward_messages(
    start: np.ndarray, transition: np.ndarray, log_B: np.ndarray
) -> np.ndarray:
    """Logarithms of p(x_1 ... x_t, s_t), (n_steps, K)."""
    with np.errstate(divide="ignore"):
        log_start, log_A = np.log(start), np.log(transition)
    messages = np.empty_like(log_B)
    for t in range(len(log_B)):
        if t == 0:
            messages[t] = log_start + log_B[t]
        else:
            messages[t] = log_sum_exp(messages[t - 1] + log_A.T) + log_B[t]
    return messages


def log_backward_messages(transition: np.ndarray, log_B: np.ndarray) -> np.ndarray:
    """Logarithms of p(x_{t+1} ... x_T | s_t), (n_steps, K)."""
    with np.errstate(divide="ignore"):
        log_A = np.log(transition)
    messages = np.zeros_like(log_B)
    for t in range(len(log_B) - 2, -1, -1):
        messages[t] = log_sum_exp(log_A + log_B[t + 1] + messages[t + 1])
    return messages


def in_form(log_messages: np.ndarray, form: str) -> Any:
    """Messages as logarithms, scaled with the logarithms of the scales, or plain."""
    if form == "log":
        return log_messages
    if form == "plain":
        return np.exp(log_messages)
    if form != "scaled":
        raise ValueError(f"form={form!r}: give 'log', 'scaled' or 'plain'")
    scales = log_sum_exp(log_messages)
    return np.exp(log_messages - scales[:, None]), scales
