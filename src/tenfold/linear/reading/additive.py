"""Models whose score is a sum of one term per column: linear ones, and naive Bayes.

All are known by their learned attributes, so that scikit-learn's serve as well as ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted


class Terms(NamedTuple):
    """Score of each output: ``terms.sum(axis=1) + baseline``.

    Attributes
    ----------
    terms : (k, p) what each column adds
    baseline : (k,) what is there without any column
    """

    terms: np.ndarray
    baseline: np.ndarray


def last_step(model: Any) -> tuple[Any, Any]:
    """The steps of a pipeline before the last (None if there are none), and the last."""
    if not hasattr(model, "steps"):
        return None, model
    return (model[:-1] if len(model.steps) > 1 else None), model[-1]


def linear_form(model: Any) -> Terms:
    """Coefficients (k, p) and constants (k,) of a model that is linear in x.

    Linear models have one row for two classes, the score of the second; naive Bayes of counts or
    of bits has a row per class, log-probabilities.
    """
    check_is_fitted(model)
    if hasattr(model, "coef_"):
        W = np.atleast_2d(_dense(model.coef_)).astype(np.float64)
        return Terms(W, np.broadcast_to(np.ravel(model.intercept_), len(W)).astype(np.float64))
    log_p = getattr(model, "feature_log_prob_", None)
    if not isinstance(log_p, np.ndarray):
        raise TypeError(
            f"{type(model).__name__} is not linear in its columns: give a model with coef_, or "
            "naive Bayes of counts or bits"
        )
    prior = model.class_log_prior_
    if hasattr(model, "binarize"):  # of bits: x log p + (1 - x) log(1 - p)
        log_not = np.log1p(-np.exp(log_p))
        return Terms(log_p - log_not, prior + log_not.sum(axis=1))
    return Terms(log_p, np.asarray(prior, dtype=np.float64))


def terms_of(model: Any, x: np.ndarray) -> Terms:
    """What each column of a row x adds to each score."""
    if hasattr(model, "theta_"):
        return _gaussian(model, x)
    if isinstance(getattr(model, "feature_log_prob_", None), list):
        each = [table[:, int(v)] for table, v in zip(model.feature_log_prob_, x, strict=True)]
        return Terms(np.stack(each, axis=1), np.asarray(model.class_log_prior_))
    form = linear_form(model)
    bits = getattr(model, "binarize", None)
    return Terms(form.terms * (x if bits is None else x > bits), form.baseline)


def _gaussian(model: Any, x: np.ndarray) -> Terms:
    """Log-densities of each column within each class, and log-priors."""
    check_is_fitted(model)
    mean, var = model.theta_.astype(np.float64), model.var_.astype(np.float64)
    with np.errstate(divide="ignore"):
        prior = np.log(model.class_prior_)
    return Terms(-0.5 * (np.log(2 * np.pi * var) + (x - mean) ** 2 / var), prior)


def by_class(form: Terms, classes: np.ndarray) -> tuple[Terms, list[Any]]:
    """Log-odds of the second of two classes, or scores of each less their mean over classes.

    What is added to all classes alike says nothing about any of them.
    """
    if len(form.terms) == 2 and len(classes) == 2:
        return Terms(form.terms[1:] - form.terms[:1], np.diff(form.baseline)), [classes[1]]
    if len(form.terms) == 1:
        return form, [classes[-1]]
    centred = [part - part.mean(axis=0) for part in form]
    return Terms(*centred), list(classes)


def is_bayes(model: Any) -> bool:
    """Whether the scores are joint log-probabilities, of which only differences count."""
    return hasattr(model, "theta_") or hasattr(model, "feature_log_prob_")


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
