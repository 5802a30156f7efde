"""Active learning: a model asks for the labels of the rows from which it would learn most."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import entr
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.ensemble._members import Saveable

_ONE_MODEL = ("least_confident", "margin", "entropy", "std")
_COMMITTEE = ("vote_entropy", "consensus_kl", "committee_std")
_DEVIATIONS = ("std", "committee_std")  # of numbers, not of labels
_PROBABILITIES = ("least_confident", "margin", "entropy", "consensus_kl")


class ActiveLearningCurve(NamedTuple):
    """What a run of active learning went through.

    Attributes
    ----------
    n_labels : (rounds + 1,) number of labels known
    scores : (rounds + 1,) score on the test rows
    queried : numbers of the rows of the pool in the order in which they were asked for
    """

    n_labels: np.ndarray
    scores: np.ndarray
    queried: np.ndarray


class ActiveLearner(Saveable, MetaEstimatorMixin, BaseEstimator):
    r"""A model that chooses which rows of a pool are to be labeled next.

    `fit` learns from the first labels, `query` names the rows of a pool with the greatest utility,
    `teach` adds their labels and learns again; `run` does so in a loop with an oracle. Utilities:

    ==================== ===========================================================================
    "least_confident"    :math:`1 - \max_c p(c \mid x)`
    "margin"             minus the difference of the two largest probabilities
    "entropy"            :math:`-\sum_c p(c \mid x) \log p(c \mid x)`
    "std"                standard deviation of the prediction (regressors with `return_std`)
    "vote_entropy"       entropy of the labels that the members of a committee predict
    "consensus_kl"       mean KL divergence of the members' probabilities from their mean
    "committee_std"      standard deviation of the members' predictions (regressors)
    "random"             the same for all rows: the yardstick
    ==================== ===========================================================================

    Parameters
    ----------
    estimator : classifier or regressor
        What learns.
    strategy : str or callable
        One of the above, or a function of the learner and an array of rows that returns utilities.
    batch_size : int
        Rows to ask for at a time.
    committee : int or list of models
        Members for the strategies of a committee: so many copies of the estimator, each fitted to
        a bootstrap sample of the known rows, or models that are fitted to all of them.
    random_state : int, RandomState or None
        For bootstrap samples, random queries and ties.

    Attributes
    ----------
    estimator_ : the model fitted to all rows with labels
    committee_ : fitted members, for the strategies of a committee
    X_, y_ : the rows with labels
    classes_ : (n_classes,) labels, for classifiers

    See Also
    --------
    SelfTrainingClassifier : Labels come from the model itself.

    References
    ----------
    Settles, B. (2012). Active Learning.
    Seung, H. S., Opper, M. and Sompolinsky, H. (1992). Query by committee.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ActiveLearner, LogisticRegression
    >>> X = np.linspace(-3, 3, 61)[:, None]
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> learner = ActiveLearner(LogisticRegression(), random_state=0).fit(X[[0, 60]], y[[0, 60]])
    >>> curve = learner.run(X, y, n_queries=8, X_test=X, y_test=y)
    >>> curve.n_labels.tolist(), bool(curve.scores[-1] > 0.95)
    ([2, 3, 4, 5, 6, 7, 8, 9, 10], True)
    """

    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions({*_ONE_MODEL, *_COMMITTEE, "random"}), callable],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "committee": [Interval(Integral, 2, None, closed="left"), list, tuple],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        strategy: str | Callable[..., Any] = "margin",
        batch_size: int = 1,
        committee: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.batch_size = batch_size
        self.committee = committee
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the first rows with labels, and forget others.

        Parameters
        ----------
        X : (n, n_features) array or sparse matrix
            The rows.
        y : (n,) array
            Their labels, or targets.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_strategy()
        self._seed, self._n_draws = check_random_state(self.random_state).randint(2**31 - 1), 0
        self.X_, self.y_ = _as_rows(X), np.asarray(y)
        return self._learn()

    def _check_strategy(self) -> None:
        """Refuse a strategy that asks models for what they do not have."""
        name = self.strategy
        if callable(name) or name == "random":
            return
        what, classifies = type(self.estimator).__name__, is_classifier(self.estimator)
        if name in _DEVIATIONS and classifies:
            raise ValueError(
                f"strategy={name!r} is for regressors, and {what} is a classifier: take 'margin', "
                "'entropy' or 'vote_entropy'"
            )
        if name in _COMMITTEE and name not in _DEVIATIONS and not classifies:
            raise ValueError(
                f"strategy={name!r} is for classifiers, and {what} is none: take 'std' or "
                "'committee_std'"
            )
        if name == "std" and not _takes(self.estimator.predict, "return_std"):
            raise ValueError(
                f"strategy='std' needs predict(X, return_std=True), which {what} does not have: "
                "take 'committee_std', or a model such as BayesianRidge"
            )
        members = [self.estimator] if isinstance(self.committee, Integral) else self.committee
        asked = members if name == "consensus_kl" else [self.estimator]
        for model in asked if name in _PROBABILITIES else ():
            if not hasattr(model, "predict_proba"):
                raise ValueError(
                    f"strategy={name!r} needs probabilities, and {type(model).__name__} has no "
                    "predict_proba: take 'vote_entropy' for classifiers, 'std' or 'committee_std' "
                    "for regressors"
                )

    def teach(self, X: Any, y: Any) -> Self:
        """Add rows with labels, and learn from all.

        Parameters
        ----------
        X : (n, n_features) array or sparse matrix
            New rows.
        y : (n,) array
            Their labels, or targets.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, y = _as_rows(X), np.asarray(y)
        if y.shape[:1] != (X.shape[0],):
            raise ValueError(f"{X.shape[0]} rows came with {len(np.atleast_1d(y))} labels")
        if X.shape[1] != self.X_.shape[1]:
            raise ValueError(f"new rows have {X.shape[1]} columns, known ones {self.X_.shape[1]}")
        if (y.dtype.kind in "OUS") != (self.y_.dtype.kind in "OUS"):
            raise TypeError(
                f"new labels are of type {y.dtype}, known ones of {self.y_.dtype}: give either "
                "words or numbers"
            )
        stack = sparse.vstack if sparse.issparse(self.X_) else np.concatenate
        self.X_ = _as_rows(stack([self.X_, X]))
        self.y_ = np.concatenate([self.y_, y])
        return self._learn()

    def _rng(self) -> np.random.Generator:
        """Numbers of the next draw: the learner can be saved between any two."""
        self._n_draws += 1
        return np.random.default_rng((self._seed, self._n_draws))

    def _learn(self) -> Self:
        self.estimator_ = _copy(self.estimator).fit(self.X_, self.y_)
        if is_classifier(self.estimator):
            self.classes_ = self.estimator_.classes_
        if self.strategy in _COMMITTEE:
            self.committee_ = self._fit_committee()
        return self

    def _fit_committee(self) -> list[Any]:
        if not isinstance(self.committee, Integral):
            return [_copy(model).fit(self.X_, self.y_) for model in self.committee]
        members, rng = [], self._rng()
        for _ in range(int(self.committee)):
            at = rng.integers(0, len(self.y_), len(self.y_))
            if is_classifier(self.estimator):  # every class stays known
                first = np.unique(self.y_, return_index=True)[1]
                at[: len(first)] = first[: len(at)]
            members.append(_copy(self.estimator).fit(self.X_[at], self.y_[at]))
        return members

    def utilities(self, X: Any) -> np.ndarray:
        """Utility of a label of each row, (n,).

        Parameters
        ----------
        X : (n, n_features) array or sparse matrix
            Rows without labels.
        """
        check_is_fitted(self)
        X = _as_rows(X)
        if callable(self.strategy):
            found = np.asarray(self.strategy(self, X), np.float64)
        elif self.strategy == "random":
            found = np.zeros(X.shape[0])
        elif self.strategy == "std":
            found = self.estimator_.predict(X, return_std=True)[1]
        elif self.strategy == "committee_std":
            found = np.std([member.predict(X) for member in self.committee_], axis=0)
        elif self.strategy in _COMMITTEE:
            found = self._disagreement(X)
        else:
            found = _uncertainty(self.estimator_.predict_proba(X), self.strategy)
        if found.shape != (X.shape[0],) or not np.isfinite(found).all():
            raise ValueError(
                f"utilities have the shape {found.shape} or are not finite, and one finite number "
                f"for each of {X.shape[0]} rows is needed"
            )
        return found

    def _disagreement(self, X: Any) -> np.ndarray:
        if self.strategy == "vote_entropy":
            votes = np.array([member.predict(X) for member in self.committee_])
            shares = np.stack([(votes == label).mean(axis=0) for label in self.classes_], axis=1)
            return _entropy(shares)
        probabilities = np.array([_align(member, X, self.classes_) for member in self.committee_])
        mean = probabilities.mean(axis=0)
        return _entropy(mean) - np.mean([_entropy(p) for p in probabilities], axis=0)

    def query(self, X: Any, n: int | None = None) -> np.ndarray:
        """Numbers of the rows whose labels would teach most, the best first.

        Parameters
        ----------
        X : (n_pool, n_features) array or sparse matrix
            Rows without labels.
        n : int, optional
            How many; `batch_size` by default. Equal utilities are drawn at random.
        """
        n = self.batch_size if n is None else n
        if n < 0:
            raise ValueError(f"n={n}: give the number of rows to ask for")
        utilities = self.utilities(X)
        if n > len(utilities):
            raise ValueError(f"{n} rows were asked for, and the pool has {len(utilities)}")
        ties = self._rng().permutation(len(utilities))
        return np.lexsort((ties, -utilities))[:n]

    def run(
        self, X: Any, oracle: Any, *, n_queries: int, X_test: Any = None, y_test: Any = None
    ) -> ActiveLearningCurve:
        """Ask an oracle until so many rows are labeled.

        Parameters
        ----------
        X : (n_pool, n_features) array or sparse matrix
            The pool.
        oracle : (n_pool,) array or callable
            Labels of the pool, or a function of an array of row numbers that returns an array of
            their labels, one for each.
        n_queries : int
            Rows to ask for in all.
        X_test, y_test : arrays, optional
            Rows on which the score is measured after each round; NaN without them.

        Returns
        -------
        ActiveLearningCurve
        """
        check_is_fitted(self)
        X, ask = _as_rows(X), oracle if callable(oracle) else np.asarray(oracle).__getitem__
        if not callable(oracle) and np.shape(oracle)[:1] != (X.shape[0],):
            raise ValueError(
                f"the oracle has labels of shape {np.shape(oracle)}, and the pool has "
                f"{X.shape[0]} rows: give a label for each, or a function of row numbers"
            )
        if n_queries > X.shape[0]:
            raise ValueError(f"n_queries={n_queries}, and the pool has {X.shape[0]} rows")

        def score() -> float:
            return np.nan if X_test is None else self.estimator_.score(X_test, y_test)

        left, queried = np.arange(X.shape[0]), np.zeros(0, np.int64)
        n_labels, scores = [len(self.y_)], [score()]
        while len(queried) < n_queries:
            chosen = self.query(X[left], min(self.batch_size, n_queries - len(queried)))
            rows = left[chosen]
            self.teach(X[rows], _ask_for_labels(ask, rows))
            left, queried = np.delete(left, chosen), np.concatenate([queried, rows])
            n_labels.append(len(self.y_))
            scores.append(score())
        return ActiveLearningCurve(np.array(n_labels), np.array(scores), queried)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the model fitted to all known labels.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the model fitted to all known labels, (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def score(self, X: Any, y: Any) -> float:
        """Score of the model fitted to all known labels: accuracy, or R squared.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Labels, or targets.
        """
        check_is_fitted(self)
        return self.estimator_.score(X, y)


def _copy(model: Any) -> Any:
    return clone(model)


def _takes(method: Callable[..., Any], name: str) -> bool:
    """Whether a method has a parameter of this name, or takes any."""
    kinds = {each.name: each.kind for each in signature(method).parameters.values()}
    return name in kinds or Parameter.VAR_KEYWORD in kinds.values()


def _ask_for_labels(oracle: Callable[[np.ndarray], Any], rows: np.ndarray) -> np.ndarray:
    """Labels of rows, of which none is left out."""
    labels = np.asarray(oracle(rows))
    if labels.shape[:1] != (len(rows),):
        given = f"{len(labels)} labels" if labels.ndim else f"{labels.item()!r}"
        raise ValueError(
            f"the oracle was asked for the labels of {len(rows)} rows, {rows.tolist()}, and "
            f"returned {given}: it returns an array with a label for each row number"
        )
    return labels


def _as_rows(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)


def _uncertainty(p: np.ndarray, strategy: Any) -> np.ndarray:
    if strategy == "entropy":
        return _entropy(p)
    ordered = np.sort(p, axis=1)
    if strategy == "least_confident":
        return 1 - ordered[:, -1]
    return ordered[:, -2] - ordered[:, -1] if p.shape[1] > 1 else np.zeros(len(p))


def _entropy(p: np.ndarray) -> np.ndarray:
    return entr(p).sum(axis=1)


def _align(member: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Probabilities of a member in the columns of all classes."""
    p = np.zeros((X.shape[0], len(classes)))
    p[:, np.searchsorted(classes, member.classes_)] = member.predict_proba(X)
    return p
