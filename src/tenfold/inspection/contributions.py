r"""Feature contributions (linear models, naive Bayes, trees), top weights, sensitivities.

A linear score is a sum, :math:`\sum_j w_j x_j + b`: its terms are the contributions, b is the
baseline. For naive Bayes the terms are log-odds, :math:`\log p(x_j \mid c) - \log p(x_j \mid c')`.
"""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np

from tenfold.base.protocols import SupportsTreeScores
from tenfold.inspection._additive_terms import (
    LATENT_SCORE,
    LOG_PREDICTION,
    AdditiveTerms,
    additive_terms,
    center_by_class,
    find_link,
    is_naive_bayes,
    linear_form,
    split_last_step,
    to_dense,
)
from tenfold.inspection._derivatives import differentiate, output_function
from tenfold.tree._category_table import encode_table, is_table

_MAX_PRINTED_FEATURES = 10  # features printed by `FeatureContributions`


class FeatureContributions(NamedTuple):
    """Contributions of the features to the prediction of one row; prints as a ranked list.

    Attributes
    ----------
    names : (n_features,) names of the features
    values : (n_features,) the row, as the last step of the pipeline gets it
    outputs : labels that have a score; for regression "prediction", or indices of targets; "log of
        prediction" where that is what is linear; "latent score" of an ordinal regression
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
        parts = [part[[i]] - part[[j]] for part in self[3:6]]
        return FeatureContributions(self.names, self.values, [f"{output} against {other}"], *parts)

    def score_title(self, number: int) -> str:
        """Title of the score of an output."""
        name = self.outputs[number]
        plain = isinstance(name, str) and name in ("prediction", LOG_PREDICTION, LATENT_SCORE)
        return name if plain else f"score of {name}"

    def __str__(self) -> str:
        i = self.output_index()
        lines = [f"{self.score_title(i)}: {self.scores[i]:.4g}"]
        if lines[0].startswith(LOG_PREDICTION):
            lines[0] += f" (prediction: {np.exp(self.scores[i]):.4g})"
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
    model : fitted linear model, naive Bayes or trees, or a pipeline that ends in one
        Of tenfold or (but for trees) of scikit-learn; a search stands for its best model. Two
        classes have one score, that of the second.
    x : (n_features,) or (1, n_features) array, sparse row or table of one row
        The row, as the model takes it.
    names : list of str, optional
        Names of the features of the last step; by default those of the fit, or x0, x1, ...
    origin : (n_features,) array, optional
        Reference row, for linear models: contributions are then :math:`w_j (x_j - o_j)` and
        the baseline is the score of the origin (for example the mean of the data).

    Returns
    -------
    FeatureContributions
        Scores are what the model itself gives: its `decision_function`, its prediction, the
        logarithm of that for a log link, the latent score of an ordinal regression of more than two
        classes, or differences of log-probabilities for naive Bayes. Contributions in trees are
        Shapley values, and the baseline is the mean score of the training rows. A value that a
        model leaves out (missing, or an unseen category) contributes 0.

    Raises
    ------
    TypeError
        If the score of the model is not a sum over features; the message names the model.

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
    row = _single_row(_encode(final, _to_2d(x) if steps is None else steps.transform(_to_2d(x))))
    form, outputs = _scores_by_output(final, row)
    if origin is not None:
        reference_row = _single_row(
            _encode(final, _to_2d(origin) if steps is None else steps.transform(_to_2d(origin)))
        )
        reference, _ = _scores_by_output(final, reference_row)
        terms, base = form.terms - reference.terms, reference.baseline + reference.terms.sum(axis=1)
        form = form._replace(terms=terms, baseline=base)
    scores = form.baseline + form.terms.sum(axis=1)
    feature_names = _feature_names(steps, final, names, len(row))
    return FeatureContributions(feature_names, row, outputs, form.terms, form.baseline, scores)


def _scores_by_output(model: Any, x: np.ndarray) -> tuple[AdditiveTerms, list[Any]]:
    """Contributions to each output of a row, and the names of the outputs."""
    form, classes = additive_terms(model, x), getattr(model, "classes_", None)
    if classes is None:
        return form, _regression_outputs(model, x, len(form.terms))
    if len(form.terms) == 1 and len(classes) > 2:
        return form, [LATENT_SCORE]
    if is_naive_bayes(model) or len(form.terms) == 1:
        return center_by_class(form, classes)
    return form, list(classes)


def _regression_outputs(model: Any, x: np.ndarray, n_outputs: int) -> list[Any]:
    if n_outputs > 1:
        return list(range(n_outputs))
    if isinstance(model, SupportsTreeScores):
        return [LOG_PREDICTION if model._score_trees().link == "log" else "prediction"]
    link = find_link(model, linear_form(model, x[None]), x[None])
    return [LOG_PREDICTION if link == "log" else "prediction"]


def _to_2d(x: Any) -> Any:
    """One row as a table of one row; two-dimensional input is returned as it is."""
    if hasattr(x, "shape") and len(x.shape) == 2:
        return x
    return x if isinstance(x, list | tuple) and isinstance(x[0], str) else np.atleast_2d(x)


def _encode(model: Any, X: Any) -> Any:
    """Codes in the place of the categories of a table, where a model has learned codes."""
    encoder = getattr(model, "_category_encoder", None)
    return (
        X if encoder is None or not is_table(X) else encode_table(X, model.is_categorical_, encoder)
    )


def _single_row(X: Any) -> np.ndarray:
    X = to_dense(X)
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

    Exact for a model that is linear, or the exponential of a linear score; central differences for
    any other model.

    Parameters
    ----------
    model : fitted model, or a function of (n, p) arrays
        Any model with outputs that are numbers.
    x : (n_features,) array
        The point.
    method : str, optional
        Method whose output is differentiated: by default the first of "decision_function",
        "predict_proba" and "predict" that the model has. Labels have no derivatives.

    Returns
    -------
    (n_features,) array, or (n_outputs, n_features) for several outputs
        NaN where there is no derivative: at a missing value, and where the output jumps.

    Raises
    ------
    TypeError
        If the outputs or the inputs of the model are categories; the message names the model.

    Examples
    --------
    >>> from tenfold import sensitivity
    >>> sensitivity(lambda X: X[:, 0] ** 2 * X[:, 1], [3.0, 2.0]).round(6).tolist()
    [12.0, 9.0]
    """
    x = np.ravel(to_dense(x)).astype(np.float64)
    if method is None and (exact := _linear_derivatives(model, x)) is not None:
        return exact
    return differentiate(output_function(model, method), x)


def _linear_derivatives(model: Any, x: np.ndarray) -> np.ndarray | None:
    """Derivatives of the default output if it is linear or an exponential; otherwise None."""
    if not hasattr(model, "coef_") or is_naive_bayes(model) or np.isnan(x).any():
        return None
    rows = np.vstack([x, 1.5 * x + 1])
    try:
        form = linear_form(model, rows)
    except TypeError:
        return None
    if len(form.terms) == 1 and len(getattr(model, "classes_", ())) > 2:
        return None  # a latent score, which is not the output
    slopes = np.ones(len(form.terms))
    if find_link(model, form, rows) == "log":
        slopes = np.exp(form.terms @ x + form.baseline)
    W = slopes[:, None] * form.terms
    return W[0] if len(W) == 1 else W


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
    absolute value; with a log link the weights are those of the log of the prediction, and those of
    an ordinal regression belong to its latent score. For naive Bayes the weights are log-odds,
    against the mean of all classes if there are more than two. Weights of 0 are not listed.

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
    sizes = np.abs(form.terms)
    smallest = _ROUNDING_SHARE * sizes.max(initial=0.0, where=np.isfinite(sizes))
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
    if len(form.terms) == 1 and len(classes) > 2:
        return [LATENT_SCORE], [(w, np.abs(w)) for w in form.terms]
    if is_naive_bayes(model):
        form, _ = center_by_class(form, classes)
    if len(form.terms) == 1:
        w = form.terms[0]
        return list(classes), [(w, -w), (w, w)]
    return list(classes), [(w, w) for w in form.terms]
