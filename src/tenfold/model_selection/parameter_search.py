"""Hyperparameter search by cross-validation, for all candidates together."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Self, cast

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.rows import Rows
from tenfold.metrics.evaluation import evaluate
from tenfold.metrics.registry import METRICS
from tenfold.model_selection._evaluation import (
    Evaluator,
    FoldScores,
    has_own_score,
    make_evaluator,
    own_scoring,
)
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
    candidates: list[dict[str, Any]], scores: FoldScores, names: list[str]
) -> dict[str, Any]:
    """`cv_results_`: a column per parameter, fold and statistic, a row per candidate."""
    n_folds, n, _ = scores.test.shape
    results: dict[str, Any] = {}
    for key, seconds in (("fit", scores.fit_seconds), ("score", scores.score_seconds)):
        results[f"mean_{key}_time"] = np.full(n, seconds / (n_folds * n))
        results[f"std_{key}_time"] = np.zeros(n)
    results |= _param_columns(candidates)
    results["params"] = candidates
    for m, name in enumerate(names):
        results |= _score_columns(scores.test[:, :, m], "test", name)
        if scores.train is not None:
            results |= _score_columns(scores.train[:, :, m], "train", name)
    return results


def _param_columns(candidates: list[dict[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """Values of each parameter; masked where a candidate does not set it."""
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
    """Scores of each fold, their mean and standard deviation, and the ranks."""
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
    """Choose the parameters of a model by cross-validation.

    All folds and all candidates share passes over the data: one-pass models need one pass for the
    whole grid (and one more for scores that do not follow from moments), others are fitted in
    lockstep with warm starts. Attributes have scikit-learn's names. Nested cross-validation is
    `cross_validate(Search(...), X, y)`.

    Parameters
    ----------
    model : estimator
        Whose parameters are chosen.
    grid : dict or list of dicts
        Names of parameters and the values to try; for how="sampled" also distributions with `rvs`.
    folds : int, "loo", scikit-learn splitter, or pairs of arrays of row numbers
        As in `cross_validate`.
    scoring : str, Metric, list of them, or callable, optional
        The first of several decides. By default the model's own `score`: accuracy, R^2, minus the
        cost of a `CostSensitiveClassifier`.
    how : {"grid", "sampled", "refined", "halving"}
        Every combination; `n_candidates` random ones; a grid that is refined `rounds` times around
        the best; or successive halving: all on few rows first, then the best of them on more.
    n_candidates : int
        Random candidates of how="sampled".
    rounds : int
        Refinements of how="refined".
    factor : float
        For how="halving": the best 1 / factor continue, on factor times the rows.
    rule : {"best", "one_standard_error"} or callable
        Which candidate is chosen: the best mean score; the simplest within one standard error of
        it; or the index that `rule(cv_results_)` returns.
    simpler : dict, optional
        "low" or "high" for each parameter, for rule="one_standard_error": which values are simpler.
    cost : callable, optional
        `cost(params)` is subtracted from the score of a candidate.
    refit : bool
        Whether to fit the chosen model on all rows.
    return_train_score : bool
        Whether `cv_results_` has scores on the training rows.
    random_state : int, optional
        Seed of random candidates and of subsamples.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : the chosen parameters
    best_estimator_ : the model, fitted on all rows
    cv_results_ : scores of every candidate
    n_splits_, refit_time_ : number of folds; seconds of the last fit

    See Also
    --------
    cross_validate : Scores of one model.
    validation_curve : Scores against one parameter.
    EarlyStopping : Choose the number of iterations.

    References
    ----------
    * J. Bergstra, Y. Bengio (2012), Random search for hyper-parameter optimization.
    * K. Jamieson, A. Talwalkar (2016), Non-stochastic best arm identification and hyperparameter
      optimization.

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
        """Score all candidates, choose one, and fit it on all rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Target, or labels.
        sample_weight : array or column name, optional
            Weights of rows, for fitting and scoring.
        groups : (n_rows,) array or column name, optional
            Rows of one group are in one fold. A column of groups is no feature.

        Returns
        -------
        self
        """
        self._validate_params()
        evaluator = make_evaluator(
            self.model,
            X,
            y,
            folds=self.folds,
            scoring=self.scoring,
            groups=groups,
            sample_weight=sample_weight,
            grid=self.grid,
        )
        names = evaluator.names if isinstance(self.scoring, list | tuple | dict) else ["score"]
        candidates, scores, eligible = self._run_strategy(evaluator)
        self.cv_results_ = cv_results_table(candidates, scores, names)
        self.n_splits_ = len(scores.test)
        self.multimetric_ = len(names) > 1
        self.best_index_ = self._choose(candidates, scores.test[:, :, 0], eligible)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(scores.test[:, self.best_index_, 0].mean())
        self._refit_best(evaluator)
        return self

    def _run_strategy(self, evaluator: Evaluator) -> SearchResult:
        """Score the candidates of the strategy `how`."""
        train = self.return_train_score
        if self.how == "sampled":
            candidates = sample_candidates(self.grid, self.n_candidates, self.random_state)
            return search_all(evaluator, candidates, train=train)
        candidates = grid_candidates(self.grid)
        if self.how == "halving":
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            return successive_halving(
                evaluator, candidates, self._utility, self.factor, seed, train=train
            )
        rounds = self.rounds if self.how == "refined" else 0
        return refine_search(evaluator, candidates, self._utility, rounds, train=train)

    def _utility(self, candidates: Candidates, scores: np.ndarray) -> np.ndarray:
        """Scores less the costs of the candidates."""
        if self.cost is None:
            return scores
        return scores - np.array([float(self.cost(each)) for each in candidates])

    def _choose(self, candidates: Candidates, scores: np.ndarray, eligible: list[int]) -> int:
        rule: Any = self.rule
        if callable(rule):
            return int(cast("Any", rule)(self.cv_results_))
        utility = self._utility(candidates, scores)[:, eligible]
        if rule == "best":
            return eligible[best_candidate(utility)]
        params = [candidates[i] for i in eligible]
        return eligible[one_standard_error(utility, params, self.simpler)]

    def _refit_best(self, evaluator: Evaluator) -> None:
        """Fit the chosen model on all rows, and copy the attributes of its inputs."""
        if not self.refit:
            return
        start = perf_counter()
        self.best_estimator_ = evaluator.refit(self.best_params_)
        self.refit_time_ = perf_counter() - start
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    _is_search = True  # its `score` is that of `scoring`

    @property
    def _learns_from_rows(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return is_native(self.model)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        """The rows as the model opens them, for the folds of a nested cross-validation."""
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
        """Predictions of the chosen model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the chosen model, (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().predict_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision function of the chosen model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().decision_function(X)

    @available_if(_has("transform"))
    def transform(self, X: Any) -> np.ndarray:
        """Transform rows by the chosen model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._best().transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The deciding score of the chosen model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Their target.
        sample_weight : array or column name, optional
            Their weights.
        """
        first, best = own_scoring(self), self._best()
        if first is None and has_own_score(best):
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return float(best.score(X, **weights) if y is None else best.score(X, y, **weights))
        if isinstance(first, str) and first not in METRICS:
            first = get_scorer(first)
        if callable(first):
            return float(cast("Any", first)(best, X, y))
        metrics = None if first is None else [first]
        scores = evaluate(best, X, y, metrics=metrics, sample_weight=sample_weight)
        return next(iter(scores.values()))


def search(model: Any, grid: Any, X: Any, y: Any = None, **options: Any) -> Search:
    """Choose the parameters of a model: `Search(model, grid, ...).fit(X, y)`.

    Parameters
    ----------
    model : estimator
        Whose parameters are chosen.
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
    fit_options = {n: options.pop(n) for n in ("sample_weight", "groups") if n in options}
    return Search(model, grid, **options).fit(X, y, **fit_options)
