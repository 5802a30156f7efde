"""Compiled pairs and steps of skip-gram and CBOW with negative sampling.

Everything random about a word of the corpus (whether it is kept, how far its window reaches, which
words are its negatives) is a hash of its position: the same pairs for any number of threads.

Samples (input word, output word, label) of skip-gram are grouped by `STRATA` classes of input words
and as many of output words. Two groups that share no class share no vector, so threads may train
them at once, each group in its order, and the bits do not depend on the number of threads.

Vectors are padded with zeros to a multiple of `LANES` numbers, which stay zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import LANES, dot_product
from tenfold._compiled.prefetch import prefetch
from tenfold._compiled.row_hash import mix_bits

_OPTIONS: Any = {"cache": True, "nogil": True, "error_model": "numpy"}
STRATA = 8
_AHEAD = 4  # samples until a vector is needed, when it is fetched into the cache
_LOW_BITS = np.uint64(0xFFFFFFFF)
_HALF_WORD = np.uint64(32)
_ONE, _ZERO = np.float32(1), np.float32(0)


@njit(**_OPTIONS)
def keep_tokens(tokens, documents, first, seed, keep, kept, places, owners):
    """Copy the tokens that subsampling keeps, with places and documents; returns their number.

    `keep` is the threshold of each word, of 32 bits; a negative token is outside the vocabulary.
    """
    start, n = mix_bits(seed), 0
    for p in range(len(tokens)):
        word = tokens[p]
        if word < 0:
            continue
        bits = mix_bits(start + np.uint64(first + p))
        if (bits >> _HALF_WORD) < keep[word]:
            kept[n], places[n], owners[n] = word, first + p, documents[p]
            n += 1
    return n


@njit(**_OPTIONS)
def draw_windows(places, n, seed, window, reach):
    """How far the window of each kept token reaches: 1 to `window`, all equally likely."""
    start = mix_bits(seed)
    for i in range(n):
        bits = mix_bits(start + np.uint64(places[i]))
        reach[i] = 1 + np.int64(((bits & _LOW_BITS) * np.uint64(window)) >> _HALF_WORD)


@njit(inline="always", **_OPTIONS)
def _draw_word(bits, thresholds, aliases):
    """A word by the alias method from 64 random bits."""
    word = np.int64(((bits >> _HALF_WORD) * np.uint64(len(thresholds))) >> _HALF_WORD)
    return word if (bits & _LOW_BITS) < thresholds[word] else np.int64(aliases[word])


@njit(**_OPTIONS)
def make_samples(
    kept, places, owners, reach, a, b, n, window, seed, negatives, thresholds, aliases, samples
):  # fmt: skip
    """Samples of the kept tokens from a to b, as input words of their neighbors' predictions.

    Returns their number. A sample is (input word, output word, label).
    """
    start, m = mix_bits(seed), 0
    for i in range(a, b):
        word = kept[i]
        counter = mix_bits(start + np.uint64(places[i]))
        for j in range(max(i - window, 0), min(i + window + 1, n)):
            if j == i or owners[j] != owners[i] or abs(i - j) > reach[j]:
                continue
            output = kept[j]
            samples[m, 0], samples[m, 1], samples[m, 2] = word, output, 1
            m += 1
            for _ in range(negatives):
                counter += np.uint64(1)
                drawn = _draw_word(mix_bits(counter), thresholds, aliases)
                if drawn != output:
                    samples[m, 0], samples[m, 1], samples[m, 2] = word, drawn, 0
                    m += 1
    return m


@njit(**_OPTIONS)
def group_samples(samples, m, grouped, offsets):
    """Sort samples by their group, in their order; `offsets` are the bounds of the groups."""
    offsets[:] = 0
    for s in range(m):
        group = (samples[s, 0] % STRATA) * STRATA + samples[s, 1] % STRATA
        offsets[group + 1] += 1
    for g in range(len(offsets) - 1):
        offsets[g + 1] += offsets[g]
    at = offsets[:-1].copy()
    for s in range(m):
        group = (samples[s, 0] % STRATA) * STRATA + samples[s, 1] % STRATA
        to = at[group]
        grouped[to, 0], grouped[to, 1], grouped[to, 2] = samples[s, 0], samples[s, 1], samples[s, 2]
        at[group] = to + 1


@njit(**_OPTIONS)
def train_group(samples, a, b, inputs, outputs, rate):
    """Steps of samples a to b on vectors of inputs and outputs."""
    flat_in, flat_out, width = inputs.reshape(-1), outputs.reshape(-1), inputs.shape[1]
    for s in range(a, b):
        if s + _AHEAD < b:
            ahead = np.int64(samples[s + _AHEAD, 1]) * width
            for line in range(0, width, LANES):
                prefetch(flat_out, ahead + line)
        at, to = np.uint64(samples[s, 0] * width), np.uint64(samples[s, 1] * width)
        score = dot_product(flat_in, np.int64(at), flat_out, np.int64(to), width)
        step = rate * (np.float32(samples[s, 2]) - _sigmoid(score))
        for k in range(np.uint64(width)):
            before = flat_in[at + k]
            flat_in[at + k] = before + step * flat_out[to + k]
            flat_out[to + k] += step * before


@njit(inline="always", **_OPTIONS)
def _sigmoid(score):
    decay = np.float32(math.exp(-abs(score)))
    return (_ONE if score >= _ZERO else decay) / (_ONE + decay)


@njit(inline="always", **_OPTIONS)
def _logistic_loss(score, label):
    return max(score, _ZERO) - label * score + math.log1p(math.exp(-abs(score)))


@njit(**_OPTIONS)
def skip_gram_loss(samples, m, inputs, outputs):
    """Sum of the losses of samples, without a step."""
    flat_in, flat_out, width = inputs.reshape(-1), outputs.reshape(-1), inputs.shape[1]
    loss = 0.0
    for s in range(m):
        at, to = np.int64(samples[s, 0]) * width, np.int64(samples[s, 1]) * width
        loss += _logistic_loss(dot_product(flat_in, at, flat_out, to, width), samples[s, 2])
    return loss


@njit(**_OPTIONS)
def _sum_window(kept, owners, i, reach, flat, mean):
    """Sum of the vectors in the window around token i, without its own; returns their number."""
    width, size = np.uint64(len(mean)), 0
    mean[:] = _ZERO
    for j in range(max(i - reach, 0), min(i + reach + 1, len(kept))):
        if j != i and owners[j] == owners[i]:
            at = np.uint64(kept[j]) * width
            for k in range(width):
                mean[k] += flat[at + k]
            size += 1
    return size


@njit(**_OPTIONS)
def _add_to_window(kept, owners, i, reach, flat, error):
    """Add a vector to those in the window around token i, without its own."""
    width = np.uint64(len(error))
    for j in range(max(i - reach, 0), min(i + reach + 1, len(kept))):
        if j != i and owners[j] == owners[i]:
            at = np.uint64(kept[j]) * width
            for k in range(width):
                flat[at + k] += error[k]


@njit(**_OPTIONS)
def _output_step(mean, flat_out, word, label, rate, error):
    """A step of one output word, whose share of the input's step is added to `error`."""
    width = len(mean)
    to = np.uint64(word * width)
    score = dot_product(mean, 0, flat_out, np.int64(to), width)
    step = rate * (label - _sigmoid(score))
    for k in range(np.uint64(width)):
        error[k] += step * flat_out[to + k]
        flat_out[to + k] += step * mean[k]


@njit(**_OPTIONS)
def train_cbow(
    kept, places, owners, reach, seed, negatives, thresholds, aliases, inputs, outputs, rate
):  # fmt: skip
    """CBOW: the mean vector of a window predicts its middle, in text order."""
    width, start = inputs.shape[1], mix_bits(seed)
    flat_in, flat_out = inputs.reshape(-1), outputs.reshape(-1)
    mean, error = np.empty(width, np.float32), np.empty(width, np.float32)
    for i in range(len(kept)):
        size = _sum_window(kept, owners, i, reach[i], flat_in, mean)
        if size == 0:
            continue
        mean *= _ONE / np.float32(size)
        error[:] = _ZERO
        _output_step(mean, flat_out, kept[i], _ONE, rate, error)
        counter = mix_bits(start + np.uint64(places[i]))
        for _ in range(negatives):
            counter += np.uint64(1)
            word = _draw_word(mix_bits(counter), thresholds, aliases)
            if word != kept[i]:
                _output_step(mean, flat_out, word, _ZERO, rate, error)
        _add_to_window(kept, owners, i, reach[i], flat_in, error)


@njit(**_OPTIONS)
def cbow_loss(kept, places, owners, reach, seed, negatives, thresholds, aliases, inputs, outputs):
    """Sum of the losses of all samples, without a step, and their number."""
    width, start = inputs.shape[1], mix_bits(seed)
    flat_in, flat_out = inputs.reshape(-1), outputs.reshape(-1)
    mean, loss, samples = np.empty(width, np.float32), 0.0, 0
    for i in range(len(kept)):
        size = _sum_window(kept, owners, i, reach[i], flat_in, mean)
        if size == 0:
            continue
        mean *= _ONE / np.float32(size)
        counter = mix_bits(start + np.uint64(places[i]))
        for n in range(negatives + 1):
            word, label = kept[i], 1
            if n > 0:
                counter += np.uint64(1)
                word, label = _draw_word(mix_bits(counter), thresholds, aliases), 0
                if word == kept[i]:
                    continue
            score = dot_product(mean, 0, flat_out, word * width, width)
            loss += _logistic_loss(score, label)
            samples += 1
    return loss, samples
