"""Autoencoders: networks that are trained to give back their input through a code."""

from __future__ import annotations

from numbers import Real
from typing import Any

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import store_arguments
from tenfold.neural._autoencoder_base import TRAINING_CONSTRAINTS, AutoencoderBase
from tenfold.neural._autoencoder_objective import KLCodePenalty, L1CodePenalty
from tenfold.neural.layers.noise import NOISE_KINDS

_NON_NEGATIVE = Interval(Real, 0, None, closed="left")


class Autoencoder(AutoencoderBase):
    r"""Autoencoder: codes from which a network can restore the rows.

    .. math:: \min_{\theta, \phi} \frac1n \sum_i \omega_i \,
              \ell(f_\theta(g_\phi(\tilde x_i)), x_i) + \text{penalties}

    The encoder g maps a row to its code, the decoder f maps a code to a row. What keeps them from
    copying is a code of few values (a bottleneck), few active values (`sparsity`), noise on the
    input :math:`\tilde x` (`noise`: a denoising autoencoder) or on the code (`code_noise`), or
    weights that they share (`tied`). With linear units and squared error the codes span the same
    space as the first principal components.

    The network is trained on random minibatches in float32 (with `optimizer="lbfgs"` on all rows,
    in the type of X). Arrays, files larger than memory and any number of threads give the same
    bits.

    Parameters
    ----------
    n_components : int
        Number of values of a code.
    hidden_layer_sizes : tuple of int
        Units of the layers between the rows and the code; the decoder has them in reverse order.
        Empty for a linear encoder and decoder, if `code_activation` is linear too.
    activation : str
        Activation of the hidden layers: "relu", "tanh", "sigmoid", "elu", ...
    code_activation : str or None
        Activation of the code; linear by default.
    loss : {"squared", "bernoulli"}
        Half the squared Euclidean distance of a row and its reconstruction, or the negative
        log-likelihood of independent Bernoulli values, for rows of numbers from 0 to 1.
    tied : bool
        Whether the weights of the decoder are those of the encoder, transposed (dense layers).
    noise : {"gaussian", "masking", "salt_and_pepper"} or None
        Noise on the input in training; see `tenfold.neural.Noise`.
    noise_level : float
        Standard deviation of the noise, or share of the values that it changes.
    code_noise : float
        Standard deviation of noise before the activation of the code. With
        ``code_activation="sigmoid"`` it drives codes to 0 and 1, see `SemanticHashing`.
    sparsity : {"l1", "kl"} or None
        Penalty of codes: the sum of their absolute values, or the divergence of the mean activation
        of each unit from `sparsity_target` (for activations between 0 and 1).
    sparsity_weight : float
        Factor of this penalty.
    sparsity_target : float
        Mean activation that "kl" asks for.
    filters : tuple of int
        For images: kernels of convolutional layers, each with pooling by two, before the layers of
        `hidden_layer_sizes`; the decoder has upsampling and convolutions in reverse order.
    kernel : int
        Height and width of the kernels.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) of flat rows; by default that of X, or a
        square.
    encoder, decoder : lists of layers, optional
        Other layers, see `tenfold.neural`; the last of the decoder gives the row, and `Dense()`
        has as many units as it needs.
    optimizer : str or optimizer
        "adam", "adamw", "sgd", "momentum", "nesterov", "rmsprop", "adagrad", one of
        `tenfold.optim.optimizers`, or "lbfgs", which takes all rows in every step.
    learning_rate : float or callable
        Learning rate, or a function of the step t = 1, 2, ...; see `tenfold.optim.schedules`.
    epochs : int
        Most epochs, or iterations of "lbfgs".
    batch_size : int
        Rows of a minibatch.
    part_rows : int, optional
        Rows of the parts of a batch that threads process. Other numbers give other bits.
    l2, l1 : float
        Penalties of the weights; biases are not penalized.
    clip_norm : float, optional
        Largest norm of the gradient.
    tol : float, optional
        Stop when `patience` epochs in a row have not lowered the loss by this much.
    patience : int
        See `tol`.
    early_stopping : bool
        Whether to hold out rows, monitor their loss, and keep the parameters that minimize it.
    validation_fraction : float
        Fraction of the rows held out.
    shuffle : bool
        Whether each epoch draws a new random order.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    random_state : int, optional
        Seed of the initialization, the orders and the noise.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    network_, params_ : all layers with their shapes, and all parameters, one flat list
    n_encoder_layers_ : number of layers that encode
    loss_curve_ : mean loss of each epoch, with penalties
    validation_losses_ : loss of the rows held out, with `early_stopping`
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    VariationalAutoencoder, SemanticHashing, PCA, MLPRegressor

    References
    ----------
    G. E. Hinton, R. R. Salakhutdinov (2006), "Reducing the dimensionality of data with neural
    networks".
    P. Vincent, H. Larochelle, Y. Bengio, P.-A. Manzagol (2008), "Extracting and composing robust
    features with denoising autoencoders".
    P. Baldi, K. Hornik (1989), "Neural networks and principal component analysis: learning from
    examples without local minima".

    Examples
    --------
    Points on a circle have one coordinate, the angle. One component of PCA loses half of their
    variance; one value of a curved code restores them nearly:

    >>> import numpy as np
    >>> from tenfold import Autoencoder
    >>> angle = np.linspace(0, 2 * np.pi, 500)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = Autoencoder(
    ...     1, (32, 32), activation="tanh", epochs=300, learning_rate=0.01, random_state=2
    ... )
    >>> bool(np.square(model.fit(X).reconstruct(X) - X).mean() < 0.1)
    True
    """

    _parameter_constraints = TRAINING_CONSTRAINTS | {
        "code_activation": [str, None],
        "tied": ["boolean"],
        "noise": [StrOptions(set(NOISE_KINDS)), None],
        "noise_level": [_NON_NEGATIVE],
        "code_noise": [_NON_NEGATIVE],
        "sparsity": [StrOptions({"l1", "kl"}), None],
        "sparsity_weight": [_NON_NEGATIVE],
        "sparsity_target": [Interval(Real, 0, 1, closed="neither")],
        "encoder": ["array-like", tuple, None],
        "decoder": ["array-like", tuple, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        hidden_layer_sizes: Any = (),
        *,
        activation: str = "relu",
        code_activation: str | None = None,
        loss: str = "squared",
        tied: bool = False,
        noise: str | None = None,
        noise_level: float = 0.1,
        code_noise: float = 0.0,
        sparsity: str | None = None,
        sparsity_weight: float = 0.01,
        sparsity_target: float = 0.05,
        filters: Any = (),
        kernel: int = 3,
        image_shape: Any = None,
        encoder: Any = None,
        decoder: Any = None,
        optimizer: Any = "adam",
        learning_rate: Any = 0.001,
        epochs: int = 20,
        batch_size: int = 128,
        part_rows: int | None = None,
        l2: float = 0.0,
        l1: float = 0.0,
        clip_norm: float | None = None,
        tol: float | None = None,
        patience: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_arguments(self, locals())

    def _code_penalty(self) -> Any:
        if self.sparsity is None:
            return None
        if self.sparsity == "l1":
            return L1CodePenalty(self.sparsity_weight)
        if self.encoder is None and self.code_activation not in ("sigmoid", "logistic"):
            raise ValueError(
                "sparsity='kl' compares mean activations with a share between 0 and 1: take "
                "code_activation='sigmoid', or sparsity='l1'"
            )
        return KLCodePenalty(self.sparsity_weight, self.sparsity_target)
