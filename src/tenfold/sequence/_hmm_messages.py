"""Messages of hidden Markov models in logarithms, as textbooks write them.

Fits and predictions use the scaled messages of `_hmm_numba` where they can.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.math.links import log_sum_exp
from tenfold.sequence._hmm_log_numba import filter_logs, smooth_logs


def log_forward_messages(
    start: np.ndarray, transition: np.ndarray, log_B: np.ndarray
) -> np.ndarray:
    """Logarithms of p(x_1 ... x_t, s_t), (n_steps, K)."""
    messages, scales = np.empty_like(log_B), np.empty(len(log_B))
    with np.errstate(divide="ignore"):
        log_start, log_A = np.log(start), np.log(transition)
    begins = np.arange(len(log_B)) == 0
    filter_logs(log_B, begins, log_start, log_A, np.zeros(len(start)), messages, scales)
    return messages + np.cumsum(scales)[:, None]


def log_backward_messages(transition: np.ndarray, log_B: np.ndarray) -> np.ndarray:
    """Logarithms of p(x_{t+1} ... x_T | s_t), (n_steps, K)."""
    messages, (n, K) = np.empty_like(log_B), log_B.shape
    with np.errstate(divide="ignore"):
        log_A = np.log(transition)
    smooth_logs(log_B, np.arange(n) == 0, log_A, np.zeros(n), np.zeros(K), messages)
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
