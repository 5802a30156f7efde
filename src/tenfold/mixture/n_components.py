"""The number of components, by information criteria or held-out likelihood."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

_CRITERIA = ("bic", "aic", "held-out")


class ComponentCountChoice(NamedTuple):
    """A fit for each number of components, and the best of them.

    Attributes
    ----------
    n_components : the best number of components
    candidates : (m,) numbers of components
    costs : (m,) criterion of each, lower is better; for "held-out" minus the mean log-likelihood
    models : the fitted model of each
    """

    n_components: int
    candidates: np.ndarray
    costs: np.ndarray
    models: list[Any]

    @property
    def model(self) -> Any:
        """The best model."""
        return self.models[int(self.costs.argmin())]


def choose_components(
    model: Any,
    X: Any,
    numbers: Iterable[int] = range(1, 11),
    *,
    criterion: str = "bic",
    share: float = 0.2,
    random_state: int = 0,
) -> ComponentCountChoice:
    """Fit a mixture with several numbers of components, and choose one.

    For cross-validation, `tenfold.search(model, {"n_components": numbers}, X)` uses `score`.

    Parameters
    ----------
    model : mixture
        Cloned and fitted with each number of components.
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows; an array for "held-out".
    numbers : list of int
        Candidate numbers of components.
    criterion : {"bic", "aic", "held-out"}
        Bayesian or Akaike's information criterion, or the likelihood of held-out rows.
    share : float
        Share of the rows that are held out.
    random_state : int
        Seed of the held-out rows.

    Returns
    -------
    ComponentCountChoice

    See Also
    --------
    choose_k : Choose the number of clusters.

    References
    ----------
    G. Schwarz (1978), Estimating the dimension of a model.

    Examples
    --------
    >>> from tenfold import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(100, 2)) + center for center in (0, 8, 16)])
    >>> choose_components(GaussianMixture(random_state=0), X, range(1, 6)).n_components
    3
    """
    if criterion not in _CRITERIA:
        raise ValueError(f"criterion={criterion!r} is not one of {_CRITERIA}")
    if criterion != "held-out" and not hasattr(model, criterion):
        raise TypeError(
            f"{type(model).__name__} has no {criterion}: use criterion='held-out' "
            "(BayesianGaussianMixture chooses by its weights_ itself)"
        )
    train = test = X
    if criterion == "held-out":
        train, test = _split_rows(X, share, random_state)
    candidates = np.array(list(numbers))
    models = [_clone_with_components(model, int(k)).fit(train) for k in candidates]
    costs = np.array([_criterion_value(fitted, test, criterion) for fitted in models])
    return ComponentCountChoice(int(candidates[costs.argmin()]), candidates, costs, models)


def _clone_with_components(model: Any, k: int) -> Any:
    """An unfitted model with k components."""
    copy: Any = clone(model)
    return copy.set_params(n_components=k)


def _criterion_value(model: Any, X: Any, criterion: str) -> float:
    """Criterion of a fitted mixture, lower is better."""
    return -model.score(X) if criterion == "held-out" else getattr(model, criterion)(X)


def _split_rows(X: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Training rows and held-out rows."""
    if not hasattr(X, "__getitem__") or not hasattr(X, "shape"):
        X = np.asarray(X)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    held_out = max(int(share * len(order)), 1)
    return X[np.sort(order[held_out:])], X[np.sort(order[:held_out])]
