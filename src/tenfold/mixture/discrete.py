"""Mixtures of Bernoulli, multinomial, Poisson and categorical distributions."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.mixture._base import MIXTURE_CONSTRAINTS, BaseMixture
from tenfold.mixture._discrete_components import (
    DiscreteComponents,
    DiscreteFamily,
    DiscreteParameters,
)
from tenfold.naive_bayes._column_distributions import (
    check_category_range,
    column_extremes,
    split_tables,
)

_DISCRETE_CONSTRAINTS: dict[str, Any] = {
    **MIXTURE_CONSTRAINTS,
    "alpha": [Interval(Real, 0.0, None, closed="left")],
}


class _DiscreteMixture(BaseMixture):
    """Base class of mixtures of discrete distributions."""

    _kind = ""
    _nan_ok = True
    _sparse_ok = True
    _rates_name = "probabilities_"
    _parameter_constraints: dict[str, Any] = _DISCRETE_CONSTRAINTS

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        hard: bool = False,
        observed_labels: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.hard = hard
        self.observed_labels = observed_labels
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._kind != "bernoulli"
        return tags

    @property
    def _threshold(self) -> float | None:
        return None

    def _sizes(self, rows: Rows) -> np.ndarray:
        return np.ones(rows.n_features, np.int64)

    def _fitted_sizes(self) -> np.ndarray:
        return np.ones(self.n_features_in_, np.int64)

    def _make_family(self, sizes: np.ndarray) -> DiscreteFamily:
        return DiscreteFamily(self._kind, self.alpha, sizes, self._threshold, type(self).__name__)

    def _family(self, rows: Rows) -> DiscreteFamily:
        return self._make_family(self._sizes(rows))

    def _finalize(self, g: DiscreteParameters, dtype: np.dtype) -> dict[str, Any]:
        return {
            "weights_": g.weights.astype(dtype),
            self._rates_name: g.rates.astype(dtype),
            "lengths_": g.lengths.astype(dtype),
        }

    def _state(self) -> DiscreteParameters:
        parts = self.weights_, getattr(self, self._rates_name), self.lengths_
        return DiscreteParameters(*(np.asarray(part, np.float64) for part in parts))

    def _components(self) -> DiscreteComponents:
        return self._make_family(self._fitted_sizes()).components(self._state())

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return k * self._state().rates.shape[1] + k - 1


class BernoulliMixture(_DiscreteMixture):
    r"""A mixture of independent Bernoulli variables: latent classes of binary rows.

    .. math:: p(x) = \sum_k \pi_k \prod_j p_{kj}^{x_j} (1 - p_{kj})^{1 - x_j}

    NaN is a missing entry: it is left out of the product, at fit and at prediction alike.

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` includes the log prior.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.
    binarize : float or None
        Entries above it become 1, all others 0; None: X holds 0 and 1 only.

    Attributes
    ----------
    weights_ : (n_components,)
    probabilities_ : (n_components, n_features)
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    See Also
    --------
    MixtureModel : A mixture of any density.
    choose_components : Choose the number of components.

    References
    ----------
    P. F. Lazarsfeld and N. W. Henry (1968), Latent Structure Analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BernoulliMixture
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> BernoulliMixture(2, random_state=0).fit(X).weights_.round(6).tolist()
    [0.5, 0.5]
    """

    _kind = "bernoulli"
    _parameter_constraints: dict[str, Any] = {
        **_DISCRETE_CONSTRAINTS,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        hard: bool = False,
        observed_labels: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        binarize: float | None = 0.0,
    ) -> None:
        super().__init__(
            n_components,
            alpha=alpha,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            init_params=init_params,
            hard=hard,
            observed_labels=observed_labels,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.binarize = binarize

    @property
    def _threshold(self) -> float | None:
        return self.binarize

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        p = self.probabilities_[component]
        return (rng.random((n, len(p))) < p).astype(np.float64)


class MultinomialMixture(_DiscreteMixture):
    r"""A mixture of multinomials: rows count how often each outcome, such as a word, occurred.

    .. math:: p(x) = \sum_k \pi_k \frac{n!}{\prod_j x_j!} \prod_j p_{kj}^{x_j}

    NaN is a missing count, not a zero: the likelihood is that of the observed columns O given their
    total, multinomial with :math:`p_{kj} / \sum_{j' \in O} p_{kj'}`.

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` includes the log prior.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
    probabilities_ : (n_components, n_features)
    lengths_ : (n_components,) mean sum of the rows of each component, the trials of `sample`
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    See Also
    --------
    MixtureModel : A mixture of any density.
    choose_components : Choose the number of components.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun and T. Mitchell (2000), Text classification from labeled and
    unlabeled documents using EM.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultinomialMixture
    >>> X = np.array([[9, 1], [8, 2], [2, 8], [1, 9]])
    >>> model = MultinomialMixture(2, random_state=0, tol=1e-9).fit(X)
    >>> np.sort(model.probabilities_[:, 0]).round(2).tolist()
    [0.15, 0.85]
    """

    _kind = "multinomial"

    def _n_parameters(self) -> int:
        return super()._n_parameters() - len(self.weights_)

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        p = np.asarray(self.probabilities_[component], np.float64)
        trials = int(np.rint(self.lengths_[component]))
        return rng.multinomial(trials, p / p.sum(), n).astype(np.float64)


class PoissonMixture(_DiscreteMixture):
    r"""A mixture of independent Poisson counts.

    .. math:: p(x) = \sum_k \pi_k \prod_j \frac{r_{kj}^{x_j} e^{-r_{kj}}}{x_j!}

    NaN is a missing entry: it is left out of the product, at fit and at prediction alike.

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` includes the log prior.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
    rates_ : (n_components, n_features)
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    See Also
    --------
    MixtureModel : A mixture of any density.
    choose_components : Choose the number of components.

    References
    ----------
    G. McLachlan and D. Peel (2000), Finite Mixture Models.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonMixture
    >>> model = PoissonMixture(2, random_state=0, tol=1e-9).fit([[1.0], [2.0], [30.0], [40.0]])
    >>> np.sort(model.rates_.ravel()).round(3).tolist()
    [1.5, 35.0]
    """

    _kind = "poisson"
    _rates_name = "rates_"

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rates = self.rates_[component]
        return rng.poisson(rates, (n, len(rates))).astype(np.float64)


class _ColumnExtremes(NamedTuple):
    """Smallest and largest value of each column."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: _ColumnExtremes) -> _ColumnExtremes:
        return _ColumnExtremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _chunk_extremes(chunk: Chunk) -> _ColumnExtremes:
    """Smallest and largest value of each column of a chunk."""
    return _ColumnExtremes(*column_extremes(chunk.X, chunk.weights().astype(np.float64)))


class CategoricalMixture(_DiscreteMixture):
    r"""A mixture of categorical distributions: latent classes of rows of categories 0, 1, ...

    .. math:: p(x) = \sum_k \pi_k \prod_j p_{kj}(x_j)

    Numbers are truncated to integers. A category that the fit has not seen does not change the
    posterior, and neither does a missing one (NaN).

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` includes the log prior.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
    probabilities_ : (n_components, sum of `n_categories_`), the columns one after the other
    n_categories_ : (n_features,) categories of each column
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    See Also
    --------
    MixtureModel : A mixture of any density.
    choose_components : Choose the number of components.

    References
    ----------
    P. F. Lazarsfeld and N. W. Henry (1968), Latent Structure Analysis.

    Examples
    --------
    >>> from tenfold import CategoricalMixture
    >>> X = [[0, 2], [0, 2], [1, 0], [1, 0]]
    >>> model = CategoricalMixture(2, random_state=0).fit(X)
    >>> [table.shape for table in model.tables()], model.predict_proba([[0, 2]]).max().round(6)
    ([(2, 2), (2, 3)], np.float64(1.0))
    """

    _kind = "categorical"
    _sparse_ok = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _sizes(self, rows: Rows) -> np.ndarray:
        low, high = rows.total(_chunk_extremes)
        check_category_range(low, high, type(self).__name__)
        self.n_categories_ = np.maximum(high, 0).astype(np.int64) + 1  # 1 if all are missing
        return self.n_categories_

    def _fitted_sizes(self) -> np.ndarray:
        return self.n_categories_

    def tables(self) -> list[np.ndarray]:
        """Probabilities of the categories, for each column (n_components, n_categories)."""
        return split_tables(self.probabilities_, self.n_categories_)

    def _n_parameters(self) -> int:
        return super()._n_parameters() - len(self.weights_) * self.n_features_in_

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        columns = []
        for table in self.tables():
            p = table[component].astype(np.float64)
            columns.append(rng.choice(len(p), n, p=p / p.sum()))
        return np.stack(columns, axis=1).astype(np.float64)
