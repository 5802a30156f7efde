"""Self-training: a classifier that learns from its own confident predictions."""

from __future__ import annotations

from typing import Any, Self

from sklearn import semi_supervised

from tenfold.ensemble._members import Saveable
from tenfold.semi_supervised._labels import mark_unlabeled


class SelfTrainingClassifier(Saveable, semi_supervised.SelfTrainingClassifier):
    r"""Fit to the rows with labels, label what is predicted with confidence, and repeat.

    In each iteration the rows without a label whose largest probability
    :math:`\max_c p(c \mid x)` is above `threshold` (or the `k_best` largest) take that class as
    their label, and the classifier is fitted again. Labels once taken are not taken back.

    This is scikit-learn's class for models of tenfold and others. It can be saved, and rows without
    a label may be None or NaN as well as -1. So -1 is never a class: of a target of the classes -1
    and 1 only 1 is left, and the fit warns. It also warns, as in scikit-learn, if every row has a
    label.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        What is fitted.
    threshold : float
        Probability above which a prediction becomes a label.
    criterion : {"threshold", "k_best"}
        Which predictions become labels in an iteration.
    k_best : int
        How many, for "k_best".
    max_iter : int or None
        Most iterations; None for no limit.
    verbose : bool
        Whether iterations are printed.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : (n_classes,) labels
    transduction_ : (n,) labels of all rows, -1 where none was taken
    labeled_iter_ : (n,) iteration in which a row got its label: 0 for given ones, -1 for none
    n_iter_ : number of iterations
    termination_condition_ : "max_iter", "no_change" or "all_labeled"

    See Also
    --------
    EMClassifier : Unlabeled rows count for each class as much as their probability.
    LabelPropagation : Labels go along a graph of similar rows.

    References
    ----------
    Yarowsky, D. (1995). Unsupervised word sense disambiguation rivaling supervised methods.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LinearDiscriminantAnalysis, SelfTrainingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> model = SelfTrainingClassifier(LinearDiscriminantAnalysis(), threshold=0.9).fit(X, known)
    >>> model.termination_condition_, bool(model.score(X, y) > 0.9)
    ('no_change', True)
    """

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit to rows of which some have a label.

        Parameters
        ----------
        X : array or sparse matrix
            The rows.
        y : (n,) array
            Labels; -1, None or NaN for rows without. Write the classes -1 and 1 as 0 and 1.
        **params :
            Metadata that scikit-learn routes to the estimator.

        Returns
        -------
        self
        """
        return super().fit(X, mark_unlabeled(y), **params)
