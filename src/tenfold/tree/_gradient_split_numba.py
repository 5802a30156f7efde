r"""The best split of a node from its histogram of gradients.

The gain of a split into L and R is

.. math:: \frac{G_L^2}{H_L + \lambda} + \frac{G_R^2}{H_R + \lambda} - \frac{G^2}{H + \lambda},

or, with monotone constraints, the same loss at values that the constraints bound (Chen and Guestrin
2016). G and H are exact; the gain is computed in float64 in a fixed order of operations. Of equal
gains numbers win over categories, then the column that comes first in the given order, missing
values on the right, the lower bin. Categories are ordered by G / (H + 10) and cut like numbers
(Fisher 1958), from both ends to the middle; rare ones go right.

A node has a row of integers, a row of numbers and a set of bins; the constants below are the places
in them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._compile_options import ENTRY, HOT, INNER, LOOP

# integers of a node: its split, the sums of its left child, its own sums
COLUMN, BIN, MISSING_LEFT, IS_CATEGORICAL = 0, 1, 2, 3
LEFT_G, LEFT_H, LEFT_COUNT, G, H, COUNT = 4, 5, 6, 7, 8, 9
# numbers of a node: gain of its split, values of the children, own value and bounds of children's
GAIN, LEFT_VALUE, RIGHT_VALUE, VALUE, LOWER, UPPER = 0, 1, 2, 3, 4, 5
# numbers that hold for all nodes: units of g and h, penalty, least rows and curvature of a child,
# units of g and h in leaves, learning rate, largest value of a leaf
UNIT_G, UNIT_H, L2, MIN_ROWS, MIN_H, LEAF_UNIT_G, LEAF_UNIT_H, RATE, LARGEST = range(9)
# integers of a column: bins, whether there are missing values, whether it is categorical, sign of
# the monotone constraint, column that comes at this place in the order of ties, whether allowed
BINS, HAS_MISSING, CATEGORICAL, SIGN, ORDER, ALLOWED = 0, 1, 2, 3, 4, 5
N_INTEGERS, N_NUMBERS, SET_WORDS = 10, 6, 4
# of each split of a column: sums of the rows below it, its bin
G_BELOW, H_BELOW, COUNT_BELOW, BIN_BELOW = 0, 1, 2, 3

NO_SPLIT = -1.0  # gain of a node that cannot be split
_MIN_CATEGORY_ROWS = 10.0  # smoothing of the order, and rows that a category must be worth
_TINY = 1e-15
_NOISE = 1e-12  # gains below this share of the loss are rounding errors


def make_split_room(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Scratch of a search among columns of so many bins: sums below each split, gains."""
    return np.empty((4, width), np.int64), np.empty(width)


@njit(**LOOP)
def node_value(g, h, l2, lower, upper):
    """Newton step -g / (h + l2), within bounds."""
    value = -g / (h + l2 + _TINY)
    if value < lower:
        return lower
    if value > upper:
        return upper
    return value


@njit(**LOOP)
def leaf_value(g, h, limits, lower, upper):
    """What a leaf adds to scores: a Newton step within bounds, times the learning rate."""
    value = limits[RATE] * node_value(g, h, limits[L2], lower, upper)
    largest = limits[LARGEST]
    return min(max(value, -largest), largest)


@njit(**LOOP)
def find_split(sums, columns, limits, integers, numbers, room):
    """Find the best split of a node among its columns of numbers.

    Parameters
    ----------
    sums : (p * width, 3) int64 array, histogram of the node; the last bin is "missing"
    columns : (p, 6) int64 array
    limits : (9,) array
    integers, numbers : rows of the node; the split is written there
    room : see `make_split_room`
    """
    numbers[GAIN] = NO_SPLIT
    width = len(sums) // len(columns)
    for q in range(len(columns)):
        j = columns[q, ORDER]
        if columns[j, CATEGORICAL] or not columns[j, ALLOWED]:
            continue
        for missing_left in range(1 + columns[j, HAS_MISSING]):
            found = _scan_bins(
                sums, j * width, width, columns, j, limits, missing_left, integers, numbers, room
            )
            if found:
                integers[COLUMN] = j


@njit(**LOOP)
def finish_split(columns, limits, integers, numbers):
    """Values of the children; refuse a gain that is rounding error."""
    loss = abs(numbers[VALUE] * integers[G] * limits[UNIT_G])
    if numbers[GAIN] <= _NOISE * loss or numbers[GAIN] <= 0.0:
        numbers[GAIN] = NO_SPLIT
        return
    gl, hl = integers[LEFT_G] * limits[UNIT_G], integers[LEFT_H] * limits[UNIT_H]
    gr = (integers[G] - integers[LEFT_G]) * limits[UNIT_G]
    hr = (integers[H] - integers[LEFT_H]) * limits[UNIT_H]
    lower, upper = numbers[LOWER], numbers[UPPER]
    numbers[LEFT_VALUE] = node_value(gl, hl, limits[L2], lower, upper)
    numbers[RIGHT_VALUE] = node_value(gr, hr, limits[L2], lower, upper)
    if not columns[integers[COLUMN], HAS_MISSING]:  # then they go with most rows
        integers[MISSING_LEFT] = 2 * integers[LEFT_COUNT] > integers[COUNT]


@njit(**HOT)
def _free_gain(gl, hl, gr, hr, l2, value):
    """Gain over the node as a leaf with a value, without constraints."""
    gain = gl * gl / (hl + l2 + _TINY) + gr * gr / (hr + l2 + _TINY)
    return gain + (gl + gr) * value


@njit(**HOT)
def _is_free(numbers, sign):
    """Whether no monotone constraint acts on the children of a node."""
    return sign == 0 and numbers[LOWER] == -np.inf and numbers[UPPER] == np.inf


@njit(**LOOP)
def _split_gain(gl, hl, gr, hr, numbers, l2, sign):
    """Gain over the node as a leaf; `NO_SPLIT` against a monotone constraint."""
    if _is_free(numbers, sign):
        return _free_gain(gl, hl, gr, hr, l2, numbers[VALUE])
    left = node_value(gl, hl, l2, numbers[LOWER], numbers[UPPER])
    right = node_value(gr, hr, l2, numbers[LOWER], numbers[UPPER])
    if sign * (right - left) < 0:
        return NO_SPLIT
    return (gl + gr) * numbers[VALUE] - gl * left - gr * right


@njit(**LOOP)
def _scan_bins(sums, base, width, columns, j, limits, missing_left, integers, numbers, room):
    """Whether a threshold of a column is the best split so far; missing values left or right."""
    lower, gains = room
    g = h = count = np.int64(0)
    last = base + width - 1
    if missing_left:
        g, h, count = sums[last, 0], sums[last, 1], sums[last, 2]
    end = columns[j, BINS] - 1 + (0 if missing_left else columns[j, HAS_MISSING])
    low = high = used = np.uintp(0)
    for b in range(np.uintp(end)):
        lower[BIN_BELOW, used] = b
        used += np.uintp(sums[np.uintp(base) + b, 2] != 0)  # at an empty bin there is no new split
    least = np.int64(limits[MIN_ROWS])
    most = integers[COUNT] - least
    for t in range(used):
        k = np.uintp(base + lower[BIN_BELOW, t])
        g, h, count = g + sums[k, 0], h + sums[k, 1], count + sums[k, 2]
        lower[G_BELOW, t], lower[H_BELOW, t], lower[COUNT_BELOW, t] = g, h, count
        low += np.uintp(count < least)
        high += np.uintp(count <= most)
    if low >= high:
        return False
    _fill_gains(lower, low, high, columns[j, SIGN], limits, integers, numbers, gains)
    found = False
    for t in range(low, high):
        if gains[t] > numbers[GAIN]:
            numbers[GAIN], found = gains[t], True
            integers[BIN], integers[MISSING_LEFT] = lower[BIN_BELOW, t], missing_left
            integers[IS_CATEGORICAL], integers[LEFT_COUNT] = 0, lower[COUNT_BELOW, t]
            integers[LEFT_G], integers[LEFT_H] = lower[G_BELOW, t], lower[H_BELOW, t]
    return found


@njit(**INNER)
def _fill_gains(lower, low, high, sign, limits, integers, numbers, gains):
    """Gains of the splits `low` to `high - 1`; several at once, where there are no constraints."""
    ug, uh, l2, min_h = limits[UNIT_G], limits[UNIT_H], limits[L2], limits[MIN_H]
    total_g, total_h, value = integers[G], integers[H], numbers[VALUE]
    if _is_free(numbers, sign):
        for t in range(low, high):
            g, h = lower[G_BELOW, t], lower[H_BELOW, t]
            hl, hr = h * uh, (total_h - h) * uh
            gain = _free_gain(g * ug, hl, (total_g - g) * ug, hr, l2, value)
            gains[t] = gain if hl >= min_h and hr >= min_h else NO_SPLIT
        return
    for t in range(low, high):
        g, h = lower[G_BELOW, t], lower[H_BELOW, t]
        hl, hr = h * uh, (total_h - h) * uh
        gains[t] = NO_SPLIT
        if hl >= min_h and hr >= min_h:
            gains[t] = _split_gain(g * ug, hl, (total_g - g) * ug, hr, numbers, l2, sign)


@njit(**ENTRY)
def find_category_split(sums, columns, limits, integers, numbers, left_set):
    """Find a better split among the columns of categories than the one that is known."""
    width = len(sums) // len(columns)
    order, key = np.empty(width, np.int64), np.empty(width)
    for q in range(len(columns)):
        j = columns[q, ORDER]
        if not columns[j, CATEGORICAL] or not columns[j, ALLOWED]:
            continue
        own = sums[j * width : (j + 1) * width]
        used = _order_categories(own, columns[j], limits, integers, order, key)
        if _scan_categories(own, order[:used], limits, integers, numbers):
            integers[COLUMN] = j
            size, last = integers[BIN], width - 1
            left_set[:] = np.uint64(0)
            for i in range(abs(size)):
                b = order[used - 1 - i] if size < 0 else order[i]
                left_set[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
            missing = (left_set[last >> 6] >> np.uint64(last & 63)) & np.uint64(1)
            integers[MISSING_LEFT], integers[BIN] = np.int64(missing), 0


@njit(**LOOP)
def _order_categories(own, column, limits, integers, order, key):
    """Bins of the categories that count, ordered by g / (h + 10), "missing" among them."""
    width, used = len(own), 0
    weight = integers[COUNT] / (integers[H] * limits[UNIT_H])  # rows per unit of h
    for b in range(width):
        if b >= column[BINS] and not (b == width - 1 and column[HAS_MISSING]):
            continue
        h = own[b, 1] * limits[UNIT_H]
        if h * weight >= _MIN_CATEGORY_ROWS:
            value = own[b, 0] * limits[UNIT_G] / (h + _MIN_CATEGORY_ROWS)
            at = used
            while at > 0 and key[at - 1] > value:  # insertion keeps equal ones in their order
                key[at], order[at] = key[at - 1], order[at - 1]
                at -= 1
            key[at], order[at] = value, b
            used += 1
    return used


@njit(**LOOP)
def _scan_categories(own, order, limits, integers, numbers):
    """Whether a set is the best split; `BIN` is its size, negative if from the upper end."""
    ug, uh, l2, min_h = limits[UNIT_G], limits[UNIT_H], limits[L2], limits[MIN_H]
    used, best, found = len(order), numbers[GAIN], False
    for direction in range(2 if used > 1 else 0):
        g = h = count = np.int64(0)
        for q in range((used + 1) // 2 - direction):
            b = order[used - 1 - q] if direction else order[q]
            g += own[b, 0]
            h += own[b, 1]
            count += own[b, 2]
            hl, hr = h * uh, (integers[H] - h) * uh
            if count < limits[MIN_ROWS] or hl < min_h:
                continue
            if integers[COUNT] - count < limits[MIN_ROWS] or hr < min_h:
                break
            gain = _split_gain(g * ug, hl, (integers[G] - g) * ug, hr, numbers, l2, 0)
            if gain > best:
                best, found = gain, True
                integers[BIN], integers[IS_CATEGORICAL] = -q - 1 if direction else q + 1, 1
                integers[LEFT_G], integers[LEFT_H], integers[LEFT_COUNT] = g, h, count
    numbers[GAIN] = best
    return found


@njit(**LOOP)
def fill_children(integers, numbers, columns, node, left):
    """Sums, value and bounds of the two children of a node, in the rows `left` and `left + 1`."""
    sign = columns[integers[node, COLUMN], SIGN]
    middle = (numbers[node, LEFT_VALUE] + numbers[node, RIGHT_VALUE]) / 2
    for right in range(2):
        child, toward = left + right, sign * (2 * right - 1)
        for c in range(3):
            own = integers[node, LEFT_G + c]
            integers[child, G + c] = integers[node, G + c] - own if right else own
        numbers[child, GAIN] = NO_SPLIT
        numbers[child, VALUE] = numbers[node, RIGHT_VALUE if right else LEFT_VALUE]
        numbers[child, LOWER] = middle if toward > 0 else numbers[node, LOWER]
        numbers[child, UPPER] = middle if toward < 0 else numbers[node, UPPER]


@njit(**LOOP)
def find_only_split(sums, columns, limits, integers, numbers, room):
    """The best split of a node without categories; its gain."""
    find_split(sums, columns, limits, integers, numbers, room)
    finish_split(columns, limits, integers, numbers)
    return numbers[GAIN]
