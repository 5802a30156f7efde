"""Mixtures of flips, dice and counts."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from tenfold.generative.mixtures.count_base import COUNT_CONSTRAINTS, CountMixture


class BernoulliMixture(CountMixture):
    r"""A mixture of independent flips: latent classes of rows of 0 and 1.

    .. math:: p(x) = \sum_k \pi_k \prod_j p_{kj}^{x_j} (1 - p_{kj})^{1 - x_j}

    [004, 9.1]

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` holds the log prior too.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.
    binarize : float or None
        Entries above it are a 1; None: X holds 0 and 1 alone.

    Attributes
    ----------
    weights_, probabilities_ : (k,) and (k, p)
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.generative.mixtures.count_mixtures import BernoulliMixture
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> BernoulliMixture(2, random_state=0).fit(X).weights_.round(6).tolist()
    [0.5, 0.5]
    """

    _kind = "bernoulli"
    _parameter_constraints: dict[str, Any] = {
        **COUNT_CONSTRAINTS,
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

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        p = self.probabilities_[k]
        return (rng.random((n, len(p))) < p).astype(np.float64)


class MultinomialMixture(CountMixture):
    r"""A mixture of dice: rows count how often each side, or word, came up.

    .. math:: p(x) = \sum_k \pi_k \frac{n!}{\prod_j x_j!} \prod_j p_{kj}^{x_j}

    [004, 9.3: the dice of its example]

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` holds the log prior too.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, probabilities_ : (k,) and (k, p)
    lengths_ : (k,) mean sum of the rows of each component; `sample` rolls so often
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.generative.mixtures.count_mixtures import MultinomialMixture
    >>> X = np.array([[9, 1], [8, 2], [2, 8], [1, 9]])
    >>> model = MultinomialMixture(2, random_state=0, tol=1e-9).fit(X)
    >>> np.sort(model.probabilities_[:, 0]).round(2).tolist()
    [0.15, 0.85]
    """

    _kind = "multinomial"

    def _n_parameters(self) -> int:
        return super()._n_parameters() - len(self.weights_)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        p = np.asarray(self.probabilities_[k], np.float64)
        rolls = int(np.rint(self.lengths_[k]))
        return rng.multinomial(rolls, p / p.sum(), n).astype(np.float64)


class PoissonMixture(CountMixture):
    r"""A mixture of independent Poisson counts.

    .. math:: p(x) = \sum_k \pi_k \prod_j \frac{r_{kj}^{x_j} e^{-r_{kj}}}{x_j!}

    [004, 9.1]

    Parameters
    ----------
    n_components : int
        Number of components.
    alpha : float
        Added to each count; 0 is maximum likelihood. `lower_bound_` holds the log prior too.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose
        As in `GaussianMixture`.
    hard, observed_labels
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, rates_ : (k,) and (k, p)
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.generative.mixtures.count_mixtures import PoissonMixture
    >>> model = PoissonMixture(2, random_state=0, tol=1e-9).fit([[1.0], [2.0], [30.0], [40.0]])
    >>> np.sort(model.rates_.ravel()).round(3).tolist()
    [1.5, 35.0]
    """

    _kind = "poisson"
    _rates_name = "rates_"

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rates = self.rates_[k]
        return rng.poisson(rates, (n, len(rates))).astype(np.float64)
