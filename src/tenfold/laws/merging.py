"""Laws of the fold: what is learned from parts merges into what is learned from the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import is_classifier

from tenfold.estimator import Estimator, OnePass, merge
from tenfold.laws.bits import learned, parts_of
from tenfold.laws.trials import fresh, table
from tenfold.rows import Chunk, Rows
from tenfold.rows import merge as merge_statistics
from tenfold.rows.tree import leaves


class Recorded(Rows):
    """Rows that remember which leaves were folded over them, with what state."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(
            rows.source, engine=rows.engine, classes=rows.classes, allow_nan=rows.allow_nan
        )
        self.calls: list[tuple[Callable[..., Any], tuple]] = []

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        self.calls.append((f, state))
        return super().total(f, *state)


def parts_make_the_whole(model: Any, cut: int = 1234) -> None:
    """The statistic of a chunk is the merge of the statistics of its parts, for every leaf."""
    X, y = table(model, rows=3000)
    model = fresh(model)
    rows = Recorded(model._training_rows(X, y, None))
    if type(model)._fit is Estimator._fit:  # a model of models fits them by itself
        model.fit(rows)
    else:
        model._keep(model._fit(rows, model._rng()))
    whole = rows.gather()
    for f, state in rows.calls:
        halves = [_part(whole, 0, cut), _part(whole, cut, len(X))]
        merged = leaves(merge_statistics(*(f(half, *state) for half in halves)))
        for got, want in zip(merged, leaves(f(whole, *state)), strict=True):
            scale = np.abs(want).max(initial=0.0) if np.ndim(want) else abs(want)
            # a triangular factor is defined up to the signs of its rows
            assert_allclose(np.abs(got), np.abs(want), rtol=1e-7, atol=1e-9 * float(scale))


def _part(chunk: Chunk, a: int, b: int) -> Chunk:
    return Chunk(*(None if part is None else part[a:b] for part in chunk[:3]), first=a)


def parts_merge(model: Any, cut: int = 7777) -> None:
    """Models of two parts merge into the model of the whole; `partial_fit` likewise."""
    if not isinstance(model, OnePass):
        return
    X, y = table(model)
    y = np.zeros(len(X)) if y is None else y
    whole = fresh(model).fit(X, y)
    a, b = fresh(model).fit(X[:cut], y[:cut]), fresh(model).fit(X[cut:], y[cut:])
    more = {"classes": np.unique(y)} if is_classifier(model) else {}
    grown = fresh(model).partial_fit(X[:cut], y[:cut], **more).partial_fit(X[cut:], y[cut:])
    for other in (merge(a, b), grown):
        for name, value in learned(whole).items():
            for got, want in zip(parts_of(getattr(other, name)), parts_of(value), strict=True):
                if want is not None and not isinstance(want, str):
                    assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=name)
