"""Softmax coefficients relative to a reference class, as statistics books print them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted


class RelativeCoefficients(NamedTuple):
    """Log-odds of each class against the reference class: x·coef + intercept.

    Attributes
    ----------
    classes : (n_classes - 1,) labels of the other classes
    coef : (n_classes - 1, n_features) coefficients
    intercept : (n_classes - 1,) intercepts
    """

    classes: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def relative_coefficients(model: Any, reference_class: Any) -> RelativeCoefficients:
    r"""Coefficients of a softmax regression relative to a reference class.

    .. math:: \log \frac{P(y = c \mid x)}{P(y = r \mid x)} = x \cdot (w_c - w_r) + b_c - b_r

    Softmax does not change when all classes are shifted alike, so differences of coefficients are
    what the data determine; those from a reference class r have its own coefficients at zero.
    Without a penalty (``C=np.inf``) they are the maximum of the likelihood of that model.

    Parameters
    ----------
    model : fitted classifier
        With `classes_`, `coef_` and `intercept_` of log-odds: `LogisticRegression`,
        `PenalizedClassifier` with the softmax or logistic loss, or scikit-learn's.
    reference_class : label
        The class whose coefficients are zero.

    Returns
    -------
    RelativeCoefficients

    See Also
    --------
    LogisticRegression : Softmax regression.

    References
    ----------
    * A. Agresti (2013). Categorical Data Analysis, 3rd ed., section 8.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LogisticRegression, relative_coefficients
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> relative = relative_coefficients(model, 0)
    >>> log_odds = np.diff(model.predict_log_proba(X[:1])[0, [0, 2]])
    >>> np.allclose(X[0] @ relative.coef[1] + relative.intercept[1], log_odds)
    True
    """
    check_is_fitted(model)
    classes = np.asarray(model.classes_)
    found = np.flatnonzero(classes == reference_class)
    if not len(found):
        raise ValueError(
            f"reference_class={reference_class!r} is none of the classes {classes.tolist()}"
        )
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    W = np.atleast_2d(coef)
    b = np.broadcast_to(np.ravel(model.intercept_), len(W))
    if len(W) == 1 and len(classes) == 2:  # the score of the first class is zero
        W, b = np.vstack([np.zeros_like(W), W]), np.append(0 * b, b)
    if len(W) != len(classes):
        raise TypeError(
            f"{type(model).__name__} has {len(W)} rows of coefficients for {len(classes)} classes: "
            "give a softmax or logistic regression"
        )
    others = np.arange(len(classes)) != found[0]
    return RelativeCoefficients(classes[others], (W - W[found])[others], (b - b[found])[others])
