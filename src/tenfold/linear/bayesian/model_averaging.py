"""Bayesian model averaging: models weighted by exp(-cost) or by their posterior probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.mixins import Regressor
from tenfold.engine.rows import Rows
from tenfold.linear.bayesian.bayesian_linear import BayesianLinearRegression


def gibbs_weights(costs: Any) -> np.ndarray:
    r"""Weights :math:`e^{-J_m} / Z` of models with costs J, without overflow.

    They are the posterior probabilities when J is minus the log-posterior, up to a constant.

    Parameters
    ----------
    costs : array
        Cost of each model.

    Returns
    -------
    array of the same shape that sums to 1

    Examples
    --------
    >>> gibbs_weights([1000.0, 1000.0 + np.log(3)]).round(6).tolist()
    [0.75, 0.25]
    """
    J = np.asarray(costs, np.float64)
    return np.exp(-J - np.logaddexp.reduce(-J, axis=None))


class WeightedModels:
    """A list or grid of models, each with the weight exp(-J) / Z of its cost J.

    Parameters
    ----------
    models : sequence
        Fitted models, functions of X, or parameters that `predict` understands.
    costs : (m,) array
        Cost J of each one, for example minus its log-posterior.
    predict : callable, optional
        ``predict(model, X)`` gives (n,) or (n, q) numbers; by default `model.predict(X)`, or
        `model(X)` where the model is a function.

    Attributes
    ----------
    weights : (m,) array that sums to 1
    best : the model of the least cost (MAP)

    Examples
    --------
    Slopes of a line through the origin, given the point (1, 2), on a grid:

    >>> slopes = np.linspace(0, 4, 401)
    >>> line = lambda slope, x: slope * x
    >>> many = WeightedModels(slopes, (2 - slopes) ** 2 / (2 * 0.1**2), line)
    >>> float(many.best), many.mean(np.array([3.0])).round(6).tolist()
    (2.0, [6.0])
    >>> many.variance(np.array([3.0])).round(6).tolist()
    [0.09]
    """

    def __init__(
        self, models: Sequence, costs: Any, predict: Callable[..., np.ndarray] | None = None
    ) -> None:
        if len(models) != len(costs):
            raise ValueError(f"{len(models)} models have {len(costs)} costs")
        self.models, self.weights = models, gibbs_weights(costs)
        self.predict = _predict_or_call if predict is None else predict
        self.order = np.argsort(np.asarray(costs, np.float64), kind="stable")

    @property
    def best(self) -> Any:
        return self.models[self.order[0]]

    def top(self, k: int) -> list[tuple[Any, float]]:
        """The k models of the largest weight, the best first, with their weights."""
        return [(self.models[i], float(self.weights[i])) for i in self.order[:k]]

    def outputs(self, X: Any, k: int | None = None) -> np.ndarray:
        """Predictions of the k models of largest weight (all if None), best first, (k, n)."""
        return np.stack([self.predict(self.models[i], X) for i in self.order[:k]])

    def mean(self, X: Any) -> np.ndarray:
        """Mean of all predictions under the weights."""
        return np.tensordot(self.weights[self.order], self.outputs(X), 1)

    def variance(self, X: Any) -> np.ndarray:
        """Variance of all predictions under the weights."""
        predictions = self.outputs(X)
        mean = np.tensordot(self.weights[self.order], predictions, 1)
        return np.tensordot(self.weights[self.order], (predictions - mean) ** 2, 1)


def _predict_or_call(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if hasattr(model, "predict") else model(X)


def _log_joint(log_evidence: Any, prior: Any = None) -> np.ndarray:
    """Log of p(X | m) p(m); the prior is normalized here, uniform if None."""
    evidence = np.asarray(log_evidence, np.float64)
    weights = np.ones(len(evidence)) if prior is None else np.asarray(prior, np.float64)
    if weights.shape != evidence.shape or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"prior must hold {len(evidence)} numbers that are not negative, and not all zero"
        )
    with np.errstate(divide="ignore"):  # prior probability 0
        return evidence + np.log(weights / weights.sum())


def model_posterior(log_evidence: Any, prior: Any = None) -> np.ndarray:
    """Posterior p(m | X) of models from their log-evidence and their prior p(m).

    Parameters
    ----------
    log_evidence : (m,) array
        Log of p(X | m).
    prior : (m,) array, optional
        Prior of each model, up to a factor; uniform if None.

    Returns
    -------
    (m,) array that sums to 1

    Examples
    --------
    Heads, heads, tails: a fair coin, or one with probability 0.8 of heads?

    >>> model_posterior(np.log([0.5**3, 0.8**2 * 0.2])).round(6).tolist()
    [0.494071, 0.505929]
    """
    return gibbs_weights(-_log_joint(log_evidence, prior))


def log_marginal(log_evidence: Any, prior: Any = None) -> float:
    """Log of p(X) = sum over models of p(X | m) p(m); arguments as for `model_posterior`."""
    return float(np.logaddexp.reduce(_log_joint(log_evidence, prior)))


def mixture_moments(
    weights: np.ndarray, means: np.ndarray, stds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of mixtures: variance within the parts and between them.

    Parameters
    ----------
    weights : (m,) array
        Weights of the parts.
    means, stds : (m, n) arrays
        Mean and standard deviation of each part at each point.

    Examples
    --------
    >>> mean, std = mixture_moments(
    ...     np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.zeros((2, 1))
    ... )
    >>> mean.tolist(), std.tolist()
    ([0.0], [1.0])
    """
    mean = weights @ means
    return mean, np.sqrt(weights @ (stds**2 + (means - mean) ** 2))


class BayesianModelAverage(Regressor):
    r"""An average over models, each with the weight of its posterior probability.

    .. math:: p(y^* \mid x^*, D) = \sum_m p(m \mid D)\, p(y^* \mid x^*, m, D), \qquad
              p(m \mid D) \propto p(m)\, p(D \mid m)

    Each model provides its evidence p(D | m) as `log_evidence_`.

    Parameters
    ----------
    models : list of regressors, optional
        Unfitted models with `log_evidence_` and ``predict(X, return_std=True)``, or pipelines that
        end in one (which get their rows in memory, without weights). By default two:
        one prior precision for all columns, and one for each.
    prior : (m,) array, optional
        Prior probability p(m) of each model; uniform if None.

    Attributes
    ----------
    models_ : the fitted models
    log_evidences_ : (n_models,) log of p(D | m)
    weights_ : (n_models,) posterior p(m | D)
    log_evidence_ : log of p(D), over all models

    See Also
    --------
    BayesianLinearRegression, WeightedModels, gibbs_weights

    References
    ----------
    Hoeting, J., Madigan, D., Raftery, A. and Volinsky, C. (1999). Bayesian Model Averaging:
    A Tutorial.

    Examples
    --------
    >>> from tenfold import BayesianLinearRegression, BayesianModelAverage
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> tight, loose = (BayesianLinearRegression(prior_precision=s, noise=1) for s in (1e3, 1))
    >>> average = BayesianModelAverage([tight, loose]).fit(X, 3 * X[:, 0])
    >>> average.weights_.round(3).tolist()
    [0.0, 1.0]
    """

    _parameter_constraints = {"models": [list, tuple, None], "prior": ["array-like", None]}

    def __init__(self, models: Any = None, prior: Any = None) -> None:
        self.models = models
        self.prior = prior

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        models = [_fit_on_rows(rows, model) for model in self._models()]
        evidences = np.array([_log_evidence(model) for model in models])
        return {
            "_parts": models,
            "log_evidences_": evidences,
            "weights_": model_posterior(evidences, self.prior),
            "log_evidence_": log_marginal(evidences, self.prior),
        }

    def _models(self) -> list[Any]:
        if self.models is None:
            kinds = ("isotropic", "relevance")
            return [BayesianLinearRegression(prior_precision=kind) for kind in kinds]
        if not len(self.models):
            raise ValueError("models is empty: give at least one")
        return [clone(model) for model in self.models]

    @property
    def models_(self) -> list[Any]:
        """The fitted models."""
        return self._parts

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the mixture of all predictions, and optionally its standard deviation.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return the standard deviation too: within the models and between them.

        Returns
        -------
        (n,) array, or two of them
        """
        check_is_fitted(self)
        predictions = [model.predict(X, return_std=True) for model in self.models_]
        means, stds = (np.stack(part) for part in zip(*predictions, strict=True))
        mean, std = mixture_moments(self.weights_.astype(means.dtype), means, stds)
        return (mean, std) if return_std else mean


def _fit_on_rows(rows: Rows, model: Any) -> Any:
    """Fit a model on rows; scikit-learn's pipelines get arrays."""
    if isinstance(model, Estimator):
        return model.fit(rows)
    whole = rows.gather()
    if whole.w is not None:
        raise ValueError("sample_weight does not reach models inside a pipeline: leave it out")
    return model.fit(whole.X, whole.y)


def _log_evidence(model: Any) -> float:
    """Log-evidence of a fitted model, or of the last step of a pipeline."""
    return (model[-1] if hasattr(model, "steps") else model).log_evidence_
