"""Outputs of a layer of a trained network as features for other models."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods
from tenfold.neural._estimators import NetworkEstimator


class NetworkFeatures(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    r"""Rows as a layer of a network sees them: :math:`\phi(x) = a_\ell(\dots a_1(x))`.

    What a network has learned from many labels serves another task with few: fit a simple model
    to the outputs of a layer before the last. A network that is fitted already is taken as it is;
    another one is fitted to the rows and labels of `fit`.

    Parameters
    ----------
    network : network of `tenfold`
        `MLPClassifier`, `ConvClassifier`, `SequentialClassifier` and so on.
    layer : int
        Number of the layer whose output is taken; -1 is the last one, -2 (as a rule the hidden
        layer with its activation) that before it.

    Attributes
    ----------
    network_ : the fitted network
    n_features_out_ : number of features

    See Also
    --------
    ImageFeatures, WordCounts, TfIdf : Extractors of images and text that learn no labels.

    References
    ----------
    Yosinski, J., Clune, J., Bengio, Y. and Lipson, H. (2014). How transferable are features in deep
    neural networks?

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import MLPClassifier
    >>> from tenfold.neural import NetworkFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> network = MLPClassifier((8,), max_iter=500, tol=1e-2, random_state=0)
    >>> NetworkFeatures(network).fit(X, y).transform(X).shape
    (150, 8)
    """

    _parameter_constraints: dict[str, Any] = {
        "network": [HasMethods(["fit", "predict"])],
        "layer": [Integral],
    }

    def __init__(self, network: Any, *, layer: int = -2) -> None:
        self.network = network
        self.layer = layer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the network as it is, or fit it if it is not fitted.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Labels or targets, for a network that is not fitted.

        Returns
        -------
        self
        """
        self._validate_params()
        if not isinstance(self.network, NetworkEstimator):
            raise TypeError(f"{type(self.network).__name__} is no network of tenfold")
        fitted = hasattr(self.network, "params_")
        if not fitted and y is None:
            raise ValueError("the network is not fitted: fit it first, or give y")
        copy: Any = clone(self.network)
        self.network_ = self.network if fitted else copy.fit(X, y)
        shapes = self.network_.network_.shapes
        if not -len(shapes) <= self.layer < len(shapes):
            raise ValueError(f"layer={self.layer}, and the network has {len(shapes)} layers")
        self.n_features_out_ = int(np.prod(shapes[self.layer]))
        self.n_features_in_ = self.network_.n_features_in_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Output of the layer for each row, flattened: (n, n_features_out).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        outputs = self.network_.outputs(X)[self.layer]
        return outputs.reshape(len(outputs), -1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")
