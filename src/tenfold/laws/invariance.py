"""Laws of what must not matter: places, threads, the grid, the order of rows, repetitions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.testing import assert_allclose

from tenfold.laws.bits import assert_same_bits, outputs, same_bits
from tenfold.laws.trials import fresh, table
from tenfold.rows import chunk_rows, threads
from tenfold.rows.places import PLACES, places


def place_does_not_matter(
    model: Any,
    only: tuple[str, ...] | None = None,
    dtypes: tuple[type, ...] = (np.float64, np.float32),
) -> None:
    """Arrays of any layout, files, tables and a cluster give the same bits."""
    for dtype in dtypes:
        X, y = table(model, dtype)
        here = fresh(model).fit(X, y)
        said = outputs(here, X)
        for name in places(np.dtype(dtype)):
            if only is not None and name not in only:
                continue
            with tempfile.TemporaryDirectory() as folder:
                there = fresh(model).fit(*PLACES[name](X, y, Path(folder)))
                assert_same_bits(here, there, f"{name}, {np.dtype(dtype)}")
                rows = PLACES[name](X, None, Path(folder))[0]
                for output, value in said.items():
                    assert same_bits(value, getattr(there, output)(rows)), f"{name}: {output}"


def threads_do_not_matter(model: Any) -> None:
    """One, two and three threads give the same bits."""
    for dtype in (np.float64, np.float32):
        X, y = table(model, dtype)
        with threads(1):
            alone = fresh(model).fit(X, y)
            said = outputs(alone, X)
        for n in (2, 3):
            with threads(n):
                together = fresh(model).fit(X, y)
                assert_same_bits(alone, together, f"{n} threads")
                for name, value in said.items():
                    assert same_bits(value, getattr(together, name)(X)), f"{n} threads: {name}"


def chunking_does_not_matter(model: Any) -> None:
    """Another grid gives the same model, but for rounding: drawn rows are the same rows."""
    X, y = table(model)
    a = fresh(model).fit(X, y)
    grid = lambda width, dtype: max(chunk_rows(width, dtype) // 5, 1)  # noqa: E731
    with mock.patch("tenfold.rows.source.chunk_rows", grid):
        b = fresh(model).fit(X, y)
        said = outputs(b, X)
    for name, value in outputs(a, X).items():
        assert_allclose(value, said[name], rtol=1e-5, atol=1e-6, err_msg=name)


def order_does_not_matter(model: Any) -> None:
    """Rows in another order give the same model, but for rounding; not where rows are drawn."""
    if getattr(model, "_draws", False):
        return
    X, y = table(model)
    order = np.random.default_rng(2).permutation(len(X))
    a, b = fresh(model).fit(X, y), fresh(model).fit(X[order], None if y is None else y[order])
    for name, value in outputs(a, X).items():
        assert_allclose(value, getattr(b, name)(X), rtol=1e-6, atol=1e-7, err_msg=name)


def weights_are_repetitions(model: Any) -> None:
    """A row of weight two is the row twice, a row of weight zero no row."""
    if getattr(model, "_draws", False) or "sample_weight" not in model.fit.__code__.co_varnames:
        return
    X, y = table(model, rows=9000)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = fresh(model).fit(X, y, sample_weight=w.astype(float))
    repeated = fresh(model).fit(np.repeat(X, w, axis=0), None if y is None else np.repeat(y, w))
    for name, value in outputs(weighed, X).items():
        assert_allclose(value, getattr(repeated, name)(X), rtol=1e-5, atol=1e-6, err_msg=name)
