"""One partition of a Dask collection: an array, a CSR matrix or a table becomes a chunk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.arrays import compute_dtype
from tenfold.rows.blocks import Layout
from tenfold.rows.chunk import SPARSE_ROWS, Chunk, chunk_rows


class Wish(NamedTuple):
    """Which columns are what: names of a table; an array knows numbers for X alone."""

    target: str | None = None
    weight: str | None = None
    columns: Any = None


class Kind(NamedTuple):
    """A partition without its rows."""

    n_rows: int
    n_features: int
    dtype: np.dtype  # in which leaves compute
    names: list[str] | None = None
    sparse: bool = False


def kind_of(part: Any, wish: Wish) -> Kind:
    """Look at a partition."""
    if not _is_table(part):
        width = part.shape[1] if wish.columns is None else len(wish.columns)
        return Kind(part.shape[0], width, compute_dtype(part.dtype), None, hasattr(part, "indptr"))
    table = _opened(part)
    names = (
        [n for n in table.columns if n not in wish[:2]] if wish.columns is None else wish.columns
    )
    single = all(str(table.schema[name]) == "Float32" for name in names)
    return Kind(len(table), len(names), np.dtype(np.float32 if single else np.float64), list(names))


def common(kinds: list[Kind], *, has_target: bool, has_weight: bool) -> Layout:
    """The layout of all partitions together."""
    if not kinds:
        raise ValueError("there are no partitions to learn from")
    head = kinds[0]
    for at, kind in enumerate(kinds):
        if (kind.n_features, kind.names, kind.sparse) != (head.n_features, head.names, head.sparse):
            raise ValueError(
                f"partition {at} has {_words(kind)}, but partition 0 has {_words(head)}"
            )
    dtype = np.result_type(*(kind.dtype for kind in kinds))
    grid = SPARSE_ROWS if head.sparse else chunk_rows(head.n_features, dtype)
    return Layout(
        n_rows=sum(kind.n_rows for kind in kinds),
        n_features=head.n_features,
        dtype=dtype,
        grid=grid,
        row_bytes=head.n_features * dtype.itemsize,
        names=head.names,
        sparse=head.sparse,
        has_target=has_target,
        has_weight=has_weight,
    )


def _words(kind: Kind) -> str:
    return f"columns {kind.names}" if kind.names else f"{kind.n_features} columns"


def as_chunk(part: Any, sides: tuple, wish: Wish, layout: Layout, at: int) -> Chunk:
    """A partition with its target and weight; `at` is its number."""
    y, w = sides
    if _is_table(part):
        table = _opened(part)
        y = table[wish.target].to_numpy() if wish.target is not None else y
        w = table[wish.weight].to_numpy() if wish.weight is not None else w
        part = _numbers(table.select(layout.names), layout.dtype, at)
    elif wish.columns is not None:
        part = part[:, wish.columns]
    X = part.astype(layout.dtype) if layout.sparse else np.ascontiguousarray(part, layout.dtype)
    return Chunk(X, _side(y, X, f"partition {at}: target"), _side(w, X, f"partition {at}: weight"))


def _side(side: Any, X: Any, name: str) -> np.ndarray | None:
    if side is None:
        return None
    if len(side) != X.shape[0]:
        raise ValueError(f"{name} has {len(side)} entries for {X.shape[0]} rows")
    return np.ascontiguousarray(side)


def _is_table(part: Any) -> bool:
    return not isinstance(part, np.ndarray) and not hasattr(part, "indptr")


def _opened(part: Any) -> Any:
    import narwhals

    return narwhals.from_native(part, eager_only=True)


def _numbers(table: Any, dtype: np.dtype, at: int) -> np.ndarray:
    """The columns of a table below each other as one array; NaN where a value is missing."""
    X = np.empty((len(table), len(table.columns)), dtype)
    for j, name in enumerate(table.columns):
        kind = table.schema[name]
        if not (kind.is_numeric() or str(kind) == "Boolean"):
            raise ValueError(
                f"partition {at}, column {name!r} is {kind}, not a number. Encode it, or leave it "
                "out: columns=[...]"
            )
        X[:, j] = table[name].to_numpy()
    return X
