"""Voting: the mean, or the majority, of the predictions of several models."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.preprocessing import LabelEncoder

from tenfold.ensemble._members import SharedPasses, TrainingRows


class FittedMembers(SharedPasses):
    """Voting of models that are fitted already."""

    def set_fitted(self, members: dict[str, Any]) -> Self:
        """Vote with these fitted models, by name, as they are.

        Parameters
        ----------
        members : dict of str to fitted model
            Classifiers must know the same classes.
        """
        self.estimators = list(members.items())
        _check_weights(self)
        self._set_members(list(members.values()))
        if is_classifier(self):
            self.classes_ = self.estimators_[0].classes_
            self.le_ = LabelEncoder().fit(self.classes_)
        return self


class VotingClassifier(FittedMembers, ensemble.VotingClassifier):
    r"""The class with most votes (hard), or with the largest mean probability (soft).

    .. math::
        \hat y_{\text{hard}} = \arg\max_c \sum_m w_m \mathbb{1}[\hat y_m = c], \qquad
        \hat y_{\text{soft}} = \arg\max_c \sum_m w_m\, p_m(c \mid x)

    This is scikit-learn's class. If all members are models of tenfold, each pass over the rows
    serves every one of them, and the rows may lie in files or on a Dask cluster. It can be saved.

    Parameters
    ----------
    estimators : list of (name, classifier)
        The members; "drop" in the place of a classifier leaves it out.
    voting : {"hard", "soft"}
        Count labels, or average probabilities.
    weights : (n_members,) array, optional
        Weight of each member; equal by default.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours. Models of tenfold use all
        cores by themselves.
    flatten_transform : bool
        Whether `transform` of soft votes has one row per sample.
    verbose : bool
        Whether the time of each member that is not ours is printed.

    Attributes
    ----------
    estimators_, named_estimators_ : the fitted members
    classes_ : (n_classes,) labels
    le_ : encoder of the labels; members know class indices

    See Also
    --------
    StackingClassifier, BaggingClassifier

    References
    ----------
    Kuncheva, L. I. (2004). Combining Pattern Classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB, LinearDiscriminantAnalysis, VotingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("lda", LinearDiscriminantAnalysis())]
    >>> round(VotingClassifier(members, voting="soft").fit(X, y).score(X, y), 3)
    0.96
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all members.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Labels.
        sample_weight : array or column name, optional
            Weight of each row.
        **fit_params :
            Metadata that scikit-learn routes to the members.
        """
        return self._fit(X, y, sample_weight, fit_params)

    def _fit_on_rows(self, data: TrainingRows) -> Self:
        models = [model for _, model in self._named_members()]
        _check_weights(self)
        self.classes_ = data.classes
        self.le_ = LabelEncoder().fit(data.classes)
        self._set_members(data.fit_members(models))
        return self


class VotingRegressor(FittedMembers, ensemble.VotingRegressor):
    r"""The weighted mean of the predictions of several regressors.

    .. math:: \hat y = \sum_m w_m \hat y_m \Big/ \sum_m w_m

    This is scikit-learn's class. If all members are models of tenfold, each pass over the rows
    serves every one of them, and the rows may lie in files or on a Dask cluster. It can be saved.

    Parameters
    ----------
    estimators : list of (name, regressor)
        The members; "drop" in the place of a regressor leaves it out.
    weights : (n_members,) array, optional
        Weight of each member; equal by default.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours. Models of tenfold use all
        cores by themselves.
    verbose : bool
        Whether the time of each member that is not ours is printed.

    Attributes
    ----------
    estimators_, named_estimators_ : the fitted members

    See Also
    --------
    StackingRegressor, BaggingRegressor

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Lasso, Ridge, VotingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = VotingRegressor([("ridge", Ridge(0.1)), ("lasso", Lasso(0.1))]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.51
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all members.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target.
        sample_weight : array or column name, optional
            Weight of each row.
        **fit_params :
            Metadata that scikit-learn routes to the members.
        """
        return self._fit(X, y, sample_weight, fit_params)

    def _fit_on_rows(self, data: TrainingRows) -> Self:
        models = [model for _, model in self._named_members()]
        _check_weights(self)
        self._set_members(data.fit_members(models))
        return self


def _check_weights(model: Any) -> None:
    if model.weights is not None and np.size(model.weights) != len(model.estimators):
        raise ValueError(
            f"Number of `estimators` and weights must be equal; got {np.size(model.weights)} "
            f"weights, {len(model.estimators)} estimators"
        )
