"""The strongest weights of a linear model, by name."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.reading.additive import by_class, is_bayes, last_step, linear_form

NOTHING = 1e-12  # share of the largest weight that is rounding


class RankedWeights(NamedTuple):
    """For each output the columns that speak most for it, the strongest first.

    Attributes
    ----------
    outputs : k labels, or numbers of targets
    names : k lists of names
    weights : k arrays of weights
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


def ranked_weights(model: Any, names: Any = None, top: int = 10) -> RankedWeights:
    """The columns that speak most for each class: the strongest words of a text classifier.

    Of two classes, the first is spoken for by negative weights. The columns of a regression are
    ranked by size. For naive Bayes the weights are log-odds, against the mean of all classes if
    there are more than two. A weight of 0 speaks for nobody and is not listed. [000, 1.6]

    Parameters
    ----------
    model : fitted linear model or naive Bayes of counts or bits, or a pipeline that ends in one
        Of tenfold or of scikit-learn.
    names : list of str, optional
        Names of the columns; by default the model knows them, or x0, x1, ...
    top : int
        Most names of each class.

    Examples
    --------
    >>> from tenfold import LogisticRegression
    >>> from tenfold.linear.reading.ranked import ranked_weights
    >>> counts = [[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]
    >>> model = LogisticRegression().fit(counts, ["apple", "ibm", "apple", "ibm"])
    >>> print(ranked_weights(model, ["mac", "ide", "the"]))
    apple: mac -0.709
    ibm: ide +0.709
    """
    before, last = last_step(model)
    form = linear_form(last)
    if names is None:
        names = before.get_feature_names_out() if before is not None else None
        names = getattr(last, "feature_names_in_", None) if names is None else names
    names = [f"x{j}" for j in range(form.terms.shape[1])] if names is None else list(names)
    if len(names) != form.terms.shape[1]:
        raise ValueError(f"{len(names)} names for {form.terms.shape[1]} columns")
    outputs, rows = _spoken_for(last, form)
    best = [np.argsort(-key, kind="stable")[:top] for _, key in rows]
    least = NOTHING * np.abs(form.terms).max(initial=0.0)
    best = [order[key[order] > least] for order, (_, key) in zip(best, rows, strict=True)]
    weights = [w[order] for order, (w, _) in zip(best, rows, strict=True)]
    return RankedWeights(outputs, [[str(names[j]) for j in order] for order in best], weights)


def _spoken_for(model: Any, form: Any) -> tuple[list[Any], list[tuple[np.ndarray, np.ndarray]]]:
    """Outputs; for each its weights, and how strongly each speaks for it."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return list(range(len(form.terms))), [(w, np.abs(w)) for w in form.terms]
    if is_bayes(model):
        form, _ = by_class(form, classes)
    if len(form.terms) == 1:
        w = form.terms[0]
        return list(classes), [(w, -w), (w, w)]
    return list(classes), [(w, w) for w in form.terms]
