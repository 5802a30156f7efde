r"""Reasons of a prediction: what each column adds, and what would change if it changed.

A linear score is a sum, :math:`\sum_j w_j x_j + b`: its terms are the reasons, b is the baseline.
For naive Bayes the terms are log-odds, :math:`\log p(x_j \mid c) - \log p(x_j \mid c')`. For any
model the sensitivity is :math:`\partial f / \partial x_j`. [000, 1.6; 001, 2.4 and 2.7; 002, 1.1]
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.reading.additive import by_class, is_bayes, last_step, linear_form, terms_of

SHOWN = 10  # lines of a report


class Reasons(NamedTuple):
    """Why a model says what it says of one row; prints as a ranked list.

    Attributes
    ----------
    names : (p,) names of the columns
    values : (p,) the row, as the linear model saw it
    outputs : k labels that have a score; of a regression "prediction", or numbers of targets
    contributions : (k, p) what each column adds to each score
    baselines : (k,) score without any column
    scores : (k,) baseline and contributions together
    """

    names: np.ndarray
    values: np.ndarray
    outputs: list[Any]
    contributions: np.ndarray
    baselines: np.ndarray
    scores: np.ndarray

    def of(self, output: Any = None) -> int:
        """Number of an output, by default the one with the highest score."""
        return int(np.argmax(self.scores)) if output is None else self.outputs.index(output)

    def ranked(self, output: Any = None, top: int | None = None) -> list[tuple[str, float]]:
        """Names and contributions, the largest in size first."""
        c = self.contributions[self.of(output)]
        order = np.argsort(-np.abs(c), kind="stable")[:top]
        return [(str(self.names[j]), float(c[j])) for j in order]

    def between(self, one: Any, other: Any) -> Reasons:
        """Reasons for one output against another: the terms of their log-odds."""
        i, j = self.of(one), self.of(other)
        parts = [part[[i]] - part[[j]] for part in self[3:]]
        return Reasons(self.names, self.values, [f"{one} against {other}"], *parts)

    def title(self, number: int) -> str:
        """What the score of an output is called."""
        name = self.outputs[number]
        return name if name == "prediction" else f"score of {name}"

    def __str__(self) -> str:
        i = self.of()
        lines = [f"{self.title(i)}: {self.scores[i]:.4g}"]
        shown = [(n, c) for n, c in self.ranked(self.outputs[i], SHOWN) if c]
        left = self.scores[i] - self.baselines[i] - sum(c for _, c in shown)
        more = (
            [("all others", left)] if len(shown) < np.count_nonzero(self.contributions[i]) else []
        )
        table = [*shown, *more, ("baseline", float(self.baselines[i]))]
        width = max(len(name) for name, _ in table)
        return "\n".join(lines + [f"  {name:<{width}}  {c:+.4g}" for name, c in table])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def reasons(model: Any, x: Any, names: Any = None, *, origin: Any = None) -> Reasons:
    """What each column adds to the score of one row.

    Parameters
    ----------
    model : fitted linear model or naive Bayes, or a pipeline that ends in one
        Of tenfold or of scikit-learn. Two classes have one score, that of the second.
    x : (p,) or (1, p) array, sparse row or table of one row
        The row, as the model takes it.
    names : list of str, optional
        Names of the columns that the last step sees; by default the model knows them, or x0, ...
    origin : (p,) array, optional
        Row to compare with, for linear models: contributions are then :math:`w_j (x_j - o_j)` and
        the baseline is the score of the origin (the mean of the data, say).

    Returns
    -------
    Reasons

    Examples
    --------
    >>> from tenfold import LinearRegression
    >>> from tenfold.linear.reading.reasons import reasons
    >>> X, y = [[1.0, 50.0], [2.0, 60.0], [3.0, 110.0]], [180.0, 290.0, 440.0]
    >>> print(reasons(LinearRegression().fit(X, y), [3.0, 80.0], ["bedrooms", "area"]))
    prediction: 410
      bedrooms  +300
      area      +80
      baseline  +30
    """
    before, last = last_step(model)
    row = _row(_as_table(x) if before is None else before.transform(_as_table(x)))
    form, outputs = _scored(last, terms_of(last, row))
    if origin is not None:
        o = _row(_as_table(origin) if before is None else before.transform(_as_table(origin)))
        there, _ = _scored(last, terms_of(last, o))
        terms, base = form.terms - there.terms, there.baseline + there.terms.sum(axis=1)
        form = form._replace(terms=terms, baseline=base)
    scores = form.baseline + form.terms.sum(axis=1)
    known = _names(before, last, names, len(row))
    return Reasons(known, row, outputs, form.terms, form.baseline, scores)


def _scored(model: Any, form: Any) -> tuple[Any, list[Any]]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return form, ["prediction"] if len(form.terms) == 1 else list(range(len(form.terms)))
    if is_bayes(model) or len(form.terms) == 1:
        return by_class(form, classes)
    return form, list(classes)


def _as_table(x: Any) -> Any:
    """One row as a table of one row; what has two dimensions already is left as it is."""
    if hasattr(x, "shape") and len(x.shape) == 2:
        return x
    return x if isinstance(x, list | tuple) and isinstance(x[0], str) else np.atleast_2d(x)


def _row(X: Any) -> np.ndarray:
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if len(X) != 1:
        raise ValueError(f"reasons are those of one row, but x has {len(X)}: give x[[i]]")
    return X[0].astype(np.float64)


def _names(before: Any, last: Any, names: Any, p: int) -> np.ndarray:
    if names is None and before is not None and hasattr(before, "get_feature_names_out"):
        names = before.get_feature_names_out()
    if names is None:
        names = getattr(last, "feature_names_in_", [f"x{j}" for j in range(p)])
    if len(names) != p:
        raise ValueError(f"{len(names)} names for {p} columns")
    return np.asarray(names, dtype=object)


def sensitivity(model: Any, x: Any, method: str | None = None) -> np.ndarray:
    r"""How each output changes with each column: :math:`\partial f_c / \partial x_j`.

    The coefficients for a linear model; central differences for everything else that predicts.

    Parameters
    ----------
    model : fitted model, or a function of (n, p) arrays
        Any model.
    x : (p,) array
        Where to look.
    method : str, optional
        Method whose output is meant: by default the first of "decision_function", "predict_proba"
        and "predict" that the model has.

    Returns
    -------
    (p,) array, or (k, p) for several outputs

    Examples
    --------
    >>> from tenfold.linear.reading.reasons import sensitivity
    >>> sensitivity(lambda X: X[:, 0] ** 2 * X[:, 1], [3.0, 2.0]).round(6).tolist()
    [12.0, 9.0]
    """
    x = np.ravel(x).astype(np.float64)
    if method is None and hasattr(model, "coef_"):
        W = linear_form(model).terms
        return W[0] if len(W) == 1 else W
    f = _output(model, method)
    step = np.cbrt(np.finfo(np.float64).eps) * np.maximum(1.0, np.abs(x))
    ahead, behind = x + np.diag(step), x - np.diag(step)
    width = ahead.diagonal() - behind.diagonal()  # what the numbers are really apart
    difference = np.asarray(f(ahead), np.float64) - np.asarray(f(behind), np.float64)
    return (difference.T / width).reshape(*difference.shape[1:], len(x))


def _output(model: Any, method: str | None) -> Callable[[np.ndarray], Any]:
    for name in [method] if method else ["decision_function", "predict_proba", "predict"]:
        if hasattr(model, name):
            return getattr(model, name)
    if method or not callable(model):
        raise TypeError(f"{type(model).__name__} has no method {method or 'predict'}")
    return model
