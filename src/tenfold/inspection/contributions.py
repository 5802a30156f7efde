r"""Feature contributions of additive models (linear, naive Bayes), top weights, sensitivities.

A linear score is a sum, :math:`\sum_j w_j x_j + b`: its terms are the contributions, b is the
baseline. For naive Bayes the terms are log-odds, :math:`\log p(x_j \mid c) - \log p(x_j \mid c')`.
Models are recognized by their learned attributes, so that those of scikit-learn work too.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted


class AdditiveTerms(NamedTuple):
    """Score of each output: ``terms.sum(axis=1) + baseline``.

    Attributes
    ----------
    terms : (n_outputs, n_features) contribution of each feature
    baseline : (n_outputs,) score without any feature
    """

    terms: np.ndarray
    baseline: np.ndarray


def split_last_step(model: Any) -> tuple[Any, Any]:
    """The steps of a pipeline before the last (None if there are none), and the last."""
    if not hasattr(model, "steps"):
        return None, model
    return (model[:-1] if len(model.steps) > 1 else None), model[-1]


def linear_form(model: Any) -> AdditiveTerms:
    """Coefficients (n_outputs, n_features) and intercepts of a model that is linear in x.

    Linear models have one row for two classes, the score of the second; multinomial and Bernoulli
    naive Bayes have a row of log-probabilities per class.
    """
    check_is_fitted(model)
    if hasattr(model, "coef_"):
        W = np.atleast_2d(_to_dense(model.coef_)).astype(np.float64)
        return AdditiveTerms(
            W, np.broadcast_to(np.ravel(model.intercept_), len(W)).astype(np.float64)
        )
    log_p = getattr(model, "feature_log_prob_", None)
    if not isinstance(log_p, np.ndarray):
        raise TypeError(
            f"{type(model).__name__} is not linear in its columns: give a model with coef_, or "
            "multinomial or Bernoulli naive Bayes"
        )
    prior = model.class_log_prior_
    if hasattr(model, "binarize"):  # Bernoulli: x log p + (1 - x) log(1 - p)
        log_not = np.log1p(-np.exp(log_p))
        return AdditiveTerms(log_p - log_not, prior + log_not.sum(axis=1))
    return AdditiveTerms(log_p, np.asarray(prior, dtype=np.float64))


def _additive_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    """Contribution of each feature of a row x to each score."""
    if hasattr(model, "theta_"):
        return _gaussian_nb_terms(model, x)
    if isinstance(getattr(model, "feature_log_prob_", None), list):
        terms = [table[:, int(v)] for table, v in zip(model.feature_log_prob_, x, strict=True)]
        return AdditiveTerms(np.stack(terms, axis=1), np.asarray(model.class_log_prior_))
    form = linear_form(model)
    threshold = getattr(model, "binarize", None)
    return AdditiveTerms(form.terms * (x if threshold is None else x > threshold), form.baseline)


def _gaussian_nb_terms(model: Any, x: np.ndarray) -> AdditiveTerms:
    """Log-densities of each column within each class, and log-priors."""
    check_is_fitted(model)
    mean, var = model.theta_.astype(np.float64), model.var_.astype(np.float64)
    with np.errstate(divide="ignore"):
        prior = np.log(model.class_prior_)
    return AdditiveTerms(-0.5 * (np.log(2 * np.pi * var) + (x - mean) ** 2 / var), prior)


def center_by_class(form: AdditiveTerms, classes: np.ndarray) -> tuple[AdditiveTerms, list[Any]]:
    """Log-odds of the second of two classes, or scores of each less their mean over classes.

    A term common to all classes does not affect the decision.
    """
    if len(form.terms) == 2 and len(classes) == 2:
        return AdditiveTerms(form.terms[1:] - form.terms[:1], np.diff(form.baseline)), [classes[1]]
    if len(form.terms) == 1:
        return form, [classes[-1]]
    centered = [part - part.mean(axis=0) for part in form]
    return AdditiveTerms(*centered), list(classes)


def is_naive_bayes(model: Any) -> bool:
    """Whether the scores are joint log-probabilities, of which only differences matter."""
    return hasattr(model, "theta_") or hasattr(model, "feature_log_prob_")


def _to_dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


_MAX_PRINTED_FEATURES = 10  # features printed by `FeatureContributions`


class FeatureContributions(NamedTuple):
    """Contributions of the features to the prediction of one row; prints as a ranked list.

    Attributes
    ----------
    names : (n_features,) names of the features
    values : (n_features,) the row, as the last step of the pipeline gets it
    outputs : labels that have a score; for regression "prediction", or indices of targets
    contributions : (n_outputs, n_features) contribution of each feature to each score
    baselines : (n_outputs,) score without any feature
    scores : (n_outputs,) baseline plus contributions
    """

    names: np.ndarray
    values: np.ndarray
    outputs: list[Any]
    contributions: np.ndarray
    baselines: np.ndarray
    scores: np.ndarray

    def output_index(self, output: Any = None) -> int:
        """Index of an output, by default the one with the highest score."""
        return int(np.argmax(self.scores)) if output is None else self.outputs.index(output)

    def rank_features(self, output: Any = None, top: int | None = None) -> list[tuple[str, float]]:
        """Names and contributions, largest absolute value first."""
        c = self.contributions[self.output_index(output)]
        order = np.argsort(-np.abs(c), kind="stable")[:top]
        return [(str(self.names[j]), float(c[j])) for j in order]

    def compare(self, output: Any, other: Any) -> FeatureContributions:
        """Contributions to the difference of two scores: the terms of their log-odds."""
        i, j = self.output_index(output), self.output_index(other)
        parts = [part[[i]] - part[[j]] for part in self[3:]]
        return FeatureContributions(self.names, self.values, [f"{output} against {other}"], *parts)

    def score_title(self, number: int) -> str:
        """Title of the score of an output."""
        name = self.outputs[number]
        return name if name == "prediction" else f"score of {name}"

    def __str__(self) -> str:
        i = self.output_index()
        lines = [f"{self.score_title(i)}: {self.scores[i]:.4g}"]
        largest = [
            (n, c) for n, c in self.rank_features(self.outputs[i], _MAX_PRINTED_FEATURES) if c
        ]
        remainder = self.scores[i] - self.baselines[i] - sum(c for _, c in largest)
        others = (
            [("all others", remainder)]
            if len(largest) < np.count_nonzero(self.contributions[i])
            else []
        )
        table = [*largest, *others, ("baseline", float(self.baselines[i]))]
        width = max(len(name) for name, _ in table)
        return "\n".join(lines + [f"  {name:<{width}}  {c:+.4g}" for name, c in table])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def feature_contributions(
    model: Any, x: Any, names: Any = None, *, origin: Any = None
) -> FeatureContributions:
    """Contribution of each feature to the score of one row.

    Parameters
    ----------
    model : fitted linear model or naive Bayes, or a pipeline that ends in one
        Of tenfold or of scikit-learn. Two classes have one score, that of the second.
    x : (n_features,) or (1, n_features) array, sparse row or table of one row
        The row, as the model takes it.
    names : list of str, optional
        Names of the features of the last step; by default those of the fit, or x0, x1, ...
    origin : (n_features,) array, optional
        Reference row, for linear models: contributions are then :math:`w_j (x_j - o_j)` and
        the baseline is the score of the origin (for example the mean of the data).

    Returns
    -------
    Reasons

    Examples
    --------
    >>> from tenfold import LinearRegression
    >>> from tenfold import feature_contributions
    >>> X, y = [[1.0, 50.0], [2.0, 60.0], [3.0, 110.0]], [180.0, 290.0, 440.0]
    >>> print(
    ...     feature_contributions(LinearRegression().fit(X, y), [3.0, 80.0], ["bedrooms", "area"])
    ... )
    prediction: 410
      bedrooms  +300
      area      +80
      baseline  +30
    """
    steps, final = split_last_step(model)
    row = _single_row(_to_2d(x) if steps is None else steps.transform(_to_2d(x)))
    form, outputs = _scores_by_output(final, _additive_terms(final, row))
    if origin is not None:
        reference_row = _single_row(
            _to_2d(origin) if steps is None else steps.transform(_to_2d(origin))
        )
        reference, _ = _scores_by_output(final, _additive_terms(final, reference_row))
        terms, base = form.terms - reference.terms, reference.baseline + reference.terms.sum(axis=1)
        form = form._replace(terms=terms, baseline=base)
    scores = form.baseline + form.terms.sum(axis=1)
    feature_names = _feature_names(steps, final, names, len(row))
    return FeatureContributions(feature_names, row, outputs, form.terms, form.baseline, scores)


def _scores_by_output(model: Any, form: Any) -> tuple[Any, list[Any]]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return form, ["prediction"] if len(form.terms) == 1 else list(range(len(form.terms)))
    if is_naive_bayes(model) or len(form.terms) == 1:
        return center_by_class(form, classes)
    return form, list(classes)


def _to_2d(x: Any) -> Any:
    """One row as a table of one row; two-dimensional input is returned as it is."""
    if hasattr(x, "shape") and len(x.shape) == 2:
        return x
    return x if isinstance(x, list | tuple) and isinstance(x[0], str) else np.atleast_2d(x)


def _single_row(X: Any) -> np.ndarray:
    X = _to_dense(X)
    if len(X) != 1:
        raise ValueError(f"contributions are computed for one row, but x has {len(X)}: give x[[i]]")
    return X[0].astype(np.float64)


def _feature_names(steps: Any, final: Any, names: Any, p: int) -> np.ndarray:
    if names is None and steps is not None and hasattr(steps, "get_feature_names_out"):
        names = steps.get_feature_names_out()
    if names is None:
        names = getattr(final, "feature_names_in_", [f"x{j}" for j in range(p)])
    if len(names) != p:
        raise ValueError(f"{len(names)} names for {p} columns")
    return np.asarray(names, dtype=object)


def sensitivity(model: Any, x: Any, method: str | None = None) -> np.ndarray:
    r"""Partial derivatives of each output by each feature: :math:`\partial f_c / \partial x_j`.

    The coefficients for a linear model; central differences for any other model.

    Parameters
    ----------
    model : fitted model, or a function of (n, p) arrays
        Any model.
    x : (n_features,) array
        The point.
    method : str, optional
        Method whose output is differentiated: by default the first of "decision_function",
        "predict_proba" and "predict" that the model has.

    Returns
    -------
    (n_features,) array, or (n_outputs, n_features) for several outputs

    Examples
    --------
    >>> from tenfold import sensitivity
    >>> sensitivity(lambda X: X[:, 0] ** 2 * X[:, 1], [3.0, 2.0]).round(6).tolist()
    [12.0, 9.0]
    """
    x = np.ravel(x).astype(np.float64)
    if method is None and hasattr(model, "coef_"):
        W = linear_form(model).terms
        return W[0] if len(W) == 1 else W
    function = _output_function(model, method)
    step = np.cbrt(np.finfo(np.float64).eps) * np.maximum(1.0, np.abs(x))
    forward, backward = x + np.diag(step), x - np.diag(step)
    width = forward.diagonal() - backward.diagonal()  # the exact difference of the rounded points
    difference = np.asarray(function(forward), np.float64) - np.asarray(
        function(backward), np.float64
    )
    return (difference.T / width).reshape(*difference.shape[1:], len(x))


def _output_function(model: Any, method: str | None) -> Callable[[np.ndarray], Any]:
    for name in [method] if method else ["decision_function", "predict_proba", "predict"]:
        if hasattr(model, name):
            return getattr(model, name)
    if method or not callable(model):
        raise TypeError(f"{type(model).__name__} has no method {method or 'predict'}")
    return model


_ROUNDING_SHARE = 1e-12  # of the largest weight; smaller weights are rounding errors


class TopWeights(NamedTuple):
    """For each output its features of largest weight, largest first.

    Attributes
    ----------
    outputs : labels, or indices of targets
    names : list of names for each output
    weights : array of weights for each output
    """

    outputs: list[Any]
    names: list[list[str]]
    weights: list[np.ndarray]

    def __str__(self) -> str:
        return "\n".join(
            f"{output}: " + ", ".join(f"{n} {w:+.3g}" for n, w in zip(names, weights, strict=True))
            for output, names, weights in zip(*self, strict=True)
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def top_weights(model: Any, names: Any = None, top: int = 10) -> TopWeights:
    """Features of largest weight for each class, such as the top words of a text classifier.

    Of two classes, negative weights support the first. Features of a regression are ranked by
    absolute value. For naive Bayes the weights are log-odds, against the mean of all classes if
    there are more than two. Weights of 0 are not listed.

    Parameters
    ----------
    model : fitted linear model or naive Bayes of counts or bits, or a pipeline that ends in one
        Of tenfold or of scikit-learn.
    names : list of str, optional
        Names of the features; by default those of the fit, or x0, x1, ...
    top : int
        Maximum number of features for each class.

    Examples
    --------
    >>> from tenfold import LogisticRegression
    >>> from tenfold.inspection.contributions import top_weights
    >>> counts = [[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]
    >>> model = LogisticRegression().fit(counts, ["apple", "ibm", "apple", "ibm"])
    >>> print(top_weights(model, ["mac", "ide", "the"]))
    apple: mac -0.709
    ibm: ide +0.709
    """
    steps, final = split_last_step(model)
    form = linear_form(final)
    if names is None:
        names = steps.get_feature_names_out() if steps is not None else None
        names = getattr(final, "feature_names_in_", None) if names is None else names
    names = [f"x{j}" for j in range(form.terms.shape[1])] if names is None else list(names)
    if len(names) != form.terms.shape[1]:
        raise ValueError(f"{len(names)} names for {form.terms.shape[1]} columns")
    outputs, rows = _weights_by_output(final, form)
    orders = [np.argsort(-key, kind="stable")[:top] for _, key in rows]
    smallest = _ROUNDING_SHARE * np.abs(form.terms).max(initial=0.0)
    orders = [order[key[order] > smallest] for order, (_, key) in zip(orders, rows, strict=True)]
    weights = [w[order] for order, (w, _) in zip(orders, rows, strict=True)]
    return TopWeights(outputs, [[str(names[j]) for j in order] for order in orders], weights)


def _weights_by_output(
    model: Any, form: Any
) -> tuple[list[Any], list[tuple[np.ndarray, np.ndarray]]]:
    """Outputs; for each its weights, and the keys by which they are ranked."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return list(range(len(form.terms))), [(w, np.abs(w)) for w in form.terms]
    if is_naive_bayes(model):
        form, _ = center_by_class(form, classes)
    if len(form.terms) == 1:
        w = form.terms[0]
        return list(classes), [(w, -w), (w, w)]
    return list(classes), [(w, w) for w in form.terms]
