r"""Scores that are sums over features: linear models and naive Bayes.

A linear score is :math:`\sum_j w_j x_j + b`; that of naive Bayes is
:math:`\sum_j \log p(x_j \mid c) + \log \pi_c`. Models are recognized by their learned attributes,
so that those of scikit-learn work too. Attributes alone prove nothing (`coef_` of an RBF network
belongs to its centers), so each sum is compared with the score that the model itself gives, and a
model whose score it is not is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from tenfold.base.protocols import SupportsTreeScores
from tenfold.engine.chunk import Chunk
from tenfold.io.dataframe import to_dataframe
from tenfold.tree.shap_values import expected_scores, score_contributions

LOG_PREDICTION = "log of prediction"  # output of a regression whose link is the logarithm
LATENT_SCORE = "latent score"  # output of an ordinal regression


class AdditiveTerms(NamedTuple):
    """Score of each output: ``terms.sum(axis=1) + baseline``.

    Attributes
    ----------
    terms : (n_outputs, n_features) contribution of each feature
    baseline : (n_outputs,) score without any feature
    """

    terms: np.ndarray
    baseline: np.ndarray


class CountForm(NamedTuple):
    """Naive Bayes score that is linear in x: sum over j of x_j a_cj + b_cj, plus offset.

    Attributes
    ----------
    coefficients, intercepts : (n_classes, n_features)
    offset : (n_classes,)
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    offset: np.ndarray


def split_last_step(model: Any) -> tuple[Any, Any]:
    """The steps of a pipeline before the last (None if there are none), and the last.

    A search stands for its best model.
    """
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "steps"):
        return None, model
    return (model[:-1] if len(model.steps) > 1 else None), model[-1]


def to_dense(matrix: Any) -> np.ndarray:
    """A sparse or dense matrix as an array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def with_names(model: Any, X: np.ndarray) -> Any:
    """Rows as the model takes them: a table if it was fitted to named columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != X.shape[1]:
        return X
    return to_dataframe(X, list(names))


def is_naive_bayes(model: Any) -> bool:
    """Whether the scores are joint log-probabilities, of which only differences matter."""
    if not hasattr(model, "predict_joint_log_proba"):
        return False
    return hasattr(model, "class_log_prior_") or not hasattr(model, "coef_")


def linear_form(model: Any, rows: np.ndarray | None = None) -> AdditiveTerms:
    """Coefficients (n_outputs, n_features) and intercepts of a model that is linear in x.

    Two classes have one row, the score of the second; naive Bayes of counts or bits has a row of
    log-probabilities per class. The form is compared with the scores that the model gives to the
    rows, by default to zeros and ones.
    """
    check_is_fitted(model)
    if hasattr(model, "coef_") and not is_naive_bayes(model):
        form = _coefficients(model)
        p = form.terms.shape[1]
        find_link(model, form, np.vstack([np.zeros(p), np.ones(p)]) if rows is None else rows)
        return form
    counts = _count_form(model)
    if counts is None:
        raise TypeError(
            f"{type(model).__name__} is not linear in its features: give a linear model, or naive "
            "Bayes of counts or bits; `sensitivity` gives the derivatives of any model"
        )
    return AdditiveTerms(counts.coefficients, counts.offset + counts.intercepts.sum(axis=1))


def _coefficients(model: Any) -> AdditiveTerms:
    W = np.atleast_2d(to_dense(model.coef_)).astype(np.float64)
    classes = getattr(model, "classes_", ())
    if _is_ordinal(model):
        b = -np.asarray(model.thresholds_, np.float64) if len(classes) == 2 else np.zeros(1)
    else:
        b = np.ravel(getattr(model, "intercept_", 0.0)).astype(np.float64)
    b = np.broadcast_to(b, len(W)) if len(b) == 1 else b
    expected = getattr(model, "n_features_in_", W.shape[1])
    if W.ndim != 2 or W.shape[1] != expected or len(b) != len(W):
        raise _refusal(model)
    if len(W) == 2 and len(classes) == 2:  # a discriminant for each class: their difference decides
        return AdditiveTerms(W[1:] - W[:1], np.diff(b))
    return AdditiveTerms(W, b.astype(np.float64))


def _is_ordinal(model: Any) -> bool:
    return hasattr(model, "thresholds_") and hasattr(model, "latent")


def find_link(model: Any, form: AdditiveTerms, rows: np.ndarray) -> str:
    """The link under which the linear form gives what the model gives: "identity" or "log".

    Raises an error that names the model if there is none.
    """
    own = _own_scores(model, rows)
    scores = rows @ form.terms.T + form.baseline
    if own.shape != scores.shape:
        raise _refusal(model)
    size = np.abs(rows) @ np.abs(form.terms).T + np.abs(form.baseline)
    tol = np.sqrt(np.finfo(_precision(model.coef_, own)).eps) * size
    with np.errstate(over="ignore", invalid="ignore"):
        if (np.abs(scores - own) <= tol).all():
            return "identity"
        means = np.exp(scores).astype(own.dtype)
        if not is_classifier(model) and np.all(
            (means == own) | (np.abs(means - own) <= tol * means)
        ):
            return "log"
    raise _refusal(model)


def _precision(*arrays: Any) -> np.dtype:
    kinds = [np.dtype(getattr(a, "dtype", np.float64)) for a in arrays]
    return np.dtype(np.float32) if np.dtype(np.float32) in kinds else np.dtype(np.float64)


def _own_scores(model: Any, rows: np.ndarray) -> np.ndarray:
    """The score (n, n_outputs) by which the model itself decides or predicts."""
    X = with_names(model, rows)
    if _is_ordinal(model) and len(model.classes_) > 2:
        scores = model.latent(X)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    elif is_classifier(model):
        log_p = model.predict_log_proba(X)
        scores = log_p[:, 1:] - log_p[:, :1]
    else:
        scores = model.predict(X)
    return np.asarray(scores).reshape(len(rows), -1)


def _refusal(model: Any) -> TypeError:
    return TypeError(
        f"{type(model).__name__} is not linear in its features, nor naive Bayes: its score is no "
        "sum of contributions. `sensitivity` gives the derivatives of any model"
    )


def _count_form(model: Any) -> CountForm | None:
    """The linear form of naive Bayes of counts or bits; None for other models."""
    logs, rate = getattr(model, "feature_log_prob_", None), getattr(model, "rate_", None)
    if not is_naive_bayes(model) or not hasattr(model, "class_log_prior_"):
        return None
    offset = np.asarray(model.class_log_prior_, np.float64)
    with np.errstate(divide="ignore"):
        if isinstance(rate, np.ndarray):
            rate = rate.astype(np.float64)
            return CountForm(np.log(rate), -rate, offset)
        if not isinstance(logs, np.ndarray):
            return None
        logs = logs.astype(np.float64)
        if hasattr(model, "binarize"):
            absent = _log_absence(model, logs)
            return CountForm(logs - np.where(np.isinf(absent), 0, absent), absent, offset)
    if hasattr(model, "feature_all_") and len(offset) > 1:  # complement: priors have no effect
        offset = np.where(model.class_count_ > 0, 0.0, -np.inf)
    return CountForm(logs, np.zeros_like(logs), offset)


def _log_absence(model: Any, log_p: np.ndarray) -> np.ndarray:
    """Log-probability that a feature is absent, (n_classes, n_features)."""
    odds = getattr(model, "_log_odds", None)  # kept by tenfold: exact for p near 1
    if odds is None:
        return np.log1p(-np.exp(np.minimum(log_p, 0.0)))
    required = model._required if model._required.size else False
    return np.where(required, -np.inf, _subtract(log_p, odds))


def _subtract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Difference, 0 where both are minus infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, a - b)


def additive_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    """Contribution of each feature of a row x to each score, as the model itself adds them.

    Missing values and categories that were not in the training rows contribute nothing, where the
    model leaves them out.
    """
    check_is_fitted(model)
    if isinstance(model, SupportsTreeScores):
        score = model._score_trees()
        terms = score_contributions(Chunk(x[None]), score)[0]
        return AdditiveTerms(terms, expected_scores(score.trees, score.start))
    if hasattr(model, "coef_") and not is_naive_bayes(model):
        form = linear_form(model, np.vstack([x, 1.5 * x + 1]))
        return form._replace(terms=form.terms * x)
    if not is_naive_bayes(model):
        raise _refusal(model)
    form = _naive_bayes_terms(model, x)
    _check_joint(model, form, x)
    return form


def _naive_bayes_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    if hasattr(model, "theta_"):
        return _gaussian_terms(model, x)
    if (counts := _count_form(model)) is not None:
        return _count_terms(model, counts, x)
    tables = getattr(model, "feature_log_prob_", None)
    if isinstance(tables, list) and get_tags(model).input_tags.categorical:
        terms = [_category_term(t, v) for t, v in zip(tables, x, strict=True)]
        return AdditiveTerms(np.stack(terms, axis=1), np.asarray(model.class_log_prior_))
    if not get_tags(model).input_tags.allow_nan:
        raise _refusal(model)
    return _marginal_terms(model, x)


def _gaussian_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    """Log-densities of each column within each class, and log-priors."""
    mean = model.theta_.astype(np.float64)
    var = np.maximum(model.var_.astype(np.float64), np.finfo(model.var_.dtype).tiny)
    with np.errstate(divide="ignore"):
        prior = np.log(model.class_prior_)
    terms = -0.5 * (np.log(2 * np.pi * var) + (x - mean) ** 2 / var)
    return AdditiveTerms(np.where(np.isnan(x), 0.0, terms), prior)


def _count_terms(model: Any, form: CountForm, x: np.ndarray) -> AdditiveTerms:
    """Entries times coefficients; intercepts of the observed features are part of the baseline.

    A feature that all rows of a class have or lack (possible without smoothing) has no finite
    intercept; its term is then the whole log-probability.
    """
    observed = ~np.isnan(x)
    if getattr(model, "binarize", None) is not None:
        x = np.where(observed, x > model.binarize, x)
    coefficients = (
        form.coefficients
        if observed.all()
        else _coefficients_given_observed(model, form.coefficients, observed)
    )
    with np.errstate(invalid="ignore"):
        terms = np.where(observed & (x != 0), x * coefficients, 0.0)
    certain = np.isinf(form.intercepts).any(axis=0)
    terms[:, certain & (x == 0)] += form.intercepts[:, certain & (x == 0)]
    terms[:, certain & (x == 1)] += np.where(np.isinf(form.intercepts), 0.0, form.intercepts)[
        :, certain & (x == 1)
    ]
    return AdditiveTerms(terms, form.offset + form.intercepts[:, observed & ~certain].sum(axis=1))


def _coefficients_given_observed(
    model: Any, coefficients: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Coefficients of the observed counts of a row, which may share a total, by the model."""
    if hasattr(model, "rate_") or hasattr(model, "binarize"):
        return coefficients
    ones = np.where(observed, np.eye(len(observed)), np.nan)[observed]
    none = np.where(observed, 0.0, np.nan)[None]
    joint = model.predict_joint_log_proba(with_names(model, np.vstack([ones, none])))
    found = np.zeros(coefficients.shape)
    found[:, observed] = _subtract(np.asarray(joint[:-1], np.float64), joint[-1]).T
    return found


def _category_term(table: np.ndarray, value: float) -> np.ndarray:
    """Log-probabilities of a category, (n_classes,); 0 of a missing or unseen one."""
    known = value >= 0 and value < table.shape[1]  # NaN: not known
    return table[:, int(value)].astype(np.float64) if known else np.zeros(len(table))


def _marginal_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    """Joint log-probability of each value alone less that of a row without any, by the model."""
    alone = np.full((len(x) + 1, len(x)), np.nan)
    np.fill_diagonal(alone, x)
    joint = np.asarray(model.predict_joint_log_proba(with_names(model, alone)), np.float64)
    return AdditiveTerms(_subtract(joint[:-1], joint[-1]).T, joint[-1])


def _check_joint(model: Any, form: AdditiveTerms, x: np.ndarray) -> None:
    """Raise an error unless the terms add up to what the model computes for the row."""
    own = np.asarray(model.predict_joint_log_proba(with_names(model, x[None])))[0]
    scores = form.terms.sum(axis=1) + form.baseline
    possible = np.isfinite(scores)
    if not possible.any() or np.isneginf(own).all():
        raise ValueError(
            f"the row has probability 0 in every class of {type(model).__name__}: no feature "
            "explains the tie. Smooth the probabilities (alpha > 0)"
        )
    if not np.array_equal(possible, np.isfinite(own)):
        raise _refusal(model)
    terms, baseline, scores = form.terms[possible], form.baseline[possible], scores[possible]
    size = np.abs(terms).sum(axis=1).max() + np.abs(baseline).max()
    eps = np.finfo(_precision(own, getattr(model, "feature_log_prob_", own))).eps
    difference = scores - own[possible].astype(np.float64)
    if (np.abs(difference - difference[0]) > np.sqrt(eps) * size).any():
        raise _refusal(model)


def center_by_class(form: AdditiveTerms, classes: np.ndarray) -> tuple[AdditiveTerms, list[Any]]:
    """Log-odds of the second of two classes, or scores of each less their mean over classes.

    A term common to all classes does not affect the decision; classes in which a value is
    impossible are not part of the mean.
    """
    if len(form.terms) == 2 and len(classes) == 2:
        parts = (_subtract(part[1:], part[:1]) for part in form)
        return AdditiveTerms(*parts), [classes[1]]
    if len(form.terms) == 1:
        return form, [classes[-1]]
    return AdditiveTerms(*(_center(part) for part in form)), list(classes)


def _center(part: np.ndarray) -> np.ndarray:
    """Entries less the mean of the finite ones of their column; 0 where none is finite."""
    finite = np.isfinite(part)
    if finite.all():
        return part - part.mean(axis=0)
    mean = np.where(finite, part, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    return np.where(finite.any(axis=0), part - mean, 0.0)
