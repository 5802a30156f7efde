"""Hyperparameter search by cross-validation, for all candidates together."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Self, cast

import numpy as np
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.rows import Rows
from tenfold.metrics.evaluation import evaluate
from tenfold.model_selection._evaluation import Evaluator, FoldScores, make_evaluator
from tenfold.model_selection._fold_models import Candidates
from tenfold.model_selection.cv_data import clone_with_params, is_native
from tenfold.model_selection.search_strategies import (
    SearchResult,
    best_candidate,
    grid_candidates,
    one_standard_error,
    refine_search,
    sample_candidates,
    search_all,
    successive_halving,
)


def cv_results_table(
    candidates: list[dict[str, Any]], found: FoldScores, names: list[str]
) -> dict[str, Any]:
    """`cv_results_`: a column per parameter, part and statistic, a row per candidate."""
    parts, n, _ = found.test.shape
    results: dict[str, Any] = {}
    for key, seconds in (("fit", found.fit_seconds), ("score", found.score_seconds)):
        results[f"mean_{key}_time"] = np.full(n, seconds / (parts * n))
        results[f"std_{key}_time"] = np.zeros(n)
    results |= _param_columns(candidates)
    results["params"] = candidates
    for m, name in enumerate(names):
        results |= _score_columns(found.test[:, :, m], "test", name)
        if found.train is not None:
            results |= _score_columns(found.train[:, :, m], "train", name)
    return results


def _param_columns(candidates: list[dict[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """Values of each parameter; masked where a candidate leaves it alone."""
    names = sorted({name for each in candidates for name in each})
    columns = {}
    for name in names:
        values = np.empty(len(candidates), object)
        values[:] = [each.get(name) for each in candidates]
        present = [each[name] for each in candidates if name in each]
        if all(type(v) in (int, float) for v in present) and len(present) == len(candidates):
            values = np.array(present)
        columns[f"param_{name}"] = np.ma.MaskedArray(
            values, mask=[name not in each for each in candidates]
        )
    return columns


def _score_columns(scores: np.ndarray, kind: str, name: str) -> dict[str, np.ndarray]:
    """Scores of each part, their mean and spread, and the ranks."""
    columns = {f"split{p}_{kind}_{name}": row for p, row in enumerate(scores)}
    mean = scores.mean(axis=0)
    columns[f"mean_{kind}_{name}"], columns[f"std_{kind}_{name}"] = mean, scores.std(axis=0)
    if kind == "test":
        ranks = rankdata(-np.where(np.isnan(mean), -np.inf, mean), "min")
        columns[f"rank_test_{name}"] = ranks.astype(np.int32)
    return columns


def _has(method: str) -> Callable[[Any], bool]:
    def check(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.model), method)

    return check


class Search(Estimator):
    """Choose the settings of a model by cross-validation.

    All folds and all candidates share walks over the data: one-pass models need one walk for the
    whole grid (and one more to judge what moments cannot), others walk in step and start from the
    coefficients of the candidate before. Attributes have scikit-learn's names. Nested
    cross-validation is `cross_validate(Search(...), X, y)`. [000, 1.4; 002, ch. 3; 003, recitation
    1; 004, 2.8]

    Parameters
    ----------
    model : estimator
        Whose settings are chosen.
    grid : dict or list of dicts
        Names of parameters and the values to try; for how="sampled" also distributions with `rvs`.
    folds : int, "loo", scikit-learn splitter, or pairs of arrays of row numbers
        As in `cross_validate`.
    scoring : str, Metric, list of them, or callable, optional
        Of several the first decides. By default accuracy, or R^2.
    how : {"grid", "sampled", "refined", "halving"}
        Every combination; `n_candidates` draws; a grid that is made finer `rounds` times around
        the best; or all on few rows first, then the best of them on more.
    n_candidates : int
        Draws of how="sampled".
    rounds : int
        Refinements of how="refined".
    factor : float
        For how="halving": one in so many goes on, to so many times the rows.
    rule : {"best", "one_standard_error"} or callable
        Which candidate wins: the best mean score; the simplest within one standard error of it; or
        the number that `rule(cv_results_)` returns.
    simpler : dict, optional
        "low" or "high" for each parameter, for rule="one_standard_error": which values are simpler.
    cost : callable, optional
        `cost(params)` is taken off the score of a candidate: what its resources are worth.
    refit : bool
        Whether to fit the chosen model on all rows.
    return_train_score : bool
        Whether `cv_results_` has scores on the training rows.
    random_state : int, optional
        For draws of candidates and of rows.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : the chosen settings
    best_estimator_ : the model, fitted on all rows
    cv_results_ : scores of every candidate
    n_splits_, refit_time_ : number of parts; seconds of the last fit

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge, Search
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = Search(Ridge(), {"alpha": np.logspace(-4, 2, 25)}).fit(X, y)
    >>> print(found.best_params_["alpha"].round(3), round(found.best_score_, 3))
    0.056 0.464
    """

    _parameter_constraints = {
        "model": [HasMethods(["fit"])],
        "grid": [dict, list],
        "how": [StrOptions({"grid", "sampled", "refined", "halving"})],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "factor": [Interval(Real, 1, None, closed="neither")],
        "rule": [StrOptions({"best", "one_standard_error"}), callable],
        "simpler": [dict, None],
        "cost": [callable, None],
        "refit": ["boolean"],
        "return_train_score": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        model: Any,
        grid: Any,
        *,
        folds: Any = 10,
        scoring: Any = None,
        how: str = "grid",
        n_candidates: int = 20,
        rounds: int = 2,
        factor: float = 3.0,
        rule: Any = "best",
        simpler: Any = None,
        cost: Any = None,
        refit: bool = True,
        return_train_score: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.grid = grid
        self.folds = folds
        self.scoring = scoring
        self.how = how
        self.n_candidates = n_candidates
        self.rounds = rounds
        self.factor = factor
        self.rule = rule
        self.simpler = simpler
        self.cost = cost
        self.refit = refit
        self.return_train_score = return_train_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Judge all candidates, choose one, and fit it on all rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Target, or labels.
        sample_weight : array or column name, optional
            Weights of rows, in fitting and judging.
        groups : (n,) array, optional
            Rows of one group stay together.

        Returns
        -------
        self
        """
        self._validate_params()
        trial = make_evaluator(
            self.model,
            X,
            y,
            folds=self.folds,
            scoring=self.scoring,
            groups=groups,
            sample_weight=sample_weight,
        )
        names = trial.names if isinstance(self.scoring, list | tuple | dict) else ["score"]
        candidates, found, last = self._tried(trial)
        self.cv_results_ = cv_results_table(candidates, found, names)
        self.n_splits_ = len(found.test)
        self.multimetric_ = len(names) > 1
        self.best_index_ = self._chosen(candidates, found.test[:, :, 0], last)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(found.test[:, self.best_index_, 0].mean())
        self._take_over(trial)
        return self

    def _tried(self, trial: Evaluator) -> SearchResult:
        """Judge the candidates that `how` leads to."""
        train = self.return_train_score
        if self.how == "sampled":
            drawn = sample_candidates(self.grid, self.n_candidates, self.random_state)
            return search_all(trial, drawn, train=train)
        first = grid_candidates(self.grid)
        if self.how == "halving":
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            return successive_halving(trial, first, self._worth, self.factor, seed, train=train)
        rounds = self.rounds if self.how == "refined" else 0
        return refine_search(trial, first, self._worth, rounds, train=train)

    def _worth(self, candidates: Candidates, scores: np.ndarray) -> np.ndarray:
        """Scores less what the candidates cost."""
        if self.cost is None:
            return scores
        return scores - np.array([float(self.cost(each)) for each in candidates])

    def _chosen(self, candidates: Candidates, scores: np.ndarray, last: list[int]) -> int:
        rule: Any = self.rule
        if callable(rule):
            return int(cast("Any", rule)(self.cv_results_))
        worth = self._worth(candidates, scores)[:, last]
        if rule == "best":
            return last[best_candidate(worth)]
        return last[one_standard_error(worth, [candidates[i] for i in last], self.simpler)]

    def _take_over(self, trial: Evaluator) -> None:
        """Fit the chosen model on all rows, and know what it knows."""
        if not self.refit:
            return
        start = perf_counter()
        self.best_estimator_ = trial.refit(self.best_params_)
        self.refit_time_ = perf_counter() - start
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    @property
    def _learns_from_rows(self) -> bool:
        return is_native(self.model)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        """The rows as the model opens them: for the folds of a nested cross-validation."""
        inner = clone_with_params(self.model)
        rows = inner._training_rows(X, y, w)
        vars(self).update({k: v for k, v in vars(inner).items() if k.endswith("_in_")})
        if hasattr(inner, "classes_"):
            self.classes_ = inner.classes_
        return rows

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @available_if(_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """What the chosen model predicts for each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().predict_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().decision_function(X)

    @available_if(_has("transform"))
    def transform(self, X: Any) -> np.ndarray:
        """What the chosen model makes of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The deciding score of the chosen model on other rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Their target.
        sample_weight : array or column name, optional
            Their weights.
        """
        first = self.scoring[0] if isinstance(self.scoring, list | tuple) else self.scoring
        if callable(first):
            return float(cast("Any", first)(self._best(), X, y))
        wanted = None if first is None else [first]
        found = evaluate(self._best(), X, y, metrics=wanted, sample_weight=sample_weight)
        return next(iter(found.values()))


def search(model: Any, grid: Any, X: Any, y: Any = None, **options: Any) -> Search:
    """Choose the settings of a model: `Search(model, grid, ...).fit(X, y)`.

    Parameters
    ----------
    model : estimator
        Whose settings are chosen.
    grid : dict or list of dicts
        Names of parameters and the values to try.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    **options
        `sample_weight` and `groups` as in `Search.fit`; all others as in `Search`.

    Returns
    -------
    Search
        Fitted, with `best_params_`, `cv_results_`, `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB, search
    >>> X, y = load_iris(return_X_y=True)
    >>> search(GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 0.1]}, X, y, folds=5).best_params_
    {'var_smoothing': 1e-09}
    """
    of_fit = {name: options.pop(name) for name in ("sample_weight", "groups") if name in options}
    return Search(model, grid, **options).fit(X, y, **of_fit)
