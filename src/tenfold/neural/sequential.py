"""Any stack of layers as a model: one class for labels, one for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenfold.neural.layer import Layer
from tenfold.neural.losses import loss_of
from tenfold.neural.predictors import NetworkClassifier, NetworkRegressor
from tenfold.neural.stacked import Stacked


class SequentialClassifier(Stacked, NetworkClassifier):
    r"""A classifier made of any layers.

    .. math:: \min_\theta \frac1n \sum_i \omega_i \, \ell(f_\theta(x_i), y_i)
              + \tfrac{\lambda_2}{2} \lVert W \rVert^2 + \lambda_1 \lVert W \rVert_1

    The network f learns in float32 by steps on random batches. The order of rows depends on the
    seed alone, and a batch is cut into parts of `part_rows` rows whatever the number of threads:
    arrays, files larger than memory and any number of threads give the same bits, and so does a fit
    that was stopped and resumed under `tenfold.checkpoint`. [001, ch. 3; 003, unit 3; 004, ch. 4]

    Sequences of different lengths come as a list of arrays, (steps, numbers), or (steps,) for
    series and symbols. Layers then see them one step at a time (`Dense`, `Embedding`, `Dropout`,
    `LayerNorm`) until a recurrent layer has made its last state of them. If y is a list of arrays
    too, a label for each step, the last layer must give scores for each step: recurrent layers do
    so with `all_states=True`. The loss of a sequence is then the sum over its steps, and what is
    predicted is a list of arrays.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last, see `tenfold.neural`. The last gives one score for each class;
        `Dense()` without a number takes as many units as that needs.
    loss : str or loss
        "cross_entropy" ("auto"), "binary_cross_entropy" (two classes, one score), "hinge",
        "likelihood" (after a layer of probabilities), or a loss of `tenfold.maths.losses`.
    optimizer : str or stepper
        "adam", "adamw", "sgd", "momentum", "nesterov", "rmsprop", "adagrad", or one of
        `tenfold.solve.steppers` with settings of its own.
    learning_rate : float or callable
        Length of step t = 1, 2, ...; see `tenfold.solve.rates`.
    epochs : int
        How often every row is seen, at most.
    batch_size : int
        Rows of a step; not more than 16384.
    part_rows : int, optional
        Rows of the parts of a batch that threads share out: 128 in dense networks, 64 where there
        are images, else 32. Other numbers give other bits.
    l2, l1 : float
        Penalties of the weights; constants are free.
    clip_norm, clip_value : float, optional
        Longest gradient, and its largest entry.
    tol : float, optional
        Stop when `patience` epochs in a row have not lowered the loss by this much.
    patience : int
        See `tol`; with `early_stopping` also without it.
    early_stopping : bool
        Whether to hold rows back, watch their loss, and keep the parameters that were best there.
    validation_fraction : float
        Share of the rows held back.
    shuffle : bool
        Whether each epoch has a random order of its own.
    input_shape : tuple of int, optional
        Shape of a row, if X is flat: (28, 28, 1) for images, channels last.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    random_state : int, optional
        Seed of the start, the orders and of what is random in layers.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    classes_ : (k,) labels
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had labels
    loss_curve_ : mean loss of each epoch, with penalties
    validation_losses_ : loss of the rows held back, with `early_stopping`
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    Examples
    --------
    The exclusive or, which no line can tell apart:

    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> from tenfold.neural.sequential import SequentialClassifier
    >>> X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> layers = [Dense(8, "tanh"), Dense()]
    >>> model = SequentialClassifier(layers, epochs=300, learning_rate=0.05, random_state=0)
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    _usual_loss = "cross_entropy"


class SequentialRegressor(Stacked, NetworkRegressor):
    """A model of numbers made of any layers.

    The objective, the forms of sequences and all parameters are those of `SequentialClassifier`.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last; the last gives one number for each column of the target.
    loss : str or loss
        "squared" ("auto"), "gaussian" (mean and variance are both learned), or a loss of
        `tenfold.maths.losses` such as `Huber()`.
    optimizer, learning_rate, epochs, batch_size, part_rows : see `SequentialClassifier`
        How to step.
    l2, l1, clip_norm, clip_value : see `SequentialClassifier`
        Penalties, and limits of the gradient.
    tol, patience, early_stopping, validation_fraction : see `SequentialClassifier`
        When to stop.
    shuffle, input_shape, warm_start, random_state, n_jobs, verbose : see `SequentialClassifier`
        The rest.

    Attributes
    ----------
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had targets
    loss_curve_ : mean loss of each epoch, with penalties
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> from tenfold.neural.sequential import SequentialRegressor
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> layers = [Dense(20, "tanh"), Dense()]
    >>> model = SequentialRegressor(layers, epochs=200, learning_rate=0.01, random_state=0)
    >>> bool(model.fit(x, np.sin(x)[:, 0]).score(x, np.sin(x)[:, 0]) > 0.98)
    True
    """


def Sequential(layers: Sequence[Layer], loss: Any, **settings: Any) -> Any:  # noqa: N802
    """A model of any layers: a classifier or a regressor, as the loss says.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    loss : str or loss
        "cross_entropy" and others of labels, "squared" and others of numbers.
    **settings
        Parameters of `SequentialClassifier` or `SequentialRegressor`.

    Examples
    --------
    >>> from tenfold.neural import Dense
    >>> Sequential([Dense(10, "relu"), Dense()], "squared", epochs=5)  # doctest: +ELLIPSIS
    SequentialRegressor(...)
    """
    kinds = {"classes": SequentialClassifier, "numbers": SequentialRegressor}
    return kinds[loss_of(loss).labels](layers, loss, **settings)
