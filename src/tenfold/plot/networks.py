"""Plots of networks: filters, feature maps, hidden units, saliency, activation functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neural.inspection import saliency as input_gradients
from tenfold.neural.layers.activations import as_activation
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    get_axes,
    get_panels,
    legend_outside,
    palette_color,
    palette_marker,
    style_axes,
)

_MAX_GALLERY_COLUMNS = 8  # images per row


def filters(model: Any, *, layer: int | None = None, shape: Any = None, ax: Any = None) -> Any:
    """The weights of each unit or filter of a layer as an image, on one scale about zero.

    Of filters with several channels the mean over channels is shown.

    Parameters
    ----------
    model : fitted network
        Of `tenfold.neural`.
    layer : int, optional
        Number of the layer; the first that has weights by default.
    shape : (height, width), optional
        Of the image that a dense layer sees, if it is not known from the rows.
    ax : array of Axes, optional
        Axes to draw into, as many as there are units.

    Returns
    -------
    array of Axes
    """
    sizes = model.network_.sizes
    layer = next(i for i, n in enumerate(sizes) if n) if layer is None else layer
    W = np.asarray(model.network_.parts(model.params_)[layer][0])
    if W.ndim == 4:
        pictures = np.moveaxis(W.mean(axis=2), -1, 0)
    else:
        pictures = W.T.reshape(len(W.T), *_image_shape(model, layer, shape))
    return _gallery(pictures, ax, "RdBu_r", about_zero=True)


def _image_shape(model: Any, layer: int, shape: Any) -> tuple[int, int]:
    known = (model.network_.shape, *model.network_.shapes)[layer]
    shape = shape or (known[:2] if len(known) == 3 else None)
    if shape is None:
        raise ValueError(f"layer {layer} sees {known}: give shape=(height, width) of its image")
    return tuple(shape)


def feature_maps(model: Any, image: Any, *, layer: int = 0, ax: Any = None) -> Any:
    """The output of each channel of a layer for one image; brighter is larger.

    Parameters
    ----------
    model : fitted network
        Of `tenfold.neural`.
    image : array
        One row, as the model takes it.
    layer : int
        Number of a layer that gives images.
    ax : array of Axes, optional
        Axes to draw into, as many as there are channels.

    Returns
    -------
    array of Axes
    """
    outputs = model.outputs(np.asarray(image)[None])[layer][0]
    if outputs.ndim != 3:
        raise ValueError(f"layer {layer} gives {outputs.shape}, no image (height, width, channels)")
    return _gallery(np.moveaxis(outputs, -1, 0), ax, "gray", about_zero=False)


def _gallery(pictures: np.ndarray, ax: Any, cmap: str, *, about_zero: bool) -> Any:
    across = min(len(pictures), _MAX_GALLERY_COLUMNS)
    down = -(-len(pictures) // across)
    grid = get_panels(ax, down, across, 1.3)
    top = np.abs(pictures).max() or 1.0
    low = -top if about_zero else pictures.min()
    for place, each in zip(grid.ravel(), pictures, strict=False):
        place.imshow(each, cmap=cmap, vmin=low, vmax=top)
    for place in grid.ravel():
        place.set_axis_off()
    return grid


def saliency(model: Any, images: Any, *, shape: Any = None, ax: Any = None) -> Any:
    """Images, and below them the gradient of the predicted class's score in each pixel.

    Parameters
    ----------
    model : fitted network
        Of `tenfold.neural`.
    images : (n, ...) array
        A few rows, as the model takes them.
    shape : (height, width), optional
        Of an image, if rows are flat.
    ax : array of 2 n Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    (2, n) array of Axes
    """
    images = np.asarray(images)
    gradients = input_gradients(model, images)
    height, width = shape or _image_shape(model, 0, None)
    grid = get_panels(ax, 2, len(images), 1.6)
    predicted = model.predict(images)
    for i, (above, below) in enumerate(grid.T):
        above.imshow(images[i].reshape(height, width, -1).mean(axis=2), cmap="gray_r")
        size = np.abs(gradients[i]).reshape(height, width, -1).sum(axis=2)
        below.imshow(size, cmap="inferno")
        above.set_title(f"predicted: {predicted[i]}", size=9, color=TEXT_COLOR)
        above.set_axis_off()
        below.set_axis_off()
    return grid


def hidden_units(models: Any, X: Any, y: Any, *, layer: int = -2, ax: Any = None) -> Any:
    """Rows in the coordinates of two hidden units, one panel per model.

    The models of `tenfold.neural.training_snapshots` show the course of training. The line is
    where the last layer's scores of two classes are equal, if that layer comes next and the
    hidden layer has two units; of more units, the two main axes of their values are shown.


    Parameters
    ----------
    models : list of fitted networks
        One picture each, titled by their epochs.
    X, y : arrays
        Rows and labels.
    layer : int
        Number of the hidden layer, from the end if negative.
    ax : array of Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    array of Axes
    """
    grid = get_panels(ax, 1, len(models), 2.6)
    y = np.asarray(y)
    for place, model in zip(grid[0], models, strict=True):
        values = model.outputs(X)[layer].reshape(len(y), -1).astype(np.float64)
        projected = values if values.shape[1] == 2 else _principal_axes(values)
        for number, label in enumerate(np.unique(y)):
            style = {
                "color": palette_color(number),
                "marker": palette_marker(number),
                "s": 12,
                "lw": 0,
            }
            place.scatter(*projected[y == label].T, alpha=0.7, label=str(label), **style)
        if values.shape[1] == 2 and layer == -2:
            _draw_decision_line(place, model, values)
        place.set_title(f"after {model.n_iter_} epochs", size=9, color=TEXT_COLOR)
        style_axes(place, grid=False)
        place.set(xticks=[], yticks=[])
    return grid


def _principal_axes(values: np.ndarray) -> np.ndarray:
    centered = values - values.mean(axis=0)
    _, _, axes_of = np.linalg.svd(centered, full_matrices=False)
    axes_of *= np.sign(axes_of[np.arange(len(axes_of)), np.abs(axes_of).argmax(axis=1)])[:, None]
    flat = np.zeros((len(values), 2))
    flat[:, : min(2, values.shape[1])] = centered @ axes_of[:2].T
    return flat


def _draw_decision_line(place: Any, model: Any, values: np.ndarray) -> None:
    """The line of equal scores of two classes, over the range of the values."""
    W, b = (np.asarray(a, np.float64) for a in model.network_.parts(model.params_)[-1][:2])
    w, c = (W[:, 1] - W[:, 0], b[1] - b[0]) if W.shape[1] == 2 else (W[:, 0], b[0])
    if W.shape[1] > 2 or not np.any(w):
        return
    low, high = values.min(axis=0), values.max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-9)
    place.set(xlim=(low[0] - margin[0], high[0] + margin[0]))
    place.set(ylim=(low[1] - margin[1], high[1] + margin[1]))
    foot = -c * w / (w @ w)
    place.axline(foot, foot + np.array([-w[1], w[0]]), color=TEXT_COLOR, lw=1.2)


def activations(
    names: Any = ("sigmoid", "tanh", "relu"), *, span: float = 4.0, ax: Any = None
) -> Any:
    """Activation functions, and their derivatives as dashed lines.

    Parameters
    ----------
    names : sequence of str or Activation
        Which.
    span : float
        How far to go from zero.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> [line.get_label() for line in activations(("tanh",)).get_lines()][1:]
    ['tanh', '_derivative of tanh']
    """
    ax = get_axes(ax)
    z = np.linspace(-span, span, 401)
    ax.axhline(0, color=MUTED_COLOR, lw=1)
    for number, name in enumerate(names):
        f = as_activation(name)
        value, cache = f.apply(z.copy())
        style = {"color": palette_color(number)}
        ax.plot(z, value, lw=2, label=f.name, **style)
        if f.name != "step":  # its derivative is zero
            derivative = f.backpropagate(cache.copy(), np.ones_like(z))
            ax.plot(z, derivative, lw=1.2, ls="--", label=f"_derivative of {f.name}", **style)
    style_axes(ax)
    ax.set(xlabel="score z", ylabel="f(z), and its derivative (dashed)")
    legend_outside(ax)
    return ax
