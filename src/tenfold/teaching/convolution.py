"""Convolution, cross-correlation and pooling as functions, and what they do to sizes.

Convolutional layers compute the cross-correlation: the flip of the filter in a convolution makes no
difference where the filter is learned. Images are channels-last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def output_size(size: int, window: int, stride: int = 1, padding: int = 0) -> int:
    r"""Number of positions of a window along an axis.

    .. math:: \lfloor (a + 2p - r) / s \rfloor + 1

    Parameters
    ----------
    size : int
        Length a of the axis.
    window : int
        Length r of the window.
    stride : int
        Step s between positions.
    padding : int
        Zeros p that are added at each end.

    Examples
    --------
    Twice a 5 x 5 filter and a 2 x 2 pool, from 28, 38 and 48 pixels:

    >>> def twice(a):
    ...     for window, stride in [(5, 1), (2, 2), (5, 1), (2, 2)]:
    ...         a = output_size(a, window, stride)
    ...     return a
    >>> [twice(a) for a in (28, 38, 48)]
    [4, 6, 9]
    """
    if size + 2 * padding < window:
        raise ValueError(f"a window of {window} does not fit {size} numbers with padding {padding}")
    return (size + 2 * padding - window) // stride + 1


def cross_correlate(x: Any, w: Any, *, stride: int = 1, padding: Any = 0) -> np.ndarray:
    r"""Products of a filter with every window of a signal or an image.

    .. math:: z_{ij} = \sum_{uvc} x_{is + u, js + v, c}\, w_{uvc}

    Parameters
    ----------
    x : (a,), (a, b) or (a, b, c) array
        Signal, image, or image with channels.
    w : array
        The filter: of as many axes as x, with the same channels; (r, r, c, m) are m filters, whose
        maps are the channels of the result.
    stride : int
        Step of the window along each axis.
    padding : int, "full" or "same"
        Zeros at each end of each axis; "full" takes every position where the filter overlaps x,
        "same" keeps the size (of filters of odd length).

    Returns
    -------
    array

    Examples
    --------
    >>> cross_correlate([1, 2, 3], [1, 2], padding="full").tolist()
    [2, 5, 8, 3]
    >>> x = [[1, 1, 2, 1, 1], [3, 1, 4, 1, 1], [1, 3, 1, 2, 2], [1, 2, 1, 1, 1], [1, 1, 2, 1, 1]]
    >>> cross_correlate(x, [[1, -2, 0], [1, 0, 1], [-1, 1, 0]]).tolist()
    [[8, -3, 6], [4, -3, 5], [-3, 5, -2]]
    """
    x, w = np.asarray(x), np.asarray(w)
    if x.ndim not in {1, 2, 3} or w.ndim not in {x.ndim, 4 if x.ndim == 3 else x.ndim}:
        raise ValueError(f"a filter of shape {w.shape} does not fit a signal of shape {x.shape}")
    if x.ndim == 3 and w.shape[2] != x.shape[2]:
        raise ValueError(f"a filter of {w.shape[2]} channels does not fit {x.shape[2]} channels")
    axes = min(x.ndim, 2)
    ends = [_padding_width(padding, length) for length in w.shape[:axes]]
    x = np.pad(x, [(p, p) for p in ends] + [(0, 0)] * (x.ndim - axes))
    for size, window in zip(x.shape, w.shape[:axes], strict=False):
        output_size(size, window, stride)  # an error if the filter is too long
    windows = sliding_window_view(x, w.shape[: x.ndim])
    windows = windows[(slice(None, None, stride),) * axes]
    return np.tensordot(windows, w, axes=x.ndim).reshape(*windows.shape[:axes], *w.shape[x.ndim :])


def _padding_width(padding: Any, window: int) -> int:
    if padding == "same" and window % 2 == 0:
        raise ValueError(f"padding='same' needs filters of odd length, not {window}")
    by_name = {"full": window - 1, "same": window // 2}
    return by_name[padding] if isinstance(padding, str) else int(padding)


def convolve(x: Any, w: Any, *, stride: int = 1, padding: Any = 0) -> np.ndarray:
    """Convolution: `cross_correlate` with the filter flipped along the axes of the image.

    Parameters
    ----------
    x, w : arrays
        Signal or image, and filter; as in `cross_correlate`.
    stride : int
        Step of the window along each axis.
    padding : int, "full" or "same"
        Zeros at each end of each axis.

    Returns
    -------
    array

    Examples
    --------
    >>> convolve([1, 2, 3], [1, 2], padding="full").tolist()
    [1, 4, 7, 6]
    """
    flipped = np.flip(np.asarray(w), axis=tuple(range(min(np.ndim(x), 2))))
    return cross_correlate(x, flipped, stride=stride, padding=padding)


def pool(x: Any, window: int = 2, *, stride: int | None = None, how: str = "max") -> np.ndarray:
    """The largest number, or the mean, of every window; channel by channel.

    Parameters
    ----------
    x : (a,), (a, b) or (a, b, c) array
        Signal, image, or image with channels.
    window : int
        Side of the window.
    stride : int, optional
        Step of the window; its side by default.
    how : {"max", "mean"}
        What is taken.

    Returns
    -------
    array

    Examples
    --------
    >>> pool([[8, 0, 6], [4, 0, 5], [0, 5, 0]], stride=1).tolist()
    [[8, 6], [5, 5]]
    """
    if how not in {"max", "mean"}:
        raise ValueError(f"how is 'max' or 'mean', not {how!r}")
    x = np.asarray(x)
    axes = tuple(range(min(x.ndim, 2)))
    for axis in axes:
        output_size(x.shape[axis], window)  # an error if the window is too long
    windows = sliding_window_view(x, (window,) * len(axes), axis=axes)
    windows = windows[(slice(None, None, stride or window),) * len(axes)]
    last = tuple(range(-len(axes), 0))
    return windows.max(axis=last) if how == "max" else windows.mean(axis=last)
