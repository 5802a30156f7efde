"""Bagging: models of bootstrap samples, all of them from the same passes over the rows."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import ensemble
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import tenfold
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.ensemble._bootstrap import Draw, DrawnRows
from tenfold.ensemble._members import Saveable, TrainingRows
from tenfold.metrics._predictions import predictions
from tenfold.model_selection.cv_data import is_in_memory, is_native


class BaggedPasses(Saveable):
    """Fit and predict of a bagging ensemble whose member is a model of tenfold.

    A bag is a weight per row, which follows from the number of the row, so a pass over the rows
    serves all bags. Any other member is left to scikit-learn, and learns from arrays.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit a copy of the member to each bag.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target, or labels.
        sample_weight : array or column name, optional
            Weight of each row.
        **fit_params :
            Metadata that scikit-learn routes to the members.
        """
        if fit_params or not is_native(self._get_estimator()):
            if not is_in_memory(X, y, sample_weight):
                name = type(self._get_estimator()).__name__
                raise TypeError(
                    f"{name} learns from arrays alone: load the rows into an array, or choose a "
                    "model of tenfold"
                )
            self._draws_ = None
            return super().fit(X, y, sample_weight, **fit_params)  # type: ignore[misc]
        self._validate_params()
        self._validate_estimator(self._get_estimator())
        if self.warm_start:
            vars(self).pop("oob_score_", None)  # of other bags
        if self.oob_score and not self.bootstrap:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        if self.oob_score and self.warm_start:
            raise ValueError("Out of bag estimate only available if warm_start=False")
        vars(self).pop("estimator_params", None)  # of scikit-learn's constructor; always empty
        data = TrainingRows(self, X, y, sample_weight)
        self._fit_bags(data)
        if self.oob_score:
            self._set_oob(data)
        return self

    def _fit_bags(self, data: TrainingRows) -> None:
        known = len(getattr(self, "estimators_", ())) if self.warm_start else 0
        if known > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={known} when warm_start==True"
            )
        if known == self.n_estimators:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
                stacklevel=3,
            )
        draws = self._make_draws(data.rows)
        jobs = [partial(_fit_bag, self.estimator_, draw) for draw in draws[known:]]
        fitted = data.run(jobs) if jobs else []
        self.estimators_ = [*(self.estimators_ if known else []), *fitted]
        self._draws_ = draws
        p = data.rows.n_features
        self.estimators_features_ = [
            np.arange(p) if draw.columns is None else draw.columns for draw in draws
        ]
        self.n_features_in_, self._n_samples = p, data.rows.n_rows
        if data.names is not None:
            self.feature_names_in_ = data.names
        if data.classes is not None:
            self.classes_, self.n_classes_ = data.classes, len(data.classes)

    def _make_draws(self, rows: Rows) -> list[Draw]:
        """Rows and columns of all bags, from `random_state`."""
        n, p = rows.n_rows, rows.n_features
        size = n if self.max_samples is None else self.max_samples
        rate = size / n if isinstance(size, int | np.integer) else float(size)
        if not self.bootstrap and rate > 1:
            raise ValueError(f"max_samples={size} must be <= n_samples={n}")
        wide = self.max_features
        columns = int(wide) if isinstance(wide, int | np.integer) else max(1, int(wide * p))
        if columns > p:
            raise ValueError("max_features must be <= n_features")
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        every = columns == p and not self.bootstrap_features
        return [
            Draw(
                _seed_of_some_rows(int(seed), rate, bool(self.bootstrap), n),
                rate,
                bool(self.bootstrap),
                None if every else _draw_columns(int(seed), p, columns, self.bootstrap_features),
            )
            for seed in seeds
        ]

    def _set_oob(self, data: TrainingRows) -> None:
        """Predictions of each row by the bags that it is not in, and their score."""
        sums = data.rows.each(sum_out_of_bag, self.estimators_, self._draws_, data.n_classes)
        votes, found = sums[:, -1], sums[:, :-1]
        if not votes.all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates.",
                UserWarning,
                stacklevel=4,
            )
        with np.errstate(invalid="ignore"):
            mean = found / votes[:, None]
        there, y = votes > 0, data.target
        if data.classes is None:
            self.oob_prediction_ = mean[:, 0] if mean.shape[1] == 1 else mean
            self.oob_score_ = float(r2_score(y[there], self.oob_prediction_[there]))
        else:
            self.oob_decision_function_ = mean
            self.oob_score_ = float(accuracy_score(y[there], mean[there].argmax(axis=1)))

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Numbers of the rows of each bag, as often as they were drawn."""
        if self._draws_ is None:
            return super().estimators_samples_  # type: ignore[misc]
        rows = np.arange(self._n_samples)
        counts = (draw.counts(0, self._n_samples).astype(np.int64) for draw in self._draws_)
        return [np.repeat(rows, count) for count in counts]

    def _mean_of_bags(self, X: Any) -> np.ndarray:
        """Mean prediction of all bags for each row."""
        check_is_fitted(self)
        rows = TrainingRows.open(self, X)
        n_classes = len(self.classes_) if is_classifier(self) else 0
        return rows.each(average_bags, self.estimators_, self._draws_, n_classes)


class BaggingClassifier(BaggedPasses, ensemble.BaggingClassifier):
    r"""The mean of the probabilities of classifiers, each of a bootstrap sample.

    .. math:: p(c \mid x) = \frac{1}{B} \sum_{b=1}^{B} p_b(c \mid x)

    scikit-learn's class. If the member is a model of tenfold, each pass over the rows serves all
    bags, rows may lie in files or on a Dask cluster, and how often a row is drawn is a Poisson
    number that follows from `random_state` and the number of the row: the same everywhere.

    Parameters
    ----------
    estimator : classifier, optional
        The member; `tenfold.DecisionTreeClassifier` by default.
    n_estimators : int
        Number of bags.
    max_samples : int or float, optional
        Expected number, or share, of the rows of a bag; all by default.
    max_features : int or float
        Number, or share, of the features of a bag.
    bootstrap : bool
        Whether rows are drawn with replacement.
    bootstrap_features : bool
        Whether features are drawn with replacement.
    oob_score : bool
        Whether rows are predicted by the bags that they are not in.
    warm_start : bool
        Whether a further fit adds bags to those that are there.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours.
    random_state : int, RandomState or None
        Seed of the bags.
    verbose : int
        Passed to scikit-learn.

    Attributes
    ----------
    estimators_ : list of the fitted members, which know class indices
    estimators_samples_, estimators_features_ : numbers of the rows and features of each bag
    oob_decision_function_, oob_score_ : of predictions out of bag
    classes_ : (n_classes,) labels

    See Also
    --------
    RandomForestClassifier, VotingClassifier

    References
    ----------
    Breiman, L. (1996). Bagging Predictors.
    Oza, N. C., Russell, S. (2001). Online Bagging and Boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import BaggingClassifier, GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(GaussianNB(), 25, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.95
    """

    def _get_estimator(self) -> Any:
        return tenfold.DecisionTreeClassifier() if self.estimator is None else self.estimator

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The class with the largest mean probability for each row, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        **params :
            Metadata that scikit-learn routes to the members.
        """
        return self.classes_.take(self.predict_proba(X, **params).argmax(axis=1), axis=0)

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Mean probability of each class for each row, (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        **params :
            Metadata that scikit-learn routes to the members.
        """
        check_is_fitted(self)
        return super().predict_proba(X, **params) if self._draws_ is None else self._mean_of_bags(X)


class BaggingRegressor(BaggedPasses, ensemble.BaggingRegressor):
    r"""The mean of the predictions of regressors, each of a bootstrap sample.

    .. math:: \hat y(x) = \frac{1}{B} \sum_{b=1}^{B} \hat y_b(x)

    scikit-learn's class. If the member is a model of tenfold, each pass over the rows serves all
    bags, rows may lie in files or on a Dask cluster, and how often a row is drawn is a Poisson
    number that follows from `random_state` and the number of the row: the same everywhere.

    Parameters
    ----------
    estimator : regressor, optional
        The member; `tenfold.DecisionTreeRegressor` by default.
    n_estimators : int
        Number of bags.
    max_samples : int or float, optional
        Expected number, or share, of the rows of a bag; all by default.
    max_features : int or float
        Number, or share, of the features of a bag.
    bootstrap : bool
        Whether rows are drawn with replacement.
    bootstrap_features : bool
        Whether features are drawn with replacement.
    oob_score : bool
        Whether rows are predicted by the bags that they are not in.
    warm_start : bool
        Whether a further fit adds bags to those that are there.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours.
    random_state : int, RandomState or None
        Seed of the bags.
    verbose : int
        Passed to scikit-learn.

    Attributes
    ----------
    estimators_ : list of the fitted members
    estimators_samples_, estimators_features_ : numbers of the rows and features of each bag
    oob_prediction_, oob_score_ : of predictions out of bag

    See Also
    --------
    RandomForestRegressor, VotingRegressor

    References
    ----------
    Breiman, L. (1996). Bagging Predictors.
    Oza, N. C., Russell, S. (2001). Online Bagging and Boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import BaggingRegressor, Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(Ridge(0.1), 50, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.49
    """

    def _get_estimator(self) -> Any:
        return tenfold.DecisionTreeRegressor() if self.estimator is None else self.estimator

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The mean prediction of all bags for each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        **params :
            Metadata that scikit-learn routes to the members.
        """
        check_is_fitted(self)
        if self._draws_ is None:
            return super().predict(X, **params)
        mean = self._mean_of_bags(X)
        return mean[:, 0] if mean.shape[1] == 1 else mean


def _fit_bag(member: Any, draw: Draw, rows: Rows) -> Any:
    model: Any = clone(member)
    if "random_state" in model.get_params():
        model.set_params(random_state=draw.seed)
    return model.fit(DrawnRows(rows, draw))


def _seed_of_some_rows(seed: int, rate: float, replace: bool, n: int) -> int:
    """The first seed from this one on that draws a row at all, which matters for a few rows."""
    if rate * n < 50:
        while not Draw(seed, rate, replace).counts(0, n).any():
            seed += 1
    return seed


def _draw_columns(seed: int, p: int, k: int, replace: bool) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(p, k, replace=replace))


def average_bags(chunk: Chunk, models: list[Any], draws: list[Draw], n_classes: int) -> np.ndarray:
    """Mean prediction of all bags for the rows of a chunk."""
    pairs = zip(models, draws, strict=True)
    total = sum(_bag_columns(model, draw, chunk.X, n_classes) for model, draw in pairs)
    return np.asarray(total) / len(models)


def sum_out_of_bag(
    chunk: Chunk, models: list[Any], draws: list[Draw], n_classes: int
) -> np.ndarray:
    """Summed predictions of the bags that a row is not in; their number is the last column."""
    sums: Any = None
    for model, draw in zip(models, draws, strict=True):
        out = draw.counts(chunk.first, chunk.rows) == 0
        values = _bag_columns(model, draw, chunk.X, n_classes)
        if sums is None:
            sums = np.zeros((chunk.rows, values.shape[1] + 1))
        sums[out, :-1] += values[out]
        sums[out, -1] += 1
    return sums


def _bag_columns(model: Any, draw: Draw, X: Any, n_classes: int) -> np.ndarray:
    """Predictions of one bag as columns: numbers, or probabilities (votes without them)."""
    features = draw.features(X)
    if not n_classes:
        values = np.asarray(predictions(model, features, "values"), np.float64)
        return values.reshape(len(values), -1)
    if hasattr(model, "predict_proba"):
        return predictions(model, features, "probabilities", np.arange(n_classes))
    return np.eye(n_classes)[predictions(model, features, "labels", np.arange(n_classes))]
